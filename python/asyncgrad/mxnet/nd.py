"""mxnet.nd: the functions of older programs that mxnet.np lacks."""
from .. import _core


def nansum(data, axis=None, keepdims=False):
    """The sum of all elements that are no NaN, or over axes; of one element and one axis for all, as in MXNet."""
    numbers = _core.where(_core.isnan(data), 0.0, data)
    total = numbers.sum(axis=axis, keepdims=keepdims)
    return _core.reshape(total, (1,)) if total.ndim == 0 else total
