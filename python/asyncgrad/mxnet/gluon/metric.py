"""Metrics under MXNet's names. update() is queued as everything is; get() waits."""
import numpy as _np
import asyncgrad as ag

from ..base import unwritten
from ..multiarray import check_no_others
from ..np_creation import array


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _check_counts(labels, predictions):
    if labels != predictions:
        raise ValueError(f"{labels} labels for {predictions} predictions")


class EvalMetric:
    """The mean of what sums() gives for each pair of labels and predictions."""

    def __init__(self, name=None, **others):
        check_no_others(type(self).__name__, others)
        self.name = name or self._name
        self.reset()

    def reset(self):
        """Forgets what update() has counted."""
        self._sum, self._count = 0, 0

    def update(self, labels, preds):
        """Counts an array of labels and one of predictions, or lists of them. Waits for nothing."""
        labels, preds = _listed(labels), _listed(preds)
        _check_counts(len(labels), len(preds))
        with ag.no_grad():
            for label, pred in zip(labels, preds):
                total, count = self.sums(label, pred)
                self._sum, self._count = self._sum + total.astype("float64").to("cpu"), self._count + count

    def sums(self, label, pred):
        """A sum, as an array, and the number of its summands."""
        raise unwritten(self, "sums")

    def get(self):
        """(name, value), nan before the first update. Waits."""
        return self.name, self._sum.item() / self._count if self._count else float("nan")

    def get_name_value(self):
        """get() in a list."""
        return [self.get()]


class Accuracy(EvalMetric):
    """The share of predictions whose largest element, or which themselves, are the label."""

    _name = "accuracy"

    def __init__(self, axis=1, name=None, **others):
        super().__init__(name, **others)
        self._axis = axis

    def sums(self, label, pred):
        if pred.shape != label.shape:
            pred = ag.argmax(pred, self._axis)
        _check_counts(label.size, pred.size)
        return (pred.astype("int64").reshape(-1) == label.astype("int64").reshape(-1)).sum(), label.size


class TopKAccuracy(EvalMetric):
    """The share of predictions (N, classes) whose top_k largest elements have the label. Waits for the values."""

    def __init__(self, top_k=1, name="top_k_accuracy", **others):
        if top_k <= 1:
            raise ValueError("top_k is greater than 1, else it is Accuracy")
        super().__init__(f"{name}_{top_k}", **others)
        self._k = top_k

    def sums(self, label, pred):
        _check_counts(label.size, pred.shape[0])
        values = pred.asnumpy().astype("float32")
        largest = array(_np.argsort(values, 1)[:, -self._k:].astype("int64"), dtype="int64", ctx=pred.ctx)
        return (largest == ag.reshape(label.astype("int64"), (-1, 1))).sum(), pred.shape[0]


class CrossEntropy(EvalMetric):
    """The mean of -log of the probabilities, rows of (N, classes), of the labels."""

    _name = "cross-entropy"

    def __init__(self, eps=1e-12, name=None, **others):
        super().__init__(name, **others)
        self._eps = eps

    def sums(self, label, pred):
        places = ag.reshape(label.astype("int64"), (-1, 1))
        _check_counts(places.shape[0], pred.shape[0])
        return -ag.log(ag.take_along_axis(pred, places, 1) + self._eps).sum(), pred.shape[0]


class NegativeLogLikelihood(CrossEntropy):
    __doc__ = CrossEntropy.__doc__
    _name = "nll-loss"


class MAE(EvalMetric):
    """The mean of |label - pred|."""

    _name = "mae"

    def sums(self, label, pred):
        return ag.abs(label.reshape(pred.shape) - pred).mean(), 1


class MSE(EvalMetric):
    """The mean of (label - pred)^2."""

    _name = "mse"

    def sums(self, label, pred):
        return ag.square(label.reshape(pred.shape) - pred).mean(), 1


class RMSE(EvalMetric):
    """The square root of the mean of (label - pred)^2; of several arrays the mean of theirs."""

    _name = "rmse"

    def sums(self, label, pred):
        return ag.square(label.reshape(pred.shape) - pred).mean().sqrt(), 1


class Loss(EvalMetric):
    """The mean of the elements of the predictions; labels are not read."""

    _name = "loss"

    def update(self, _, preds):
        preds = _listed(preds)
        super().update(preds, preds)

    def sums(self, label, pred):
        return pred.sum(), pred.size
