"""Initialisers under MXNet's names: they write an array's values."""
import math

import numpy as _np

from .base import unwritten as _unwritten
from .random import normal as _normal
from .random import uniform as _uniform


class InitDesc(str):
    """A parameter's name, with the initialiser that was chosen for it as attrs["__init__"]."""

    def __new__(cls, name, attrs=None, global_init=None):
        desc = super().__new__(cls, name)
        desc.attrs, desc.global_init = attrs or {}, global_init
        return desc


class Initializer:
    """Write _init_weight(name, array) in a class of your own.

    A parameter of a block is written by _init_weight() of its own initialiser, or of the block's if it has none. An
    array with a name alone is written as the name's end says: 0 for "bias" and "beta", 1 for "gamma".
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, desc, arr):
        chosen = desc.attrs.get("__init__") if isinstance(desc, InitDesc) else None
        if chosen:
            create(chosen)._init_weight(desc, arr)
        elif desc.endswith("bias"):
            self._init_bias(desc, arr)
        elif desc.endswith("gamma"):
            self._init_gamma(desc, arr)
        elif desc.endswith("beta"):
            self._init_beta(desc, arr)
        elif desc.endswith("weight"):
            self._init_weight(desc, arr)
        else:
            raise ValueError(f"{desc} ends with none of weight, bias, gamma, beta")

    def _init_bias(self, name, arr):
        arr[...] = 0.0

    def _init_gamma(self, name, arr):
        arr[...] = 1.0

    def _init_beta(self, name, arr):
        arr[...] = 0.0

    def _init_weight(self, name, arr):
        raise _unwritten(self, "_init_weight")


_registered = {}


def register(kind):
    """Makes an initialiser known to create() by the name of its class in lower case."""
    _registered[kind.__name__.lower()] = kind
    return kind


@register
class Zero(Initializer):
    """Zeros."""

    def _init_weight(self, name, arr):
        arr[...] = 0.0


@register
class One(Initializer):
    """Ones."""

    def _init_weight(self, name, arr):
        arr[...] = 1.0


@register
class Constant(Initializer):
    """One number everywhere, or an array's values, whatever the array is called that gets them."""

    def __init__(self, value):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name, arr):
        arr[...] = self.value


@register
class Uniform(Initializer):
    """Numbers between -scale and scale."""

    def __init__(self, scale=0.07):
        self.scale = scale

    def _init_weight(self, name, arr):
        arr[...] = _uniform(-self.scale, self.scale, arr.shape, ctx=arr.ctx)


@register
class Normal(Initializer):
    """Numbers of N(0, sigma^2)."""

    def __init__(self, sigma=0.01):
        self.sigma = sigma

    def _init_weight(self, name, arr):
        arr[...] = _normal(0, self.sigma, arr.shape, ctx=arr.ctx)


@register
class Xavier(Initializer):
    """Numbers whose scale is sqrt(magnitude / factor), where the factor is the inputs, the outputs or their mean.

    Glorot and Bengio 2010. "uniform" lie within the scale, and for "gaussian" it is the standard deviation.
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("avg", "in", "out"):
            raise ValueError(f"Xavier(rnd_type={rnd_type!r}, factor_type={factor_type!r})")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name, arr):
        if arr.ndim < 2:
            raise ValueError(f"Xavier cannot initialise {name} of shape {arr.shape}")
        area = float(_np.prod(arr.shape[2:]))
        fan_in, fan_out = arr.shape[1] * area, arr.shape[0] * area
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[...] = _uniform(-scale, scale, arr.shape, ctx=arr.ctx)
        else:
            arr[...] = _normal(0, scale, arr.shape, ctx=arr.ctx)


@register
class MSRAPrelu(Xavier):
    """Xavier's for layers with PReLU of a slope: He et al. 2015."""

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope ** 2))


Zeros, Ones = Zero, One
_registered.update(zeros=Zero, ones=One)


def create(initializer, **kwargs):
    """The initialiser of a name, made with the other arguments; an initialiser as it is."""
    if not isinstance(initializer, str):
        return initializer
    if initializer.lower() not in _registered:
        raise NotImplementedError(f"init.create({initializer!r}): there are {', '.join(sorted(_registered))}")
    return _registered[initializer.lower()](**kwargs)
