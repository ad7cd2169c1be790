"""One consensus of many annotators' boxes, and what each annotator is like.

    >>> import bdc
    >>> crowd = bdc.Crowd.from_table({
    ...     "image": ["a", "a", "b", "b"], "annotator": ["ann", "bob", "ann", "bob"],
    ...     "label": ["cat", "cat", "dog", "dog"],
    ...     "x1": [10, 11, 30, 31], "y1": [10, 9, 30, 29], "x2": [50, 51, 90, 88], "y2": [60, 61, 80, 82]})
    >>> result = bdc.aggregate(crowd)
    >>> len(result), result.boxes.shape, result.class_probs.shape
    (2, (2, 4), (2, 2))
"""
from ._core import DataError, __version__
from .crowd import Crowd
from .estimator import BDC
from .evaluation import Evaluation, evaluate
from .host import report
from .learner import Learner
from .result import Annotators, Result, Targets
from .aggregation import aggregate, methods, read_annotators
from .validation import Validation, validate

__all__ = [
    "Annotators", "BDC", "Crowd", "DataError", "Evaluation", "Learner", "Result", "Targets", "Validation",
    "aggregate", "evaluate", "methods", "read_annotators", "report", "validate", "__version__",
]
