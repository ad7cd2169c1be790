"""BDC inside other people's trainers; each file imports its framework only when it is used.

    bdc.integrations.torchvision     Faster R-CNN on soft classes and weights, with each batch
    bdc.integrations.ultralytics     YOLO: labels of the next epoch
    bdc.integrations.detectron2      a mapper and a hook: labels of the next epoch
    bdc.integrations.mmengine        a hook: labels of the next epoch
    bdc.integrations.lightning       a callback: labels of the next epoch

Losses of the last four know neither soft classes nor weights, so they are given plain labels (`EpochLabels`), made anew
for each epoch from a pass over the training set. docs/python.md
"""
from .epoch_labels import EpochLabels, LabelView

__all__ = ["EpochLabels", "LabelView"]
