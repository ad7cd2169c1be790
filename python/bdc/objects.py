"""Objects of other programs, known by their attributes: COCO's dicts, detections of supervision and FiftyOne."""
import contextlib
import json
import os
import tempfile

import numpy as np

from . import inputs
from ._core import DataError


def is_coco(value):
    """COCO's dict of images and annotations."""
    return isinstance(value, dict) and all(
        isinstance(value.get(key), (list, tuple)) and all(isinstance(each, dict) for each in value[key][:1])
        for key in ("images", "annotations"))


def coco_dict(value):
    """The dict of pycocotools' COCO; anything else as it is."""
    inner = getattr(value, "dataset", None)
    return inner if isinstance(inner, dict) else value


def _plain(value):
    if isinstance(value, bytes):  # pycocotools' run lengths
        return value.decode("ascii")
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value.tolist()


def json_text(value, name):
    """JSON of dicts and lists, with numpy's numbers and arrays in them."""
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{name}: {error}") from None


@contextlib.contextmanager
def files_of(documents):
    """{name: COCO's dict} as files, for readers of files; what they say of a file is said of its name."""
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for n, (name, document) in enumerate(documents.items()):
            path = os.path.join(folder, f"{n}.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(json_text(document, str(name)))
            names[path] = str(name)

        def said(text):
            for path, name in names.items():
                text = text.replace(path, name)
            return text
        try:
            yield list(names), said
        except DataError as error:
            raise DataError(said(str(error))) from None


def with_annotator(document, annotator):
    """One annotator's COCO dict as one of a crowd."""
    document = coco_dict(document)
    if not is_coco(document):
        raise DataError(f"{annotator}: expected COCO's dict with images and annotations, found {type(document).__name__}")
    for n, annotation in enumerate(document["annotations"]):
        if not isinstance(annotation, dict):
            raise DataError(f"{annotator}: annotations[{n}]: expected a dict, found {type(annotation).__name__}")
        if annotation.get("annotator_id", annotator) != annotator:
            raise DataError(f"{annotator}: annotations[{n}] is of the annotator {annotation['annotator_id']!r}")
    seen = [{"image_id": image.get("id"), "annotator_id": annotator} for image in document["images"]]
    return {**document, "annotators": [{"id": annotator, "name": str(annotator)}], "assignments": seen,
            "annotations": [{**annotation, "annotator_id": annotator} for annotation in document["annotations"]]}


def is_detections(value):
    return (hasattr(value, "xyxy") and hasattr(value, "confidence")) or hasattr(value, "detections")


def detections_of(found, classes, size):
    """Boxes in pixels, scores (None where there are none) and names of classes.

    classes: names for supervision's numbers, where it has no names itself; None where nobody knows them. size: width and
    height of the image, of which FiftyOne's boxes are shares.
    """
    if hasattr(found, "xyxy"):
        boxes = inputs.numbers(found.xyxy, "xyxy")
        if boxes.size == 0:
            boxes = boxes.reshape(0, 4)
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise DataError(f"xyxy: expected rows of four numbers, found the shape {boxes.shape}")
        names = (getattr(found, "data", None) or {}).get("class_name")
        if names is None:
            if found.class_id is None:
                raise DataError("detections: expected a class_id per box, found none")
            if classes is None:
                raise DataError("detections: there are numbers of classes without names; hand over classes=[...]")
            ids = inputs.array(found.class_id, "class_id")
            if len(ids) and (ids.min() < 0 or ids.max() >= len(classes)):
                raise DataError(f"class_id: expected numbers from 0 to {len(classes) - 1}")
            names = [classes[n] for n in ids]
        if len(names) != len(boxes):
            raise DataError(f"detections: {len(boxes)} boxes with {len(names)} classes")
        return boxes, found.confidence, [str(name) for name in names]
    width, height = size if size is not None else (0, 0)
    rows = list(found.detections)
    if rows and not (width > 0 and height > 0):
        raise DataError("the image has no size, and FiftyOne's boxes are relative to it; hand over sizes={image: (width, height)}")
    boxes = np.array([[x * width, y * height, (x + w) * width, (y + h) * height]
                      for x, y, w, h in (d.bounding_box for d in rows)]).reshape(-1, 4)
    scores = [getattr(d, "confidence", None) for d in rows]
    return boxes, None if any(s is None for s in scores) else scores, [d.label for d in rows]


def table_of(drawn, classes=None, sizes=None):
    """{annotator: {image: detections}} as a table, and who looked at what."""
    rows = {name: [] for name in ("image", "annotator", "label", "x1", "y1", "x2", "y2")}
    seen = []
    for annotator, images in drawn.items():
        for image, found in images.items():
            if not is_detections(found):
                raise DataError(f"{annotator}, {image}: expected detections, found {type(found).__name__}")
            seen.append((image, annotator))
            try:
                boxes, _, names = detections_of(found, classes, (sizes or {}).get(image))
            except DataError as error:
                raise DataError(f"{annotator}, {image}: {error}") from None
            for box, label in zip(boxes.tolist(), names):
                for column, value in zip(rows.values(), (image, annotator, label, *box)):
                    column.append(value)
    return rows, seen
