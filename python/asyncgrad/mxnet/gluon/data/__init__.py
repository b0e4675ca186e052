"""Data sets and loaders under MXNet's names."""
import numpy as _np

from .. import utils as _utils
from ... import np
from ... import random as _random


class Dataset:
    """Write __getitem__ and __len__ in a class of your own."""

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def transform(self, function, lazy=True):
        """The data set of function(*item)."""
        return _Transformed(self, function)

    def transform_first(self, function, lazy=True):
        """The data set in which the function replaces the first part of each item."""
        return _Transformed(self, lambda first, *rest: (function(first), *rest) if rest else function(first))


class _Transformed(Dataset):
    def __init__(self, data, function):
        self._data, self._function = data, function

    def __len__(self):
        return len(self._data)

    def __getitem__(self, index):
        item = self._data[index]
        return self._function(*item) if isinstance(item, tuple) else self._function(item)


class ArrayDataset(Dataset):
    """Rows of arrays of equal length."""

    def __init__(self, *arrays):
        if not arrays or len({len(a) for a in arrays}) != 1:
            raise ValueError(f"arrays of lengths {[len(a) for a in arrays]}")
        self._arrays = arrays
        self._values = [_np.asarray(a) if hasattr(a, "__array__") else a for a in arrays]

    def __len__(self):
        return len(self._arrays[0])

    def __getitem__(self, index):
        if len(self._arrays) == 1:
            return self._arrays[0][index]
        return tuple(array[index] for array in self._arrays)


SimpleDataset = ArrayDataset


def _stacked(items):
    if isinstance(items[0], tuple):
        return [_stacked(list(column)) for column in zip(*items)]
    if hasattr(items[0], "asnumpy"):
        return np.stack(items)
    return _stacked_rows(_np.asarray(items))


def _stacked_rows(values):
    return np.array(values.astype("float32") if values.dtype == "float64" else values)


class DataLoader:
    """Batches of a data set, in order or shuffled."""

    def __init__(self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, batch_sampler=None,
                 batchify_fn=None, num_workers=0, **_):
        if sampler is not None or batch_sampler is not None:
            raise NotImplementedError("DataLoader(sampler)")
        self._data, self._size, self._shuffle = dataset, batch_size, shuffle
        self._last, self._batchify = last_batch or "keep", batchify_fn or _stacked
        if self._last not in ("keep", "discard"):
            raise NotImplementedError(f"DataLoader(last_batch={last_batch!r})")

    def __len__(self):
        return len(self._data) // self._size if self._last == "discard" else -(-len(self._data) // self._size)

    def __iter__(self):
        count = len(self._data)
        order = _random._generator().permutation(count) if self._shuffle else _np.arange(count)
        whole = (type(self._data) is ArrayDataset and self._batchify is _stacked
                 and all(isinstance(values, _np.ndarray) for values in self._data._values))
        for i in range(len(self)):
            places = order[i * self._size:(i + 1) * self._size]
            if whole:
                parts = [_stacked_rows(values[places]) for values in self._data._values]
                yield parts if len(parts) > 1 else parts[0]
            else:
                yield self._batchify([self._data[int(place)] for place in places])


from . import vision  # noqa: E402
