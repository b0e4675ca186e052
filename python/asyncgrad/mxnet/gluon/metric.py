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
    """sum_metric / num_inst. Write update(labels, preds), which adds to both, in a class of your own."""

    def __init__(self, name=None, output_names=None, label_names=None, **options):
        self.name, self.output_names, self.label_names = name, output_names, label_names
        self._kwargs = options
        self.reset()

    def reset(self):
        """Forgets what update() has counted."""
        self.sum_metric, self.num_inst = 0.0, 0

    def reset_local(self):
        """The same."""
        self.reset()

    def update(self, labels, preds):
        """Counts an array of labels and one of predictions, or lists of them."""
        raise unwritten(self, "update")

    def update_dict(self, label, pred):
        """update() with the values of two dicts, or with those of output_names and label_names."""
        named = lambda arrays, names: [arrays[name] for name in names or arrays]
        self.update(named(label, self.label_names), named(pred, self.output_names))

    def get(self):
        """(name, value), nan before the first update. Waits."""
        total = self.sum_metric.item() if isinstance(self.sum_metric, ag.Tensor) else self.sum_metric
        return self.name, total / self.num_inst if self.num_inst else float("nan")

    def get_name_value(self):
        """get() in a list."""
        return [self.get()]


class _MeanOfSums(EvalMetric):
    """The mean of what sums() gives for each pair of labels and predictions."""

    def __init__(self, name=None, **others):
        check_no_others(type(self).__name__, others)
        super().__init__(name or self._name)

    def update(self, labels, preds):
        """Counts an array of labels and one of predictions, or lists of them. Waits for nothing."""
        labels, preds = _listed(labels), _listed(preds)
        _check_counts(len(labels), len(preds))
        with ag.no_grad():
            for label, pred in zip(labels, preds):
                if isinstance(label, ag.Tensor) and isinstance(pred, ag.Tensor):
                    label = label.to(pred.device)
                total, count = self.sums(label, pred)
                self.sum_metric, self.num_inst = self.sum_metric + total.astype("float64").to("cpu"), self.num_inst + count

    def sums(self, label, pred):
        """A sum, as an array, and the number of its summands."""
        raise unwritten(self, "sums")


class Accuracy(_MeanOfSums):
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


class TopKAccuracy(_MeanOfSums):
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


class CrossEntropy(_MeanOfSums):
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


class MAE(_MeanOfSums):
    """The mean of |label - pred|."""

    _name = "mae"

    def sums(self, label, pred):
        return ag.abs(label.reshape(pred.shape) - pred).mean(), 1


class MSE(_MeanOfSums):
    """The mean of (label - pred)^2."""

    _name = "mse"

    def sums(self, label, pred):
        return ag.square(label.reshape(pred.shape) - pred).mean(), 1


class RMSE(_MeanOfSums):
    """The square root of the mean of (label - pred)^2; of several arrays the mean of theirs."""

    _name = "rmse"

    def sums(self, label, pred):
        return ag.square(label.reshape(pred.shape) - pred).mean().sqrt(), 1


class Loss(_MeanOfSums):
    """The mean of the elements of the predictions; labels are not read."""

    _name = "loss"

    def update(self, _, preds):
        preds = _listed(preds)
        super().update(preds, preds)

    def sums(self, label, pred):
        return pred.sum(), pred.size
