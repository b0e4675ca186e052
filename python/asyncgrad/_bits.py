"""Operators on the bits of integers, which NumPy computes on a thread of the library."""
from . import _core
from ._computed import computed, number_beside

Tensor = _core.Tensor


def _is_of_bits(x):
    return isinstance(x, int) or (isinstance(x, Tensor) and not x.dtype.is_floating)


def _operand(x):
    """A tensor of an array, and a number of Python for one of NumPy."""
    if not hasattr(x, "__array_interface__"):
        return x
    return _core.asarray(x) if x.shape else x.item()


def operate(name, x, y):
    """numpy's function `name` of integers that are broadcast against each other; a number takes the other's type."""
    x, y = map(_operand, (x, y))
    for operand in (x, y):
        if isinstance(operand, Tensor) and not _is_of_bits(operand):
            raise TypeError(f"[{name}] takes integers, not {operand.dtype}")
    if not _is_of_bits(x) or not _is_of_bits(y):
        return NotImplemented
    if not isinstance(x, Tensor):
        x = number_beside(y, x, y.dtype)
    if not isinstance(y, Tensor):
        y = number_beside(x, y, x.dtype)
    dtype = _core._promoted(x.dtype, y.dtype)
    if dtype == "bool":
        raise TypeError(f"[{name}] takes integers, not bool")
    return computed(name, name, [x.astype(dtype, copy=False), y.astype(dtype, copy=False)], _broadcast(x, y), dtype)


def _broadcast(x, y):
    import numpy

    return numpy.broadcast_shapes(x.shape, y.shape)
