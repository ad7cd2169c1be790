"""Makes module_half.pt, a small file of the same kind as the official yolov7.pt: a pickled module in half precision
whose classes live in packages that a reader does not have. Run once, with PyTorch: python3 make_module_half.py.
module_half.pkl is the pickle in it: unzip -p module_half.pt module_half/data.pkl"""
import sys
import types

import torch
from torch import nn


def package(name):
    module = sys.modules[name] = types.ModuleType(name)
    return module


package("models")
common, yolo = package("models.common"), package("models.yolo")


class Conv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, bias=False)
        self.bn = nn.BatchNorm2d(outputs)
        self.act = nn.SiLU()


class Detect(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.ModuleList([nn.Conv2d(4, 6, 1)])
        self.stride = torch.tensor([8.0])
        self.register_buffer("anchors", torch.tensor([[1.25, 1.625]]))
        self.register_buffer("scratch", torch.zeros(3), persistent=False)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(Conv(3, 4), Conv(4, 4), Detect())
        self.model[2].twin = self.model[0].conv  # the same module in two places
        self.names = ["circle"]
        self.yaml = {"nc": 1}


for cls, home in ((Conv, common), (Detect, yolo), (Model, yolo)):
    cls.__module__, cls.__qualname__ = home.__name__, cls.__name__
    setattr(home, cls.__name__, cls)

net = Model()
with torch.no_grad():
    for name, value in net.state_dict().items():  # element i of every tensor but the anchors is i / 16
        if name != "model.2.anchors":
            value.copy_((torch.arange(value.numel()) / 16).reshape(value.shape))
net.model[1].conv.weight.data = net.model[1].conv.weight.data.contiguous(memory_format=torch.channels_last)
torch.save({"epoch": -1, "best_fitness": None, "model": net.half(), "ema": None, "updates": None, "optimizer": None,
            "wandb_id": None}, "module_half.pt")
