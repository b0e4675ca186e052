"""Element types: which there are, their limits, and what two of them become."""
import functools

from .. import _core
from .._dtypes import ALL, DType

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

Tensor = _core.Tensor
# By the standard's name of a kind. bfloat16, which the standard does not know, counts as a floating type.
_KINDS = {
    "bool": {"bool"}, "signed integer": {"int32", "int64"}, "unsigned integer": {"uint8"},
    "real floating": {"bfloat16", "float32", "float64"}, "complex floating": set()}
_KINDS["integral"] = _KINDS["signed integer"] | _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] | _KINDS["real floating"] | _KINDS["complex floating"]


def dtype_of(x):
    """The type of a tensor, or the type that is named."""
    if isinstance(x, Tensor):
        return x.dtype
    return x if isinstance(x, DType) else _core.zeros(0, dtype=x).dtype


def floating(x):
    """x in a floating type: integers become float64."""
    return x if x.dtype.is_floating else x.astype("float64")


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another type, and on another device; itself if nothing changes and copy is False."""
    x = x if device is None else x.to(device)
    return x.astype(dtype, copy=copy)


def isdtype(dtype, kind):
    """Whether a type is another one, or of a kind such as "integral", or one of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind not in _KINDS:
        raise ValueError(f"a kind is one of {', '.join(map(repr, _KINDS))}, not {kind!r}")
    return dtype_of(dtype).name in _KINDS[kind] if isinstance(kind, str) else dtype_of(dtype) == kind


def result_type(*arrays_and_dtypes):
    """The type of what is computed from tensors, types and numbers. A number takes the type beside it if that is of its kind."""
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float))]
    dtypes = [dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float))]
    if not dtypes:
        raise ValueError("result_type() takes a tensor or a type at least")
    dtype = functools.reduce(_core._promoted, dtypes)
    return functools.reduce(_beside_number, numbers, dtype)


def _beside_number(dtype, number):
    if isinstance(number, bool):
        return dtype
    return (_core.zeros(0, dtype=dtype) + number).dtype


def can_cast(from_, to, /):
    """Whether a tensor, or a type, becomes the other type where both are in one computation."""
    return _core._promoted(dtype_of(from_), dtype_of(to)) == dtype_of(to)


class finfo:  # noqa: N801
    """The limits of a floating type, as numbers of Python."""

    # (bits of the fraction, greatest exponent) of IEEE 754's types, and of bfloat16.
    _FORMATS = {"float32": (23, 127), "float64": (52, 1023), "bfloat16": (7, 127)}

    def __init__(self, type, /):  # noqa: A002
        self.dtype = dtype_of(type)
        if not self.dtype.is_floating:
            raise ValueError(f"finfo() is of floating types, not of {self.dtype}")
        fraction, exponent = self._FORMATS[self.dtype.name]
        self.bits = 8 * self.dtype.itemsize
        self.eps = 2.0 ** -fraction
        self.max = (2 - self.eps) * 2.0 ** exponent
        self.min = -self.max
        self.smallest_normal = 2.0 ** (1 - exponent)

    def __repr__(self):
        return f"finfo(min={self.min}, max={self.max}, dtype={self.dtype})"


class iinfo:  # noqa: N801
    """The limits of an integer type."""

    def __init__(self, type, /):  # noqa: A002
        self.dtype = dtype_of(type)
        if not isdtype(self.dtype, "integral"):
            raise ValueError(f"iinfo() is of integer types, not of {self.dtype}")
        self.bits = 8 * self.dtype.itemsize
        is_signed = isdtype(self.dtype, "signed integer")
        self.max = 2 ** (self.bits - is_signed) - 1
        self.min = -self.max - 1 if is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def named(kind=None):
    """{name: type} of the standard's types that there are, of a kind or of several."""
    kinds = tuple(_KINDS) if kind is None else kind
    return {name: dtype for name, dtype in ALL.items() if name != "bfloat16" and isdtype(dtype, kinds)}
