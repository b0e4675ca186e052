"""mxnet.nd: the functions of older programs that mxnet.np lacks."""
import asyncgrad as _ag

from .npx import waitall  # noqa: F401


def nansum(data, axis=None, keepdims=False):
    """The sum of all elements that are no NaN, or over axes; of one element and one axis for all, as in MXNet."""
    numbers = _ag.where(_ag.isnan(data), 0.0, data)
    total = numbers.sum(axis=axis, keepdims=keepdims)
    return _ag.reshape(total, (1,)) if total.ndim == 0 else total
