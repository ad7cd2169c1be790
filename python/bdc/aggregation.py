"""One consensus of a crowd's labels."""
import warnings

import numpy as np

from . import _core, inputs, objects
from ._core import DataError
from .crowd import Crowd
from .result import Annotators, Result


def methods():
    """Methods of `aggregate` with a sentence each.

    >>> methods()["na"]
    'no aggregation: every annotation unchanged'
    """
    return _core.methods()


def read_annotators(path):
    """What an earlier project learnt of its annotators: `prior` of `aggregate`.

    >>> import os, tempfile
    >>> learnt = aggregate({"image": ["a"] * 2, "annotator": ["x", "y"], "label": ["cat"] * 2,
    ...                     "x1": [0, 1], "y1": [0, 1], "x2": [9, 9], "y2": [9, 9]}).annotators
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "annotators.json")
    ...     learnt.save(path)
    ...     read_annotators(path).names
    ['x', 'y']
    """
    return Annotators(_core.read_annotators(inputs.path(path)))


def class_vectors(labels, scores, crowd):
    """Class probabilities of results that have a label and a score alone: the score, the rest shared out."""
    names = {name: n for n, name in enumerate(crowd.class_ids)}
    names.update({name: n for n, name in enumerate(crowd.class_names)})
    J = crowd.num_classes
    if scores.ndim != 1 or labels.shape != scores.shape:
        raise DataError(f"labels: expected one per score, found the shapes {labels.shape} and {scores.shape}")
    out = np.repeat(((1 - scores) / J)[:, None], J, axis=1)
    for row, label in enumerate(labels):
        label = label.item() if isinstance(label, np.generic) else label
        if label not in names:
            raise DataError(f"labels[{row}]: there is no class {label!r}; there are {', '.join(map(str, crowd.class_names))}")
        out[row, names[label]] += scores[row]
    return out


def _arrays(found, crowd):
    """{image: detections} of supervision or FiftyOne as arrays."""
    out = {"image": [], "boxes": [], "scores": [], "labels": []}
    for image, detections in found.items():
        boxes, scores, labels = objects.detections_of(detections, crowd.class_names, crowd.size_of(image))
        if scores is None and len(boxes):
            raise DataError(f"predictions of {image}: expected a confidence per box, found none")
        out["image"] += [image] * len(boxes)
        out["boxes"].append(boxes)
        out["scores"] += [] if scores is None else inputs.numbers(scores, "confidence").tolist()
        out["labels"] += labels
    places = np.empty(len(out["image"]), dtype=object)
    places[:] = out["image"]
    labels = np.empty(len(out["labels"]), dtype=object)
    labels[:] = out["labels"]
    return {"image": places, "boxes": np.concatenate(out["boxes"]), "scores": np.array(out["scores"], float), "labels": labels}


def _predictions(given, crowd):
    """A file, COCO's list of results, {image: detections}, or arrays {image, boxes, scores, class_probs or labels}."""
    if given is None or isinstance(given, _core.Predictions):
        return given
    if inputs.path(given) is not None:
        return _core.Predictions.read(inputs.path(given), crowd._core)
    if isinstance(given, (list, tuple)) or (isinstance(given, dict) and "annotations" in given):
        return _core.Predictions.parse(objects.json_text(given, "predictions"), crowd._core)
    if not isinstance(given, dict):
        raise DataError(f"predictions: expected a file, COCO results or arrays, found {type(given).__name__}")
    if given and all(objects.is_detections(found) for found in given.values()):
        given = _arrays(given, crowd)
    missing = [name for name in ("image", "boxes", "scores") if name not in given]
    if missing or not ("class_probs" in given or "labels" in given):
        raise DataError("predictions: expected image, boxes, scores and class_probs or labels, found " + ", ".join(map(str, given)))
    scores = inputs.numbers(given["scores"], "scores")
    image = inputs.array(given["image"], "image")
    if image.ndim != 1:
        raise DataError(f"image: expected one dimension, found {image.ndim}")
    image = np.array([crowd.index_of(name) for name in image.tolist()], np.int32)
    if "class_probs" in given:
        probs = inputs.numbers(given["class_probs"], "class_probs")
    else:
        probs = class_vectors(inputs.array(given["labels"], "labels"), scores, crowd)
    if len(image) != len(scores):
        raise DataError(f"image: expected {len(scores)}, one per score, found {len(image)}")
    boxes, scores, probs, kept = inputs.usable(given["boxes"], scores, probs)
    return _core.Predictions.from_arrays(crowd._core, image if kept is None else image[kept], boxes, scores, probs)


def _prior(given):
    if given is None:
        return None
    if isinstance(given, Result):
        given = given.annotators
    if isinstance(given, Annotators):
        return _core.as_from_file(given._core)
    if inputs.path(given) is not None:
        return _core.read_annotators(inputs.path(given))
    raise DataError(f"prior: expected a file or the annotators of a result, found {type(given).__name__}")


class _Bar:
    """A tqdm bar where tqdm is there; nothing elsewhere."""

    def __init__(self, title):
        try:
            from tqdm.auto import tqdm
            self.bar = tqdm(desc=title, leave=False)
        except ImportError:
            self.bar = None

    def __call__(self, round, max_rounds, change, images_done, images):
        if self.bar is not None:
            self.bar.total = max_rounds or images
            self.bar.n = round if max_rounds else images_done
            self.bar.refresh()

    def close(self):
        if self.bar is not None:
            self.bar.close()


def aggregate(labels, method="bdc", predictions=None, prior=None, threads=0, progress=None, **options):
    """One consensus of many annotators' boxes.

    labels: a Crowd, a path, or a table. method: one of `methods()`; options are the method's own (for bdc, `profile`
    and what that takes). predictions: a detector's output on the same images, which then is one more voice. prior: what
    an earlier project learnt of the annotators. progress: True for a bar, or a function of round, max_rounds, change,
    images_done and images. The result has the same bits for any number of threads, and those of `bdc-host aggregate`.

    >>> import bdc
    >>> table = {"image": ["a"] * 3, "annotator": ["x", "y", "z"], "label": ["cat"] * 3,
    ...          "x1": [0, 0, 1], "y1": [0, 1, 0], "x2": [10, 11, 10], "y2": [10, 10, 11]}
    >>> bdc.aggregate(table, method="mv").boxes.shape
    (1, 4)
    """
    crowd = Crowd.of(labels)
    if not isinstance(method, str):
        raise DataError(f"method: expected one of {', '.join(methods())}, found {method!r}")
    threads = inputs.threads(threads)
    bar = _Bar(method) if progress is True else None
    try:
        fitted = _core.fit(crowd._core, method, inputs.option_values(options), _predictions(predictions, crowd),
                           _prior(prior), threads, bar if bar is not None else progress or None)
    finally:
        if bar is not None:
            bar.close()
    for warning in fitted.warnings:
        warnings.warn(warning, stacklevel=2)
    return Result(crowd, fitted, method)
