"""Labels of many annotators."""
import contextlib
import hashlib
import html
import re

import numpy as np

from . import _core, inputs, objects
from ._core import DataError

# What a column may be called where the caller does not say.
TITLES = {
    "image": ("image", "image_id", "task", "file_name", "filename"),
    "annotator": ("annotator", "worker", "annotator_id", "worker_id", "rad_id"),
    "label": ("label", "class", "class_name", "category"),
    "x1": ("x1", "x_min", "xmin", "left"),
    "y1": ("y1", "y_min", "ymin", "top"),
    "x2": ("x2", "x_max", "xmax", "right"),
    "y2": ("y2", "y_max", "ymax", "bottom"),
    "width": ("image_width",),
    "height": ("image_height",),
}
OPTIONAL = ("width", "height")
# Options of `read` that are texts or paths.
TEXTS = ("format", "sizes", "image_folder", "class_names", "annotator", "annotator_from", "annotator_key", "split", "columns")


def _columns(table, chosen, roles=None):
    """The table's titles of the columns that we know; those of `roles` must be there."""
    titles = {str(title): title for title in (table.columns if hasattr(table, "columns") else table.keys())}
    if not hasattr(chosen, "items"):
        raise DataError(f"columns: expected {{name: title}}, found {type(chosen).__name__}")
    chosen = {role: str(title) for role, title in chosen.items()}
    for role, title in chosen.items():
        if role not in TITLES:
            raise DataError(f"columns: unknown name {role!r}; known: {', '.join(TITLES)}")
        if title not in titles:
            raise DataError(f"columns: there is no column {title!r}; the table has {', '.join(titles)}")
    found = dict(chosen)
    for role, names in TITLES.items():
        if role in found or (roles is not None and role not in roles):
            continue
        there = [name for name in names if name in titles]
        if len(there) > 1:
            raise DataError(f"{' and '.join(there)} may both be the {role}; say which: columns={{{role!r}: {there[0]!r}}}")
        if there:
            found[role] = there[0]
        elif role not in OPTIONAL if roles is None else role in roles:
            raise DataError(f"there is no column for the {role} (looked for {', '.join(names)}); the table has "
                            f"{', '.join(titles)}. Say which: columns={{{role!r}: ...}}")
    return {role: titles[title] for role, title in found.items()}


def _column(table, title):
    """A column as it is, without a copy where numpy can look at it."""
    column = table[title]
    if hasattr(column, "columns"):
        raise DataError(f"column {title} stands twice in the table")
    if type(column).__module__.startswith("pandas"):
        kind = str(column.dtype)
        if kind == "category" or not isinstance(column.dtype, np.dtype):
            return column.astype(object).to_numpy()
        return column.to_numpy()
    if isinstance(column, (list, tuple)):  # numpy would turn a list of numbers and texts into texts
        out = np.empty(len(column), dtype=object)
        out[:] = column
        return out
    out = inputs.array(column, f"column {title}")
    if out.ndim != 1:
        raise DataError(f"column {title}: expected one value per row, found {type(column).__name__}")
    return out


def _without_boxes(raw):
    """Rows in which all four corners are missing: somebody looked at an image and drew nothing."""
    missing = np.ones(len(raw["image"]), bool)
    for side in ("x1", "y1", "x2", "y2"):
        column = raw[side]
        if column.dtype == object:
            missing &= np.array([value is None or value != value for value in column.tolist()], bool)
        else:
            missing &= np.isnan(column) if column.dtype.kind == "f" else False
        if not missing.any():
            break
    return missing


def _pairs(seen):
    """Images and annotators of who looked at what: a table with these columns, or pairs."""
    if hasattr(seen, "columns") or hasattr(seen, "keys"):
        titles = _columns(seen, {}, ("image", "annotator"))
        columns = [_column(seen, titles[role]) for role in ("image", "annotator")]
        if len(columns[0]) != len(columns[1]):
            raise DataError("seen: the columns differ in length")
        return [column.tolist() for column in columns]
    images, annotators = [], []
    for n, pair in enumerate(seen):
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise DataError(f"seen[{n}]: expected a pair of an image and an annotator, found {pair!r}")
        images.append(inputs.plain(pair[0]))
        annotators.append(inputs.plain(pair[1]))
    return images, annotators


def _numbered(column, title, more):
    """Numbers of a column's ids and of further ones, and all ids."""
    codes, ids = _core.factorize(column, title)
    if not more:
        return codes, np.empty(0, np.int32), ids
    known = np.empty(len(ids) + len(more), dtype=object)
    known[:len(ids)], known[len(ids):] = ids, more
    all_codes, ids = _core.factorize(known, f"{title} and seen")
    return codes, np.asarray(all_codes)[len(known) - len(more):], ids


def _require_names(ids, title):
    for name in ids:
        if name == "":
            raise DataError(f"column {title}: an id is empty")


def _sizes(image, ids, widths, heights, given):
    """Width and height per image, NaN where not known; a table's sizes must agree inside an image."""
    out = np.full((len(ids), 2), np.nan)
    for side, values, name in ((0, widths, "width"), (1, heights, "height")):
        if values is None:
            continue
        values = inputs.numbers(values, name)
        out[image, side] = values
        wrong = np.nonzero(~((out[image, side] == values) | (np.isnan(out[image, side]) & np.isnan(values))))[0]
        if len(wrong):
            raise DataError(f"row {wrong[0]}: image {ids[image[wrong[0]]]!r} has another {name} in another row")
    if given is not None:
        place = {name: n for n, name in enumerate(ids)}
        if not hasattr(given, "items"):
            raise DataError(f"sizes: expected {{image: (width, height)}}, found {type(given).__name__}")
        for name, size in given.items():
            if not isinstance(size, (list, tuple, np.ndarray)) or len(size) != 2:
                raise DataError(f"sizes[{name!r}]: expected a width and a height, found {size!r}")
            if name in place:
                out[place[name]] = inputs.numbers(size, f"sizes[{name!r}]")
    return np.empty((0, 2)) if np.isnan(out).all() else out


def reading_options(options):
    """Options of the readers as the library takes them."""
    out = {}
    for name, value in options.items():
        if name == "columns" and hasattr(value, "items"):
            value = ",".join(f"{role}={title}" for role, title in value.items())
        elif name in TEXTS and value is not None:
            value = inputs.path_of(value, name)
        out[name] = value
    return out


def with_arguments(text):
    """A message of the library, which names the program's options, as Python calls them."""
    return re.sub(r"--(format|sizes|image-folder|class-names|annotator-from|annotator-key|annotator|split|columns|"
                  r"voc-one-based|shapes-to-boxes)\b", lambda match: match[1].replace("-", "_") + "=", text)


@contextlib.contextmanager
def python_words():
    """Errors name arguments."""
    try:
        yield
    except DataError as error:
        raise DataError(with_arguments(str(error))) from None


class Crowd:
    """Labels of many annotators on the same images.

    Made by `read`, `from_table`, `from_coco` or `from_detections`. Everything has a number, 0, 1, ..., in the order of `image_ids`,
    `class_names` and `annotator_ids`; annotations are sorted by image.

    >>> crowd = Crowd.from_table({"task": [7, 7], "worker": ["ann", "bob"], "label": ["cat", "cat"],
    ...                           "x1": [0, 1], "y1": [0, 1], "x2": [9, 8], "y2": [9, 8]})
    >>> crowd
    Crowd: 1 image, 2 annotators, 2 annotations, 1 class
    >>> crowd.annotator_ids, crowd.boxes[1].tolist()
    (['ann', 'bob'], [1.0, 1.0, 8.0, 8.0])
    """

    def __init__(self, core):
        if not isinstance(core, _core.Crowd):
            raise DataError(f"expected Crowd.read, from_table, from_coco, from_detections or of; found Crowd({type(core).__name__})")
        self._core = core

    @classmethod
    def read(cls, *paths, **options):
        """Files or folders of any format that `bdc-host` reads; `Crowd.formats()` lists them.

        Options are those of the program: format, sizes, image_folder, class_names, annotator, annotator_from,
        annotator_key, split, columns, voc_one_based, shapes_to_boxes. What was taken where files leave a choice is in
        `notes`.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "boxes.csv")
        ...     with open(path, "w") as file:
        ...         _ = file.write("image,annotator,class,x1,y1,x2,y2,width,height\\na.png,ann,cat,1,2,30,40,64,48\\n")
        ...     crowd = Crowd.read(path)
        >>> crowd.annotator_names, crowd.boxes.tolist()
        (['ann'], [[1.0, 2.0, 30.0, 40.0]])
        """
        files = [each for path in paths for each in inputs.paths(path)]
        with python_words():
            core = _core.read(files, reading_options(options))
        core.notes = [with_arguments(note) for note in core.notes]
        return cls(core)

    @classmethod
    def from_table(cls, table, columns=None, sizes=None, seen=None, classes=None):
        """A pandas DataFrame or a dict of columns, one row per box: image, annotator, label, x1, y1, x2, y2.

        columns: the table's own titles, {"image": "photo", ...}; common ones are found. sizes: {image: (width,
        height)}; or columns image_width and image_height. seen: pairs (image, annotator), or a table of these columns,
        of who looked at what, also where nothing was drawn; rows without any corner say the same. Without either,
        somebody has seen the images in which they drew. classes: all classes in the order wanted; without it those of
        the table in the order in which they appear.

        >>> Crowd.from_table({"photo": ["a"], "annotator": ["ann"], "label": ["cat"], "x1": [0], "y1": [0], "x2": [9], "y2": [9]},
        ...                  columns={"image": "photo"}, seen=[("a", "ann"), ("a", "bob"), ("b", "ann")])
        Crowd: 2 images, 2 annotators, 1 annotation, 1 class
        """
        if not (hasattr(table, "columns") or hasattr(table, "keys")):
            raise DataError(f"expected a table or a dict of columns, found {type(table).__name__}")
        titles = _columns(table, columns or {})
        raw = {role: _column(table, title) for role, title in titles.items()}
        lengths = {titles[role]: len(values) for role, values in raw.items()}
        if len(set(lengths.values())) > 1:
            raise DataError("the columns differ in length: " + ", ".join(f"{t} {n}" for t, n in lengths.items()))
        if not len(raw["image"]):
            raise DataError("the table has no rows; there is nothing to aggregate")
        looked = _pairs(seen) if seen is not None else ([], [])
        blank = _without_boxes(raw)
        notes = []
        if blank.any():
            looked = [more + raw[role].tolist() for more, role in zip(looked, ("image", "annotator"))]
            raw = {role: column[~blank] for role, column in raw.items()}
            notes.append(f"{int(blank.sum())} rows have no corners: the annotator looked at the image and drew nothing")
        image, seen_image, image_ids = _numbered(raw["image"], titles["image"], looked[0])
        annotator, seen_annotator, annotator_ids = _numbered(raw["annotator"], titles["annotator"], looked[1])
        label, class_ids = _core.factorize(raw["label"], titles["label"])
        for ids, role in ((image_ids, "image"), (annotator_ids, "annotator"), (class_ids, "label")):
            _require_names(ids, titles[role])
        if classes is not None:
            order = list(classes)
            if len({str(name) for name in order}) < len(order):
                raise DataError("classes: a name is given twice")
            unknown = [name for name in class_ids if name not in order]
            if unknown:
                raise DataError(f"column {titles['label']}: {unknown[0]!r} is none of the classes given")
            label = np.array([order.index(name) for name in class_ids], np.int32)[label]
            class_ids = order
        assigned = (seen_image, seen_annotator) if seen is not None or blank.any() else None
        corners = [inputs.numbers(raw[side], titles[side]) for side in ("x1", "y1", "x2", "y2")]
        core = _core.from_arrays(image_ids, annotator_ids, class_ids, image, annotator, label, corners,
                                 _sizes(image, image_ids, raw.get("width"), raw.get("height"), sizes), assigned)
        core.notes = notes
        return cls(core)

    @classmethod
    def from_coco(cls, given, **options):
        """COCO's dict in which annotations name their annotator, or {annotator: COCO's dict}, each with all the images
        that this annotator saw. pycocotools' COCO is taken, too. options: those of `read`.

        >>> coco = {"images": [{"id": 1, "file_name": "a.png", "width": 9, "height": 9}], "categories": [{"id": 3, "name": "cat"}],
        ...         "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 4, 4]}]}
        >>> Crowd.from_coco({"ann": coco, "bob": coco})
        Crowd: 1 image, 2 annotators, 2 annotations, 1 class
        """
        given = objects.coco_dict(given)
        if objects.is_coco(given):
            documents = {"labels": given}
        elif isinstance(given, dict) and given:
            documents = {name: objects.with_annotator(document, name) for name, document in given.items()}
            options = {"format": "crowd", **options}
        else:
            raise DataError(f"expected COCO's dict, or one per annotator, found {type(given).__name__}")
        with objects.files_of(documents) as (files, said):
            out = cls.read(*files, **options)
        out._core.notes = [said(note) for note in out._core.notes]
        return out

    @classmethod
    def from_detections(cls, drawn, classes=None, sizes=None):
        """{annotator: {image: detections}} of supervision or FiftyOne, with an entry for every image that somebody saw.

        classes: names for numbers of classes. sizes: {image: (width, height)}, which FiftyOne's boxes need.

        >>> import types
        >>> def drawn(boxes):  # supervision.Detections has these attributes
        ...     return types.SimpleNamespace(xyxy=np.array(boxes), class_id=np.zeros(len(boxes), int), confidence=None)
        >>> Crowd.from_detections({"ann": {"a.png": drawn([[0, 0, 9, 9]])}, "bob": {"a.png": drawn([])}}, classes=["cat"])
        Crowd: 1 image, 2 annotators, 1 annotation, 1 class
        """
        table, seen = objects.table_of(drawn, classes, sizes)
        if not table["image"]:
            raise DataError("nobody has drawn a box; there is nothing to aggregate")
        return cls.from_table(table, sizes=sizes, seen=seen, classes=classes)

    @classmethod
    def of(cls, labels):
        """A crowd as it is; a path is read; COCO's dicts and detections per annotator are understood; anything else is
        taken for a table."""
        if isinstance(labels, cls):
            return labels
        if inputs.path(labels) is not None or (isinstance(labels, (list, tuple)) and labels
                                               and all(inputs.path(each) is not None for each in labels)):
            return cls.read(labels)
        if objects.is_coco(objects.coco_dict(labels)):
            return cls.from_coco(labels)
        if isinstance(labels, dict) and labels:
            first = next(iter(labels.values()))
            if objects.is_coco(objects.coco_dict(first)):
                return cls.from_coco(labels)
            if isinstance(first, dict) and any(objects.is_detections(found) for found in first.values()):
                return cls.from_detections(labels)
        return cls.from_table(labels)

    @staticmethod
    def formats():
        """Names of the formats that `read` knows."""
        return _core.formats()

    def write(self, path, format=""):
        """Writes the labels; returns what the format cannot hold, a line each. Default format: by the extension."""
        return _core.Crowd.write(self._core, inputs.path_of(path), format).splitlines()

    def index_of(self, image):
        """The number of an image, by its id or file name."""
        if not hasattr(self, "_index"):
            self._index = {}
            for n, name in enumerate(self._core.image_files):
                if name:
                    self._index[name] = n
            for n, name in enumerate(self._core.image_ids):
                self._index[name] = n
        image = inputs.plain(image)
        if not isinstance(image, (str, int)):
            raise DataError(f"expected the id or file name of an image, found {type(image).__name__}")
        if image not in self._index:
            raise DataError(f"there is no image {image!r}")
        return self._index[image]

    def size_of(self, image):
        """Width and height, 0 where they are not known."""
        n = self.index_of(image)
        return int(self._core.image_width[n]), int(self._core.image_height[n])

    @property
    def digest(self):
        """A text that two crowds share when their ids, classes and boxes are the same in the same order."""
        if not hasattr(self, "_digest"):
            c = self._core
            h = hashlib.blake2b(repr((c.image_ids, c.class_ids, c.class_names, c.annotator_ids)).encode(), digest_size=16)
            for values in (c.boxes, c.image, c.label, c.annotator, c.assigned_image, c.assigned_annotator):
                h.update(np.ascontiguousarray(values))
            self._digest = h.hexdigest()
        return self._digest

    def __reduce__(self):
        return Crowd, (self._core,)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._core, name)

    def __dir__(self):
        return sorted(set(super().__dir__()) | {name for name in dir(self._core) if not name.startswith("_")})

    def __len__(self):
        return self._core.num_annotations

    def _repr_html_(self):
        return f"<p>{html.escape(repr(self))}</p>"

    def __repr__(self):
        def many(n, one, more=None):
            return f"{n} {one if n == 1 else more or one + 's'}"
        c = self._core
        return (f"Crowd: {many(c.num_images, 'image')}, {many(c.num_annotators, 'annotator')}, "
                f"{many(c.num_annotations, 'annotation')}, {many(c.num_classes, 'class', 'classes')}")
