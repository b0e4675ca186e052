"""mxnet.npx: what neural networks need beyond NumPy's names."""
from .. import _core
from .multiarray import check_no_others as _check_no_others
from .multiarray import dtype_of as _dtype
from .multiarray import wrapped as _wrapped
from .context import Context, cpu, current_context, gpu, num_gpus
from .context import cpu_pinned
from . import random
from .random import seed


def set_np(shape=True, array=True, dtype=False):
    """Does nothing: arrays have NumPy's semantics always."""


def reset_np():
    """Does nothing."""


def is_np_array():
    return True


is_np_shape = is_np_array


def waitall():
    """Waits until everything is finished."""
    _core.wait_all()


def relu(data, **others):
    _check_no_others("npx.relu", others)
    return _core.relu(data)


def sigmoid(data, **others):
    _check_no_others("npx.sigmoid", others)
    return _core.sigmoid(data)


def softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    if use_length:
        raise NotImplementedError("npx.softmax(use_length=True)")
    return _core.softmax(data if temperature is None else data / temperature, axis)


def log_softmax(data, axis=-1, **others):
    _check_no_others("npx.log_softmax", others)
    return _core.log_softmax(data, axis)


def activation(data, act_type="relu", **others):
    _check_no_others("npx.activation", others)
    functions = {"relu": _core.relu, "sigmoid": _core.sigmoid, "tanh": _core.tanh, "softrelu": _core.softplus,
                 "softsign": lambda x: x / (1 + _core.abs(x))}
    if act_type not in functions:
        raise NotImplementedError(f"npx.activation(act_type={act_type!r})")
    return functions[act_type](data)


def leaky_relu(data, act_type="leaky", slope=0.25, **others):
    _check_no_others("npx.leaky_relu", others)
    if act_type == "leaky":
        return _core.where(data > 0, data, data * slope)
    if act_type == "elu":
        return _core.where(data > 0, data, slope * _core.expm1(data))
    if act_type == "gelu":
        return _core.gelu(data)
    raise NotImplementedError(f"npx.leaky_relu(act_type={act_type!r})")


def pick(data, index, axis=-1, mode="clip", keepdims=False):
    """For each index the element of the axis at it; indices outside are clipped."""
    axis %= data.ndim
    index = _core.clip(index.astype("int64"), 0, data.shape[axis] - 1)
    if index.ndim < data.ndim:
        index = _core.expand_dims(index, axis)
    result = _core.take_along_axis(data, index, axis)
    return result if keepdims else result.squeeze(axis)


def one_hot(data, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    hot = _core.one_hot(data.astype("int64"), depth, _dtype(dtype))
    return hot if (on_value, off_value) == (1.0, 0.0) else hot * (on_value - off_value) + off_value


def batch_dot(a, b, transpose_a=False, transpose_b=False, forward_stype=None):
    return _core.matmul(a, b, transpose_a, transpose_b)


def fully_connected(x, weight, bias=None, num_hidden=None, no_bias=False, flatten=True):
    """x weight^T + bias: x (N, ...), weight (O, I), bias (O)."""
    if flatten and x.ndim > 2:
        x = x.reshape(x.shape[0], -1)
    y = _core.matmul(x, weight, False, True)
    return y if bias is None or no_bias else y + bias


def embedding(data, weight, input_dim=None, output_dim=None, **others):
    _check_no_others("npx.embedding", others)
    return _core.take(weight, data.astype("int64"), 0)


def layer_norm(data, gamma, beta, axis=-1, eps=1e-5, **others):
    _check_no_others("npx.layer_norm", others)
    mean = data.mean(axis=axis, keepdims=True)
    scale = _core.rsqrt(data.var(axis=axis, keepdims=True) + eps)
    shape = [-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]
    return (data - mean) * scale * gamma.reshape(shape) + beta.reshape(shape)


def dropout(data, p=0.5, mode="training", axes=(), **others):
    """In training, or always with mode='always', drops elements with probability p and scales up the others."""
    _check_no_others("npx.dropout", others)
    from .autograd import is_training

    if p == 0 or not (mode == "always" or is_training()):
        return data
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(data.shape))
    kept = _core.less(_core.rand(shape, device=data.device), 1 - p)
    return data * _wrapped(kept.astype(data.dtype, False)) * (1 / (1 - p))


def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    if not use_sequence_length:
        return data
    steps = _core.arange(data.shape[axis], device=data.device)
    inside = _core.less(_core.expand_dims(steps, 1), sequence_length.astype("int64").reshape(1, -1))  # (T, N)
    inside = inside if axis == 0 else inside.swapaxes(0, 1)
    inside = inside.reshape(*inside.shape, *([1] * (data.ndim - 2)))
    return _core.where(_core.broadcast_to(inside.astype(data.dtype), data.shape), data, value)


def convolution(data, weight, bias=None, kernel=None, stride=(1, 1), dilate=(1, 1), pad=(0, 0), num_filter=None,
                num_group=1, no_bias=False, layout=None, **others):
    """data (N, C, H, W), weight (O, C / groups, kh, kw), bias (O); or with one axis: (N, C, L), (O, C / groups, k)."""
    _check_no_others("npx.convolution", others)
    bias = None if no_bias else bias
    if data.ndim == 3:
        return _core.conv1d(data, weight, bias, _first(stride), _first(pad), _first(dilate), num_group)
    if data.ndim != 4:
        raise NotImplementedError("npx.convolution of three axes")
    return _core.conv2d(data, weight, bias, stride, pad, dilate, num_group)


def _first(size):
    return size[0] if isinstance(size, (list, tuple)) else size


def pooling(data, kernel=(1, 1), pool_type="max", stride=None, pad=(0, 0), global_pool=False, count_include_pad=True, **others):
    """2D max or average pooling of (N, C, H, W)."""
    _check_no_others("npx.pooling", others)
    if pool_type not in ("max", "avg"):
        raise NotImplementedError(f"npx.pooling({pool_type!r})")
    if global_pool:
        return data.max(axis=(2, 3), keepdims=True) if pool_type == "max" else data.mean(axis=(2, 3), keepdims=True)
    if pool_type == "max":
        return _core.max_pool2d(data, kernel, stride or (1, 1), pad)
    means = _core.avg_pool2d(data, kernel, stride or (1, 1), pad)
    if count_include_pad:
        return means
    inside = _core.ones((1, 1, *data.shape[2:]), dtype=data.dtype, device=data.device)
    return means / _wrapped(_core.avg_pool2d(inside, kernel, stride or (1, 1), pad))


def save(file, arr):
    """Writes an array, a list or a dict of arrays, as safetensors."""
    from .. import _files

    if hasattr(arr, "asnumpy"):
        arr = [arr]
    _files.save(file, arr if isinstance(arr, dict) else {f"{i:06d}": x for i, x in enumerate(arr)})


def load(file):
    """What save() wrote: a list or a dict."""
    from .. import _files

    found = {name: _wrapped(x) for name, x in _files.load(file).items()}
    if all(name.isdigit() and len(name) == 6 for name in found):
        return [found[name] for name in sorted(found)]
    return found


def reshape_like(lhs, rhs):
    return lhs.reshape(rhs.shape)


def gamma(x):
    raise NotImplementedError("npx.gamma")


def arange_like(data, start=0.0, step=1.0, repeat=1, ctx=None, axis=None):
    """start, start + step, ... along an axis of data, or as many as data has elements, in its shape."""
    if repeat != 1:
        raise NotImplementedError("npx.arange_like(repeat)")
    count = data.size if axis is None else data.shape[axis]
    steps = _wrapped(_core.arange(count, dtype=data.dtype, device=data.device)) * step + start
    return steps.reshape(data.shape) if axis is None else steps


def smooth_l1(data, scalar=1.0):
    """Huber's loss of each element: quadratic within 1 / scalar^2 of 0."""
    size, square = _core.abs(data), scalar * scalar
    return _core.where(size < 1 / square, data * data * (square / 2), size - 0.5 / square)


def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """Waits for the values."""
    import numpy as np

    from . import np as mx_np

    values = data.asnumpy()
    order = np.argsort(values if is_ascend else -values, axis, kind="stable").take(range(k), axis)
    if ret_typ == "indices":
        return mx_np.array(order.astype("float32"), dtype=dtype)
    if ret_typ == "value":
        return mx_np.array(np.take_along_axis(values, order, axis))
    if ret_typ == "both":
        return [mx_np.array(np.take_along_axis(values, order, axis)), mx_np.array(order.astype("float32"), dtype=dtype)]
    raise NotImplementedError(f"npx.topk(ret_typ={ret_typ!r})")
