"""What people hand over, as plain numpy arrays: anything with __array__ or DLPack, tensors on any device, tables."""
import os

import numpy as np

from ._core import DataError


def array(value, name, dtype=None):
    """The value as an array; tensors are detached and brought to the processor's memory."""
    if isinstance(value, (list, tuple)) and any(hasattr(each, "detach") for each in value):
        value = [each.detach().cpu().tolist() if hasattr(each, "detach") else each for each in value]
    for step in ("detach", "cpu"):
        if not isinstance(value, np.ndarray) and callable(getattr(value, step, None)):
            value = getattr(value, step)()
    if "bfloat16" in str(getattr(value, "dtype", "")) and callable(getattr(value, "float", None)):
        value = value.float()  # numpy has no such numbers
    if isinstance(value, np.ma.MaskedArray):
        value = value.astype(float).filled(np.nan) if value.dtype.kind in "iufb" else value.astype(object).filled(None)
    try:
        if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
            out = np.asarray(value)
        else:
            out = np.from_dlpack(value)
        return out if dtype is None else out.astype(dtype, copy=False)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise DataError(f"{name}: expected numbers, found {type(value).__name__} ({error})") from None


def numbers(value, name):
    """Finite or not: checked where they are used."""
    out = array(value, name)
    if out.dtype == object:
        try:
            out = out.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"column {name}: expected numbers ({error})") from None
    if out.dtype.kind not in "iufb":
        raise DataError(f"{name}: expected numbers, found {out.dtype}")
    if out.dtype.kind == "b":
        raise DataError(f"{name}: expected numbers, found truth values")
    return out.astype(np.float64, copy=False)


def path(value):
    """A path as text, or None where the value is none."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return None


def path_of(value, name="path"):
    """A path as text; what is none is an error."""
    text = path(value)
    if text is None:
        raise DataError(f"{name}: expected a path, found {type(value).__name__}")
    return text


def paths(value):
    one = path(value)
    if one is not None:
        return [one]
    if isinstance(value, (list, tuple)):
        return [path_of(each) for each in value]
    hint = "; Crowd.from_table takes tables" if hasattr(value, "columns") or hasattr(value, "keys") else ""
    raise DataError(f"expected the path of a file or folder, found {type(value).__name__}{hint}")


def threads(value):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise DataError(f"threads: expected a whole number, 0 for all cores, found {value!r}")
    return int(value)


def plain(value):
    """A number of numpy or a tensor of one as Python's own."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def option_values(options):
    """Options as the library takes them: bool, int, float, str."""
    out = {}
    for name, value in options.items():
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, (bool, int, float, str)):
            raise DataError(f'option "{name}": expected a number, a text or a truth value, found {type(value).__name__}')
        out[name] = value
    return out


def usable(boxes, scores, class_probs):
    """A detector's arrays; boxes without any area, as clipping leaves them, are dropped, and a score's rounding beyond
    1 too. Everything else that is wrong is left for the library to name. Also returns which rows are kept; None: all."""
    kept = None
    boxes, scores, class_probs = numbers(boxes, "boxes"), numbers(scores, "scores"), numbers(class_probs, "class_probs")
    if boxes.ndim == 2 and boxes.shape[1] == 4 and scores.shape == boxes.shape[:1] == class_probs.shape[:1]:
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        empty = ((width >= 0) & (height >= 0)) & ((width < 1e-6) | (height < 1e-6))
        if empty.any():
            kept = ~empty
            boxes, scores, class_probs = boxes[kept], scores[kept], class_probs[kept]
        scores = np.where((scores > 1) & (scores < 1 + 1e-6), 1.0, scores)
    return boxes, scores, class_probs, kept
