"""NumPy's protocols: numpy.sin(x) and numpy.concatenate([x, y]) give tensors, which are recorded as others are.

What is not in the tables here NumPy computes itself, from the values, for which it waits.
"""
import functools
import inspect

from . import _core, _functions, array_api
from ._computed import is_wanted
from ._tensor import Tensor, array_of, dot_of

# By the name of numpy's function: that of the operator.
_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "divmod": "divmod", "power": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "lshift",
    "right_shift": "rshift"}
_COMPARISONS = {"equal": ("eq", "eq"), "not_equal": ("ne", "ne"), "less": ("lt", "gt"), "less_equal": ("le", "ge"),
                "greater": ("gt", "lt"), "greater_equal": ("ge", "le")}
_ELEMENTWISE = {name: name for name in (
    "cos cosh exp expm1 floor hypot isfinite isnan log log10 log1p log2 logical_and logical_not logical_or logical_xor maximum minimum "
    "sign sin sinh sqrt square tanh").split()} | {"absolute": "abs", "rint": "round"}
# That of the array API standard.
_STANDARD = {name: name for name in "ceil copysign isinf logaddexp nextafter reciprocal signbit tan trunc vecdot".split()} | {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "arctan2": "atan2"}


def _by_operator(forward, reflected, x, y):
    # Not by operator.add and the like: an array on the left would come back here.
    if isinstance(x, Tensor):
        return getattr(x, f"__{forward}__")(y)
    return getattr(y, f"__{reflected}__")(x)


@functools.cache
def _ufunc(name):
    if name in _BINARY:
        return functools.partial(_by_operator, _BINARY[name], "r" + _BINARY[name])
    if name in _COMPARISONS:
        return functools.partial(_by_operator, *_COMPARISONS[name])
    if name in _ELEMENTWISE:
        return getattr(_core, _ELEMENTWISE[name])
    if name in _STANDARD:
        return functools.partial(_of_tensors, getattr(array_api, _STANDARD[name]))
    return {"negative": lambda x: -x, "invert": lambda x: ~x, "positive": lambda x: x}.get(name)


def _of_tensors(function, *args, **options):
    """A function of the standard, which knows no arrays: they become tensors."""
    return function(*(_core.asarray(x) if hasattr(x, "__array_interface__") else x for x in args), **options)


def _tensors_in(argument):
    if isinstance(argument, Tensor):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _tensors_in(part)


def _is_floating(result):
    return any(map(_is_floating, result)) if isinstance(result, (list, tuple)) else getattr(getattr(result, "dtype", None), "kind", "") == "f"


def _computed_by_numpy(name, function, args, options):
    """What NumPy computes from the values, unless that would lose a gradient that is wanted."""
    try:
        result = function(*map(_values, args), **{key: _values(value) for key, value in options.items()})
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise TypeError(f"numpy.{name} cannot write into a tensor, whose values NumPy may only read: x[...] = y writes them") from error
    if _is_floating(result) and is_wanted(_tensors_in([*args, *options.values()])):
        raise TypeError(f"numpy.{name} of a tensor whose gradient is wanted: NumPy computes it, from x.detach()")
    return result


def _values(argument):
    """The values of tensors for NumPy to read: what it wrote would be behind the back of what is queued."""
    if isinstance(argument, Tensor):
        array = array_of(argument).view()
        array.flags.writeable = False
        return array
    if isinstance(argument, (list, tuple)):
        return (list if isinstance(argument, list) else tuple)(map(_values, argument))  # for NumPy a named tuple is a tuple
    return argument


def _array_ufunc(self, ufunc, method, *inputs, **options):
    """The result of a function of each element, such as numpy.sin, for tensors."""
    own = _ufunc(ufunc.__name__) if method == "__call__" and not options else None
    if own is not None:
        return own(*inputs)
    if method == "at" or any(isinstance(target, Tensor) for target in options.get("out", ())):
        return NotImplemented  # NumPy would write behind the back of what is queued
    return _computed_by_numpy(ufunc.__name__, getattr(ufunc, method), inputs, options)


def _reduction(name):
    def call(a, axis=None, dtype=None, out=None, keepdims=False):
        if out is not None:
            return NotImplemented
        if dtype is None:
            return getattr(a, name)(axis=axis, keepdims=keepdims)
        return getattr(a.astype(dtype), name)(axis=axis, keepdims=keepdims).astype(dtype, copy=False)

    return call


def _spread(name):
    def call(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        if dtype is not None or out is not None:
            return NotImplemented
        return getattr(a, name)(axis=axis, ddof=ddof, keepdims=keepdims)

    return call


def _of_axis(name):
    def call(a, axis=None, out=None, keepdims=False):
        return NotImplemented if out is not None else getattr(a, name)(axis=axis, keepdims=keepdims)

    return call


def _product(a, axis=None, dtype=None, out=None, keepdims=False):
    return NotImplemented if out is not None else array_api.prod(a, axis=axis, dtype=dtype, keepdims=keepdims)


# These take a number where NumPy takes an array, too.
def _clipped(a, a_min=None, a_max=None):
    return _core.clip(a, a_min, a_max) if _is_number(a_min) and _is_number(a_max) else NotImplemented


def _expanded(a, axis):
    return _core.expand_dims(a, axis) if _is_number(axis) else NotImplemented


def _repeated(a, repeats, axis=None):
    return _functions.repeat(a, repeats, axis) if _is_number(repeats) else NotImplemented


def _is_number(argument):
    """Whether NumPy would not go through it; numpy itself is imported late, as it takes long."""
    return not isinstance(argument, (list, tuple)) and getattr(argument, "ndim", 0) == 0


def _joined(arrays, axis=0):
    if axis is None:
        arrays, axis = [_core.asarray(x).reshape(-1) for x in arrays], 0
    return _core.concatenate(list(arrays), axis)


def _along(function):
    """A function along an axis, for which None stands for all elements in order."""
    return lambda a, axis=-1: function(a, axis) if axis is not None else function(a.reshape(-1), 0)


def _taken(a, indices, axis=None):
    a = _core.asarray(a)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    return array_api.take(a, _core.asarray(indices, device=a.device), axis=axis)


def _einsum(subscripts, *operands):
    operands = [_core.asarray(x) for x in operands]
    dtype = array_api.result_type(*operands)
    if not isinstance(subscripts, str) or dtype not in ("float32", "float64"):
        return NotImplemented  # axes by numbers, or a type without a kernel
    return _core.einsum(subscripts, *(x.astype(dtype, copy=False) for x in operands))


# By the name of numpy's function: one with those of its parameters that tensors know. What it gives NotImplemented for
# NumPy computes.
_FUNCTIONS = {
    **{name: _reduction(name) for name in ("sum", "mean")}, **{name: _spread(name) for name in ("var", "std")},
    **{name: _of_axis(name) for name in ("all", "any", "argmax", "argmin", "max", "min")},
    "amax": _of_axis("max"), "amin": _of_axis("min"), "concatenate": _joined,
    "where": lambda condition, x, y: _core.where(condition, x, y),
    "stack": lambda arrays, axis=0: _core.stack(list(arrays), axis), "cumsum": lambda a, axis=None: _core.cumsum(a, axis),
    "reshape": lambda a, shape: _core.reshape(a, shape), "ravel": lambda a: _core.reshape(a, -1),
    "transpose": lambda a, axes=None: _core.transpose(a, axes), "swapaxes": lambda a, axis1, axis2: _core.swapaxes(a, axis1, axis2),
    "squeeze": lambda a, axis=None: _core.squeeze(a, axis), "expand_dims": _expanded,
    "flip": lambda m, axis=None: _core.flip(m, axis), "broadcast_to": lambda array, shape: _core.broadcast_to(array, shape),
    "clip": _clipped, "dot": lambda a, b: dot_of(a, b),
    "outer": lambda a, b: _functions.outer(a, b), "tril": lambda m, k=0: _core.tril(m, k), "triu": lambda m, k=0: _core.triu(m, k),
    "tile": lambda A, reps: _core.tile(A, reps), "repeat": _repeated,
    "roll": lambda a, shift, axis=None: _functions.roll(a, shift, axis),
    "zeros_like": lambda a, dtype=None: _core.zeros_like(a, dtype), "ones_like": lambda a, dtype=None: _core.ones_like(a, dtype),
    "full_like": lambda a, fill_value, dtype=None: _core.full_like(a, fill_value, dtype),
    "prod": _product,
    "cumprod": lambda a, axis=None: _along(lambda x, axis: array_api.cumulative_prod(x, axis=axis))(a, axis),
    "sort": _along(lambda x, axis: array_api.sort(x, axis=axis)), "argsort": _along(lambda x, axis: array_api.argsort(x, axis=axis)),
    "take": _taken,
    "diff": lambda a, n=1, axis=-1: array_api.diff(a, n=n, axis=axis), "nonzero": lambda a: array_api.nonzero(a),
    "searchsorted": lambda a, v, side="left": array_api.searchsorted(*map(_core.asarray, (a, v)), side=side),
    "split": lambda ary, indices_or_sections, axis=0: _core.split(ary, indices_or_sections, axis),
    "tensordot": lambda a, b, axes=2: array_api.tensordot(*map(_core.asarray, (a, b)), axes=axes),
    "einsum": _einsum, "matrix_transpose": lambda x: array_api.matrix_transpose(x)}


def _norm(x, ord=None, axis=None, keepdims=False):
    is_of_vectors = x.ndim == 1 if axis is None else _is_number(axis)
    return _core.norm(x, axis, keepdims) if ord is None or (is_of_vectors and ord == 2) else NotImplemented


# Those of numpy.linalg: one of the standard's.
_LINALG = {
    name: getattr(array_api.linalg, name) for name in "cholesky det eigh eigvalsh inv matrix_power pinv qr slogdet solve svd svdvals".split()
} | {"norm": _norm}
_BY_METHODS = {"moveaxis", "rollaxis"}  # NumPy calls tensors' own methods
_OF_MODULES = {"numpy": _FUNCTIONS, "numpy.linalg": _LINALG}
_SIGNATURES = {function: inspect.signature(function) for table in _OF_MODULES.values() for function in table.values()}


def _array_function(self, function, types, args, options):
    """The result of another function of numpy for tensors."""
    name = function.__name__
    own = _OF_MODULES.get(function.__module__, {}).get(name)
    if own is not None:
        try:
            given = _SIGNATURES[own].bind(*args, **options)
        except TypeError:
            pass  # an argument that tensors do not know
        else:
            call = own if function.__module__ == "numpy" else functools.partial(_of_tensors, own)
            result = call(*given.args, **given.kwargs)
            if result is not NotImplemented:
                return result
    if name in _BY_METHODS:
        return function._implementation(*args, **options)
    return _computed_by_numpy(name, function._implementation, args, options)


def _array_namespace(self, /, *, api_version=None):
    """asyncgrad.array_api: the functions of the Python array API standard."""
    if api_version not in _STANDARDS:
        raise ValueError(f"there are the versions {', '.join(_STANDARDS[1:])} of the array API standard, not {api_version!r}")
    return array_api


_STANDARDS = None, "2021.12", "2022.12", "2023.12", "2024.12"


def to_device(self, device, /, *, stream=None):
    """The tensor on another device, as to(device)."""
    if stream is not None:
        raise ValueError(f"[to_device] there are no streams to choose, such as {stream!r}")
    return self.to(device)


def _mT(self):
    """The matrices x transposed: the last two axes exchanged. Vectors have no such attribute."""
    if self.ndim < 2:
        raise AttributeError(f"mT is of matrices, not of a tensor of shape {self.shape}")
    return array_api.matrix_transpose(self)


Tensor.__array_ufunc__ = _array_ufunc
Tensor.__array_function__ = _array_function
Tensor.__array_namespace__ = _array_namespace
Tensor.to_device = to_device
Tensor.mT = property(_mT)
