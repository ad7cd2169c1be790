"""torchvision's Faster R-CNN doing what bdc-frcnn-bench does: same weights (hash rule), images, targets, seed, threads.

frcnn_torchvision.py train|predict [size] [threads] [repeat]
"""
import resource
import sys
import time
import zlib

import numpy as np
import torch
from torchvision.models import resnet50
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.ops.misc import FrozenBatchNorm2d

what = sys.argv[1] if len(sys.argv) > 1 else "train"
size = int(sys.argv[2]) if len(sys.argv) > 2 else 320
threads = int(sys.argv[3]) if len(sys.argv) > 3 else 2
repeat = int(sys.argv[4]) if len(sys.argv) > 4 else 5
torch.set_num_threads(threads)


def hashed(name, count):
    i = np.arange(count, dtype=np.uint32)
    h = i * np.uint32(2654435761) + np.uint32(zlib.crc32(name.encode()))
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))).astype(np.float64)


def fill(name, tensor):
    s = hashed(name, tensor.numel()) / 2147483648.0 - 1
    if name.endswith("running_var"):
        s = 1 + 0.2 * np.abs(s)
    elif tensor.dim() > 1:
        s = s * np.sqrt(3.0 / (tensor.numel() / tensor.shape[0]))
    elif name.endswith("weight"):
        s = 1 + 0.1 * s
    else:
        s = 0.05 * s
    tensor.copy_(torch.from_numpy(s.astype(np.float32)).view(tensor.shape))


backbone = _resnet_fpn_extractor(resnet50(weights=None, norm_layer=FrozenBatchNorm2d), 3)
model = FasterRCNN(backbone, 21, min_size=size, max_size=size)
for module in model.modules():
    if isinstance(module, FrozenBatchNorm2d):
        module.eps = 0.0
with torch.no_grad():
    for name, tensor in model.state_dict().items():
        fill(name, tensor)
images = [torch.from_numpy((hashed(f"image{b}", 3 * size * size) / 4294967296.0).astype(np.float32)).view(3, size, size)
          for b in range(2)]
boxes = torch.tensor([[0.1, 0.12, 0.4, 0.5], [0.5, 0.3, 0.9, 0.95], [0.07, 0.2, 0.7, 0.8]]) * size
targets = [{"boxes": boxes[:2], "labels": torch.tensor([2, 4])}, {"boxes": boxes[2:], "labels": torch.tensor([8])}]
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-9, momentum=0.9)


def train():
    torch.manual_seed(1)
    optimizer.zero_grad()
    loss = sum(model(images, targets).values())
    loss.backward()
    optimizer.step()
    return loss.item()


def predict():
    with torch.no_grad():
        return max(d["scores"].max().item() for d in model(images))


model.train(what == "train")
if what == "train":  # torchvision draws one number for the size of each image; ours has one size
    model.transform.torch_choice = lambda sizes: sizes[0]
work = train if what == "train" else predict
value = work()  # of the first call: later ones see other weights
wall = processor = 1e30
for _ in range(repeat):
    before, spent = time.perf_counter(), time.process_time()
    work()
    wall, processor = min(wall, time.perf_counter() - before), min(processor, time.process_time() - spent)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"torchvision {what} {size} wall {wall:.3f} processor {processor:.3f} peak {peak:.0f} MB value {value:.6f}")
