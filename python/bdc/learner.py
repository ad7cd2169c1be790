"""BDC beside a training loop of your own."""
import base64
import hashlib

import numpy as np

from . import _core, inputs
from ._core import DataError
from .aggregation import class_vectors
from .crowd import Crowd
from .objects import detections_of, is_detections
from .result import Annotators, ImageTargets, Targets


class Learner:
    """Learns the annotators while a detector trains, and makes its targets.

        learner = bdc.Learner(crowd)
        for epoch in range(epochs):
            for image in images:
                targets = learner.observe(image, boxes, scores, class_probs)   # what the detector sees now
                ...                                                            # a step on targets
            learner.finish_epoch()

    An image may come once per epoch; a second time is an error. Until the detector has something to say, train on `without_detector()`.
    `state_dict` holds everything, a half-done epoch included: a resumed run has the same bits.

    >>> table = {"image": ["a"] * 3, "annotator": ["x", "y", "z"], "label": ["cat"] * 3,
    ...          "x1": [0, 0, 1], "y1": [0, 1, 0], "x2": [10, 11, 10], "y2": [10, 10, 11]}
    >>> learner = Learner(table)
    >>> targets = learner.observe("a", boxes=[[0, 0, 10, 10]], scores=[0.9], labels=["cat"])
    >>> len(targets), targets.class_probs.tolist()
    (1, [[1.0]])
    >>> bound = learner.finish_epoch()
    >>> learner.load_state_dict(learner.state_dict())
    """

    def __init__(self, labels, method="bdc", threads=0, **options):
        self.crowd, self.method = Crowd.of(labels), method
        self._options, self._alone = inputs.option_values(options), None
        self._threads = inputs.threads(threads)
        self._core = _core.Learner(self.crowd._core, method, self._options, self._threads)
        self._seen = np.zeros(self.crowd.num_images, bool)

    def without_detector(self):
        """The consensus of the annotations alone, of all images."""
        if self._alone is None:
            self._alone = Targets(self._core.without_detector(), self.crowd)
        return self._alone

    def observe(self, image, boxes=None, scores=None, class_probs=None, labels=None):
        """Targets of one image (its id or file name), given a detector's boxes there, in pixels of the original image.

        Instead of class_probs (a row per box, a column per class) `labels` may name a class per box. Objects with the
        attributes of supervision's Detections or FiftyOne's Detections are taken in place of boxes.
        """
        if boxes is not None and scores is None:
            if not is_detections(boxes):
                raise DataError(f"boxes: expected arrays with scores, or detections; found {type(boxes).__name__} without scores")
            boxes, scores, labels = detections_of(boxes, self.crowd.class_names, self.crowd.size_of(image))
            if scores is None:
                raise DataError("detections: expected a confidence per box, found none")
        if boxes is None:
            boxes, scores, class_probs = np.empty((0, 4)), np.empty(0), np.empty((0, self.crowd.num_classes))
        scores = inputs.numbers(scores, "scores")
        if class_probs is None:
            if labels is None:
                raise DataError("observe: expected class_probs or labels")
            class_probs = class_vectors(inputs.array(labels, "labels"), scores, self.crowd)
        n = self.crowd.index_of(image)
        if self._seen[n]:
            raise DataError(f"image {inputs.plain(image)!r} was observed in this epoch already; finish_epoch ends an epoch")
        boxes, scores, class_probs, _ = inputs.usable(boxes, scores, class_probs)
        core = self._core.observe(n, boxes, scores, class_probs)
        self._seen[n] = True
        return ImageTargets(core, self.crowd, n)

    def finish_epoch(self):
        """Beliefs from what the epoch's images have taught. Returns the lower bound, 0 for methods without one."""
        self._seen[:] = False
        return self._core.finish_epoch()

    @property
    def annotators(self):
        core = self._core.posteriors()
        if core is None:
            raise DataError(f"the method '{self.method}' learns nothing about annotators; use method=\"bdc\"")
        return Annotators(core)

    def state_dict(self):
        """For torch.save or pickle: texts and numbers only."""
        state = self._core.save()
        return {"bdc_learner": 1, "method": self.method, "options": dict(self._options), "crowd": self.crowd.digest,
                "state": base64.b64encode(state).decode(), "sum": hashlib.blake2b(state, digest_size=16).hexdigest(),
                "seen": np.nonzero(self._seen)[0].tolist()}

    def load_state_dict(self, state):
        """Goes on where a learner of the same method, options and crowd was."""
        keys = ("method", "options", "crowd", "state", "sum", "seen")
        if not isinstance(state, dict) or state.get("bdc_learner") != 1 or any(key not in state for key in keys):
            raise DataError("expected the state of a bdc.Learner")
        if (state["method"], state["options"]) != (self.method, self._options):
            raise DataError(f"the state is of the method '{state['method']}' with the options {state['options']}; this "
                            f"learner is '{self.method}' with {self._options}")
        if state["crowd"] != self.crowd.digest:
            raise DataError("the state is of a learner on another crowd: its ids, classes or boxes, or their order, differ")
        try:
            bytes_ = base64.b64decode(state["state"], validate=True)
            seen = np.zeros(self.crowd.num_images, bool)
            seen[np.asarray(state["seen"], np.int64)] = True
        except (TypeError, ValueError, IndexError):
            raise DataError("the state of the bdc.Learner is damaged") from None
        if hashlib.blake2b(bytes_, digest_size=16).hexdigest() != state["sum"]:
            raise DataError("the state of the bdc.Learner is damaged")
        self._core.load(bytes_)
        self._seen = seen

    def __reduce__(self):
        return _learner_again, (self.crowd, self.method, self._threads, self._options, self.state_dict())


def _learner_again(crowd, method, threads, options, state):
    learner = Learner(crowd, method, threads, **options)
    learner.load_state_dict(state)
    return learner
