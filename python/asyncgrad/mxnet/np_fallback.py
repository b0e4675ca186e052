"""mxnet.np: what NumPy computes, as in MXNet. The functions wait for their arrays, and raise within autograd.record()."""
import functools as _functools

import numpy as _np

from . import autograd as _autograd
from .context import current_context as _current_context
from .multiarray import alike as _alike
from .multiarray import computed as _computed
from .multiarray import given as _given
from .multiarray import ndarray as _ndarray
from .np_creation import array as _array

_NAMES = """
apply_along_axis apply_over_axes argpartition array_equiv choose compress corrcoef correlate count_nonzero cov digitize
divmod extract flatnonzero float_power frexp heaviside histogram2d histogram_bin_edges histogramdd i0 interp intersect1d
isclose isin ix_ lexsort modf nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin
nanpercentile nanprod nanquantile partition packbits piecewise poly polyadd polydiv polyfit polyint
polymul polysub positive promote_types ptp real roots searchsorted select setdiff1d setxor1d signbit spacing
take_along_axis tril_indices_from trim_zeros triu_indices_from union1d unpackbits unwrap vander
""".split()


def _values(x, contexts):
    """x with arrays of NumPy in place of those of MXNet, whose devices are collected."""
    if isinstance(x, _ndarray):
        contexts.append(x.ctx)
        return x.asnumpy()
    if isinstance(x, (list, tuple)):
        return _alike(x, [_values(item, contexts) for item in x])
    return x


def _arrays(x, ctx):
    if isinstance(x, _np.ndarray):
        return _array(x, ctx=ctx)
    return type(x)([_arrays(item, ctx) for item in x]) if type(x) in (list, tuple) else x


def fallback(name, function):
    """NumPy's function for arrays of MXNet. Numbers stay those that NumPy gives."""
    @_functools.wraps(function, assigned=("__name__",), updated=())
    def call(*args, **kwargs):
        contexts = []
        args = _values(args, contexts)
        kwargs = {key: _values(value, contexts) for key, value in kwargs.items()}
        if contexts and _autograd.is_recording():
            raise NotImplementedError(f"{name} within autograd.record(): NumPy computes it")
        result = function(*args, **kwargs)
        if isinstance(result, tuple):
            result = tuple(result)
        return _arrays(result, contexts[0] if contexts else _current_context())

    call.__doc__ = f"As numpy.{name}. Waits for the arrays."
    del call.__wrapped__
    return call


for _name in _NAMES:
    globals()[_name] = fallback(_name, getattr(_np, _name))
# Names that NumPy 2 has given up.
alltrue, in1d = fallback("alltrue", _np.all), fallback("in1d", lambda *args, **kwargs: _np.isin(*args, **kwargs).reshape(-1))
msort, trapz = fallback("msort", lambda a: _np.sort(a, 0)), fallback("trapz", getattr(_np, "trapezoid", None) or _np.trapz)
set_printoptions, finfo = _np.set_printoptions, _np.finfo


def _quantiles(name):
    function = fallback(name, getattr(_np, name))

    def call(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
        found = function(a, q, axis, method=interpolation, keepdims=keepdims)
        return _given(_computed(found, a), out)

    call.__name__, call.__doc__ = name, function.__doc__
    return call


percentile, quantile = _quantiles("percentile"), _quantiles("quantile")
lcm = fallback("lcm", _np.lcm)
_bits = {name: fallback(name, getattr(_np, name)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")}
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = _bits.values()
invert = bitwise_not


def histogram(a, bins=10, range=None):  # noqa: A002
    """The numbers of elements in equal parts of the range, or between edges in `bins`, and the edges. Waits."""
    if isinstance(bins, int) and range is None:
        raise NotImplementedError("np.histogram without a range")
    counts, edges = _np.histogram(a.asnumpy(), bins.asnumpy() if isinstance(bins, _ndarray) else bins, range)
    return _array(counts, dtype="int64", ctx=a.ctx), _array(edges, dtype=str(a.dtype), ctx=a.ctx)


def unravel_index(indices, shape):
    """The index along each axis of a shape for each number of an element. Waits for the numbers."""
    places = _np.stack(_np.unravel_index(indices.asnumpy().astype("int64"), shape))
    return [_array(row, dtype="int64", ctx=indices.ctx) for row in places]


def diag_indices_from(arr):
    """The indices of the diagonal, for each axis."""
    return tuple(_array(row, dtype="int64", ctx=arr.ctx) for row in _np.diag_indices(arr.shape[0], arr.ndim))
