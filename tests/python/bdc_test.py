"""The Python package: the program's own bits, other people's tables, wrong input, resuming."""
import ast
import copy
import doctest
import importlib
import inspect
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings

import numpy as np

import bdc
from bdc import DataError

HOST = os.environ["BDC_HOST"]


def table(images=40, annotators=4, seed=1):
    """A crowd with misses, noise and confusions, as a dict of columns."""
    draw = np.random.default_rng(seed)
    names = ["cat", "dog", "cow"]
    rows = {name: [] for name in ("image", "annotator", "label", "x1", "y1", "x2", "y2")}
    for i in range(images):
        for _ in range(draw.integers(0, 5)):
            x, y, w, h = draw.uniform(0, 300), draw.uniform(0, 200), draw.uniform(20, 90), draw.uniform(20, 90)
            true = draw.integers(3)
            for k in range(annotators):
                if draw.random() < 0.15:
                    continue
                given = true if draw.random() < 0.85 else draw.integers(3)
                corners = np.array([x, y, x + w, y + h]) + draw.normal(0, 1 + k, 4)
                for name, value in zip(rows, [f"img{i}.png", f"w{k}", names[given], *corners]):
                    rows[name].append(value)
    return rows


def detections(crowd, seed=2):
    """A detector's results near the annotations, as COCO lists them."""
    draw = np.random.default_rng(seed)
    out = []
    for n in range(0, len(crowd), 3):
        x1, y1, x2, y2 = crowd.boxes[n] + draw.normal(0, 1, 4)
        probs = draw.dirichlet(np.ones(crowd.num_classes)).tolist()
        out.append({"image_id": crowd.image_ids[crowd.image[n]], "category_id": crowd.class_ids[int(np.argmax(probs))],
                    "bbox": [x1, y1, x2 - x1, y2 - y1], "score": float(draw.uniform(0.2, 1)), "class_probs": probs})
    return out


class Quiet(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def host(self, *words):
        run = subprocess.run([HOST, *words], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)


class TheProgramsBits(Quiet):
    def setUp(self):
        super().setUp()
        import json
        bdc.Crowd.from_table(table()).write(self.path("crowd.json"))
        self.crowd = bdc.Crowd.read(self.path("crowd.json"))
        with open(self.path("predictions.json"), "w", encoding="utf-8") as file:
            json.dump(detections(self.crowd), file)
        before = bdc.Crowd.from_table(table(seed=5))
        bdc.aggregate(before).annotators.save(self.path("prior.json"))

    def compare(self, method, extra, **given):
        ours, theirs = self.path("ours.json"), self.path("theirs.json")
        for file in (ours, theirs):
            if os.path.exists(file):
                os.remove(file)
        self.host("aggregate", self.path("crowd.json"), "-q", "-m", method, "-o", theirs, *extra)
        for threads in (1, 2):
            bdc.aggregate(self.crowd, method, threads=threads, **given).to_coco(ours)
            with open(ours, "rb") as a, open(theirs, "rb") as b:
                self.assertEqual(a.read(), b.read(), f"{method} {given}")

    def test_every_method_without_and_with_predictions(self):
        for method in bdc.methods():
            with self.subTest(method=method):
                self.compare(method, [])
                self.compare(method, ["--predictions", self.path("predictions.json")],
                             predictions=self.path("predictions.json"))

    def test_profiles_and_options(self):
        for profile in ("absence_aware", "paper", "reference"):
            self.compare("bdc", ["--option", f"profile={profile}"], profile=profile)

    def test_prior(self):
        self.compare("bdc", ["--prior", self.path("prior.json")], prior=self.path("prior.json"))
        self.compare("bdc", ["--prior", self.path("prior.json")], prior=bdc.read_annotators(self.path("prior.json")))

    def test_annotators_file(self):
        self.host("aggregate", self.path("crowd.json"), "-q", "--annotators", self.path("theirs.json"))
        bdc.aggregate(self.crowd).annotators.save(self.path("ours.json"))
        with open(self.path("ours.json"), "rb") as a, open(self.path("theirs.json"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_predictions_as_arrays_are_those_of_the_file(self):
        import json
        with open(self.path("predictions.json"), encoding="utf-8") as file:
            rows = json.load(file)
        boxes = np.array([r["bbox"] for r in rows])
        boxes[:, 2:] += boxes[:, :2]
        arrays = {"image": [r["image_id"] for r in rows], "boxes": boxes, "scores": [r["score"] for r in rows],
                  "class_probs": [r["class_probs"] for r in rows]}
        by_file = bdc.aggregate(self.crowd, predictions=self.path("predictions.json"))
        for given in (arrays, rows):
            result = bdc.aggregate(self.crowd, predictions=given)
            np.testing.assert_allclose(result.boxes, by_file.boxes, rtol=1e-12)
            # Corners from x + w differ in the last bit; class probabilities are kept in single precision.
            np.testing.assert_allclose(result.class_probs, by_file.class_probs, rtol=4 * np.finfo(np.float32).eps)


class Tables(Quiet):
    def same(self, a, b):
        self.assertEqual(a.image_ids, b.image_ids)
        self.assertEqual(a.annotator_ids, b.annotator_ids)
        for name in ("boxes", "label", "image", "annotator"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))

    def test_pandas_dicts_and_numpys_texts_are_the_same(self):
        import pandas
        plain = table()
        crowd = bdc.Crowd.from_table(plain)
        self.same(crowd, bdc.Crowd.from_table(pandas.DataFrame(plain)))
        self.same(crowd, bdc.Crowd.from_table(pandas.DataFrame(plain).astype({"label": "category", "image": "string"})))
        self.same(crowd, bdc.Crowd.from_table({name: np.array(column) for name, column in plain.items()}))

    def test_crowd_kits_names_and_ones_own(self):
        plain = table()
        crowd = bdc.Crowd.from_table(plain)
        kit = {{"image": "task", "annotator": "worker"}.get(name, name): column for name, column in plain.items()}
        self.same(crowd, bdc.Crowd.from_table(kit))
        own = {"photo" if name == "image" else name: column for name, column in plain.items()}
        self.same(crowd, bdc.Crowd.from_table(own, columns={"image": "photo"}))

    def test_order_of_rows_inside_an_image_stays_and_images_are_sorted(self):
        crowd = bdc.Crowd.from_table({"image": [2, 1, 2, 1], "annotator": [1, 1, 2, 2], "label": ["a"] * 4,
                                      "x1": [0, 1, 2, 3], "y1": [0] * 4, "x2": [9] * 4, "y2": [9] * 4})
        self.assertEqual(crowd.image_ids, [2, 1])
        self.assertEqual(crowd.boxes[:, 0].tolist(), [0, 2, 1, 3])

    def test_who_saw_what_classes_and_sizes(self):
        crowd = bdc.Crowd.from_table(table(), seen=[("img0.png", "w0"), ("empty.png", "w9")],
                                     classes=["cow", "dog", "cat", "bee"], sizes={"img0.png": (640, 480)})
        self.assertTrue(crowd.assignments_known)
        self.assertIn("empty.png", crowd.image_ids)
        self.assertIn("w9", crowd.annotator_ids)
        self.assertEqual(crowd.class_names, ["cow", "dog", "cat", "bee"])
        self.assertEqual(int(crowd.image_width[crowd.index_of("img0.png")]), 640)

    def test_views_are_no_copies_and_cannot_be_written(self):
        crowd = bdc.Crowd.from_table(table())
        self.assertTrue(np.shares_memory(crowd.boxes, crowd.boxes))
        result = bdc.aggregate(crowd)
        boxes = result.boxes
        del result, crowd
        self.assertTrue(np.isfinite(boxes).all())
        with self.assertRaises(ValueError):
            boxes[0, 0] = 1


class WrongInput(Quiet):
    def refuses(self, words, call):
        with self.assertRaises(DataError) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def changed(self, **columns):
        out = table()
        for name, change in columns.items():
            if change is None:
                del out[name]
            else:
                out[name] = change(list(out[name]))
        return out

    def test_arguments(self):
        crowd, truth = bdc.Crowd.from_table(table()), ObjectsOfOthers().coco()
        result = bdc.aggregate(crowd)
        for words, call in (
                ("Crowd(NoneType)", lambda: bdc.Crowd(None)), ("Crowd(dict)", lambda: bdc.Crowd(table())),
                ("is given twice", lambda: bdc.Crowd.from_table(table(), classes=["cat", "dog", "cow", "cat"])),
                ("sizes['img0.png']", lambda: bdc.Crowd.from_table(table(), sizes={"img0.png": 100})),
                ("columns: expected", lambda: bdc.Crowd.from_table(table(), columns="image")),
                ("threads", lambda: bdc.aggregate(crowd, threads=-1)), ("threads", lambda: bdc.Learner(crowd, threads=2.5)),
                ("threads", lambda: bdc.evaluate(result, truth, threads=-1)), ("method", lambda: bdc.aggregate(crowd, None)),
                ("ious", lambda: bdc.evaluate(result, truth, ious=[float("nan")])), ("ious", lambda: bdc.evaluate(result, truth, ious=2)),
                ("max_detections", lambda: bdc.evaluate(result, truth, max_detections=0.5)),
                ("min_existence", lambda: result.hard(float("nan"))), ("expected a path", lambda: result.to_coco(None)),
                ("expected a path", lambda: result.annotators.save(3)), ("Crowd.from_table takes", lambda: bdc.Crowd.read(table())),
                ("class_names: expected a path", lambda: bdc.Crowd.read(self.path("x"), class_names=["a"])),
                ("xyxy", lambda: bdc.Crowd.from_detections({"x": {"a": types.SimpleNamespace(
                    xyxy=np.ones((4, 5)), confidence=None, class_id=[0] * 4, data={})}}, ["cat"]))):
            with self.subTest(words=words):
                self.refuses(words, call)

    def test_messages_speak_of_arguments(self):
        with open(self.path("x.txt"), "w", encoding="utf-8") as file:
            file.write("what is this")
        with self.assertRaises(DataError) as caught:
            bdc.Crowd.read(self.path("x.txt"))
        self.assertNotIn("--", str(caught.exception))
        with open(self.path("task.xml"), "w", encoding="utf-8") as file:
            file.write('<annotations><version>1.1</version><image id="0" name="a.png" width="64" height="48">'
                       '<box label="cat" occluded="0" xtl="1" ytl="1" xbr="9" ybr="9"/>'
                       '<polygon label="cat" occluded="0" points="1,1;9,1;9,9"/></image></annotations>')
        notes = bdc.Crowd.read(self.path("task.xml")).notes
        self.assertTrue(any("shapes_to_boxes=" in note for note in notes), notes)

    def test_the_limits_of_an_evaluation_reach_a_consensus(self):
        result, truth = bdc.aggregate(table()), self.path("truth.json")
        crowd = bdc.Crowd.from_table({**table(), "annotator": ["t"] * len(table()["label"])})
        crowd.write(truth, "coco")
        self.assertNotEqual(bdc.evaluate(result, truth)["AP"], bdc.evaluate(result, truth, ious=[0.9])["AP"])

    def test_tables(self):
        def put(value):
            return lambda column: [value] + column[1:]
        cases = [
            ("no column for the annotator", {"annotator": None}),
            ("not finite", {"x1": put(float("nan"))}),
            ("not finite", {"x2": put(float("inf"))}),
            ("negative width", {"x2": put(-500.0)}),
            ("expected numbers", {"x1": put("ten")}),
            ("a value is missing", {"image": put(None)}),
            ("a value is missing", {"label": put(float("nan"))}),
            ("different ids", {"image": lambda c: np.array(c[:-1] + [3], object)}),
            ("differ in length", {"label": lambda c: c[:-1]}),
            ("expected an id", {"annotator": lambda c: np.array([0.5] * len(c))}),
            ("not finite", {"x1": lambda c: np.ma.array(c, mask=[True] + [False] * (len(c) - 1))}),
            ("one value per row", {"x1": lambda c: 5}),
            ("an id is empty", {"annotator": put("")}),
        ]
        for words, columns in cases:
            with self.subTest(words=words, columns=list(columns)):
                self.refuses(words, lambda: bdc.Crowd.from_table(self.changed(**columns)))
        self.refuses("no rows", lambda: bdc.Crowd.from_table({name: [] for name in table()}))
        self.refuses("expected a table", lambda: bdc.Crowd.from_table(7))
        both = {**table(), "task": table()["image"]}
        self.refuses("may both be the image", lambda: bdc.Crowd.from_table(both))

    def test_files_and_methods(self):
        self.refuses("nothing.json", lambda: bdc.Crowd.read(self.path("nothing.json")))
        with self.assertRaises(ValueError):
            bdc.aggregate(table(), method="bcd")
        with self.assertRaises(ValueError):
            bdc.aggregate(table(), method="mv", no_such_option=1)
        with self.assertRaises(TypeError):
            bdc.Crowd.read(self.path("x"), no_such_option=1)

    def test_observe(self):
        learner = bdc.Learner(table())
        image = learner.crowd.image_ids[0]
        good = dict(boxes=[[0, 0, 9, 9]], scores=[0.5], class_probs=[[1, 0, 0]])
        for words, change in [("boxes", {"boxes": [[0, 0, 9]]}), ("scores", {"scores": [1.5]}),
                              ("scores", {"scores": [float("nan")]}), ("boxes[0]", {"boxes": [[9, 0, 0, 9]]}),
                              ("class_probs", {"class_probs": [[1, 0]]}), ("sum above 0", {"class_probs": [[0, 0, 0]]}),
                              ("class_probs[0][1]", {"class_probs": [[1, -1, 0]]})]:
            with self.subTest(words=words):
                self.refuses(words, lambda: learner.observe(image, **{**good, **change}))
        self.refuses("no image", lambda: learner.observe("unknown.png", **good))
        self.refuses("no class", lambda: learner.observe(image, [[0, 0, 9, 9]], [0.5], labels=["bee"]))
        self.assertGreaterEqual(len(learner.observe(image, **good)), 1)

    def test_random_arrays_never_crash(self):
        draw = np.random.default_rng(3)
        crowd = bdc.Crowd.from_table(table(10))
        learner = bdc.Learner(crowd)
        kinds = [np.float64, np.float32, np.int64, np.int8, bool, object, "U3", np.complex128]
        for _ in range(3000 if os.environ.get("BDC_TEST_SLOW") else 300):
            def anything():
                shape = tuple(draw.integers(0, 4, draw.integers(0, 4)))
                values = draw.choice([0, 1, -1, 0.5, np.nan, np.inf, 1e300], shape)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return np.asarray(values).astype(kinds[draw.integers(len(kinds))], copy=False)
            for call in (lambda: learner.observe(crowd.image_ids[0], anything(), anything(), anything()),
                         lambda: bdc.Crowd.from_table({name: anything() for name in table(1)}),
                         lambda: bdc.aggregate(crowd, "mv", predictions={"image": anything(), "boxes": anything(),
                                                                        "scores": anything(), "labels": anything()})):
                try:
                    call()
                except (ValueError, TypeError, RuntimeError, OverflowError):
                    pass


class Online(Quiet):
    def epoch(self, learner, images, draw):
        out = []
        for image in images:
            n = draw.integers(0, 3)
            xy = draw.uniform(0, 200, (n, 2))
            targets = learner.observe(image, np.hstack([xy, xy + 40]), draw.uniform(0.1, 1, n),
                                      draw.dirichlet(np.ones(3), n).reshape(n, 3))
            out.append((targets.boxes.copy(), targets.class_probs.copy(), targets.weight.copy()))
        return out

    def test_resumed_in_the_middle_of_an_epoch_is_the_same(self):
        for method, options in (("bdc", {}), ("bdc", {"profile": "paper"}), ("crowd_rcnn", {})):
            with self.subTest(method=method, options=options):
                crowd = bdc.Crowd.from_table(table())
                whole, first = bdc.Learner(crowd, method, **options), bdc.Learner(crowd, method, **options)
                half = crowd.num_images // 2
                a, b = np.random.default_rng(1), np.random.default_rng(1)
                for learner, draw in ((whole, a), (first, b)):
                    self.epoch(learner, crowd.image_ids, draw)
                    learner.finish_epoch()
                    self.epoch(learner, crowd.image_ids[:half], draw)
                state = pickle.loads(pickle.dumps(first.state_dict()))
                resumed = bdc.Learner(bdc.Crowd.from_table(table()), method, **options)
                resumed.load_state_dict(state)
                for learner, draw in ((whole, a), (resumed, b)):
                    self.epoch(learner, crowd.image_ids[half:], draw)
                    learner.finish_epoch()
                one, two = (self.epoch(learner, crowd.image_ids, np.random.default_rng(9)) for learner in (whole, resumed))
                for x, y in zip(one, two):
                    for left, right in zip(x, y):
                        np.testing.assert_array_equal(left, right)
                with self.assertRaises(DataError):
                    bdc.Learner(crowd, "mv").load_state_dict(state)

    def test_objects_of_others(self):
        crowd = bdc.Crowd.from_table(table(), sizes={f"img{i}.png": (640, 480) for i in range(40)})
        image = crowd.image_ids[0]
        arrays = bdc.Learner(crowd).observe(image, [[64, 48, 128, 96]], [0.5], labels=["cat"])
        vision = types.SimpleNamespace(xyxy=np.array([[64, 48, 128, 96]]), confidence=np.array([0.5]),
                                       class_id=np.array([crowd.class_names.index("cat")]), data={})
        one = types.SimpleNamespace(bounding_box=[0.1, 0.1, 0.1, 0.1], confidence=0.5, label="cat")
        for found in (vision, types.SimpleNamespace(detections=[one])):
            np.testing.assert_allclose(bdc.Learner(crowd).observe(image, found).boxes, arrays.boxes, rtol=1e-12)


class OneImage(Quiet):
    """What observe gives."""

    def test_knows_its_image_and_is_not_written(self):
        learner = bdc.Learner(table())
        image = learner.crowd.image_ids[5]
        targets = learner.observe(image)
        self.assertGreater(len(targets), 0)
        self.assertEqual(set(targets.image), {5})
        self.assertEqual(set(targets.to_table()["image"]), {image})
        self.assertEqual(targets.rows_of(image), slice(0, len(targets)))
        self.assertEqual(list(targets.hard()), [image])
        self.assertEqual(set(targets.strong(0.1).image), {5})
        for call in (lambda: targets.rows_of(learner.crowd.image_ids[0]), lambda: targets.to_coco(self.path("x.json")),
                     lambda: targets.write(self.path("x"), "cvat"), lambda: learner.observe(image)):
            with self.assertRaises(DataError):
                call()
        other = bdc.Crowd.from_table(table(3))
        with self.assertRaises(ValueError):
            bdc._core.write_consensus(targets._core, other._core, self.path("x"), "cvat")

    def test_boxes_that_clipping_left_without_area_say_nothing(self):
        crowd = bdc.Crowd.from_table(table())
        good = [[64, 48, 128, 96]], [0.5], [[1, 0, 0]]
        more = [[64, 48, 128, 96], [5, 5, 5, 9], [0, 0, 1e-200, 1e-200]], [0.5, 0.9, 1.0000001], [[1, 0, 0]] * 3
        image = crowd.image_ids[0]
        one, two = (bdc.Learner(crowd).observe(image, *given) for given in (good, more))
        np.testing.assert_array_equal(one.boxes, two.boxes)
        arrays = [{"image": [image] * len(b), "boxes": b, "scores": [min(1, s) for s in scores], "class_probs": p}
                  for b, scores, p in (good, more)]
        np.testing.assert_array_equal(*(bdc.aggregate(crowd, predictions=a).boxes for a in arrays))
        with self.assertRaises(DataError):
            bdc.Learner(crowd).observe(image, [[0, 0, 1e200, 1e200]], [0.9], [[1, 0, 0]])

    def test_states_of_other_crowds_and_damaged_ones_are_refused(self):
        crowd = bdc.Crowd.from_table(table())
        state = bdc.Learner(crowd).state_dict()
        swapped = {name: list(reversed(column)) for name, column in table().items()}
        damaged = dict(state, state=state["state"][:40] + ("A" if state["state"][40] != "A" else "B") + state["state"][41:])
        for words, labels, given in (("another crowd", swapped, state), ("damaged", crowd, damaged),
                                     ("expected the state", crowd, {"bdc_learner": 1}), ("damaged", crowd, dict(state, state=None))):
            with self.subTest(words=words), self.assertRaises(DataError) as caught:
                bdc.Learner(labels).load_state_dict(given)
            self.assertIn(words, str(caught.exception))


class Copies(Quiet):
    def test_everything_can_be_pickled(self):
        crowd = bdc.Crowd.from_table(table(), sizes={"img0.png": (640, 480)})
        again = pickle.loads(pickle.dumps(crowd))
        self.assertEqual(again.digest, crowd.digest)
        self.assertEqual((again.image_ids, again.annotator_names, again.class_names), (crowd.image_ids, crowd.annotator_names, crowd.class_names))
        np.testing.assert_array_equal(again.image_width, crowd.image_width)
        result = bdc.aggregate(crowd)
        copied = copy.deepcopy(result)
        for name in ("boxes", "class_probs", "weight", "score", "existence", "located", "box_std", "image"):
            np.testing.assert_array_equal(getattr(copied, name), getattr(result, name), name)
        self.assertEqual(copied.annotators.names, result.annotators.names)
        self.assertEqual(len(copy.deepcopy(bdc.BDC().fit(crowd)).targets_), len(result))
        learner = bdc.Learner(crowd)
        learner.observe(crowd.image_ids[0])
        other = pickle.loads(pickle.dumps(learner))
        for each in (learner, other):
            each.finish_epoch()
        self.assertEqual(learner.state_dict(), other.state_dict())
        state = crowd._core.__getstate__()
        for broken in (("9.9.9",) + state[1:], state[:-1], state[:5] + (b"x",) + state[6:]):
            with self.assertRaises((DataError, RuntimeError)):
                bdc._core.Crowd.__new__(bdc._core.Crowd).__setstate__(broken)

    def test_a_prior_from_memory_is_that_from_a_file(self):
        learnt = bdc.aggregate(table(seed=7)).annotators
        learnt.save(self.path("learnt.json"))
        one, two = bdc.aggregate(table(), prior=learnt), bdc.aggregate(table(), prior=self.path("learnt.json"))
        np.testing.assert_array_equal(one.boxes, two.boxes)
        np.testing.assert_array_equal(one.class_probs, two.class_probs)


class WhoSawWhat(Quiet):
    def test_tables_pairs_and_rows_without_a_box_say_the_same(self):
        import pandas
        boxes = {"image": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": ["cat"] * 3,
                 "x1": [0, 1, 5], "y1": [0, 1, 5], "x2": [9, 9, 9], "y2": [9, 9, 9]}
        pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "x")]
        seen = {"image": [p[0] for p in pairs], "annotator": [p[1] for p in pairs]}
        whole = {name: list(column) for name, column in boxes.items()}
        for image, annotator in pairs[3:]:
            for name, value in (("image", image), ("annotator", annotator), ("label", None), ("x1", np.nan), ("y1", np.nan),
                                ("x2", np.nan), ("y2", np.nan)):
                whole[name].append(value)
        crowds = [bdc.Crowd.from_table(boxes, seen=given) for given in (pairs, seen, pandas.DataFrame(seen))]
        crowds += [bdc.Crowd.from_table(whole), bdc.Crowd.from_table(pandas.DataFrame(whole))]
        for crowd in crowds:
            self.assertEqual((crowd.image_ids, crowd.annotator_ids), (["a", "b", "c"], ["x", "y"]))
            self.assertEqual(list(zip(crowd.assigned_image.tolist(), crowd.assigned_annotator.tolist())),
                             [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)])
        self.assertIn("2 rows have no corners", crowds[-1].notes[0])
        for words, given in (("seen[0]: expected a pair", ["ax"]), ("different ids", [(1, "x")]), ("a value is missing", [(None, "x")]),
                             ("seen[0]: expected a pair", [5]), ("no column for the annotator", {"image": ["a"]})):
            with self.subTest(given=given), self.assertRaises(DataError) as caught:
                bdc.Crowd.from_table(boxes, seen=given)
            self.assertIn(words, str(caught.exception))

    def test_persons_are_named_by_id_where_ids_are_numbers(self):
        rows = table()
        rows["annotator"] = [1 + int(name[1:]) for name in rows["annotator"]]
        learnt = bdc.aggregate(rows).annotators
        self.assertFalse(np.array_equal(learnt.confusion(1), learnt.confusion(4)))
        np.testing.assert_array_equal(learnt.confusion(np.int64(1)), learnt.confusion("1"))
        for wrong in (0, 5, None, 2.5, "nobody"):
            with self.assertRaises(DataError):
                learnt.confusion(wrong)


class ObjectsOfOthers(Quiet):
    """COCO's dicts, and detections by their attributes."""

    def coco(self, move=0.0):
        return {"images": [{"id": n, "file_name": f"{n}.png", "width": 100, "height": 80} for n in (1, 2)],
                "categories": [{"id": 3, "name": "cat"}, {"id": 9, "name": "dog"}],
                "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [10 + move, 10, 30, 40]},
                                {"id": 2, "image_id": 1, "category_id": 9, "bbox": np.array([60, 10 + move, 20, 40])}]}

    def test_cocos_dicts(self):
        by_person = {"ann": self.coco(), "b/ob": self.coco(1.0), 7: types.SimpleNamespace(dataset=self.coco(2.0))}
        crowd = bdc.Crowd.of(by_person)
        self.assertEqual(crowd.annotator_ids, ["ann", "b/ob", 7])
        self.assertTrue(crowd.assignments_known)
        self.assertEqual((crowd.num_images, crowd.num_annotations, crowd.class_ids), (2, 6, [3, 9]))
        self.assertEqual(len(crowd.assigned_image), 6)  # the second image, too, where nobody drew
        both = self.coco()
        both["annotations"] = [dict(a, annotator_id=k) for k in ("x", "y") for a in both["annotations"]]
        for n, annotation in enumerate(both["annotations"]):
            annotation["id"] = n
        self.assertEqual(bdc.aggregate(both).crowd.annotator_ids, ["x", "y"])
        consensus = bdc.aggregate(by_person)
        self.assertGreater(bdc.evaluate(consensus, self.coco())["AP50"], 0.99)
        for words, given in (("wrong: annotations[1]", {"wrong": {**self.coco(), "annotations": [{}, {"annotator_id": 4}]}}),
                             ("labels:", {"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 5}], "categories": []}),
                             ("bob: expected COCO's dict", {"ann": self.coco(), "bob": [1]})):
            with self.subTest(words=words), self.assertRaises(DataError) as caught:
                bdc.Crowd.from_coco(given)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn(tempfile.gettempdir(), str(caught.exception))

    def vision(self, boxes, scores=None, **more):
        return types.SimpleNamespace(xyxy=np.array(boxes, float).reshape(-1, 4), confidence=scores,
                                     class_id=np.zeros(len(boxes), int), data={}, **more)

    def fifty(self, boxes, confidence=None):
        return types.SimpleNamespace(detections=[types.SimpleNamespace(bounding_box=b, label="cat", confidence=confidence)
                                                 for b in boxes])

    def test_detections_per_annotator(self):
        sizes = {"a.png": (100, 80), "b.png": (100, 80)}
        vision = {k: {"a.png": self.vision([[10, 8, 40, 40]]), "b.png": self.vision([])} for k in ("ann", "bob")}
        fifty = {k: {"a.png": self.fifty([[0.1, 0.1, 0.3, 0.4]]), "b.png": self.fifty([])} for k in ("ann", "bob")}
        one, two = bdc.Crowd.from_detections(vision, classes=["cat"], sizes=sizes), bdc.Crowd.from_detections(fifty, sizes=sizes)
        for crowd in (one, two):
            self.assertEqual((crowd.num_images, crowd.num_annotations, len(crowd.assigned_image)), (2, 2, 4))
            np.testing.assert_allclose(crowd.boxes, [[10, 8, 40, 40]] * 2)
        alone, found = bdc.aggregate(one), {"a.png": self.vision([[12, 8, 42, 40]], np.array([0.9])), "b.png": self.vision([], np.empty(0))}
        arrays = {"image": ["a.png"], "boxes": [[12, 8, 42, 40]], "scores": [0.9], "labels": ["cat"]}
        with_detector = bdc.aggregate(one, predictions=found)
        self.assertFalse(np.array_equal(alone.boxes, with_detector.boxes))
        np.testing.assert_array_equal(with_detector.boxes, bdc.aggregate(one, predictions=arrays).boxes)
        for words, call in (("hand over classes", lambda: bdc.Crowd.from_detections(vision)),
                            ("has no size", lambda: bdc.Crowd.from_detections(fifty)),
                            ("from 0 to 0", lambda: bdc.Crowd.from_detections(
                                {"x": {"a": types.SimpleNamespace(xyxy=np.ones((1, 4)), confidence=None, class_id=[1], data={})}}, ["cat"])),
                            ("expected detections", lambda: bdc.Crowd.from_detections({"x": {"a": 3}})),
                            ("nobody has drawn", lambda: bdc.Crowd.from_detections({"x": {"a": self.vision([])}}, ["cat"])),
                            ("a confidence per box", lambda: bdc.aggregate(one, predictions={"a.png": self.vision([[0, 0, 9, 9]])}))):
            with self.subTest(words=words), self.assertRaises(DataError) as caught:
                call()
            self.assertIn(words, str(caught.exception))


LONG_WORK = """
import sys, warnings, numpy as np, bdc
warnings.simplefilter("ignore")
draw, rows = np.random.default_rng(1), 300000
xy, size = draw.uniform(0, 500, (rows, 2)), draw.uniform(5, 100, (rows, 2))
crowd = bdc.Crowd.from_table({"image": draw.integers(0, rows // 20, rows), "annotator": draw.integers(0, 1000, rows),
                              "label": draw.integers(0, 80, rows), "x1": xy[:, 0], "y1": xy[:, 1],
                              "x2": (xy + size)[:, 0], "y2": (xy + size)[:, 1]})
print("ready", flush=True)
try:
    getattr(bdc, sys.argv[1])(crowd)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


class CtrlC(unittest.TestCase):
    def test_stops_work_that_has_nothing_to_report_yet(self):
        for what in ("aggregate", "Learner"):
            with self.subTest(what=what), subprocess.Popen(
                    [sys.executable, "-c", LONG_WORK, what], stdout=subprocess.PIPE, text=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                time.sleep(0.5)  # the work takes many times longer
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.communicate(timeout=300)[0], "stopped\n")


class TheRest(Quiet):
    def test_docstrings(self):
        for module in [bdc] + [importlib.import_module(f"bdc.{m.name}") for m in pkgutil.iter_modules(bdc.__path__)]:
            self.assertEqual(doctest.testmod(module).failed, 0, module.__name__)

    def test_the_stub_has_what_the_package_has(self):
        with open(os.path.join(os.path.dirname(bdc.__file__), "__init__.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        stub = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(set(stub) | {"__version__"}, set(bdc.__all__))
        for name, node in stub.items():
            if isinstance(node, ast.FunctionDef):
                self.same_parameters(node, getattr(bdc, name))
                continue
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    own = inspect.getattr_static(getattr(bdc, name), member.name)
                    if not isinstance(own, property):
                        self.same_parameters(member, getattr(own, "__func__", own))

    def same_parameters(self, stub, function):
        given = stub.args
        names = [a.arg for a in given.posonlyargs + given.args + given.kwonlyargs]
        names += [a.arg for a in (given.vararg, given.kwarg) if a]
        self.assertEqual(sorted(names), sorted(inspect.signature(function).parameters), stub.name)

    def test_torch_is_not_imported(self):
        self.assertNotIn("torch", sys.modules)

    def test_results_as_tables_pages_and_plain_labels(self):
        result = bdc.BDC(threads=1).fit(table()).targets_
        self.assertEqual(len(result.to_table()), len(result))
        self.assertEqual(list(result.hard()), result.crowd.image_ids)
        self.assertTrue((result.strong(0.9).existence >= 0.9).all())
        self.assertIn("<svg", result._repr_html_())
        self.assertIn("w0", repr(result.annotators))
        np.testing.assert_allclose(result.annotators.confusion("w1").sum(1), 1)
        self.assertEqual(len(bdc.BDC("mv").fit_predict(table()).columns), 8)

    def test_report_by_the_program(self):
        page = bdc.report(table(), self.path("report.html"))
        self.assertGreater(os.path.getsize(page), 10000)
        with unittest.mock.patch.dict(os.environ, {"BDC_HOST": "", "PATH": ""}):
            with self.assertRaises(DataError):
                bdc.report(table(), self.path("other.html"))

    def test_validate(self):
        bdc.Crowd.from_table(table()).write(self.path("crowd.json"))
        self.assertEqual(bdc.validate(self.path("crowd.json"))["images"], bdc.Crowd.read(self.path("crowd.json")).num_images)

    def test_progress_and_stopping(self):
        calls = []
        bdc.aggregate(table(), progress=lambda *given: calls.append(given))
        self.assertTrue(calls)

        def stop(*_):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            bdc.aggregate(table(), progress=stop)

    def test_the_lines_of_the_readme_run(self):
        with open("README.md", encoding="utf-8") as file:
            lines = file.read().split("```python\n")[1].split("```")[0]
        bdc.Crowd.from_table(table()).write(self.path("crowd.json"))
        self.go_to(self.folder)
        exec(lines, {"print": lambda *_: None})
        self.assertTrue(os.path.exists("consensus.json"))

    def go_to(self, folder):
        here = os.getcwd()
        os.chdir(folder)
        self.addCleanup(os.chdir, here)

    def test_the_notebook_runs(self):
        import json
        with open("examples/quickstart.ipynb", encoding="utf-8") as file:
            cells = [c for c in json.load(file)["cells"] if c["cell_type"] == "code"]
        lines = [line for cell in cells for line in "".join(cell["source"]).splitlines() if line.strip()]
        self.assertLess(len(lines), 20)
        names = {}
        self.go_to(self.folder)
        for cell in cells:
            exec("".join(cell["source"]), names)  # as Jupyter does, the displayed value aside
        self.assertTrue(os.path.exists("consensus.json"))


if __name__ == "__main__":
    import unittest.mock
    unittest.main()
