"""Which elements of a data set are read, and in which order."""
import numbers

from ... import random as _random
from ...base import unwritten


class Sampler:
    """Write __iter__(), which gives indices, and __len__() in a class of your own."""

    def __len__(self):
        raise unwritten(self, "__len__")

    def __iter__(self):
        raise unwritten(self, "__iter__")


class SequentialSampler(Sampler):
    """start, start + 1, ... start + length - 1."""

    def __init__(self, length, start=0):
        self._length, self._start = length, start

    def __iter__(self):
        return iter(range(self._start, self._start + self._length))

    def __len__(self):
        return self._length


class RandomSampler(Sampler):
    """0 to length - 1 in a random order, another one each time."""

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(_random._generator().permutation(self._length).tolist())

    def __len__(self):
        return self._length


class FilterSampler(Sampler):
    """The indices of the elements for which a function is true."""

    def __init__(self, fn, dataset):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self):
        return iter(self._indices)

    def __len__(self):
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of batch_size indices of another sampler.

    What is left at the end is the last batch with last_batch="keep", is left out with "discard", and stands at the
    beginning of the next iteration with "rollover".
    """

    def __init__(self, sampler, batch_size, last_batch="keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch is 'keep', 'discard' or 'rollover', not {last_batch!r}")
        if not isinstance(batch_size, numbers.Integral) or batch_size < 1:
            raise ValueError(f"batch_size must be an integer of at least 1, got {batch_size!r}")
        self._sampler, self._size, self._last, self._kept = sampler, batch_size, last_batch, []

    def __iter__(self):
        batch, self._kept = self._kept, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._size:
                yield batch
                batch = []
        if batch and self._last == "keep":
            yield batch
        elif batch and self._last == "rollover":
            self._kept = batch

    def __len__(self):
        count = len(self._sampler)
        if self._last == "keep":
            return -(-count // self._size)
        return (count + len(self._kept)) // self._size
