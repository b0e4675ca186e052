"""The methods of Tensor that are written in Python."""
import weakref

from . import _core
from ._html import preformatted, table
from ._functions import as_tensor, root_of_variance
from ._numpy import array_of

Tensor = _core.Tensor


def _array(self, dtype=None, copy=None):
    """For numpy.asarray and numpy.array. Waits for the values."""
    _core._raise_interrupt()  # of the wait for a buffer, for which NumPy has asked before
    array = array_of(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def numpy(self):
    """The values as an array that shares the memory. Waits for them."""
    return array_of(self)


def tolist(self):
    """The values as nested lists. Waits for them."""
    return array_of(self).tolist()


def _text(self, name):
    import numpy as np

    array = array_of(self)
    suffix = "" if str(self.dtype) in ("float32", "int64", "bool") else f", dtype={self.dtype}"
    if self.requires_grad:
        suffix += ", requires_grad=True"
    if array.size == 0:
        suffix = f", shape={self.shape}" + suffix
    body = np.array2string(array, separator=", ", prefix=name + "(") if array.size else "[]"
    return f"{name}({body}{suffix})"


def _repr(self):
    return _text(self, "array")


def _str(self):
    return str(array_of(self))


def _repr_html(self):
    """What a notebook shows: a table of one or two axes, else the text, with type, shape and device. Waits for the values.

    None for a class derived from Tensor, which is shown as it prints itself.
    """
    if type(self) is not Tensor:
        return None
    array = array_of(self)
    caption = f"{self.dtype} {self.shape} on {self.device}" + (", requires a gradient" if self.requires_grad else "")
    if array.ndim in (1, 2) and array.size:
        return table(array, caption)
    return preformatted(f"{array}\n{caption}")


def _format(self, spec):
    return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)


def _required(tensor):
    """Whether a gradient of a leaf is wanted, or "frozen" if one was before requires_grad_(False)."""
    if not tensor.is_leaf or not _core._is_parameter(tensor):
        return False
    return tensor.requires_grad or "frozen"


def _require(tensor, required):
    if required:
        tensor.requires_grad_().requires_grad_(required != "frozen")


def _restored(kind, array, dtype, requires_grad):
    tensor = _core.array(array, dtype)
    _require(tensor, requires_grad)
    return tensor if kind is Tensor else _core._as_class(tensor, kind)


class _Pickled:
    """A tensor for pickle, which writes an object once. Several objects may stand for one tensor, such as a weight that two
    layers share: while a pickle is made they have one of these, so that they stand for one tensor afterwards, too."""

    __slots__ = "tensor", "__weakref__"

    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        """The values, the type, and whether a gradient is wanted; no history."""
        x = self.tensor
        return _restored, (type(x), array_of(x), str(x.dtype), _required(x))


_pickled = weakref.WeakValueDictionary()  # by the class and the address, which is not used again as long as one of them lives


def _reduce(self):
    key = type(self), self._address()
    pickled = _pickled.get(key)
    if pickled is None:
        pickled = _pickled[key] = _Pickled(self)
    return _itself, (pickled,)


def _itself(tensor):
    return tensor


def _deepcopy(self, memo):
    key = ("asyncgrad", self._address())  # two objects may stand for one tensor
    if key not in memo:
        copied = self.detach().clone()
        _require(copied, _required(self))
        memo[key] = copied, self  # which keeps the address from being used again
    return memo[key][0]


def view(self, *shape):
    """The elements in the same order in another shape; shares the values."""
    return self.reshape(*shape)


def flatten(self):
    """All elements along one axis; shares the values."""
    return self.reshape(-1)


def std(self, axis=None, ddof=0, keepdims=False):
    """The square root of var(), whose gradient is 0 where all elements are equal."""
    # Tensor's own var(): that of a derived class may round integers.
    return root_of_variance(Tensor.var(as_tensor(self), axis, ddof, keepdims))


def dot(self, other):
    """As numpy.dot: the product of numbers, vectors, matrices."""
    return dot_of(self, other)


def dot_of(x, y):
    """As numpy.dot: the sum over the last axis of x and the last but one of y."""
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim <= 2:
        return x @ y
    rest = y.shape[:-2] + y.shape[-1:]
    columns = y.transpose(*([y.ndim - 2] + [i for i in range(y.ndim) if i != y.ndim - 2])).reshape(y.shape[-2], -1)
    return (x @ columns).reshape(*x.shape[:-1], *rest)


def mm(self, other):
    """The product of two matrices, as torch.mm; `@` multiplies vectors and stacks of matrices, too."""
    other = as_tensor(other)
    if self.ndim != 2 or other.ndim != 2:
        raise ValueError(f"[mm] multiplies two matrices, got {self.shape} and {other.shape}; x @ y multiplies others")
    return self @ other


def _divmod(self, other):
    quotient = self.__floordiv__(other)
    return quotient if quotient is NotImplemented else (quotient, self.__mod__(other))


def _rdivmod(self, other):
    quotient = self.__rfloordiv__(other)
    return quotient if quotient is NotImplemented else (quotient, self.__rmod__(other))


def _copy(self):
    return self if self.requires_grad else self.detach()


def _reduce_ex(self, protocol):
    return _reduce(self)


for _name, _function in {
        "__array__": _array, "numpy": numpy, "tolist": tolist, "__repr__": _repr, "__str__": _str, "_repr_html_": _repr_html, "__format__": _format,
        "__reduce__": _reduce, "__deepcopy__": _deepcopy, "__copy__": _copy,
        "view": view, "flatten": flatten, "ravel": flatten, "std": std, "dot": dot, "mm": mm, "__divmod__": _divmod, "__rdivmod__": _rdivmod,
        "__reduce_ex__": _reduce_ex}.items():
    setattr(Tensor, _name, _function)
