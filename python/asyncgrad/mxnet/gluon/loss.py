"""Losses under MXNet's names: (N, ...) -> (N)."""
import asyncgrad as ag

from .. import npx
from .block import HybridBlock


def _reduced(loss, batch_axis):
    axes = tuple(i for i in range(loss.ndim) if i != batch_axis)
    return loss.mean(axis=axes) if axes else loss


class Loss(HybridBlock):
    """What losses have in common: a weight, and weights of samples."""

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weighted(self, loss, sample_weight):
        if sample_weight is not None:
            loss = loss * sample_weight
        return loss if self._weight is None else loss * self._weight


class L2Loss(Loss):
    """(pred - label)^2 / 2; the label takes pred's shape."""

    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def forward(self, pred, label, sample_weight=None):
        label = ag.reshape(label, pred.shape)
        if sample_weight is None and self._weight in (None, 1) and self._batch_axis == 0 and pred.ndim:
            return ag.l2_loss(pred, label)
        return _reduced(self._weighted(ag.half_squared_error(pred, label), sample_weight), self._batch_axis)


class L1Loss(Loss):
    """|pred - label|; the label takes pred's shape."""

    def forward(self, pred, label, sample_weight=None):
        return _reduced(self._weighted(ag.abs(ag.reshape(label, pred.shape) - pred), sample_weight), self._batch_axis)


class SoftmaxCrossEntropyLoss(Loss):
    """-log softmax(pred)[label], or with sparse_label=False minus the sum over label times log softmax."""

    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse, self._from_logits = axis, sparse_label, from_logits

    def forward(self, pred, label, sample_weight=None):
        plain = sample_weight is None and self._weight is None and pred.ndim == 2 and not self._from_logits
        if plain and self._sparse and self._axis in (-1, 1) and self._batch_axis == 0:
            label = ag.reshape(label, (-1,)).astype("int64", copy=False)
            return ag.softmax_cross_entropy(pred, ag.clip(label, 0, pred.shape[1] - 1))  # as pick() does
        if not self._from_logits:
            pred = ag.log_softmax(pred, self._axis)
        if self._sparse:
            loss = -npx.pick(pred, label, self._axis, keepdims=True)
        else:
            loss = -(pred * ag.reshape(label, pred.shape)).sum(axis=self._axis, keepdims=True)
        return _reduced(self._weighted(loss, sample_weight), self._batch_axis)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class SigmoidBinaryCrossEntropyLoss(Loss):
    """-label log p - (1 - label) log (1 - p) with p = sigmoid(pred), or p = pred for from_sigmoid=True."""

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def forward(self, pred, label, sample_weight=None, pos_weight=None):
        if pos_weight is not None:
            raise NotImplementedError("SigmoidBinaryCrossEntropyLoss(pos_weight)")
        label = ag.reshape(label, pred.shape)
        if self._from_sigmoid:
            loss = -(ag.log(pred + 1e-12) * label + ag.log(1 - pred + 1e-12) * (1 - label))
        else:
            loss = ag.relu(pred) - pred * label + ag.softplus(-ag.abs(pred))
        return _reduced(self._weighted(loss, sample_weight), self._batch_axis)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class HuberLoss(Loss):
    """The squared error divided by 2 rho where |pred - label| is at most rho, and beyond a line that continues it."""

    def __init__(self, rho=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def forward(self, pred, label, sample_weight=None):
        error = ag.abs(ag.reshape(label, pred.shape) - pred)
        loss = ag.where(error > self._rho, error - 0.5 * self._rho, (0.5 / self._rho) * ag.square(error))
        return _reduced(self._weighted(loss, sample_weight), self._batch_axis)
