"""mxnet.npx: what neural networks need beyond NumPy's names."""
import builtins
import math

import numpy as _np

import asyncgrad as _ag

from . import random
from .autograd import is_training as _is_training
from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .multiarray import axis_of as _axis_of
from .multiarray import check_no_others as _check_no_others
from .multiarray import dtype_of as _dtype
from .multiarray import given as _given
from .multiarray import indices_inside as _indices_inside
from .multiarray import rows_of as _rows_of
from .multiarray import wrapped as _wrapped
from .np_creation import array as _array
from .npx_shapes import *  # noqa: F403
from .npx_vision import multibox_prior, roi_pooling
from .random import seed


def set_np(shape=True, array=True, dtype=False):
    """Does nothing: arrays have NumPy's semantics always."""


def reset_np():
    """Does nothing."""


def is_np_array():
    """True: arrays have NumPy's semantics always."""
    return True


is_np_shape = is_np_array


def waitall():
    """Waits until everything is finished."""
    _ag.wait_all()


def relu(data, **others):
    """max(x, 0) of each element."""
    _check_no_others("npx.relu", others)
    return _ag.relu(data)


def sigmoid(data, **others):
    """1 / (1 + e^-x) of each element."""
    _check_no_others("npx.sigmoid", others)
    return _ag.sigmoid(data)


def erf(data):
    """The error function of each element."""
    return _ag.erf(data)


def softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """e^(x / temperature) / sum(e^(x / temperature)) along an axis.

    With use_length only the first `length` elements of the axis count, and the others are 0: length has the shape of
    data without the axis.
    """
    data = data if temperature is None else data / temperature
    if not use_length:
        return _given(_ag.softmax(data, axis), dtype=dtype)
    axis = _axis_of(axis, data.ndim)
    steps = _ag.arange(data.shape[axis], device=data.device)
    steps = _ag.reshape(steps, tuple(-1 if i == axis else 1 for i in range(data.ndim)))
    inside = _ag.broadcast_to(_ag.less(steps, _ag.expand_dims(length.astype("int64"), axis)), data.shape)
    kept = _ag.softmax(_ag.where(inside, data, -_np.inf), axis)
    return _given(_ag.where(inside, kept, 0.0), dtype=dtype)


def log_softmax(data, axis=-1, *, dtype=None, **others):
    """The logarithm of softmax(), accurate where that is near 0."""
    _check_no_others("npx.log_softmax", others)
    return _given(_ag.log_softmax(data, axis), dtype=dtype)


def activation(data, act_type="relu", **others):
    """A function of each element: relu, sigmoid, tanh, softrelu, which is log(1 + e^x), or softsign, x / (1 + |x|)."""
    _check_no_others("npx.activation", others)
    functions = {"relu": _ag.relu, "sigmoid": _ag.sigmoid, "tanh": _ag.tanh, "softrelu": _ag.softplus,
                 "softsign": _ag.softsign}
    if act_type not in functions:
        raise NotImplementedError(f"npx.activation(act_type={act_type!r}): there are {', '.join(functions)}")
    return functions[act_type](data)


def leaky_relu(data, act_type="leaky", slope=0.25, **others):
    """x where it is positive, else slope x, or with "elu" slope (e^x - 1); or "gelu"."""
    _check_no_others("npx.leaky_relu", others)
    if act_type == "leaky":
        return _ag.leaky_relu(data, slope)
    if act_type == "elu":
        return _ag.elu(data, slope)
    if act_type == "gelu":
        return _ag.gelu(data)
    raise NotImplementedError(f"npx.leaky_relu(act_type={act_type!r}): there are leaky, elu, gelu")


def pick(data, index, axis=-1, mode="clip", keepdims=False):
    """The element of the axis at each index. Indices outside are the nearest one inside, or with "wrap" go round."""
    axis = _axis_of(axis, data.ndim)
    if mode not in ("clip", "wrap"):
        raise ValueError(f"a mode is 'clip' or 'wrap', not {mode!r}")
    index = _indices_inside(index.astype("int64"), data.shape[axis], mode)
    if index.ndim < data.ndim:
        index = _ag.expand_dims(index, axis)
    result = _ag.take_along_axis(data, index, axis)
    return result if keepdims else result.squeeze(axis)


def one_hot(data, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    """on_value at each index, else off_value, also in rows whose index is not there: (...) -> (..., depth)."""
    places = _ag.expand_dims(data.astype("int64"), -1)
    hot = _ag.equal(places, _ag.arange(depth, device=data.device))
    if (on_value, off_value) == (1.0, 0.0):
        return hot.astype(_dtype(dtype))
    return _ag.where(hot, float(on_value), float(off_value)).astype(_dtype(dtype))


def batch_dot(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None):
    """The products of matrices (N, A, B) (N, B, C) -> (N, A, C), either of which may be read transposed."""
    return _ag.matmul(lhs, rhs, transpose_a, transpose_b)


def fully_connected(data, weight, bias=None, num_hidden=None, no_bias=False, flatten=True):
    """data weight^T + bias: data (N, ...), or (..., I) with flatten=False, weight (O, I), bias (O)."""
    if flatten and data.ndim > 2:
        data = _rows_of(data)
    y = _ag.matmul(data, weight, False, True)
    return y if bias is None or no_bias else y + bias


def embedding(data, weight, input_dim=None, output_dim=None, dtype=None, **others):
    """The rows of weight (input_dim, output_dim) at the indices, in its type: (...) -> (..., output_dim)."""
    _check_no_others("npx.embedding", others)
    return _ag.take(weight, data.astype("int64"), 0)


def layer_norm(data, gamma, beta, axis=-1, eps=1e-5, **others):
    """(x - mean) / sqrt(variance + eps) gamma + beta along an axis, whose extent gamma and beta have."""
    _check_no_others("npx.layer_norm", others)
    axis = _axis_of(axis, data.ndim)
    if axis == data.ndim - 1:
        return _ag.layer_norm(data, gamma, beta, epsilon=eps)
    return _ag.layer_norm(data.swapaxes(axis, -1), gamma, beta, epsilon=eps).swapaxes(axis, -1)


def dropout(data, p=0.5, mode="training", axes=(), **others):
    """0 with probability p, else x / (1 - p), in training or with mode="always"; else x. `axes` share the choice."""
    _check_no_others("npx.dropout", others)
    if p == 0 or not (mode == "always" or _is_training()):
        return data
    if not axes:
        return _ag.dropout(data, p)
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(data.shape))
    return data * _wrapped(_ag.dropout(_ag.ones(shape, dtype=data.dtype, device=data.device), p))


def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """`value` in the steps beyond each sequence's length: data (T, N, ...), or (N, T, ...) with axis=1, lengths (N)."""
    if not use_sequence_length:
        return data
    steps = _ag.arange(data.shape[axis], device=data.device)
    inside = _ag.less(_ag.expand_dims(steps, 1), sequence_length.astype("int64").reshape(1, -1))  # (T, N)
    inside = inside if axis == 0 else inside.swapaxes(0, 1)
    inside = inside.reshape(*inside.shape, *([1] * (data.ndim - 2)))
    return _ag.where(_ag.broadcast_to(inside.astype(data.dtype), data.shape), data, value)


def convolution(data, weight, bias=None, kernel=None, stride=(1, 1), dilate=(1, 1), pad=(0, 0), num_filter=None,
                num_group=1, no_bias=False, layout=None, **others):
    """data (N, C, H, W), weight (O, C / groups, kh, kw), bias (O); or with one axis: (N, C, L), (O, C / groups, k)."""
    _check_no_others("npx.convolution", others)
    bias = None if no_bias else bias
    if data.ndim != weight.ndim:
        raise _wrong_axes("convolution", data, weight)
    if data.ndim == 3:
        return _ag.conv1d(data, weight, bias, _first(stride), _first(pad), _first(dilate), num_group)
    if data.ndim != 4:
        raise _wrong_axes("convolution", data, weight)
    return _ag.conv2d(data, weight, bias, stride, pad, dilate, num_group)


def deconvolution(data, weight, bias=None, kernel=None, stride=(1, 1), dilate=(1, 1), pad=(0, 0), adj=(0, 0),
                  num_filter=None, num_group=1, no_bias=True, **others):
    """The gradient of convolution(): data (N, C, H, W), weight (C, O / groups, kh, kw), bias (O); adj more rows and columns."""
    _check_no_others("npx.deconvolution", others)
    if data.ndim != 4:
        raise _wrong_axes("deconvolution", data, weight)
    return _ag.conv_transpose2d(data, weight, None if no_bias else bias, stride, pad, adj, num_group, dilate)


def _wrong_axes(function, data, weight):
    """The error of an image with another number of axes than the weight, or of one with three axes."""
    if data.ndim == weight.ndim:
        return NotImplementedError(f"npx.{function} of {data.ndim - 2} axes, data {data.shape}")
    wanted = {3: "(N, C, L)", 4: "(N, C, H, W)"}.get(weight.ndim, f"{weight.ndim} axes")
    return ValueError(f"npx.{function} takes data {wanted} with weight {weight.shape}, not {data.shape}")


def _first(size):
    return size[0] if isinstance(size, (list, tuple)) else size


def pooling(data, kernel=(1, 1), pool_type="max", stride=None, pad=(0, 0), global_pool=False, count_include_pad=True, **others):
    """2D max or average pooling of (N, C, H, W)."""
    _check_no_others("npx.pooling", others)
    if pool_type not in ("max", "avg"):
        raise NotImplementedError(f"npx.pooling(pool_type={pool_type!r}): there are max, avg")
    if global_pool and data.ndim < 3:
        raise ValueError(f"npx.pooling takes data (N, C, ...), not {data.shape}")
    if global_pool:
        axes = tuple(range(2, data.ndim))
        if pool_type == "avg":
            return data.mean(axis=axes, keepdims=True)
        return _ag.max_pool2d(data.reshape(*data.shape[:2], 1, -1), (1, math.prod(data.shape[2:]))).reshape(
            *data.shape[:2], *(1 for _ in axes))
    if pool_type == "max":
        return _ag.max_pool2d(data, kernel, stride or (1, 1), pad)
    means = _ag.avg_pool2d(data, kernel, stride or (1, 1), pad)
    if count_include_pad:
        return means
    inside = _ag.ones((1, 1, *data.shape[2:]), dtype=data.dtype, device=data.device)
    return means / _wrapped(_ag.avg_pool2d(inside, kernel, stride or (1, 1), pad))


def save(file, arr):
    """Writes an array, a list or a dict of arrays, as safetensors. Blocks until they are on the disk."""
    if hasattr(arr, "asnumpy"):
        arr = [arr]
    _ag.save(file, arr if isinstance(arr, dict) else {f"{i:06d}": x for i, x in enumerate(arr)})


def load(file):
    """What save() wrote: a list or a dict."""
    found = {name: _wrapped(x) for name, x in _ag.load(file).items()}
    if all(name.isdigit() and len(name) == 6 for name in found):
        return [found[name] for name in sorted(found)]
    return found


def arange_like(data, start=0.0, step=1.0, repeat=1, ctx=None, axis=None):
    """start, start + step, ... along an axis of data, or as many as data has elements, in its shape."""
    if repeat != 1:
        raise NotImplementedError("npx.arange_like(repeat)")
    count = data.size if axis is None else data.shape[axis]
    steps = _wrapped(_ag.arange(count, dtype=data.dtype, device=data.device)) * step + start
    return steps.reshape(data.shape) if axis is None else steps


def smooth_l1(data, scalar=1.0):
    """Huber's loss of each element: quadratic within 1 / scalar^2 of 0."""
    size, square = _ag.abs(data), scalar * scalar
    return _ag.where(size < 1 / square, data * data * (square / 2), size - 0.5 / square)


def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest elements of an axis, or smallest with is_ascend, or all for k < 1: of None, of all elements.

    ret_typ: "indices", "value", "both", or "mask" with ones at their places.
    """
    if axis is None and ret_typ != "mask":
        data, axis = data.reshape(-1), 0
    if ret_typ not in ("indices", "value", "both", "mask") or axis is None:
        raise NotImplementedError(f"npx.topk(axis={axis!r}, ret_typ={ret_typ!r})")
    values, places = _ag.topk(data, k if k > 0 else data.shape[axis], axis, largest=not is_ascend)
    if ret_typ == "value":
        return values
    if ret_typ == "mask":
        return _ag.scatter_add(_ag.zeros_like(data), places, _ag.ones_like(values), axis).detach()
    indices = places.astype("float32").astype(dtype)  # MXNet's numbers pass through float32
    return indices if ret_typ == "indices" else [values, indices]
