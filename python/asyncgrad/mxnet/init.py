"""Initialisers under MXNet's names: they write an array's values."""
import math

import numpy as _np

from .._scopes import no_grad as _no_grad
from .random import normal as _normal
from .random import uniform as _uniform


class Initializer:
    """Write _init_weight(name, array) in a class of your own."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, desc, arr):
        name = str(desc)
        if name.endswith(("bias", "beta", "running_mean", "moving_mean")):
            arr[...] = 0.0
        elif name.endswith(("gamma", "running_var", "moving_var")):
            arr[...] = 1.0
        else:
            self._init_weight(name, arr)

    def init_weight(self, name, arr):
        """Writes an array, whatever its name is."""
        self._init_weight(name, arr)

    def _init_weight(self, name, arr):
        raise NotImplementedError("_init_weight")


class Zero(Initializer):
    """Zeros."""

    def _init_weight(self, name, arr):
        arr[...] = 0.0


class One(Initializer):
    """Ones."""

    def _init_weight(self, name, arr):
        arr[...] = 1.0


class Constant(Initializer):
    """One number everywhere, or an array's values, whatever the array is called that gets them."""

    def __init__(self, value):
        self.value = value

    def __call__(self, desc, arr):
        self._init_weight(desc, arr)

    def _init_weight(self, name, arr):
        arr[...] = self.value


class Uniform(Initializer):
    """Numbers between -scale and scale."""

    def __init__(self, scale=0.07):
        self.scale = scale

    def _init_weight(self, name, arr):
        arr[...] = _uniform(-self.scale, self.scale, arr.shape, ctx=arr.ctx)


class Normal(Initializer):
    """Numbers of N(0, sigma^2)."""

    def __init__(self, sigma=0.01):
        self.sigma = sigma

    def _init_weight(self, name, arr):
        arr[...] = _normal(0, self.sigma, arr.shape, ctx=arr.ctx)


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


class MSRAPrelu(Xavier):
    """Xavier's for layers with PReLU of a slope: He et al. 2015."""

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope ** 2))


Zeros, Ones = Zero, One


def create(initializer):
    """The initialiser of a name; an object as it is."""
    if not isinstance(initializer, str):
        return initializer
    names = {"zeros": Zero, "zero": Zero, "ones": One, "one": One, "uniform": Uniform, "normal": Normal, "xavier": Xavier,
             "msraprelu": MSRAPrelu}
    if initializer.lower() not in names:
        raise NotImplementedError(f"init.create({initializer!r})")
    return names[initializer.lower()]()


def _write(initializer, name, arr, is_weight_of_its_own):
    """Writes an array: a parameter's own initialiser does so whatever the parameter is called."""
    with _no_grad():
        if is_weight_of_its_own and isinstance(initializer, Initializer):
            initializer.init_weight(name, arr)
        else:
            initializer(name, arr)
