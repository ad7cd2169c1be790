"""What people hand over, as plain numpy arrays: anything with __array__ or DLPack, tensors on any device, tables."""
import os

import numpy as np

from ._core import DataError


def array(value, name, dtype=None):
    """The value as an array; tensors are detached and brought to the processor's memory."""
    for step in ("detach", "cpu"):
        if not isinstance(value, np.ndarray) and callable(getattr(value, step, None)):
            value = getattr(value, step)()
    try:
        if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
            out = np.asarray(value)
        else:
            out = np.from_dlpack(value)
        return out if dtype is None else out.astype(dtype, copy=False)
    except (TypeError, ValueError) as error:
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


def paths(value):
    one = path(value)
    if one is not None:
        return [one]
    return [os.fspath(each) for each in value]


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
