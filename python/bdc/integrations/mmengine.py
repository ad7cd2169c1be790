"""MMEngine's runners (MMDetection 3) on labels that get better from epoch to epoch.

    labels = EpochLabels("crowd.json")
    runner.register_hook(relabel_hook(labels, runner.build_dataloader(cfg.train_pass_dataloader), classes))

The loader goes over the training images with the test pipeline. Labels are put into each batch after the train pipeline, mapped
as that has mapped the image: by `homography_matrix` where PackDetInputs keeps it in meta_keys, else by scale_factor and flip.
Mosaic and mixup make one image of several and cannot be used.
"""
import numpy as np

from .._core import DataError


def mapped(boxes, meta):
    """Boxes of the original image in the image that the pipeline made of it."""
    height, width = meta["img_shape"][:2]
    if meta.get("homography_matrix") is not None:
        corners = np.stack([boxes[:, [0, 1]], boxes[:, [2, 1]], boxes[:, [2, 3]], boxes[:, [0, 3]]], 1)
        corners = np.concatenate([corners, np.ones((*corners.shape[:2], 1))], 2) @ np.asarray(meta["homography_matrix"], float).T
        corners = corners[..., :2] / corners[..., 2:]
        out = np.concatenate([corners.min(1), corners.max(1)], 1)
    else:
        scale = np.asarray(meta.get("scale_factor", (1.0, 1.0)), float)[:2]
        expected = np.asarray(meta["ori_shape"][:2], float)[::-1] * scale
        if np.abs(expected - [width, height]).max() > 1.5:
            raise DataError("the train pipeline has cut or moved the image; add 'homography_matrix' to the meta_keys of PackDetInputs")
        out = boxes * np.tile(scale, 2)
        if meta.get("flip"):
            how = meta.get("flip_direction", "horizontal")
            if how in ("horizontal", "diagonal"):
                out[:, [0, 2]] = width - out[:, [2, 0]]
            if how in ("vertical", "diagonal"):
                out[:, [1, 3]] = height - out[:, [3, 1]]
    return np.clip(out, 0, [width, height, width, height])


def put_labels(sample, labels, numbers):
    """Replaces gt_instances of a DetDataSample; what lies outside the image now is left out."""
    import torch
    meta, old = sample.metainfo, sample.gt_instances
    boxes, classes = labels[meta["img_path"] if meta.get("img_path") else meta["img_id"]]
    boxes = mapped(boxes.copy(), meta)
    seen = np.where((boxes[:, 2] - boxes[:, 0] > 1e-3) & (boxes[:, 3] - boxes[:, 1] > 1e-3))[0]
    like = old.bboxes
    tensor = torch.as_tensor(boxes[seen], dtype=torch.float32, device=getattr(like, "tensor", like).device)
    new = type(old)()
    new.bboxes = type(like)(tensor) if hasattr(like, "tensor") else tensor  # HorizontalBoxes, or a plain tensor
    new.labels = torch.as_tensor(numbers[classes[seen]], dtype=torch.int64, device=tensor.device)
    sample.gt_instances = new


def relabel_hook(labels, loader, classes, min_score=0.1):
    """A hook for runner.register_hook; its state travels in MMEngine's checkpoints."""
    from mmengine.hooks import Hook

    class BdcLabels(Hook):
        numbers = labels.numbers_of(classes)

        def before_train(self, runner):
            if hasattr(runner, "train_loop") and not hasattr(runner.train_loop, "run_epoch"):
                raise DataError("labels are made anew for each epoch, but this runner counts iterations; use EpochBasedTrainLoop")

        def before_train_epoch(self, runner):
            if runner.epoch > 0 and labels.is_due(runner.epoch):
                labels.relabel(detections(runner.model, loader, classes, min_score))

        def before_train_iter(self, runner, batch_idx, data_batch=None):
            for sample in data_batch["data_samples"]:
                put_labels(sample, labels, self.numbers)

        def before_save_checkpoint(self, runner, checkpoint):
            checkpoint["bdc_labels"] = labels.state_dict()

        def after_load_checkpoint(self, runner, checkpoint):
            if "bdc_labels" in checkpoint:
                labels.load_state_dict(checkpoint["bdc_labels"])

    return BdcLabels()


def detections(model, loader, classes, min_score=0.1):
    """All images of a loader with the test pipeline, in pixels of the original image."""
    import torch
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                for sample in model.test_step(batch):
                    found, meta = sample.pred_instances, sample.metainfo
                    found = found[found.scores >= min_score]
                    boxes = getattr(found.bboxes, "tensor", found.bboxes)
                    yield (meta["img_path"] if meta.get("img_path") else meta["img_id"], boxes, found.scores,
                           [classes[int(c)] for c in found.labels.cpu()])
    finally:
        model.train(training)
