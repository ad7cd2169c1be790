"""Detectron2 on labels that get better from epoch to epoch: a mapper that puts them in, and a hook that makes them anew.

    labels = EpochLabels("crowd.json")
    mapper = RelabelMapper(DatasetMapper(cfg, is_train=True), labels, MetadataCatalog.get(name).thing_classes)
    trainer.data_loader = build_detection_train_loader(cfg, mapper=mapper)
    trainer.register_hooks([relabel_hook(labels, build_detection_test_loader(cfg, name), classes, period=len(dicts) // batch)])

The mapper comes before Detectron2's augmentations, so flips, crops and resizing are right. The second loader goes over the
training images as for a test. Register the hook before `resume_or_load`, which drops the state of hooks that are not there. One
process: each of several would relabel its own images only.
"""
import numpy as np

XYXY_ABS = 0  # detectron2.structures.BoxMode.XYXY_ABS


class RelabelMapper:
    """Replaces `annotations` of a dataset's dict, then calls the mapper that it wraps."""

    def __init__(self, mapper, labels, classes):
        self.mapper, self.view, self.numbers = mapper, labels.view, labels.numbers_of(classes)

    def __call__(self, dataset_dict):
        boxes, numbers = self.view[name_of(dataset_dict, self.view)]
        own = dict(dataset_dict)
        own["annotations"] = [
            {"bbox": box.tolist(), "bbox_mode": _box_mode(), "category_id": int(self.numbers[n]), "iscrowd": 0}
            for box, n in zip(boxes, numbers)]
        return self.mapper(own)


def _box_mode():
    try:
        from detectron2.structures import BoxMode
    except ImportError:
        return XYXY_ABS
    return BoxMode.XYXY_ABS


def name_of(dataset_dict, view):
    """Its file name; its id where the crowd has no file names."""
    for key in ("file_name", "image_id"):
        name = dataset_dict.get(key)
        try:
            view.index_of(name)
        except ValueError:
            continue
        return name
    return dataset_dict.get("file_name")


def relabel_hook(labels, loader, classes, period):
    """A hook for trainer.register_hooks; every `period` steps (an epoch, say) labels are made anew. Its state travels in
    Detectron2's checkpoints."""
    from detectron2.engine import HookBase

    class BdcLabels(HookBase):
        def before_step(self):  # the checkpoint after the last step holds the labels that it was trained on
            done = self.trainer.iter
            if done > 0 and done % period == 0 and labels.is_due(done // period):
                labels.relabel(detections(self.trainer.model, loader, labels.view, classes))

        def state_dict(self):
            return labels.state_dict()

        def load_state_dict(self, state):
            labels.load_state_dict(state)

    return BdcLabels()


def detections(model, loader, view, classes, min_score=0.1):
    """All images of a test loader, in pixels of the original image, as Detectron2's models answer."""
    import torch
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                for given, out in zip(batch, model(batch)):
                    found = out["instances"]
                    found = found[found.scores >= min_score]
                    yield (name_of(given, view), found.pred_boxes.tensor, found.scores,
                           [classes[int(c)] for c in np.asarray(found.pred_classes.cpu())])
    finally:
        model.train(training)
