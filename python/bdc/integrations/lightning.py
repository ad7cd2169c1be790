"""Lightning on labels that get better from epoch to epoch, for modules whose batches are torchvision's: images and dicts.

    labels = EpochLabels("crowd.json")
    trainer = Trainer(callbacks=[relabel_callback(labels, detect)])

detect(module) goes over the training images and yields (image, boxes, scores, names of classes) of each. A batch is a pair of
images and target dicts with `image_id`, an id or file name of the crowd; boxes and labels are replaced before the step. Images
must be as the annotators saw them.
"""


def put_labels(batch, labels, first_label=1):
    """Replaces boxes and labels of the batch's dicts, in place."""
    import torch
    for target in batch[1]:
        boxes, classes = labels[target["image_id"]]
        device = target["boxes"].device
        target["boxes"] = torch.as_tensor(boxes, dtype=torch.float32, device=device).reshape(-1, 4)
        if "area" in target:
            size = target["boxes"][:, 2:] - target["boxes"][:, :2]
            target["area"] = size[:, 0] * size[:, 1]
        if "iscrowd" in target:
            target["iscrowd"] = torch.zeros(len(boxes), dtype=torch.int64, device=device)
        target["labels"] = torch.as_tensor(classes, dtype=torch.int64, device=device) + first_label


def relabel_callback(labels, detect, first_label=1):
    """A callback for the Trainer; its state travels in Lightning's checkpoints. first_label: the number of the crowd's first
    class; torchvision's 0 is background."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class BdcLabels(Callback):
        def on_train_epoch_start(self, trainer, module):
            if trainer.current_epoch > 0 and labels.is_due(trainer.current_epoch):
                import torch
                training = module.training
                module.eval()
                try:
                    with torch.no_grad():
                        labels.relabel(detect(module))
                finally:
                    module.train(training)

        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            put_labels(batch, labels, first_label)

        def state_dict(self):
            return labels.state_dict()

        def load_state_dict(self, state):
            labels.load_state_dict(state)

    return BdcLabels()
