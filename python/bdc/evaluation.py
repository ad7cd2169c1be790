"""Detections against the truth, by COCO's rules."""
import numpy as np

from . import _core, inputs, objects
from ._core import DataError
from .result import Targets


class Evaluation:
    """COCO's numbers: `stats` has twelve, in pycocotools' order; by name: evaluation["AP50"]. -1 where undefined."""

    def __init__(self, judged):
        self.stats, self.names, self.classes = judged["stats"], judged["names"], judged["classes"]

    def __getitem__(self, name):
        return float(self.stats[self.names.index(name)])

    def __repr__(self):
        return "\n".join(f"{name:<10} {value:7.4f}" if value >= 0 else f"{name:<10}       -"
                         for name, value in zip(self.names, self.stats))


def _source(value, name):
    path = inputs.path(value)
    if path is not None:
        return path, False
    value = objects.coco_dict(value)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 7:  # pycocotools' rows
        value = [{"image_id": int(i), "bbox": [x, y, w, h], "score": s, "category_id": int(c)}
                 for i, x, y, w, h, s, c in value.tolist()]
    if isinstance(value, (dict, list, tuple)):
        return objects.json_text(value, name), True
    raise DataError(f"{name}: expected a file or COCO's dict or list, found {type(value).__name__}")


def evaluate(detections, truth=None, common_images=False, ious=(), max_detections=(), threads=0):
    """Detections (a file, COCO's results list, or the result of `aggregate`) against the truth (a file or COCO's dict).

    >>> truth = {"images": [{"id": 1, "width": 9, "height": 9}], "categories": [{"id": 3, "name": "cat"}],
    ...          "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 4, 4]}]}
    >>> evaluate([{"image_id": 1, "category_id": 3, "bbox": [0, 0, 4, 4], "score": 0.9}], truth)["AP50"] > 0.99
    True
    """
    ious, max_detections, threads = _limits(ious), _counts(max_detections), inputs.threads(threads)
    if isinstance(detections, Targets):
        def judge(path):
            return Evaluation(_core.evaluate_consensus(detections._core, detections.crowd._core, path, ious, max_detections,
                                                       threads))
        if truth is None or inputs.path(truth) is not None:
            return judge(inputs.path(truth) or "")
        if not objects.is_coco(objects.coco_dict(truth)):
            raise DataError(f"truth: expected a file or COCO's dict, found {type(truth).__name__}")
        with objects.files_of({"truth": objects.coco_dict(truth)}) as (files, _):
            return judge(files[0])
    if truth is None:
        raise DataError("truth: expected a file or COCO's dict, found none")
    found, found_is_text = _source(detections, "detections")
    true, true_is_text = _source(truth, "truth")
    return Evaluation(_core.evaluate(found, found_is_text, true, true_is_text, common_images, ious, max_detections, threads))


def _limits(ious):
    values = inputs.numbers(np.atleast_1d(ious), "ious") if np.size(ious) else np.empty(0)
    if not ((values > 0) & (values <= 1)).all():
        raise DataError(f"ious: expected numbers above 0 and at most 1, found {ious!r}")
    return values.tolist()


def _counts(max_detections):
    values = np.atleast_1d(max_detections) if np.size(max_detections) else np.empty(0, int)
    if values.dtype.kind not in "iu" or (values < 1).any():
        raise DataError(f"max_detections: expected whole numbers of at least 1, found {max_detections!r}")
    return values.tolist()
