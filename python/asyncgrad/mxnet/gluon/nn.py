"""Layers under MXNet's names; shapes that are not given follow from the first input."""
import asyncgrad as ag

from .. import npx
from ..multiarray import rows_of as _rows_of
from .block import Block, F, HybridBlock
from .activations import ELU, GELU, Activation, LeakyReLU, PReLU, Swish
from .convolutions import (AvgPool1D, AvgPool2D, Conv1D, Conv2D, Conv2DTranspose, GlobalAvgPool1D, GlobalAvgPool2D,
                           GlobalMaxPool1D, GlobalMaxPool2D, MaxPool1D, MaxPool2D)
from .norms import BatchNorm, LayerNorm


class Sequential(Block):
    """Blocks one after the other."""

    def add(self, *blocks):
        """Appends blocks."""
        for block in blocks:
            self.register_child(block)

    def forward(self, x, *args):
        for child in self._children.values():
            x = child(x, *args)
            args = ()
        return x

    def __getitem__(self, key):
        blocks = list(self._children.values())[key]
        if not isinstance(blocks, list):
            return blocks
        part = type(self)(prefix=self._prefix)
        part.add(*blocks)
        return part

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        return iter(self._children.values())


class HybridSequential(Sequential, HybridBlock):
    """As Sequential."""


class Dense(HybridBlock):
    """activation(x weight^T + bias): weight (units, in_units), bias (units); x (N, ...), flattened unless flatten=False."""

    def __init__(self, units, activation=None, use_bias=True, flatten=True, dtype="float32", weight_initializer=None,
                 bias_initializer="zeros", in_units=0, prefix=None, params=None):
        super().__init__(prefix, params)
        self._units, self._flatten, self._activation = units, flatten, activation
        self.weight = self.params.get("weight", shape=(units, in_units), init=weight_initializer, dtype=dtype,
                                      allow_deferred_init=True)
        self.bias = None
        if use_bias:
            self.bias = self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype)

    def forward(self, x):
        if self._flatten and x.ndim > 2:
            x = _rows_of(x)
        elif self._flatten and x.ndim == 1:
            x = ag.reshape(x, (-1, 1))
        self.weight.complete((self._units, x.shape[-1]))
        y = ag.matmul(x, self.weight.data(x.ctx), False, True)
        if self.bias is not None:
            y = y + self.bias.data(x.ctx)
        return y if self._activation is None else npx.activation(y, self._activation)

    def __repr__(self):
        activation = f"Activation({self._activation})" if self._activation else "linear"
        return f"{type(self).__name__}({self.weight.shape[1]} -> {self._units}, {activation})"


class Flatten(HybridBlock):
    """(N, A, B, ...) -> (N, A B ...)"""

    def forward(self, x):
        return npx.batch_flatten(x)

    def __repr__(self):
        return type(self).__name__


class Lambda(Block):
    """A function as a block, or the one of npx or np that has the name."""

    def __init__(self, function, prefix=None):
        super().__init__(prefix)
        self._name = function if isinstance(function, str) else getattr(function, "__name__", repr(function))
        self._function = getattr(F, function) if isinstance(function, str) else function

    def forward(self, *args):
        return self._function(*args)

    def __repr__(self):
        return f"{type(self).__name__}({self._name})"


class HybridLambda(Lambda, HybridBlock):
    """A function of F, which stands for np and npx, and of the inputs as a block; or a function's name."""

    def __init__(self, function, prefix=None):
        super().__init__(function, prefix)
        if not isinstance(function, str):
            self._function = lambda *args: function(F, *args)


class Dropout(HybridBlock):
    """In training 0 with probability `rate`, else x / (1 - rate); else x. Elements along `axes` share the choice."""

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix, params)
        self._rate, self._axes = rate, axes

    def forward(self, x):
        return npx.dropout(x, self._rate, axes=self._axes)

    def __repr__(self):
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of weight (input_dim, output_dim)."""

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, sparse_grad=False, prefix=None,
                 params=None):
        super().__init__(prefix, params)
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype)

    def forward(self, x):
        return npx.embedding(x, self.weight.data(x.ctx))

    def __repr__(self):
        return f"{type(self).__name__}({self.weight.shape[0]} -> {self.weight.shape[1]}, {self.weight.dtype})"
