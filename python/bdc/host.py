"""What the program bdc-host does for Python, where it is installed."""
import os
import shutil
import subprocess
import tempfile

from . import inputs
from ._core import DataError
from .crowd import Crowd


def program():
    """The path of bdc-host: $BDC_HOST, or as the shell would find it."""
    found = os.environ.get("BDC_HOST") or shutil.which("bdc-host")
    if found and not os.path.isfile(found):
        raise DataError(f"{found}: there is no such program; BDC_HOST names it")
    if not found:
        raise DataError("bdc-host is not installed: build it with ./run build, put it on PATH or name it in BDC_HOST")
    return found


def report(labels, path, *options):
    """An HTML page about labels and annotators, by `bdc-host report`. options: further words of that command.

    >>> report("crowd.json", "report.html", "--classes", "no such option")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    bdc.DataError: ...
    """
    host = program()
    with tempfile.TemporaryDirectory() as folder:
        source = inputs.path(labels)
        if source is None:
            source = os.path.join(folder, "crowd.json")
            Crowd.of(labels).write(source)
        run = subprocess.run([host, "report", source, "-o", inputs.path_of(path), *options], capture_output=True, text=True)
    if run.returncode != 0:
        raise DataError(run.stderr.strip() or f"bdc-host report ended with {run.returncode}")
    return inputs.path_of(path)
