"""Convolutions and pooling under MXNet's names, of one and two axes."""
from .. import npx
from .block import HybridBlock


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def _check_axes(layer, x, count):
    """Raises unless x has the axes that a layer takes."""
    if x.ndim != count:
        raise ValueError(f"{type(layer).__name__} takes x of {count} axes, {('(N, C, L)', '(N, C, H, W)')[count - 3]}, not {x.shape}")


def _convolution_text(layer):
    """What MXNet prints of a layer: the arguments that are not the usual ones."""
    parts = [f"{layer.weight.shape[1]} -> {layer.weight.shape[0]}", f"kernel_size={layer._kernel}", f"stride={layer._stride}"]
    for name, value, usual in (("padding", layer._pad, 0), ("dilation", layer._dilate, 1)):
        if any(extent != usual for extent in value):
            parts.append(f"{name}={value}")
    if getattr(layer, "_groups", 1) != 1:
        parts.append(f"groups={layer._groups}")
    if layer.bias is None:
        parts.append("bias=False")
    if layer._activation is not None:
        parts.append(f"Activation({layer._activation})")
    return f"{type(layer).__name__}({', '.join(parts)})"


def _pooling_text(layer, size, stride, pad, layout, is_global=False):
    return (f"{type(layer).__name__}(size={size}, stride={stride}, padding={pad}, ceil_mode={is_global}, "
            f"global_pool={is_global}, pool_type={layer._type}, layout={layout})")


class _Convolution(HybridBlock):
    """What convolutions have in common. Their classes say the weight's shape, and compute without the activation."""

    _alias = "conv"

    def _make(self, shape, channels, sizes, activation, use_bias, weight_initializer, bias_initializer):
        self._channels, self._activation = channels, activation
        self._kernel, self._stride, self._pad, self._dilate = sizes
        self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
        self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer) if use_bias else None

    def forward(self, x):
        _check_axes(self, x, len(self._kernel) + 2)
        self.weight.complete(self._weight_shape(x.shape[1]))
        y = self._convolved(x, self.weight.data(x.ctx), None if self.bias is None else self.bias.data(x.ctx))
        return y if self._activation is None else npx.activation(y, self._activation)

    def __repr__(self):
        return _convolution_text(self)


class Conv2D(_Convolution):
    """weight (channels, in_channels / groups, kh, kw); x (N, C, H, W)."""

    def __init__(self, channels, kernel_size, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, layout="NCHW",
                 activation=None, use_bias=True, weight_initializer=None, bias_initializer="zeros", in_channels=0,
                 prefix=None, params=None):
        super().__init__(prefix, params)
        if layout != "NCHW":
            raise NotImplementedError(f"Conv2D(layout={layout!r}): there is NCHW")
        self._groups, sizes = groups, [_pair(size) for size in (kernel_size, strides, padding, dilation)]
        self._make((channels, in_channels // groups, *sizes[0]), channels, sizes, activation, use_bias, weight_initializer,
                   bias_initializer)

    def _weight_shape(self, in_channels):
        return (self._channels, in_channels // self._groups, *self._kernel)

    def _convolved(self, x, weight, bias):
        return npx.convolution(x, weight, bias, self._kernel, self._stride, self._dilate, self._pad, num_group=self._groups)


class _Pool(HybridBlock):
    _alias = "pool"

    def __init__(self, pool_size=(2, 2), strides=None, padding=0, layout="NCHW", ceil_mode=False, count_include_pad=True,
                 prefix=None, params=None):
        super().__init__(prefix, params)
        if ceil_mode or layout != "NCHW":
            raise NotImplementedError(f"{type(self).__name__} with ceil_mode, or with another layout than NCHW, or NCW of one axis")
        self._size, self._pad, self._count = _pair(pool_size), _pair(padding), count_include_pad
        self._stride = self._size if strides is None else _pair(strides)

    def forward(self, x):
        _check_axes(self, x, 4)
        return npx.pooling(x, self._size, self._type, self._stride, self._pad, count_include_pad=self._count)

    def __repr__(self):
        return _pooling_text(self, self._size, self._stride, self._pad, "NCHW")


class MaxPool2D(_Pool):
    """The largest element of each window: (N, C, H, W) -> (N, C, P, Q)."""

    _type = "max"


class AvgPool2D(_Pool):
    """The mean of each window: (N, C, H, W) -> (N, C, P, Q)."""

    _type = "avg"


class _GlobalPool(HybridBlock):
    """The same for one axis and for two: x (N, C, ...), of which a pixel for each channel is left."""

    _alias = "pool"

    def __init__(self, layout=None, prefix=None, params=None):
        super().__init__(prefix, params)
        if layout not in (None, self._layout):
            raise NotImplementedError(f"{type(self).__name__}(layout={layout!r}): there is {self._layout}")

    def forward(self, x):
        return npx.pooling(x, pool_type=self._type, global_pool=True)

    def __repr__(self):
        axes = len(self._layout) - 2
        return _pooling_text(self, (1,) * axes, (1,) * axes, (0,) * axes, self._layout, True)


class GlobalMaxPool2D(_GlobalPool):
    """The largest element of each channel: (N, C, H, W) -> (N, C, 1, 1)."""

    _type, _layout = "max", "NCHW"


class GlobalAvgPool2D(_GlobalPool):
    """The mean of each channel: (N, C, H, W) -> (N, C, 1, 1)."""

    _type, _layout = "avg", "NCHW"


def _single(value):
    return value if isinstance(value, int) else value[0]


class Conv1D(Conv2D):
    """weight (channels, in_channels / groups, k); x (N, C, L)."""

    def __init__(self, channels, kernel_size, strides=1, padding=0, dilation=1, groups=1, layout="NCW", **kwargs):
        if layout != "NCW":
            raise NotImplementedError(f"Conv1D(layout={layout!r}): there is NCW")
        kernel, stride, pad, dilate = ((_single(value),) for value in (kernel_size, strides, padding, dilation))
        super().__init__(channels, kernel, stride, pad, dilate, groups, **kwargs)


class Conv2DTranspose(_Convolution):
    """The gradient of Conv2D as a layer: weight (in_channels, channels / groups, kh, kw); x (N, C, H, W)."""

    def __init__(self, channels, kernel_size, strides=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1),
                 groups=1, layout="NCHW", activation=None, use_bias=True, weight_initializer=None,
                 bias_initializer="zeros", in_channels=0, prefix=None, params=None):
        super().__init__(prefix, params)
        if layout != "NCHW":
            raise NotImplementedError(f"Conv2DTranspose(layout={layout!r}): there is NCHW")
        self._groups, self._more = groups, _pair(output_padding)
        sizes = [_pair(size) for size in (kernel_size, strides, padding, dilation)]
        self._make((in_channels, channels // groups, *sizes[0]), channels, sizes, activation, use_bias, weight_initializer,
                   bias_initializer)

    def _weight_shape(self, in_channels):
        return (in_channels, self._channels // self._groups, *self._kernel)

    def _convolved(self, x, weight, bias):
        return npx.deconvolution(x, weight, bias, self._kernel, self._stride, self._dilate, self._pad, self._more,
                                 num_group=self._groups, no_bias=bias is None)


class _Pool1D(_Pool):
    """Pooling of rows: windows of height 1."""

    def __init__(self, pool_size=2, strides=None, padding=0, layout="NCW", ceil_mode=False, count_include_pad=True,
                 prefix=None, params=None):
        strides = None if strides is None else (1, _single(strides))
        super().__init__((1, _single(pool_size)), strides, (0, _single(padding)), layout.replace("W", "HW"), ceil_mode,
                         count_include_pad, prefix, params)

    def forward(self, x):
        _check_axes(self, x, 3)
        return super().forward(x.expand_dims(2)).squeeze(2)

    def __repr__(self):
        return _pooling_text(self, self._size[1:], self._stride[1:], self._pad[1:], "NCW")


class MaxPool1D(_Pool1D):
    """The largest element of each window: (N, C, L) -> (N, C, M)."""

    _type = "max"


class AvgPool1D(_Pool1D):
    """The mean of each window: (N, C, L) -> (N, C, M)."""

    _type = "avg"


class GlobalAvgPool1D(_GlobalPool):
    """The mean of each channel: (N, C, L) -> (N, C, 1)."""

    _type, _layout = "avg", "NCW"


class GlobalMaxPool1D(_GlobalPool):
    """The largest element of each channel: (N, C, L) -> (N, C, 1)."""

    _type, _layout = "max", "NCW"
