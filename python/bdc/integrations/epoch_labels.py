"""Plain labels that get better from epoch to epoch, for losses that know neither soft classes nor weights."""
import os
import shutil
import tempfile
import weakref

import numpy as np

from .. import inputs
from .._core import DataError
from ..learner import Learner


def _parts(path):
    return str(path).replace("\\", "/").split("/")


def _is_tail(one, other):
    """Whether one of two paths ends with the other."""
    n = min(len(one), len(other))
    return one[-n:] == other[-n:]


class LabelView:
    """The labels as they are now, for the process that trains and for those that load its images.

    They are kept in a file: workers of a data loader live longer than an epoch and look there whether it has changed.
    What a worker has loaded ahead keeps the labels it was loaded with.
    """

    def __init__(self, path, places):
        self._path, self._places, self._stamp = path, places, None
        self._by_file = {}
        for name, place in places.items():
            if isinstance(name, str):
                self._by_file.setdefault(_parts(name)[-1], []).append((_parts(name), place))

    def index_of(self, image):
        """An image by its id or file name, or by a longer or shorter path to it as long as only one image fits."""
        image = inputs.plain(image)
        if image in self._places:
            return self._places[image]
        parts = _parts(image)
        fits = {place for known, place in self._by_file.get(parts[-1], ()) if _is_tail(known, parts)}
        if not fits:
            raise DataError(f"there is no image {image!r} among the crowd's labels")
        if len(fits) > 1:
            raise DataError(f"image {image!r}: several images of the crowd have that name")
        return next(iter(fits))

    def __getitem__(self, image):
        """Boxes (x1, y1, x2, y2 in pixels of the original image) and numbers of classes."""
        self._refresh()
        n = self.index_of(image)
        rows = slice(self._begin[n], self._begin[n + 1])
        return self._boxes[rows], self._labels[rows]

    def _refresh(self):
        stat = os.stat(self._path)
        stamp = stat.st_ino, stat.st_mtime_ns
        if stamp != self._stamp:
            with np.load(self._path) as arrays:
                self._begin, self._boxes, self._labels = arrays["begin"], arrays["boxes"], arrays["labels"]
            self._stamp = stamp

    def __getstate__(self):
        return {"path": self._path, "places": self._places}

    def __setstate__(self, state):
        self.__init__(state["path"], state["places"])


def _remove(folder, owner):
    if os.getpid() == owner:  # not in a worker that was forked
        shutil.rmtree(folder, ignore_errors=True)


class EpochLabels:
    """Labels of a crowd for one epoch after the other.

        labels = EpochLabels(crowd)
        for epoch in range(epochs):
            if labels.is_due(epoch):
                labels.relabel((image, boxes, scores, names) for ... in detections of all training images)
            ...                                  # an epoch on labels[image]

    The first `warmup` epochs are trained on the consensus of the annotations alone. labels: what bdc.Crowd.of takes.
    """

    def __init__(self, labels, min_existence=0.5, warmup=1, method="bdc", threads=0, **options):
        self.learner = Learner(labels, method, threads, **options)
        self.crowd, self.min_existence, self.warmup = self.learner.crowd, min_existence, warmup
        self._folder = tempfile.mkdtemp(prefix="bdc_labels_")
        self._finalizer = weakref.finalize(self, _remove, self._folder, os.getpid())
        self._now = list(self.learner.without_detector().hard(min_existence).values())
        places = {name: n for n, name in enumerate(self.crowd.image_files) if name}
        places.update({name: n for n, name in enumerate(self.crowd.image_ids)})
        self.view = LabelView(os.path.join(self._folder, "labels.npz"), places)
        self._publish()

    class_names = property(lambda self: self.crowd.class_names)

    def __getitem__(self, image):
        return self.view[image]

    def is_due(self, epoch):
        """Whether labels are made anew before this epoch (counted from 0)."""
        return epoch >= self.warmup

    def relabel(self, found):
        """found: (image, boxes, scores, classes) of every training image; classes are names, or rows of probabilities.
        An image that is not among them keeps its labels; detections of classes that the crowd does not have are left out.
        Afterwards what is believed of the annotators is new, too."""
        for image, boxes, scores, classes in found:
            n = self.view.index_of(image)
            boxes, scores, classes = inputs.array(boxes, "boxes"), inputs.array(scores, "scores"), np.asarray(classes)
            if classes.ndim == 1:
                known = np.isin(classes.astype(str), self.class_names)
                boxes, scores, classes = boxes[known], scores[known], classes[known]
            how = {"class_probs": classes} if classes.ndim == 2 else {"labels": classes}
            targets = self.learner.observe(self.crowd.image_ids[n], boxes, scores, **how)
            if targets.existence is not None:
                targets = targets.strong(self.min_existence)
            self._now[n] = np.array(targets.boxes), np.array(targets.label)
        bound = self.learner.finish_epoch()
        self._publish()
        return bound

    def numbers_of(self, names):
        """For a trainer with classes of its own order: its number of each of the crowd's classes."""
        places = {str(name): n for n, name in (names.items() if isinstance(names, dict) else enumerate(names))}
        missing = [name for name in self.class_names if name not in places]
        if missing:
            raise DataError(f"the trainer has no class {missing[0]!r}; it has {', '.join(places)}")
        return np.array([places[name] for name in self.class_names], np.int64)

    def state_dict(self):
        return {"learner": self.learner.state_dict(), "labels": [(b.tolist(), c.tolist()) for b, c in self._now]}

    def load_state_dict(self, state):
        if not isinstance(state, dict) or "learner" not in state or len(state.get("labels", ())) != len(self._now):
            raise DataError("expected the state of EpochLabels on the same crowd")
        self.learner.load_state_dict(state["learner"])
        self._now = [(np.array(b, float).reshape(-1, 4), np.array(c, np.int64)) for b, c in state["labels"]]
        self._publish()

    def _publish(self):
        counts = [len(labels) for _, labels in self._now]
        part = os.path.join(self._folder, "part.npz")
        np.savez(part, begin=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
                 boxes=np.concatenate([np.asarray(b, float).reshape(-1, 4) for b, _ in self._now]),
                 labels=np.concatenate([np.asarray(c, np.int64) for _, c in self._now]))
        os.replace(part, self.view._path)
