"""Initialisers under MXNet's names: they write an array's values."""
import math

import numpy as _np

from .. import _core
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
        self._init_weight(name, arr)

    def _init_weight(self, name, arr):
        raise NotImplementedError("_init_weight")


class Zero(Initializer):
    def _init_weight(self, name, arr):
        arr[...] = 0.0


class One(Initializer):
    def _init_weight(self, name, arr):
        arr[...] = 1.0


class Constant(Initializer):
    def __init__(self, value):
        self.value = value

    def __call__(self, desc, arr):
        self._init_weight(desc, arr)

    def _init_weight(self, name, arr):
        arr[...] = self.value


class Uniform(Initializer):
    def __init__(self, scale=0.07):
        self.scale = scale

    def _init_weight(self, name, arr):
        arr[...] = _uniform(-self.scale, self.scale, arr.shape, ctx=arr.ctx)


class Normal(Initializer):
    def __init__(self, sigma=0.01):
        self.sigma = sigma

    def _init_weight(self, name, arr):
        arr[...] = _normal(0, self.sigma, arr.shape, ctx=arr.ctx)


class Xavier(Initializer):
    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name, arr):
        if arr.ndim < 2:
            raise ValueError(f"Xavier cannot initialise {name} of shape {arr.shape}")
        area = float(_np.prod(arr.shape[2:]))
        fan_in, fan_out = arr.shape[1] * area, arr.shape[0] * area
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        draw = _uniform(-scale, scale, arr.shape, ctx=arr.ctx) if self.rnd_type == "uniform" else _normal(0, scale, arr.shape, ctx=arr.ctx)
        arr[...] = draw


class MSRAPrelu(Xavier):
    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope ** 2))


Zeros, Ones = Zero, One


def create(initializer):
    """An initialiser of a name, an object as it is."""
    if isinstance(initializer, str):
        names = {"zeros": Zero, "ones": One, "uniform": Uniform, "normal": Normal, "xavier": Xavier}
        return names[initializer.lower()]()
    return initializer


def _write(initializer, name, arr, is_weight_of_its_own):
    """Writes an array: by a parameter's own initialiser whatever its name is."""
    from .._scopes import no_grad

    with no_grad():
        if is_weight_of_its_own and isinstance(initializer, Initializer):
            initializer.init_weight(name, arr) if not isinstance(initializer, Constant) else initializer(name, arr)
        else:
            initializer(name, arr)
