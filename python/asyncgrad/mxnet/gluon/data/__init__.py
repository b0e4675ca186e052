"""Data sets and loaders under MXNet's names."""
import collections as _collections
import concurrent.futures as _futures
import copy as _copy

import numpy as _np

import asyncgrad as _ag

from .. import utils as _utils
from ... import np
from ...base import unwritten as _unwritten
from ...context import current_context as _current_context, pinned as _pinned
from ...multiarray import alike as _alike, check_no_others, wrapped as _wrapped
from .samplers import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler


class Dataset:
    """Write __getitem__ and __len__ in a class of your own."""

    def __getitem__(self, index):
        raise _unwritten(self, "__getitem__")

    def __len__(self):
        raise _unwritten(self, "__len__")

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


def _rows(values, places):
    if not isinstance(values, _ag.Tensor):
        return np.array(values[places])
    return _wrapped(_ag.take(values, _ag.array(places, dtype="int64", device=values.device), 0))


def _all_pinned(batch):
    if isinstance(batch, dict):
        found = _copy.copy(batch)
        found.update((key, _all_pinned(part)) for key, part in batch.items())
        return found
    if isinstance(batch, (list, tuple)):
        return _alike(batch, map(_all_pinned, batch))
    return _pinned(batch) if isinstance(batch, _ag.Tensor) and batch.device == "cpu" else batch


class DataLoader:
    """Batches of a data set, in order, shuffled, or as a sampler says.

    With num_workers as many threads read `prefetch` batches ahead of the program, by default twice as many as there are
    workers. What they draw at random depends on the seed and on the number of the batch, not on the threads. With
    pin_memory the arrays of a batch that are on the CPU are in memory that GPUs copy from directly, where there is one.
    """

    def __init__(self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, batch_sampler=None,
                 batchify_fn=None, num_workers=0, pin_memory=False, pin_device_id=0, prefetch=None, thread_pool=False,
                 timeout=120, **others):
        check_no_others("DataLoader", others)
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
        self._workers, self._pins = max(num_workers, 0), pin_memory
        self._ahead = 2 * self._workers if prefetch is None else max(int(prefetch), 0)

    def __len__(self):
        return len(self._batches)

    def __iter__(self):
        return self._read_ahead() if self._workers else map(self._batch, self._batches)

    def _batch(self, places):
        return _all_pinned(self._read(places)) if self._pins else self._read(places)

    def _read(self, places):
        places = [int(place) for place in places]
        whole = (type(self._dataset) is ArrayDataset and self._batchify is _stacked
                 and all(isinstance(values, (_np.ndarray, _ag.Tensor)) for values in self._dataset._arrays))
        if not whole:
            return self._batchify([self._dataset[place] for place in places])
        parts = [_rows(values, places) for values in self._dataset._arrays]
        return parts if len(parts) > 1 else parts[0]

    def _read_ahead(self):
        generator, drawn = _ag.default_generator(), False
        epoch = (generator.seed, generator.place)

        def read(number, places, context):
            own = _ag.Generator(int(_np.random.SeedSequence([*epoch, number]).generate_state(1, "uint64")[0]))
            with context, _ag.GeneratorScope(own):
                return self._batch(places), own.place > 0

        def finished():
            nonlocal drawn
            batch, draws = queued.popleft().result()
            drawn = drawn or draws
            return batch

        pool, queued = _futures.ThreadPoolExecutor(self._workers), _collections.deque()
        try:
            for number, places in enumerate(self._batches):
                queued.append(pool.submit(read, number, places, _current_context()))
                if len(queued) > self._ahead:
                    yield finished()
            while queued:
                yield finished()
        finally:
            pool.shutdown(cancel_futures=True)
            if drawn:  # so that the next epoch draws others
                generator.set(generator.seed, generator.place + 1)


from . import vision  # noqa: E402
