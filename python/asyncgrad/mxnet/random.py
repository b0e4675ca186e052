"""mxnet.np.random and mxnet.random."""
import numpy as _np

import asyncgrad as _ag

from .context import device_of as _device
from .multiarray import dtype_of as _dtype
from .multiarray import given as _given
from .multiarray import wrapped as _wrapped


def seed(seed, ctx="all"):
    """Starts the random numbers of all devices again from a seed."""
    _ag.manual_seed(int(seed) & (2**64 - 1))


def _shape(size, *parameters):
    if size is not None:
        return size
    return _np.broadcast_shapes(*(getattr(p, "shape", ()) for p in parameters))


def _plain(*parameters):
    return all(not hasattr(p, "shape") for p in parameters)


def _check_scale(scale):
    if _plain(scale) and scale < 0:
        raise ValueError(f"scale must be at least 0, got {scale}")


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers of N(loc, scale^2); the shape is size, or that of the parameters."""
    _check_scale(scale)
    if _plain(loc, scale):
        return _given(_wrapped(_ag.normal(loc, scale, _shape(size), _dtype(dtype), _device(ctx))), out)
    drawn = _wrapped(_ag.normal(0, 1, _shape(size, loc, scale), _dtype(dtype), _device(ctx)))
    return _given(drawn * scale + loc, out)


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers between low and high; the shape is size, or that of the parameters."""
    if _plain(low, high):
        return _given(_wrapped(_ag.uniform(low, high, _shape(size), _dtype(dtype), _device(ctx))), out)
    drawn = _wrapped(_ag.uniform(0, 1, _shape(size, low, high), _dtype(dtype), _device(ctx)))
    return _given(drawn * (high - low) + low, out)


def randn(*size, dtype=None, ctx=None, out=None):
    """Numbers of N(0, 1), of shape (2, 3) for randn(2, 3)."""
    return normal(0, 1, size, dtype, ctx, out)


def rand(*size, dtype=None, ctx=None, out=None):
    """Numbers between 0 and 1, of shape (2, 3) for rand(2, 3)."""
    return uniform(0, 1, size, dtype, ctx, out)


def _generator():
    """Numbers that NumPy draws, from a seed that the default generator gives."""
    generator = _ag.default_generator()
    place = generator.place
    generator.set(generator.seed, place + 1)
    return _np.random.default_rng([generator.seed, place])


def _array(values, dtype, ctx=None, out=None):
    return _given(_wrapped(_ag.array(values, _dtype(dtype), _device(ctx))), out)


def _choices(a):
    """What is drawn from, and its type: the numbers below an integer, or the elements of an array."""
    if isinstance(a, int):
        return a, "int64"
    return _np.asarray(a), getattr(a, "dtype", "float32")


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None):
    """Integers from low up to, but without, high; from 0 up to low without high. They are int64 without a type."""
    return _array(_generator().integers(low, high, size), "int64" if dtype is None else dtype, ctx, out)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None):
    """Elements of an array, or numbers below an integer, with probabilities p."""
    p = None if p is None else _np.asarray(p, "float64") / _np.asarray(p, "float64").sum()
    values, dtype = _choices(a)
    return _array(_generator().choice(values, size, replace, p), dtype, ctx, out)


def permutation(x):
    """The rows of an array, or the numbers below an integer, in random order."""
    values, dtype = _choices(x)
    return _array(_generator().permutation(values), dtype)


def shuffle(x):
    """Puts the rows of an array in random order."""
    places = _ag.array(_generator().permutation(len(x)), "int64", x.device)
    with _ag.no_grad():
        x[...] = _ag.take(x, places, 0)


def multinomial(n, pvals, size=None):
    """How often each outcome occurs in n draws with probabilities pvals."""
    pvals = _np.asarray(pvals, "float64")
    return _array(_generator().multinomial(n, pvals / pvals.sum(), size), "int64")


def exponential(scale=1.0, size=None, ctx=None, out=None):
    """Numbers of the exponential distribution with mean `scale`."""
    _check_scale(scale)
    return _given(_ag.log(uniform(0.0, 1.0, _shape(size, scale), ctx=ctx)) * -scale, out)


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers of the gamma distribution."""
    return _drawn("gamma", [shape, scale], size, dtype, ctx, out)


def beta(a, b, size=None, dtype=None, ctx=None):
    """Numbers of the beta distribution."""
    return _drawn("beta", [a, b], size, dtype, ctx)


def _drawn(name, parameters, size, dtype="float32", ctx=None, out=None):
    """What NumPy's generator draws: arrays of parameters give an array of their shape."""
    parameters = [x if isinstance(x, (int, float)) else _np.asarray(x) for x in parameters]
    return _array(getattr(_generator(), name)(*parameters, size=size), dtype or "float32", ctx, out)


def chisquare(df, size=None, dtype=None, ctx=None):
    """Numbers of the chi-square distribution with df degrees of freedom."""
    return _drawn("chisquare", [df], size, dtype, ctx)


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Numbers of the Gumbel distribution with mode `loc`."""
    return _drawn("gumbel", [loc, scale], size, ctx=ctx, out=out)


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Numbers of the logistic distribution with mean `loc`."""
    return _drawn("logistic", [loc, scale], size, ctx=ctx, out=out)


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Numbers whose logarithms have the distribution N(mean, sigma^2)."""
    return _drawn("lognormal", [mean, sigma], size, dtype, ctx, out)


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Vectors of N(mean, cov): mean (..., N), cov (..., N, N) -> (size, ..., N). Waits for mean and cov."""
    mean, cov = _np.asarray(mean, "float64"), _np.asarray(cov, "float64")
    size = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    factor = _np.linalg.cholesky(cov)
    noise = _generator().normal(size=size + _np.broadcast_shapes(mean.shape, cov.shape[:-1]))
    return _array((factor @ noise[..., None])[..., 0] + mean, "float32")


def pareto(a, size=None, ctx=None, out=None):
    """Numbers of the Pareto II, or Lomax, distribution with shape a."""
    return _drawn("pareto", [a], size, ctx=ctx, out=out)


def power(a, size=None):
    """Numbers in [0, 1] with the density a x^(a - 1)."""
    return _drawn("power", [a], size)


def rayleigh(scale=1.0, size=None, ctx=None, out=None):
    """Numbers of the Rayleigh distribution with mode `scale`."""
    return _drawn("rayleigh", [scale], size, ctx=ctx, out=out)


def weibull(a, size=None, ctx=None, out=None):
    """Numbers of the Weibull distribution with shape a."""
    return _drawn("weibull", [a], size, ctx=ctx, out=out)
