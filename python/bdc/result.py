"""What comes out: targets, and what is known of the annotators."""
import html

import numpy as np

from . import _core, inputs
from ._core import DataError


class Targets:
    """Objects of a consensus, sorted by image; a row of each array is an object.

    boxes (x1, y1, x2, y2 in pixels), class_probs, label (the most probable class), weight in a training loss, score,
    existence (the probability that the object is real), located (that it is real and the box in place), box_std, image.
    Where a method has no notion of existence, located or box_std, these are None. Arrays are views, not copies, but for
    image and label.

    >>> import bdc
    >>> table = {"image": ["a"] * 3, "annotator": ["x", "y", "z"], "label": ["cat"] * 3,
    ...          "x1": [0, 0, 1], "y1": [0, 1, 0], "x2": [10, 11, 10], "y2": [10, 10, 11]}
    >>> targets = bdc.aggregate(table)
    >>> targets.image_ids.tolist(), targets.label.tolist(), list(targets.hard())
    (['a'], [0], ['a'])
    >>> len(targets.strong(min_existence=0.5)), len(targets.to_table())
    (1, 1)
    """

    def __init__(self, core, crowd):
        self._core, self.crowd = core, crowd

    boxes = property(lambda self: self._core.boxes)
    class_probs = property(lambda self: self._core.class_probs)
    label = property(lambda self: self._core.label)
    weight = property(lambda self: self._core.weight)
    score = property(lambda self: self._core.score)
    existence = property(lambda self: self._core.existence)
    located = property(lambda self: self._core.located)
    box_std = property(lambda self: self._core.box_std)
    image = property(lambda self: self._core.image)

    def __len__(self):
        return len(self._core)

    @property
    def image_ids(self):
        """The id of each object's image."""
        ids = np.empty(self.crowd.num_images, dtype=object)
        ids[:] = self.crowd.image_ids
        return ids[self.image]

    def rows_of(self, image):
        """The rows of one image, by its id or file name."""
        n = self.crowd.index_of(image)
        return slice(int(self._core.begin[n]), int(self._core.begin[n + 1]))

    def strong(self, min_existence=0.0, min_score=0.0):
        """Only objects with at least these values."""
        _share(min_existence, "min_existence")
        _share(min_score, "min_score")
        return Targets(_core.strong_targets(self._core, min_existence, min_score), self.crowd)

    def hard(self, min_existence=0.5):
        """Plain labels for a trainer that knows neither soft classes nor weights: {image: (boxes, labels)}, with
        images that have no object. Methods without existence give all their objects."""
        _share(min_existence, "min_existence")
        kept = self.strong(min_existence) if self.existence is not None else self
        begin, boxes, labels = kept._core.begin, kept.boxes, kept.label
        return {image: (boxes[begin[n]:begin[n + 1]], labels[begin[n]:begin[n + 1]])
                for n, image in enumerate(self.crowd.image_ids)}

    def to_coco(self, path):
        """COCO's JSON with class_probs, weight, existence and box_std: what `bdc-host aggregate -o` writes."""
        _core.write_consensus(self._core, self.crowd._core, inputs.path_of(path), "coco")

    def write(self, path, format):
        """For a labelling program: cvat, label-studio, yolo, voc, ... Returns what the format cannot hold."""
        return _core.write_consensus(self._core, self.crowd._core, inputs.path_of(path), format).splitlines()

    def to_table(self):
        """A pandas DataFrame where pandas is there, else a dict of columns."""
        names = np.empty(self.crowd.num_classes, dtype=object)  # an id that is its own name stays what it was
        names[:] = [id if str(id) == name else name for id, name in zip(self.crowd.class_ids, self.crowd.class_names)]
        out = {"image": self.image_ids, "label": names[self.label]}
        for n, side in enumerate(("x1", "y1", "x2", "y2")):
            out[side] = self.boxes[:, n]
        for name in ("score", "weight", "existence", "located"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        return as_table(out)


class ImageTargets(Targets):
    """Targets of one image, as `Learner.observe` gives them."""

    def __init__(self, core, crowd, number):
        super().__init__(core, crowd)
        self._number = number

    image = property(lambda self: np.full(len(self), self._number, np.int32))

    def rows_of(self, image):
        if self.crowd.index_of(image) != self._number:
            raise DataError(f"these targets are of the image {self.crowd.image_ids[self._number]!r} alone")
        return slice(0, len(self))

    def strong(self, min_existence=0.0, min_score=0.0):
        return ImageTargets(super().strong(min_existence, min_score)._core, self.crowd, self._number)

    def hard(self, min_existence=0.5):
        kept = self.strong(min_existence) if self.existence is not None else self
        return {self.crowd.image_ids[self._number]: (kept.boxes, kept.label)}

    def to_coco(self, path):
        self.write(path, "coco")

    def write(self, path, format):
        raise DataError("targets of one image are not written; bdc.aggregate makes a consensus of all")


def _share(value, name):
    if not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
        raise DataError(f"{name}: expected a number from 0 to 1, found {value!r}")


def as_table(columns):
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


class Result(Targets):
    """The consensus of `aggregate`: Targets, and `annotators`."""

    def __init__(self, crowd, fitted, method):
        super().__init__(fitted.targets, crowd)
        self.method, self.warnings = method, list(fitted.warnings)
        self.rounds, self.converged, self.bound = fitted.rounds, fitted.converged, list(fitted.bound)
        self._posteriors = fitted.posteriors

    def __getstate__(self):
        state = dict(self.__dict__)
        state["_posteriors"] = None if self._posteriors is None else self._posteriors.text()
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self._posteriors is not None:
            self._posteriors = _core.parse_annotators(self._posteriors)

    @property
    def annotators(self):
        """What was learnt of each annotator."""
        if self._posteriors is None:
            raise DataError(f"the method '{self.method}' learns nothing about annotators; use method=\"bdc\"")
        return Annotators(self._posteriors)

    def __repr__(self):
        return f"Result of {self.method}: {len(self)} objects in {self.crowd.num_images} images"

    def _repr_html_(self):
        learnt = Annotators(self._posteriors)._repr_html_() if self._posteriors is not None else ""
        return f"<p>{html.escape(repr(self))}</p>{learnt}"


def _annotators_again(text):
    return Annotators(_core.parse_annotators(text))


class Annotators:
    """What is known of each annotator, with intervals that hold the figure with a probability of 90 %.

    `figures[name]` has the arrays mean, low and high: quality, recall, spurious (boxes per image), accuracy (of
    classes), box_noise, bias_... A mean is NaN where the labels do not tell.

    >>> import bdc
    >>> table = {"image": ["a"] * 3, "annotator": ["x", "y", "z"], "label": ["cat", "cat", "dog"],
    ...          "x1": [0, 0, 1], "y1": [0, 1, 0], "x2": [10, 11, 10], "y2": [10, 10, 11]}
    >>> annotators = bdc.aggregate(table).annotators
    >>> annotators.names, annotators.confusion("x").shape, sorted(annotators.figures["quality"])
    (['x', 'y', 'z'], (2, 2), ['high', 'low', 'mean'])
    """

    def __init__(self, core):
        self._core = core
        self.figures = core.figures()

    ids = property(lambda self: self._core.ids)
    names = property(lambda self: self._core.names)
    class_names = property(lambda self: self._core.class_names)

    def __len__(self):
        return len(self._core)

    def _number(self, who):
        who = inputs.plain(who)
        for names in (self.ids, self.names):
            if who in names:
                return names.index(who)
        if isinstance(who, int) and not any(isinstance(id, int) for id in self.ids) and -len(self) <= who < len(self):
            return range(len(self))[who]
        raise DataError(f"there is no annotator {who!r}")

    def confusion(self, who):
        """How an annotator gives classes: rows are true classes, columns those given. who: an id or a name; a number
        from 0 where ids are texts."""
        return self._core.confusion(self._number(who))

    def save(self, path):
        """Writes the file that `prior` and `bdc-host annotators` take."""
        self._core.write(inputs.path_of(path))

    def to_table(self):
        """A pandas DataFrame where pandas is there, else a dict of columns."""
        out = {"annotator": self.names, "images": self._core.images, "boxes": self._core.annotations}
        for name, figure in self.figures.items():
            out.update({name: figure["mean"], name + "_low": figure["low"], name + "_high": figure["high"]})
        return as_table(out)

    def __reduce__(self):
        return _annotators_again, (self._core.text(),)

    def _rows(self):
        """Names and texts of the main figures, the best first, those not known last."""
        shown = [name for name in ("quality", "recall", "spurious", "accuracy", "box_noise") if name in self.figures]
        quality = self.figures["quality"]["mean"]
        order = sorted(range(len(self)), key=lambda k: (np.isnan(quality[k]), -quality[k] if not np.isnan(quality[k]) else 0))
        for k in order:
            cells = []
            for name in shown:
                f = self.figures[name]
                known = not np.isnan(f["mean"][k])
                cells.append(f"{f['mean'][k]:.2f} ({f['low'][k]:.2f}-{f['high'][k]:.2f})" if known else "not known")
            yield k, [str(self.names[k]), f"{self._core.images[k]:.0f}", f"{self._core.annotations[k]:.0f}"] + cells

    def _headings(self):
        titles = {"spurious": "spurious/image", "accuracy": "class accuracy", "box_noise": "box noise"}
        return ["annotator", "images", "boxes"] + [
            titles.get(n, n) for n in ("quality", "recall", "spurious", "accuracy", "box_noise") if n in self.figures]

    def __repr__(self):
        table = [self._headings()] + [cells for _, cells in self._rows()]
        if len(table) > 41:
            table = table[:21] + [["..."] + [""] * (len(table[0]) - 1)] + table[-20:]
        widths = [max(len(row[c]) for row in table) for c in range(len(table[0]))]
        return "\n".join("  ".join(cell.ljust(w) if c == 0 else cell.rjust(w)
                                   for c, (cell, w) in enumerate(zip(row, widths))) for row in table)

    def _bar(self, k):
        """The quality and its interval as a small picture."""
        f = self.figures["quality"]
        if np.isnan(f["mean"][k]):
            return ""
        mean, low, high = (min(max(float(f[name][k]), 0), 1) * 120 for name in ("mean", "low", "high"))
        return (f'<svg width="122" height="12"><rect width="121" height="11" fill="none" stroke="#bbb"/>'
                f'<rect width="{mean:.1f}" height="11" fill="#4a90d9"/>'
                f'<line x1="{low:.1f}" x2="{high:.1f}" y1="5.5" y2="5.5" stroke="#222" stroke-width="2"/></svg>')

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(title)}</th>" for title in self._headings() + [""])
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + f"<td>{self._bar(k)}</td></tr>"
                       for k, cells in self._rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
