"""mxnet.np.random and mxnet.random."""
import numpy as _np

from .. import _core
from .context import device_of as _device
from .multiarray import dtype_of as _dtype
from .multiarray import wrapped as _wrapped


def seed(seed, ctx="all"):
    _core.manual_seed(int(seed) & (2**64 - 1))


def _shape(size, *parameters):
    if size is not None:
        return size
    return _np.broadcast_shapes(*(getattr(p, "shape", ()) for p in parameters))


def _plain(*parameters):
    return all(not hasattr(p, "shape") for p in parameters)


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    if _plain(loc, scale):
        return _wrapped(_core.normal(loc, scale, _shape(size), _dtype(dtype), _device(ctx)))
    return _wrapped(_core.normal(0, 1, _shape(size, loc, scale), _dtype(dtype), _device(ctx))) * scale + loc


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    if _plain(low, high):
        return _wrapped(_core.uniform(low, high, _shape(size), _dtype(dtype), _device(ctx)))
    return _wrapped(_core.uniform(0, 1, _shape(size, low, high), _dtype(dtype), _device(ctx))) * (high - low) + low


def randn(*size, dtype=None, ctx=None):
    return normal(0, 1, size, dtype, ctx)


def rand(*size):
    return uniform(0, 1, size)


def _generator():
    """Numbers that NumPy draws, from a seed that the default generator gives."""
    generator = _core.default_generator()
    place = generator.place
    generator._set(generator.seed, place + 1)
    return _np.random.default_rng([generator.seed, place])


def _array(values, dtype, ctx):
    return _wrapped(_core.array(values, _dtype(dtype), _device(ctx)))


def randint(low, high=None, size=None, dtype="int64", ctx=None, out=None):
    return _array(_generator().integers(low, high, size), dtype, ctx)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    p = None if p is None else _np.asarray(p, "float64") / _np.asarray(p, "float64").sum()
    return _array(_generator().choice(a if isinstance(a, int) else _np.asarray(a), size, replace, p), "int64", ctx)


def permutation(x):
    return _array(_generator().permutation(x if isinstance(x, int) else _np.asarray(x)), "int64", None)


def shuffle(x):
    places = _core.array(_generator().permutation(len(x)), "int64", x.device)
    with _core_no_grad():
        x[...] = _core.take(x, places, 0)


def _core_no_grad():
    from .._scopes import no_grad

    return no_grad()


def multinomial(n, pvals, size=None):
    pvals = _np.asarray(pvals, "float64")
    return _array(_generator().multinomial(n, pvals / pvals.sum(), size), "int64", None)


def exponential(scale=1.0, size=None, ctx=None, out=None):
    return _core.log(uniform(0.0, 1.0, size, ctx=ctx)) * -scale


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    return _array(_generator().gamma(shape, scale, size), dtype or "float32", ctx)


def beta(a, b, size=None, dtype=None, ctx=None):
    return _array(_generator().beta(a, b, size), dtype or "float32", ctx)
