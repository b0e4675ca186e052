"""New tensors."""
from .. import _core, _functions
from ._types import dtype_of

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
           "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]

Tensor = _core.Tensor


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... below stop; in int64 if all are integers, else in the default floating type."""
    if any(isinstance(x, float) for x in (start, stop, step)) or (dtype is not None and dtype_of(dtype).is_floating):
        start, step = float(start), float(step)  # which may be rounded
        stop = None if stop is None else float(stop)
    return _core.arange(start, stop, step, dtype, device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of numbers, nested lists and arrays, or a tensor as it is. copy=False shares memory or raises, True copies."""
    if isinstance(obj, Tensor):
        dtype, device = dtype or obj.dtype, device or obj.device
        if not copy and obj.dtype == dtype and obj.device == device:
            return obj
    if copy is False:
        if isinstance(obj, Tensor) or not hasattr(obj, "__dlpack__") or str(getattr(obj, "dtype", None)) != str(dtype or obj.dtype):
            raise ValueError(f"[asarray] a tensor of {type(obj).__name__} needs a copy, which copy=False refuses")
        return from_dlpack(obj, device=device, copy=False)
    return _core.array(obj, dtype, device)


def empty(shape, *, dtype=None, device=None):
    """Zeros, as there are no tensors without values."""
    return _core.full(shape, 0, dtype or _core.default_dtype(), device)


def empty_like(x, /, *, dtype=None, device=None):
    """Zeros of the shape, type and device of x."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """1 on a diagonal of a matrix, 0 elsewhere; k > 0 is a diagonal above the main one."""
    columns = n_rows if n_cols is None else n_cols
    return _functions.eye(n_rows, columns, max(-n_rows, min(k, columns)), dtype, device)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor that shares the memory of an object with __dlpack__(), or has a copy on another device or with copy=True."""
    shared = _core.from_dlpack(x)
    moves = device is not None and device != shared.device
    if moves and copy is False:
        raise ValueError(f"[from_dlpack] a tensor on {device} needs a copy, which copy=False refuses")
    return shared.to(device) if moves else shared.clone() if copy else shared


def full(shape, fill_value, *, dtype=None, device=None):
    """One number everywhere. Its type is that of the number: bool, int64, or the default floating type."""
    return _core.full(shape, fill_value, dtype, device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One number everywhere, with the shape, type and device of x."""
    return _core.full(x.shape, fill_value, x.dtype if dtype is None else dtype, x.device if device is None else device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from start to stop, evenly spaced."""
    return _functions.linspace(start, stop, num, endpoint, dtype, device)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid, a tensor for each axis."""
    return _functions.meshgrid(*arrays, indexing=indexing)


def ones(shape, *, dtype=None, device=None):
    """Ones of a shape."""
    return _core.ones(shape, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones of the shape, type and device of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """The matrices x with 0 above a diagonal."""
    return _core.tril(x, k)


def triu(x, /, *, k=0):
    """The matrices x with 0 below a diagonal."""
    return _core.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    """Zeros of a shape."""
    return _core.zeros(shape, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros of the shape, type and device of x."""
    return full_like(x, 0, dtype=dtype, device=device)
