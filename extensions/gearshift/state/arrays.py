"""Reduces numpy arrays to a place in memory, so that views stay views; imported only where the kernel uses numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

from gearshift.state.memory import Memory

Array = npt.NDArray[Any]
Rule = Callable[[Any], Any]


def rules(memory: Memory) -> Mapping[type, Rule]:
    """Reducers by exact type."""

    def reduce(array: Array) -> Any:
        if array.dtype.hasobject or not array.nbytes:
            return NotImplemented
        base = array.base
        if type(base) is np.ndarray and _is_dense(base) and _lies_in(array, base):
            offset = _address(array) - _address(base)
            return view_of, (base, offset, *_form(array))
        low, high = byte_bounds(array)
        segment = memory.at(low, high - low, array)
        return on_memory, (segment, _address(array) - segment.start, *_form(array))

    return {np.ndarray: reduce, np.memmap: _reduce_memmap}


def on_memory(
    memory: memoryview,
    offset: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    writeable: bool,
) -> Array:
    """An array at a place in a segment."""
    made: Array = np.ndarray(shape, dtype, memory, offset, strides)
    if not writeable:
        made.flags.writeable = False
    return made


def view_of(
    base: Array,
    offset: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    writeable: bool,
) -> Array:
    """A view whose `base` is that array."""
    made: Array = np.ndarray(shape, dtype, _in_order(base), offset, strides)
    if made.flags.writeable and not writeable:
        made.flags.writeable = False
    return made


def _form(array: Array) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.strides, array.flags.writeable


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _is_dense(base: Array) -> bool:
    return not base.dtype.hasobject and base.nbytes > 0 and bool(_in_order(base).flags.c_contiguous)


def _lies_in(array: Array, base: Array) -> bool:
    low, high = byte_bounds(array)
    return _address(base) <= low and high <= _address(base) + base.nbytes


def _in_order(base: Array) -> Array:
    """Axes by falling stride: a dense array of any order seen as a C-contiguous one."""
    return base.transpose(sorted(range(base.ndim), key=lambda axis: -base.strides[axis]))


def _reduce_memmap(array: np.memmap[Any, Any]) -> Any:
    """A map of a whole file is opened again; what was changed in memory of a private map is written by value."""
    plain = getattr(array, "_mmap", None) is not None and array.base is getattr(array, "_mmap", None)
    mode = str(getattr(array, "mode", ""))
    if not plain or array.filename is None or mode not in {"r", "r+", "w+"}:
        return NotImplemented
    array.flush()
    again = "r" if mode == "r" else "r+"
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return _memmap, (str(array.filename), array.dtype, again, array.offset, array.shape, order)


def _memmap(filename: str, dtype: Any, mode: Any, offset: int, shape: Any, order: Any) -> Any:
    return np.memmap(filename, dtype=dtype, mode=mode, offset=offset, shape=shape, order=order)
