"""bdc.integrations: the soft Faster R-CNN against torchvision's own, resuming, and the adapters called in the order in
which their frameworks call them. What was read, and of which version, stands with each class."""
import importlib.util
import json
import os
import pickle
import sys
import tempfile
import types
import unittest
import warnings

import numpy as np
import torch
import torchvision

import bdc
from bdc import DataError
from bdc.integrations import EpochLabels
from bdc.integrations import detectron2, lightning, mmengine, ultralytics
from bdc.integrations import torchvision as adapter

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
spec = importlib.util.spec_from_file_location("example", os.path.join(ROOT, "examples/torchvision_frcnn.py"))
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


def crowd(images=6, annotators=3, seed=1):
    """Every image has one cat left and one dog right, drawn by all; file names in a folder, size 100 x 80."""
    draw = np.random.default_rng(seed)
    rows = {name: [] for name in ("image", "annotator", "label", "x1", "y1", "x2", "y2", "image_width", "image_height")}
    for i in range(images):
        for name, box in (("cat", [10, 20, 30, 50]), ("dog", [60, 20, 90, 60])):
            for k in range(annotators):
                values = [f"pictures/{i}.png", f"w{k}", name, *(np.array(box) + draw.normal(0, 0.5, 4)), 100, 80]
                for column, value in zip(rows, values):
                    rows[column].append(value)
    return bdc.Crowd.from_table(rows)


def found(n=6, scores=0.9):
    """Detections of the two objects, and of a third that nobody drew, as EpochLabels.relabel takes them."""
    for i in range(n):
        yield (f"/data/pictures/{i}.png", np.array([[10, 20, 30, 50], [60, 20, 90, 60.0]]), np.array([scores, scores]), ["cat", "dog"])


class Quiet(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name


class SoftFasterRcnn(Quiet):
    """Against the torchvision that is installed."""

    def setUp(self):
        super().setUp()
        torch.manual_seed(3)
        self.images = [torch.rand(3, 96, 96), torch.rand(3, 80, 96)]
        self.hard = [{"boxes": torch.tensor([[10., 10, 40, 50], [50, 20, 90, 70]]), "labels": torch.tensor([1, 3])},
                     {"boxes": torch.tensor([[20., 20, 60, 60]]), "labels": torch.tensor([2])}]

    def losses(self, model, targets):
        torch.manual_seed(5)
        model.train()
        model.zero_grad()
        out = model(self.images, [dict(t) for t in targets])
        sum(out.values()).backward()
        return out, [p.grad.clone() for p in model.parameters()]

    def soft(self, weight=1.0):
        return [dict(t, class_probs=torch.nn.functional.one_hot(t["labels"] - 1, 3).float(),
                     weights=torch.full((len(t["labels"]),), weight)) for t in self.hard]

    def test_sure_targets_of_weight_one_are_torchvisions_own_losses(self):
        model = example.detector(3)
        theirs, their_gradients = self.losses(model, self.hard)
        for targets in (self.hard, self.soft()):
            ours, our_gradients = self.losses(adapter.soften(model), targets)
            self.assertEqual(set(ours), set(theirs))
            for name in theirs:
                self.assertAlmostEqual(float(ours[name]), float(theirs[name]), delta=1e-5 * abs(float(theirs[name])), msg=name)
            for a, b in zip(our_gradients, their_gradients):
                self.assertLessEqual(float((a - b).abs().max()), 1e-5 * (1 + float(b.abs().max())))

    def test_weights_reach_both_stages(self):
        model = adapter.soften(example.detector(3))
        full, _ = self.losses(model, self.soft(1.0))
        none, _ = self.losses(model, self.soft(0.0))
        for name in ("loss_box_reg", "loss_rpn_box_reg"):
            self.assertGreater(float(full[name]), 0)
            self.assertEqual(float(none[name]), 0)
        for name in ("loss_classifier", "loss_objectness"):
            self.assertLess(float(none[name]), float(full[name]))

    def test_soft_classes_mix_the_losses(self):
        model = adapter.soften(example.detector(3))
        mixed = self.soft()
        for t in mixed:
            t["class_probs"] = torch.full((len(t["labels"]), 3), 1 / 3)
        logits = model.roi_heads.box_predictor.cls_score
        torch.nn.init.zeros_(logits.weight)
        torch.nn.init.zeros_(logits.bias)
        out, _ = self.losses(model, mixed)
        self.assertAlmostEqual(float(out["loss_classifier"]), float(np.log(4)), places=5)
        self.assertLess(float(logits.bias.grad[1:].std()), 1e-6)  # all classes are pulled alike

    def test_without_targets_in_an_image(self):
        model = adapter.soften(example.detector(3))
        targets = self.soft()
        targets[1] = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64),
                      "class_probs": torch.zeros(0, 3), "weights": torch.zeros(0)}
        out, _ = self.losses(model, targets)
        self.assertTrue(all(torch.isfinite(v) for v in out.values()))

    def test_eval_is_untouched_and_the_mode_is_kept(self):
        model = example.detector(3).eval()
        with torch.no_grad():
            before = model(self.images)
            after = adapter.soften(model)(self.images)
        for a, b in zip(before, after):
            self.assertTrue(torch.equal(a["boxes"], b["boxes"]))
        for mode in (True, False):
            model.train(mode)
            for boxes, scores, probs in adapter.detect(model, self.images, min_score=0.0):
                self.assertEqual(model.training, mode)
                self.assertLessEqual(len(boxes), 100)
                self.assertTrue(torch.allclose(probs.sum(1), torch.ones(len(probs))))
                self.assertTrue((scores[:-1] >= scores[1:]).all())

    def test_other_models_are_refused(self):
        with self.assertRaisesRegex(DataError, "expected torchvision's Faster R-CNN, found Linear"):
            adapter.soften(torch.nn.Linear(1, 1))
        model = adapter.soften(example.detector(3))
        with self.assertRaisesRegex(DataError, "in all of them or in none"):
            self.losses(model, [self.soft()[0], self.hard[1]])

    def test_a_run_that_was_interrupted_has_the_same_bits(self):
        folder = self.folder
        file, _ = example.draw(folder, "train", 10, 4, os.environ["BDC_HOST"])
        images = example.load(os.path.join(folder, "train"), file)
        torch.set_num_threads(1)
        whole = example.Training(file, images, "bdc", warmup=1)
        for _ in range(8):
            whole.step()
        first = example.Training(file, images, "bdc", warmup=1)
        for _ in range(5):  # in the second epoch
            first.step()
        path = os.path.join(folder, "state.pt")
        torch.save(first.state_dict(), path)
        torch.manual_seed(99)
        second = example.Training(file, images, "bdc", seed=7, warmup=1)
        second.load_state_dict(torch.load(path))
        for _ in range(3):
            second.step()
        for name, value in whole.model.state_dict().items():
            self.assertTrue(torch.equal(value, second.model.state_dict()[name]), name)
        self.assertEqual(whole.learner.state_dict(), second.learner.state_dict())


class LabelsOfEpochs(Quiet):
    def test_relabel_publishes_to_copies(self):
        labels = EpochLabels(crowd(), min_existence=0.5)
        copy = pickle.loads(pickle.dumps(labels.view))  # what a worker that was spawned has
        self.assertEqual(len(copy["pictures/0.png"][0]), 2)
        before = copy["pictures/0.png"][0].copy()
        labels.relabel((image, boxes + 3, scores, names) for image, boxes, scores, names in found())
        self.assertTrue(np.array_equal(copy["pictures/0.png"][0], labels["pictures/0.png"][0]))
        self.assertFalse(np.array_equal(copy["pictures/0.png"][0], before))

    def test_classes_that_the_crowd_does_not_have_are_left_out(self):
        a, b = EpochLabels(crowd()), EpochLabels(crowd())
        a.relabel(found())
        b.relabel((image, np.vstack([boxes, [[0, 0, 9, 9]]]), np.append(scores, 0.5), names + ["car"])
                  for image, boxes, scores, names in found())
        self.assertTrue(np.array_equal(a["pictures/3.png"][0], b["pictures/3.png"][0]))

    def test_state(self):
        a, b = EpochLabels(crowd()), EpochLabels(crowd())
        a.relabel(found())
        b.load_state_dict(pickle.loads(pickle.dumps(a.state_dict())))
        self.assertTrue(np.array_equal(a["pictures/3.png"][0], b["pictures/3.png"][0]))
        a.relabel(found(scores=0.5))
        b.relabel(found(scores=0.5))
        self.assertTrue(np.array_equal(a["pictures/3.png"][0], b["pictures/3.png"][0]))
        json.dumps(a.state_dict())  # plain values: torch.load takes them with weights_only=True
        with self.assertRaisesRegex(DataError, "same crowd"):
            EpochLabels(crowd(images=3)).load_state_dict(a.state_dict())

    def test_images_are_found_by_longer_paths_and_doubt_is_an_error(self):
        labels = EpochLabels(crowd())
        self.assertEqual(labels.view.index_of("/mnt/pictures/2.png"), labels.view.index_of("pictures/2.png"))
        self.assertEqual(labels.view.index_of("2.png"), labels.view.index_of("pictures/2.png"))
        for other in ("pictures/77.png", "/mnt/val/2.png"):
            with self.assertRaisesRegex(DataError, "there is no image"):
                labels[other]
        rows = {"image": ["a/1.png", "b/1.png"] * 2, "annotator": ["x", "x", "y", "y"], "label": ["cat"] * 4,
                "x1": [0] * 4, "y1": [0] * 4, "x2": [9] * 4, "y2": [9] * 4}
        two = EpochLabels(bdc.Crowd.from_table(rows))
        self.assertEqual(two.view.index_of("/data/b/1.png"), two.view.index_of("b/1.png"))
        with self.assertRaisesRegex(DataError, "several images"):
            two["1.png"]

    def test_classes_are_tied_by_name(self):
        labels = EpochLabels(crowd())
        self.assertEqual(labels.numbers_of(["dog", "cow", "cat"]).tolist(), [2, 0])
        self.assertEqual(labels.numbers_of({5: "cat", 7: "dog"}).tolist(), [5, 7])
        with self.assertRaisesRegex(DataError, "the trainer has no class 'dog'"):
            labels.numbers_of(["cat"])

    def test_the_file_goes_with_its_owner(self):
        labels = EpochLabels(crowd())
        folder = labels._folder
        self.assertTrue(os.path.isdir(folder))
        del labels
        self.assertFalse(os.path.exists(folder))


class Ultralytics(Quiet):
    """Read from ultralytics/ultralytics at 00016300 (engine/trainer.py: callbacks on_train_start and on_train_epoch_start get the
    trainer; data/base.py: `labels` has im_file, shape, cls, bboxes, and get_image_and_label copies from it; data/build.py: reset).
    Not run with the real program."""

    def trainer(self):
        names = {0: "dog", 1: "cat"}
        dataset = types.SimpleNamespace(im_files=[f"/data/pictures/{i}.png" for i in range(6)], labels=[])
        for file in dataset.im_files:
            dataset.labels.append({"im_file": file, "shape": (80, 100), "cls": np.zeros((1, 1)), "bboxes": np.zeros((1, 4)),
                                   "segments": [], "keypoints": None, "normalized": True, "bbox_format": "xywh"})
        resets = []
        loader = types.SimpleNamespace(dataset=dataset, reset=lambda: resets.append(1))
        calls = {}
        trainer = types.SimpleNamespace(data={"names": names}, train_loader=loader, epoch=0, start_epoch=0, device="cpu",
                                        args=types.SimpleNamespace(imgsz=64), last=types.SimpleNamespace(exists=lambda: True),
                                        add_callback=lambda event, f: calls.setdefault(event, []).append(f))
        return trainer, calls, resets

    def test_labels_go_into_the_dataset_before_its_transforms(self):
        class YOLO:
            def __init__(self, weights):
                pass

            def predict(self, files, stream, verbose, imgsz, device, conf, iou, max_det):
                for _ in files:
                    yield types.SimpleNamespace(boxes=types.SimpleNamespace(
                        xyxy=torch.tensor([[12., 22, 32, 52], [62, 22, 92, 62]]), conf=torch.tensor([0.9, 0.9]),
                        cls=torch.tensor([1., 0.])))
        sys.modules["ultralytics"] = types.SimpleNamespace(YOLO=YOLO)
        self.addCleanup(sys.modules.pop, "ultralytics")
        trainer, calls, resets = self.trainer()
        ultralytics.attach(trainer, EpochLabels(crowd()))
        for f in calls["on_train_start"]:
            f(trainer)
        own = trainer.train_loader.dataset.labels[0]
        by_class = {int(c): box for c, box in zip(own["cls"].ravel(), own["bboxes"] * [100, 80, 100, 80])}
        self.assertEqual(set(by_class), {0, 1})
        np.testing.assert_allclose(by_class[1], [20, 35, 20, 30], atol=1)
        np.testing.assert_allclose(by_class[0], [75, 40, 30, 40], atol=1)
        before = own["bboxes"].copy()
        for epoch in (0, 1):
            trainer.epoch = epoch
            for f in calls["on_train_epoch_start"]:
                f(trainer)
            self.assertEqual(np.array_equal(own["bboxes"], before), epoch == 0)
        self.assertEqual(len(resets), 3)


class Detectron2(Quiet):
    """Read from facebookresearch/detectron2 0.6 at 02b5c4e2 (data/dataset_mapper.py deep-copies the dict and transforms
    `annotations`; engine/train_loop.py: after_step while iter is the step just done, state_dict of hooks by class name).
    Not run with the real program."""

    def test_mapper_and_hook(self):
        class HookBase:
            trainer = None
        sys.modules["detectron2"] = types.ModuleType("detectron2")
        sys.modules["detectron2.engine"] = types.SimpleNamespace(HookBase=HookBase)
        self.addCleanup(sys.modules.pop, "detectron2")
        self.addCleanup(sys.modules.pop, "detectron2.engine")
        labels, classes = EpochLabels(crowd()), ["dog", "cat"]
        mapper = detectron2.RelabelMapper(lambda d: d, labels, classes)
        given = {"file_name": "/data/pictures/1.png", "image_id": 1, "annotations": [{"bbox": [0, 0, 1, 1]}]}
        out = mapper(given)
        self.assertEqual(sorted((a["category_id"], a["bbox"][0] > 50) for a in out["annotations"]), [(0, True), (1, False)])
        self.assertEqual(out["annotations"][0]["bbox_mode"], 0)
        self.assertEqual(given["annotations"], [{"bbox": [0, 0, 1, 1]}])  # Detectron2's list of dicts is shared

        class Found:
            def __init__(self, boxes, scores, numbers):
                self.pred_boxes, self.scores, self.pred_classes = types.SimpleNamespace(tensor=boxes), scores, numbers

            def __getitem__(self, keep):
                return Found(self.pred_boxes.tensor[keep], self.scores[keep], self.pred_classes[keep])

        class Model(torch.nn.Module):
            def forward(self, batch):
                assert not self.training
                boxes = torch.tensor([[12., 22, 32, 52], [62, 22, 92, 62], [0, 0, 5, 5]])
                return [{"instances": Found(boxes, torch.tensor([0.9, 0.9, 0.01]), torch.tensor([1, 0, 0]))} for _ in batch]
        model = Model()
        loader = [[{"file_name": f"/data/pictures/{i}.png"}] for i in range(6)]
        hook = detectron2.relabel_hook(labels, loader, classes, period=3)
        hook.trainer = types.SimpleNamespace(model=model, max_iter=6, iter=0)
        changed = []
        for hook.trainer.iter in range(6):
            before = labels["pictures/1.png"][0].copy()
            hook.before_step()
            changed.append(not np.array_equal(before, labels["pictures/1.png"][0]))
            self.assertTrue(model.training)
        self.assertEqual(changed, [False, False, False, True, False, False])
        again = detectron2.relabel_hook(EpochLabels(crowd()), loader, classes, period=3)
        again.load_state_dict(hook.state_dict())


class MmEngine(Quiet):
    """Read from open-mmlab/mmengine 0.11.0rc0 at 25434293 (runner/loops.py: before_train_epoch, then before_train_iter with the
    batch of each step). The loop below is called in that order; scripts of MMDetection were not run."""

    class Sample(types.SimpleNamespace):
        pass

    def sample(self, number, **meta):
        instances = types.SimpleNamespace(bboxes=torch.zeros(1, 4), labels=torch.zeros(1, dtype=torch.int64))
        return self.Sample(metainfo={"img_path": f"/data/pictures/{number}.png", "img_shape": (160, 200), "ori_shape": (80, 100),
                                     "scale_factor": (2.0, 2.0), **meta}, gt_instances=instances)

    def test_boxes_are_mapped_as_the_image_was(self):
        labels = EpochLabels(crowd())
        numbers = labels.numbers_of(["dog", "cat"])
        cases = {
            "resized": ({}, [20, 40, 60, 100]),
            "flipped": ({"flip": True, "flip_direction": "horizontal"}, [140, 40, 180, 100]),
            "upside down": ({"flip": True, "flip_direction": "vertical"}, [20, 60, 60, 120]),
            "cut": ({"img_shape": (90, 90), "homography_matrix": np.array([[2, 0, -10], [0, 2, -20], [0, 0, 1.0]])}, [10, 20, 50, 80]),
        }
        for name, (meta, expected) in cases.items():
            with self.subTest(name):
                sample = self.sample(0, **meta)
                mmengine.put_labels(sample, labels, numbers)
                cats = sample.gt_instances.bboxes[sample.gt_instances.labels == 1]
                np.testing.assert_allclose(cats.numpy(), [expected], atol=2)
        self.assertEqual(len(sample.gt_instances.labels), 1)  # the dog is outside of what was cut
        with self.assertRaisesRegex(DataError, "homography_matrix"):
            mmengine.put_labels(self.sample(0, img_shape=(100, 100)), labels, numbers)

    def test_hook(self):
        class Hook:
            pass
        sys.modules["mmengine"] = types.ModuleType("mmengine")
        sys.modules["mmengine.hooks"] = types.SimpleNamespace(Hook=Hook)
        self.addCleanup(sys.modules.pop, "mmengine")
        self.addCleanup(sys.modules.pop, "mmengine.hooks")

        class Found(types.SimpleNamespace):
            def __getitem__(self, keep):
                return Found(bboxes=self.bboxes[keep], scores=self.scores[keep], labels=self.labels[keep])

        class Model(torch.nn.Module):
            def test_step(self, batch):
                assert not self.training
                boxes = torch.tensor([[12., 22, 32, 52], [62, 22, 92, 62]])
                return [types.SimpleNamespace(metainfo=s.metainfo, pred_instances=Found(
                    bboxes=boxes, scores=torch.tensor([0.9, 0.9]), labels=torch.tensor([1, 0]))) for s in batch["data_samples"]]
        labels = EpochLabels(crowd())
        loader = [{"data_samples": [self.sample(i)]} for i in range(6)]
        hook = mmengine.relabel_hook(labels, loader, ["dog", "cat"])
        with self.assertRaisesRegex(DataError, "counts iterations"):
            hook.before_train(types.SimpleNamespace(train_loop=types.SimpleNamespace(run_iter=None)))
        hook.before_train(types.SimpleNamespace(train_loop=types.SimpleNamespace(run_epoch=None)))
        runner = types.SimpleNamespace(epoch=0, model=Model())
        first = []
        for runner.epoch in range(2):
            hook.before_train_epoch(runner)
            batch = {"data_samples": [self.sample(0)]}
            hook.before_train_iter(runner, batch_idx=0, data_batch=batch)
            first.append(batch["data_samples"][0].gt_instances.bboxes[0])
        self.assertFalse(torch.equal(*first))
        checkpoint = {}
        hook.before_save_checkpoint(runner, checkpoint)
        hook.after_load_checkpoint(runner, checkpoint)


class Lightning(Quiet):
    """Read from Lightning-AI/pytorch-lightning at 7f0c3436 (loops/training_epoch_loop.py: callbacks' on_train_batch_start gets the
    very batch that the step gets). Not run with the real program."""

    def test_callback(self):
        class Callback:
            pass
        sys.modules["lightning"] = types.ModuleType("lightning")
        sys.modules["lightning.pytorch"] = types.SimpleNamespace(Callback=Callback)
        self.addCleanup(sys.modules.pop, "lightning")
        self.addCleanup(sys.modules.pop, "lightning.pytorch")
        labels, module = EpochLabels(crowd()), torch.nn.Linear(1, 1)
        callback = lightning.relabel_callback(labels, lambda m: [] if m.training else found())
        seen = []
        for epoch in range(2):
            trainer = types.SimpleNamespace(current_epoch=epoch)
            callback.on_train_epoch_start(trainer, module)
            batch = [torch.rand(3, 80, 100)], [{"image_id": "pictures/0.png", "boxes": torch.zeros(0, 4), "labels": torch.zeros(0)}]
            callback.on_train_batch_start(trainer, module, batch, 0)
            self.assertEqual(sorted(batch[1][0]["labels"].tolist()), [1, 2])
            seen.append(batch[1][0]["boxes"])
            self.assertTrue(module.training)
        self.assertFalse(torch.equal(*seen))
        callback.load_state_dict(callback.state_dict())


class Imports(unittest.TestCase):
    def test_nothing_is_imported_before_it_is_used(self):
        import subprocess
        code = ("import sys, bdc, bdc.integrations, bdc.integrations.ultralytics, bdc.integrations.detectron2, "
                "bdc.integrations.mmengine, bdc.integrations.lightning; "
                "print([m for m in ('torch', 'torchvision', 'ultralytics', 'pandas') if m in sys.modules])")
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((out.stdout, out.stderr), ("[]\n", ""))


if __name__ == "__main__":
    unittest.main()
