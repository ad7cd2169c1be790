#!/usr/bin/env python3
"""torchvision's Faster R-CNN trained in Python on a simulated crowd: labels as they are, majority vote, and BDC.

usage: torchvision_frcnn.py [--images N] [--epochs N] [--seed N] [--preset voc-full] [--methods na,mv,bdc]

Needs torch, torchvision, numpy, bdc, and bdc-host on PATH (or its path in BDC_HOST), which draws the images. Prints the
AP of a test set and of the labels that the last epoch was trained on.
"""
import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
import torch
from torch import nn
from torchvision.io import read_image
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator

import bdc
from bdc.integrations import torchvision as adapter

SIZE = 96


def detector(classes):
    """A Faster R-CNN small enough for a processor: five convolutions, regions pooled from one map."""
    def block(inputs, outputs, stride):
        return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU()]
    body = nn.Sequential(*block(3, 32, 2), *block(32, 64, 2), *block(64, 64, 1), *block(64, 96, 2), *block(96, 96, 1))
    body.out_channels = 96
    return FasterRCNN(body, 1 + classes, min_size=SIZE, max_size=SIZE, image_mean=[0.5] * 3, image_std=[0.25] * 3,
                      rpn_anchor_generator=AnchorGenerator(((12, 24, 48),), ((0.5, 1.0, 2.0),)), rpn_batch_size_per_image=64,
                      rpn_pre_nms_top_n_train=300, rpn_post_nms_top_n_train=100, rpn_pre_nms_top_n_test=200,
                      rpn_post_nms_top_n_test=60, box_batch_size_per_image=64, box_score_thresh=0.01)


def draw(folder, name, images, seed, host, preset="voc-full"):
    """Images, the crowd's labels and the truth in files."""
    crowd, truth = os.path.join(folder, name + ".json"), os.path.join(folder, name + "_truth.json")
    subprocess.run([host, "synth", "--shapes", str(images), "--classes", "4", "--preset", preset, "--seed", str(seed), "-q",
                    "-o", crowd, "--write-images", os.path.join(folder, name), "--write-truth", truth], check=True)
    return crowd, truth


def load(folder, file):
    """{id: image} of a COCO file."""
    with open(file, encoding="utf-8") as text:
        return {image["id"]: read_image(os.path.join(folder, image["file_name"]))[:3].float() / 255
                for image in json.load(text)["images"]}


class Training:
    """One run, a step at a time, so that it can be saved anywhere. method: na (every annotation is a label), mv, bdc, ..."""

    def __init__(self, crowd_file, images, method, seed=0, batch=4, lr=0.02, warmup=2):
        torch.manual_seed(seed)
        self.images, self.method, self.batch, self.warmup = images, method, batch, warmup
        self.crowd = bdc.Crowd.read(crowd_file)
        self.model = adapter.soften(detector(self.crowd.num_classes))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
        self.learner = bdc.Learner(self.crowd) if method == "bdc" else None
        self.labels = bdc.aggregate(self.crowd, method) if method not in ("na", "bdc") else None
        self.epoch, self.order, self.position = 0, [], 0

    def targets(self, pixels, ids):
        if self.learner is not None:
            return adapter.targets(self.model, self.learner, pixels, ids, warm=self.epoch < self.warmup)
        if self.labels is not None:
            return [adapter.as_target(self.labels, self.labels.rows_of(name)) for name in ids]
        out = []
        for name in ids:
            rows = np.where(self.crowd.image == self.crowd.index_of(name))[0]
            out.append({"boxes": torch.tensor(self.crowd.boxes[rows], dtype=torch.float32).reshape(-1, 4),
                        "labels": torch.tensor(self.crowd.label[rows], dtype=torch.int64) + 1})
        return out

    def step(self):
        if not self.order:
            self.order = [self.crowd.image_ids[n] for n in torch.randperm(self.crowd.num_images).tolist()]
        ids = self.order[self.position:self.position + self.batch]
        pixels = [self.images[name] for name in ids]
        self.model.train()
        loss = sum(self.model(pixels, self.targets(pixels, ids)).values())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 10)
        self.optimizer.step()
        self.position += self.batch
        if self.position >= len(self.order):
            self.order, self.position, self.epoch = [], 0, self.epoch + 1
            if self.learner is not None:
                self.learner.finish_epoch()
        return float(loss)

    def state_dict(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "random": torch.get_rng_state(),
                "learner": self.learner.state_dict() if self.learner else None,
                "place": (self.epoch, list(self.order), self.position)}

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if self.learner is not None:
            self.learner.load_state_dict(state["learner"])
        self.epoch, self.order, self.position = state["place"]

    def train(self, epochs, say=lambda line: None):
        total = 0.0
        while self.epoch < epochs:
            before = self.epoch
            total += self.step()
            if self.epoch > before:
                say(f"{self.method} epoch {self.epoch}/{epochs}")
        return self

    @torch.no_grad()
    def results(self, images):
        """COCO's list of detections."""
        self.model.eval()
        out = []
        for name, pixels in images.items():
            found = self.model([pixels])[0]
            for (x1, y1, x2, y2), label, score in zip(found["boxes"].tolist(), found["labels"].tolist(), found["scores"].tolist()):
                out.append({"image_id": name, "category_id": self.crowd.class_ids[label - 1],
                            "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score})
        return out

    def label_results(self):
        """What the last epoch was trained on, as COCO's list."""
        out = []
        for name, pixels in self.images.items():
            if self.learner is not None:
                boxes, scores, probs = adapter.detect(self.model, [pixels])[0]
                t = self.learner.observe(name, boxes, scores, probs)
                rows = slice(None)
            elif self.labels is not None:
                t, rows = self.labels, self.labels.rows_of(name)
            else:
                rows = np.where(self.crowd.image == self.crowd.index_of(name))[0]
                boxes, labels, scores = self.crowd.boxes[rows], self.crowd.label[rows], np.ones(len(rows))
            if self.method != "na":
                boxes, labels, scores = t.boxes[rows], t.label[rows], t.score[rows]
            for (x1, y1, x2, y2), label, score in zip(boxes.tolist(), labels.tolist(), scores.tolist()):
                out.append({"image_id": name, "category_id": self.crowd.class_ids[label],
                            "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score})
        return out


def main():
    parser = argparse.ArgumentParser(description="Faster R-CNN in Python on a simulated crowd.")
    parser.add_argument("--images", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", default="voc-full", help="the crowd, one of bdc-host synth's")
    parser.add_argument("--methods", default="na,mv,bdc")
    given = parser.parse_args()
    host = os.environ.get("BDC_HOST", "bdc-host")
    with tempfile.TemporaryDirectory() as folder:
        crowd, truth = draw(folder, "train", given.images, given.seed + 1, host, given.preset)
        _, test_truth = draw(folder, "test", 100, given.seed + 1001, host)
        images, test = load(os.path.join(folder, "train"), crowd), load(os.path.join(folder, "test"), test_truth)
        print("method   test AP50     AP   labels AP", flush=True)
        for method in given.methods.split(","):
            run = Training(crowd, images, method, given.seed).train(given.epochs)
            on_test, labels = bdc.evaluate(run.results(test), test_truth), bdc.evaluate(run.label_results(), truth)
            print(f"{method:<8} {on_test['AP50']:9.3f} {on_test['AP']:6.3f} {labels['AP']:11.3f}", flush=True)


if __name__ == "__main__":
    main()
