"""Ultralytics' YOLO on labels that get better from epoch to epoch.

    model = YOLO("yolo11n.yaml")
    attach(model, EpochLabels("crowd.json"))
    model.train(data="data.yaml", epochs=50)

The labels are put into the trainer's dataset before its transforms, so mosaic, flips and the rest are right. data.yaml
names the images and classes; its label files are read by Ultralytics and then replaced.

One GPU: with several, Ultralytics starts processes that know nothing of callbacks. Its checkpoints have no place for the state;
to go on with a run, save `labels.state_dict()` beside them.
"""
import numpy as np

from .._core import DataError


def attach(model, labels, conf=0.1, iou=0.6, max_det=100):
    """model: a YOLO (or a trainer). conf, iou, max_det: limits of the detections that the consensus sees."""
    numbers = {}

    def put(trainer):
        numbers.update(names=trainer.data["names"], of=labels.numbers_of(trainer.data["names"]))
        loader = trainer.train_loader
        put_labels(loader.dataset, labels, numbers["of"])
        if hasattr(loader, "reset"):  # its workers have copies of the dataset
            loader.reset()

    def epoch_begins(trainer):
        if trainer.epoch > trainer.start_epoch and labels.is_due(trainer.epoch):
            labels.relabel(_pass(trainer, numbers["names"], dict(conf=conf, iou=iou, max_det=max_det)))
        put(trainer)  # also when nothing is new: Ultralytics reads its data again where memory was short

    model.add_callback("on_train_start", put)
    model.add_callback("on_train_epoch_start", epoch_begins)


def put_labels(dataset, labels, numbers):
    """Into Ultralytics' dataset, whose boxes are centres and sizes as shares of the image."""
    for own in dataset.labels:
        boxes, classes = labels[own["im_file"]]
        height, width = own["shape"]
        boxes = np.clip(boxes / [width, height, width, height], 0, 1)
        inside = ((boxes[:, 2:] - boxes[:, :2]) > 0).all(1)
        boxes = boxes[inside]
        own["bboxes"] = np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1).astype(np.float32)
        own["cls"] = numbers[classes[inside]].reshape(-1, 1).astype(np.float32)
        own.update(segments=[], keypoints=None, normalized=True, bbox_format="xywh")


def _pass(trainer, names, limits, chunk=64):
    """Detections of all training images by the weights that the last epoch left."""
    from ultralytics import YOLO
    if not trainer.last.exists():
        raise DataError(f"{trainer.last} is not there; labels are made from it, so train with save=True")
    files, model = trainer.train_loader.dataset.im_files, YOLO(trainer.last)
    for start in range(0, len(files), chunk):
        part = files[start:start + chunk]
        for file, found in zip(part, model.predict(part, stream=True, verbose=False, imgsz=trainer.args.imgsz,
                                                   device=trainer.device, **limits)):
            boxes = found.boxes
            yield file, boxes.xyxy, boxes.conf, [names[int(c)] for c in boxes.cls]
