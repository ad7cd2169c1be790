"""What is wrong with files of labels."""
import json

from . import _core, inputs
from .crowd import python_words, reading_options


class Validation(dict):
    """The program's report as a dict; printed as people read it."""

    def __init__(self, text, fields):
        super().__init__(fields)
        self._text = text

    def __repr__(self):
        return self._text


def validate(*paths, **options):
    """Reads files leniently and tells every kind of problem. Options as in `Crowd.read`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "boxes.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("image,annotator,class,x1,y1,x2,y2,width,height\\na.png,ann,cat,30,2,1,40,64,48\\n")
    ...     found = validate(path)
    >>> found["images"], found["annotations"]
    (1, 0)
    """
    with python_words():
        text, fields = _core.validate([each for path in paths for each in inputs.paths(path)], reading_options(options))
    return Validation(text, json.loads(fields))
