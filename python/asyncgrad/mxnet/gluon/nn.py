"""Layers under MXNet's names; shapes that are not given follow from the first input."""
from ... import _core
from .. import autograd, npx
from .block import Block, HybridBlock


class Sequential(Block):
    """Blocks one after the other."""

    def add(self, *blocks):
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
            x = x.reshape(x.shape[0], -1)
        elif self._flatten and x.ndim == 1:
            x = x.reshape(-1, 1)
        self.weight.complete((self._units, x.shape[-1]))
        y = _core.matmul(x, self.weight.data(x.ctx), False, True)
        if self.bias is not None:
            y = y + self.bias.data(x.ctx)
        return y if self._activation is None else npx.activation(y, self._activation)

    def __repr__(self):
        return f"Dense({self.weight.shape[1] or None} -> {self._units}, {self._activation or 'linear'})"


class Activation(HybridBlock):
    def __init__(self, activation, prefix=None, params=None):
        super().__init__(prefix, params)
        self._activation = activation

    def forward(self, x):
        return npx.activation(x, self._activation)


class LeakyReLU(HybridBlock):
    def __init__(self, alpha, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def forward(self, x):
        return npx.leaky_relu(x, slope=self._alpha)


class GELU(HybridBlock):
    def forward(self, x):
        return _core.gelu(x)


class Flatten(HybridBlock):
    def forward(self, x):
        return x.reshape(x.shape[0], -1)


class Lambda(Block):
    def __init__(self, function, prefix=None):
        super().__init__(prefix)
        self._function = function

    def forward(self, *args):
        return self._function(*args)


class Dropout(HybridBlock):
    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix, params)
        self._rate, self._axes = rate, axes

    def forward(self, x):
        return npx.dropout(x, self._rate, axes=self._axes)


class Embedding(HybridBlock):
    """Rows of weight (input_dim, output_dim)."""

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, sparse_grad=False, prefix=None,
                 params=None):
        super().__init__(prefix, params)
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype)

    def forward(self, x):
        return npx.embedding(x, self.weight.data(x.ctx))


class LayerNorm(HybridBlock):
    def __init__(self, axis=-1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
                 in_channels=0, prefix=None, params=None):
        super().__init__(prefix, params)
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self.params.get("gamma", grad_req="write" if scale else "null", shape=(in_channels,),
                                     init=gamma_initializer, allow_deferred_init=True)
        self.beta = self.params.get("beta", grad_req="write" if center else "null", shape=(in_channels,),
                                    init=beta_initializer, allow_deferred_init=True)

    def forward(self, x):
        for parameter in (self.gamma, self.beta):
            parameter.complete((x.shape[self._axis],))
        return npx.layer_norm(x, self.gamma.data(x.ctx), self.beta.data(x.ctx), self._axis, self._epsilon)


class BatchNorm(HybridBlock):
    """Normalises each channel; running statistics in prediction."""

    def __init__(self, axis=1, momentum=0.9, epsilon=1e-5, center=True, scale=True, use_global_stats=False,
                 beta_initializer="zeros", gamma_initializer="ones", running_mean_initializer="zeros",
                 running_variance_initializer="ones", in_channels=0, prefix=None, params=None, **_):
        super().__init__(prefix, params)
        self._axis, self._momentum, self._epsilon, self._global = axis, momentum, epsilon, use_global_stats
        make = lambda name, grad_req, init: self.params.get(name, grad_req=grad_req, shape=(in_channels,), init=init,
                                                            allow_deferred_init=True)
        self.gamma = make("gamma", "write" if scale else "null", gamma_initializer)
        self.beta = make("beta", "write" if center else "null", beta_initializer)
        self.running_mean = make("running_mean", "null", running_mean_initializer)
        self.running_var = make("running_var", "null", running_variance_initializer)

    def forward(self, x):
        axis = self._axis % x.ndim
        for parameter in (self.gamma, self.beta, self.running_mean, self.running_var):
            parameter.complete((x.shape[axis],))
        gamma, beta, mean, var = (p.data(x.ctx) for p in (self.gamma, self.beta, self.running_mean, self.running_var))
        x = x if axis == 1 else x.swapaxes(1, axis)
        if autograd.is_training() and not self._global:
            y, own_mean, own_var = _core.batch_norm(x, gamma, beta, self._epsilon)
            self._update(mean, own_mean, var, own_var)
        else:
            y = _core.batch_norm_with(x, mean, var, gamma, beta, self._epsilon)
        return y if axis == 1 else y.swapaxes(1, axis)

    def _update(self, mean, own_mean, var, own_var):
        from ..._scopes import no_grad

        with no_grad():
            for kept, own in ((mean, own_mean), (var, own_var)):
                kept *= self._momentum
                kept += own.detach().reshape(-1) * (1 - self._momentum)


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


class Conv2D(HybridBlock):
    """weight (channels, in_channels / groups, kh, kw); x (N, C, H, W)."""

    def __init__(self, channels, kernel_size, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, layout="NCHW",
                 activation=None, use_bias=True, weight_initializer=None, bias_initializer="zeros", in_channels=0,
                 prefix=None, params=None):
        super().__init__(prefix, params)
        if layout != "NCHW":
            raise NotImplementedError(f"Conv2D(layout={layout!r})")
        self._kernel, self._stride, self._pad = _pair(kernel_size), _pair(strides), _pair(padding)
        self._dilate, self._groups, self._activation, self._channels = _pair(dilation), groups, activation, channels
        self.weight = self.params.get("weight", shape=(channels, in_channels // groups, *self._kernel),
                                      init=weight_initializer, allow_deferred_init=True)
        self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer) if use_bias else None

    def forward(self, x):
        self.weight.complete((self._channels, x.shape[1] // self._groups, *self._kernel))
        bias = None if self.bias is None else self.bias.data(x.ctx)
        y = npx.convolution(x, self.weight.data(x.ctx), bias, self._kernel, self._stride, self._dilate, self._pad,
                            num_group=self._groups)
        return y if self._activation is None else npx.activation(y, self._activation)


class _Pool(HybridBlock):
    def __init__(self, pool_size=(2, 2), strides=None, padding=0, layout="NCHW", ceil_mode=False, count_include_pad=True,
                 prefix=None, params=None):
        super().__init__(prefix, params)
        if ceil_mode or layout != "NCHW":
            raise NotImplementedError("pooling with ceil_mode or another layout")
        self._size, self._pad, self._count = _pair(pool_size), _pair(padding), count_include_pad
        self._stride = self._size if strides is None else _pair(strides)

    def forward(self, x):
        return npx.pooling(x, self._size, self._type, self._stride, self._pad, count_include_pad=self._count)


class MaxPool2D(_Pool):
    _type = "max"


class AvgPool2D(_Pool):
    _type = "avg"


class GlobalAvgPool2D(HybridBlock):
    def forward(self, x):
        return npx.pooling(x, pool_type="avg", global_pool=True)


class GlobalMaxPool2D(HybridBlock):
    def forward(self, x):
        return npx.pooling(x, pool_type="max", global_pool=True)
