"""Data sets and loaders under MXNet's names."""
import numpy as _np

from .. import utils as _utils
from ... import np
from .samplers import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler


class Dataset:
    """Write __getitem__ and __len__ in a class of your own."""

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def transform(self, fn, lazy=True):
        """The data set of fn(*item), computed when an item is asked for, or with lazy=False once and now."""
        found = _Transformed(self, fn)
        return found if lazy else SimpleDataset([found[i] for i in range(len(found))])

    def transform_first(self, fn, lazy=True):
        """The data set in which fn replaces the first part of each item."""
        return self.transform(lambda first, *rest: (fn(first), *rest) if rest else fn(first), lazy)

    def filter(self, fn):
        """The data set of the items for which fn is true."""
        return self.sample(FilterSampler(fn, self))

    def shard(self, num_shards, index):
        """The part `index` of num_shards parts, of which the first ones may have one item more."""
        if not 0 <= index < num_shards:
            raise AssertionError(f"index must be in [0, num_shards), got {index} of {num_shards}")
        length, more = divmod(len(self), num_shards)
        return self.sample(SequentialSampler(length + (index < more), length * index + min(index, more)))

    def take(self, count):
        """The first items: as many as there are at most, or all with None."""
        return self.sample(SequentialSampler(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler):
        """The data set of the items that a sampler names."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a gluon.data.Sampler, got {sampler!r}")
        return _Sampled(self, list(sampler))


class _Transformed(Dataset):
    def __init__(self, data, function):
        self._data, self._function = data, function

    def __len__(self):
        return len(self._data)

    def __getitem__(self, index):
        item = self._data[index]
        return self._function(*item) if isinstance(item, tuple) else self._function(item)


class _Sampled(Dataset):
    def __init__(self, data, places):
        self._data, self._places = data, places

    def __len__(self):
        return len(self._places)

    def __getitem__(self, index):
        return self._data[self._places[index]]


class ArrayDataset(Dataset):
    """Rows of arrays of equal length. Waits for those with one axis, whose elements are numbers as in MXNet."""

    def __init__(self, *arrays):
        if not arrays or len({len(a) for a in arrays}) != 1:
            raise ValueError(f"arrays of lengths {[len(a) for a in arrays]}")
        self._arrays = [a.asnumpy() if hasattr(a, "asnumpy") and a.ndim == 1 else a for a in arrays]
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
    return np.array(_np.asarray(items))


class DataLoader:
    """Batches of a data set, in order, shuffled, or as a sampler says."""

    def __init__(self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, batch_sampler=None,
                 batchify_fn=None, num_workers=0, **_):
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("batch_size must be specified unless batch_sampler is specified")
            if sampler is not None and shuffle:
                raise ValueError("shuffle must not be specified if sampler is specified")
            if sampler is None:
                sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError("batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is")
        self._dataset, self._batches, self._batchify = dataset, batch_sampler, batchify_fn or _stacked

    def __len__(self):
        return len(self._batches)

    def __iter__(self):
        whole = (type(self._dataset) is ArrayDataset and self._batchify is _stacked
                 and all(isinstance(values, _np.ndarray) for values in self._dataset._values))
        for places in self._batches:
            if whole:
                parts = [np.array(values[places]) for values in self._dataset._values]
                yield parts if len(parts) > 1 else parts[0]
            else:
                yield self._batchify([self._dataset[int(place)] for place in places])


from . import vision  # noqa: E402
