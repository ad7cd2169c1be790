"""The YOLOv7 network in Python, for its speed alone: built from the layer table that `bdc-bench-yolov7 layers` prints
(standard input), timed as bdc-bench-yolov7 times its own. Prints milliseconds of a training pass (forward, backward), of
inference, and of inference with batch norms folded into the convolutions.

    bdc-bench-yolov7 layers tiny | yolov7_speed.py EDGE BATCH THREADS
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

REPEATS = 5


class Conv(nn.Module):
    def __init__(self, cin, cout, kernel, stride, act):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3, momentum=0.03)
        self.act = act

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))

    def fold(self):
        self.conv = fuse_conv_bn_eval(self.conv, self.bn)
        self.bn = nn.Identity()


class RepConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.dense = nn.Sequential(nn.Conv2d(cin, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout, 1e-3))
        self.point = nn.Sequential(nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout, 1e-3))
        self.one = None

    def forward(self, x):
        if self.one is not None:
            return nn.functional.silu(self.one(x), inplace=True)
        return nn.functional.silu(self.dense(x) + self.point(x), inplace=True)

    def fold(self):
        dense, point = fuse_conv_bn_eval(*self.dense), fuse_conv_bn_eval(*self.point)
        self.one = nn.Conv2d(dense.in_channels, dense.out_channels, 3, 1, 1)
        with torch.no_grad():
            self.one.weight.copy_(dense.weight + nn.functional.pad(point.weight, [1, 1, 1, 1]))
            self.one.bias.copy_(dense.bias + point.bias)


class Sppcspc(nn.Module):
    def __init__(self, cin, cout, act):
        super().__init__()
        c = cout
        self.cv1, self.cv2 = Conv(cin, c, 1, 1, act), Conv(cin, c, 1, 1, act)
        self.cv3, self.cv4 = Conv(c, c, 3, 1, act), Conv(c, c, 1, 1, act)
        self.pools = nn.ModuleList([nn.MaxPool2d(k, 1, k // 2) for k in (5, 9, 13)])
        self.cv5, self.cv6, self.cv7 = Conv(4 * c, c, 1, 1, act), Conv(c, c, 3, 1, act), Conv(2 * c, cout, 1, 1, act)

    def forward(self, x):
        a = self.cv4(self.cv3(self.cv1(x)))
        a = self.cv6(self.cv5(torch.cat([a] + [pool(a) for pool in self.pools], 1)))
        return self.cv7(torch.cat((a, self.cv2(x)), 1))


class Detect(nn.Module):
    def __init__(self, widths, classes):
        super().__init__()
        out = 3 * (5 + classes)
        self.m = nn.ModuleList([nn.Conv2d(c, out, 1) for c in widths])
        self.ia = nn.ParameterList([nn.Parameter(torch.zeros(1, c, 1, 1)) for c in widths])
        self.im = nn.ParameterList([nn.Parameter(torch.ones(1, out, 1, 1)) for c in widths])

    def forward(self, inputs):
        out = []
        for x, m, ia, im in zip(inputs, self.m, self.ia, self.im):
            y = im * m(x + ia)
            b, _, h, w = y.shape
            out.append(y.view(b, 3, -1, h, w).permute(0, 1, 3, 4, 2).contiguous())
        return out


class Network(nn.Module):
    def __init__(self, table):
        super().__init__()
        act = nn.SiLU(inplace=True) if table["activation"] == "silu" else nn.LeakyReLU(0.1, inplace=True)
        channels, self.inputs, layers = [], [], []
        for n, spec in enumerate(table["layers"]):
            inputs = [n + f if f < 0 else f for f in spec["from"]]
            cin = 3 if n == 0 else channels[inputs[0]]
            kind, cout = spec["kind"], cin
            if kind == "conv":
                cout = spec["channels"]
                layer = Conv(cin, cout, spec["kernel"], spec["stride"], act)
            elif kind == "rep_conv":
                cout = spec["channels"]
                layer = RepConv(cin, cout)
            elif kind == "sppcspc":
                cout = spec["channels"]
                layer = Sppcspc(cin, cout, act)
            elif kind == "concat":
                cout = sum(channels[i] for i in inputs)
                layer = nn.Identity()
            elif kind == "max_pool":
                layer = nn.MaxPool2d(2, 2)
            elif kind == "same_pool":
                layer = nn.MaxPool2d(spec["kernel"], 1, spec["kernel"] // 2)
            elif kind == "upsample":
                layer = nn.Upsample(scale_factor=2, mode="nearest")
            else:
                layer = Detect([channels[i] for i in inputs], table["classes"])
            channels.append(cout)
            self.inputs.append(inputs)
            layers.append(layer)
        self.layers = nn.ModuleList(layers)
        self.kinds = [spec["kind"] for spec in table["layers"]]

    def forward(self, x):
        outputs = []
        for n, layer in enumerate(self.layers):
            inputs = [outputs[i] for i in self.inputs[n]] if n else [x]
            if self.kinds[n] == "concat":
                outputs.append(torch.cat(inputs, 1))
            elif self.kinds[n] == "detect":
                return layer(inputs)
            else:
                outputs.append(layer(inputs[0]))

    def fold(self):
        for module in list(self.modules()):
            if isinstance(module, (Conv, RepConv)):
                module.fold()


def best_milliseconds(run):
    run()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, (time.perf_counter() - start) * 1e3)
    return best


def main():
    edge, batch, threads = (int(a) for a in sys.argv[1:4])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net = Network(json.load(sys.stdin))
    pixels = torch.rand(batch, 3, edge, edge)

    def train():
        net.zero_grad(set_to_none=True)
        sum(level.square().mean() for level in net(pixels)).backward()

    times = [best_milliseconds(train)]
    net.eval()
    with torch.no_grad():
        times.append(best_milliseconds(lambda: net(pixels)))
        net.fold()
        times.append(best_milliseconds(lambda: net(pixels)))
    print(" ".join(f"{t:.1f}" for t in times))


main()
