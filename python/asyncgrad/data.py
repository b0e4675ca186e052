"""Data sets in batches, read ahead of the training.

    for x, y in ag.data.Batches((images, labels), batch_size=128):
        train(x, y)
"""
import inspect as _inspect
import operator as _operator
import random as _random
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from . import _core
from ._core import Sampler, weighted
from ._signature import Signature

__all__ = ["Batches", "Random", "Sampler", "Subset", "progress", "split", "weighted"]


class Random(_random.Random):
    """The random numbers of one item in one epoch: they depend on the seed, the epoch and the item's index alone.

    It has the methods of Python's random.Random: randint(-2, 2), uniform(0.9, 1.1), random() < 0.5. For NumPy's there is
    numpy.random.default_rng(random.getrandbits(64)). `epoch` is the number of the epoch. random() and getrandbits(64)
    are what a C++ program gets with the same seed.
    """

    gauss_next = None

    def __new__(cls, numbers):
        return super().__new__(cls, 0)

    def __init__(self, numbers):
        self._numbers, self.epoch = numbers, numbers.epoch

    def random(self):
        """The next number in [0, 1)."""
        return self._numbers.uniform()

    def getrandbits(self, k):
        """The next k bits, as an integer."""
        if k < 0:
            raise ValueError(f"k must be at least 0, got {k}")
        bits = 0
        for place in range(0, k, 64):
            bits |= self._numbers.bits() << place
        return bits & ((1 << k) - 1)

    def seed(self, *_):
        """Raises NotImplementedError, as does what keeps a state."""
        raise NotImplementedError("the random numbers of an item follow from the seed of the Batches")

    getstate = setstate = seed


class Batches(_core._Batches):
    """Goes through a data set in batches, which other threads read ahead of the program.

    data: a tuple of arrays with equal first extents, or an object with len() and [i], which returns an item: arrays and
    numbers, one or a tuple of them. Numbers that are integers or bool become int64, and so do arrays of them, but for
    those of uint8; floating numbers get default_dtype(), and float64 arrays stay float64. The first item decides the shapes
    and types; the program's thread reads it, and no other one. Another item that has not the same is an error, which a
    wait for the batch raises.

    For augmentation the object has item(i, random) in place of [i], with a Random: what it draws is the same in every
    run with that seed, on every thread, and after a Checkpoint.

    shuffled gives every epoch another order, which depends on `seed` and the epoch's number, and is the same in C++.
    `ahead` batches are queued before they are asked for.

    A sampler chooses the items of each epoch in place of `shuffled`: weighted(...), or a function of the number of items and
    the epoch, which returns their indices, and gives the same for the same arguments.

    share chooses this process's rows of each batch in a training on several: asyncgrad.dist.world().share, or that of
    asyncgrad.dist.Parts. batch_size is that of all processes together.

    A loop goes through what is left of the epoch: all of it, unless a loop before was left early, or a Checkpoint was
    loaded, which keeps the place. Once another loop has begun, the one before cannot go on, which is an error: a loop
    within a loop needs Batches of its own.
    """

    def __init__(self, data, *args, **kwargs):
        given = self._named(data, *args, **kwargs)
        rows = _rows_of(data)
        self._data = _Items(data) if rows is None else rows
        super().__init__(self._data.item(), self._data.fill, self._data.draws, len(self._data), **given)

    def __len__(self):
        return self._size(len(self._data))

    @property
    def left_out(self) -> int:
        """How many items of the epoch are in none of its batches, in no process: because of drop_last, or of share."""
        return self._left_out(len(self._data))

    def __iter__(self) -> _Iterator[_Any]:
        self._last_loop = this = object()
        while (batch := self._following()) is not None:
            yield batch
            if self._last_loop is not this:
                raise RuntimeError("[Batches] another loop over these Batches has begun within this one, and has taken batches "
                                   "of this epoch; each loop needs Batches of its own")

    def _following(self):
        length = len(self._data)
        if not self._has_item() and length > 0:  # there was none when this was made
            self._set_item(self._data.item())
        return self._next(length)


Batches.__signature__ = Signature(Batches)


class Subset:
    """Items of a data set by their indices, in their order: a data set, too. Of a tuple of arrays the rows are the items."""

    def __init__(self, data, indices):
        count = _length(data)
        try:
            indices = iter(indices)
        except TypeError:
            raise TypeError(f"[Subset] indices must be a list of integers, got {indices!r}") from None
        self.data, self.indices = data, [_index(index, count) for index in indices]
        if _has_random_items(data):
            self.item = self._item

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        place = self.indices[i]
        return tuple(array[place] for array in self.data) if isinstance(self.data, tuple) else self.data[place]

    def _item(self, i, random):
        return self.data.item(self.indices[i], random)


def split(data, shares, shuffled=_core._split_defaults[0], seed=_core._split_defaults[1]):
    """Parts of a data set that have the given shares of its items, such as [0.8, 0.2]: a Subset each.

    No item is in two parts. The parts are the same in C++ with that seed; unless shuffled they follow each other.
    """
    return [Subset(data, indices) for indices in _core._split(_length(data), shares, shuffled, seed)]


def _length(data):
    if not isinstance(data, tuple):
        return len(data)
    _check_rows(data)
    return len(data[0])


def _check_rows(arrays):
    import numpy

    shapes = [numpy.shape(array) for array in arrays]
    if not shapes or not all(shapes) or len({shape[0] for shape in shapes}) != 1:
        raise ValueError(f"the arrays have the shapes {shapes}; each needs as many rows as the others")


def _index(index, count):
    """A number of Python below `count`."""
    try:
        if isinstance(index, bool):
            raise TypeError
        place = _operator.index(index)
    except TypeError:
        raise TypeError(f"indices of items are integers, not {index!r}; numpy.flatnonzero(mask) has those of a mask") from None
    if not 0 <= place < count:
        raise IndexError(f"there is no item {place} among {count}, which are numbered from 0")
    return place


class _Items:
    """A data set that is asked for each item."""

    def __init__(self, data):
        self._data, self._form, self.draws = data, None, _has_random_items(data)

    def __len__(self):
        return len(self._data)

    def item(self):
        """[(shape, type)] of the parts of an item; None if there is no item."""
        if self._form is None and len(self._data) > 0:
            self._form = [(part.shape, _type_of(part.dtype, part.ndim)) for part in self._parts_of(0, _core._Random(0, 0, 0))]
        return self._form

    def _parts_of(self, place, numbers):
        return _parts(self._data.item(place, Random(numbers)) if self.draws else self._data[place])

    def fill(self, places, out, randoms=None):
        for row, place in enumerate(places):
            parts = self._parts_of(place, randoms and randoms[row])
            self._check(place, parts)
            for into, part in zip(out, parts):
                into[row] = part

    def _check(self, place, parts):
        if len(parts) != len(self._form):
            raise ValueError(f"item {place} has {len(parts)} parts where the first item has {len(self._form)}")
        for number, (part, (shape, kind)) in enumerate(zip(parts, self._form)):
            if part.shape != shape:
                raise ValueError(f"part {number} of item {place} has the shape {part.shape}, that of the first item {shape}")
            own = _type_of(part.dtype, part.ndim)
            if own != kind and not (own in ("int64", "uint8") and kind.startswith("float")):
                raise TypeError(f"part {number} of item {place} is {own}, that of the first item {kind}")


class _Arrays:
    """Arrays whose rows are the items: all, or those of a Subset."""

    draws = False

    def __init__(self, data, indices=None):
        import numpy

        self._arrays = [_fitting(_array(part)) for part in (data if isinstance(data, tuple) else (data,))]
        _core._check_unmasked(data)
        _check_rows(self._arrays)
        self._indices = None if indices is None else numpy.asarray(indices, "int64")

    def __len__(self):
        return len(self._arrays[0] if self._indices is None else self._indices)

    def item(self):
        return [(array.shape[1:], _type_of(array.dtype, array.ndim - 1)) for array in self._arrays]

    def fill(self, places, out):
        places = places if self._indices is None else self._indices[places]
        for into, array in zip(out, self._arrays):
            into[...] = array[places]


def _has_random_items(data):
    """Whether item(i, random) can be called; arrays have an item() of another kind."""
    if hasattr(data, "__array__"):
        return False
    try:
        _inspect.signature(data.item).bind(0, None)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _rows_of(data):
    """The rows of arrays, or of a Subset of arrays; None for another data set."""
    import numpy

    arrays = (_core.Tensor, numpy.ndarray, tuple)
    if isinstance(data, Subset) and isinstance(data.data, arrays):
        return _Arrays(data.data, data.indices)
    if isinstance(data, dict) and data and 0 not in data:
        raise TypeError("a dict has no item 0; a tuple of arrays, such as tuple(data.values()), has their rows as its items")
    return _Arrays(data) if isinstance(data, arrays) else None


def _type_of(dtype, axes):
    """The type in a batch of a part of an item. A number is a label or a count: int64, in which operations compute."""
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return "float64" if dtype == "float64" else "float32"
    if dtype.kind not in "biu":
        raise TypeError(f"a batch cannot have items of type {dtype}; make numbers of them first")
    return "uint8" if dtype == "uint8" and axes > 0 else "int64"


def _parts(item):
    parts = item if isinstance(item, tuple) else (item,)
    arrays = [_array(part) for part in parts]
    _core._check_unmasked(item)
    return list(map(_fitting, arrays))


def _array(part):
    """A part of an item, or of a data set, as an array; Python's floating numbers have no type of their own."""
    import numpy

    array = numpy.asarray(part)
    return array if array.dtype != "float64" or _has_type(part) else array.astype(str(_core.default_dtype()))


def _has_type(part):
    """Whether a part has a type, as arrays do, or is a list of what has one."""
    while isinstance(part, (list, tuple)) and len(part):
        part = part[0]
    return hasattr(part, "dtype")


def _fitting(array):
    """The array, whose integers fit into those of a batch."""
    if array.dtype == "uint64" and array.size and array.max() >= 2**63:
        raise OverflowError(f"a batch has its integers in int64, which cannot hold {array.max()}")
    return array


def progress(steps, bar):
    """The steps, with a bar that shows finished work, not queued work. It waits only at the end.

    bar: an object with update(n), such as tqdm.tqdm(total=len(steps)).

        for x, y in ag.data.progress(batches, tqdm.tqdm(total=len(batches))):
            train(x, y)
    """
    ends = []

    def counts():
        """How many operations were queued so far, and how many of them have finished."""
        figures = _core.engine_figures()
        queued = figures["operations"] - figures["inlined"]
        return queued, queued - figures["queued"]

    def tell():
        _, finished = counts()
        reached = 0
        while ends and ends[0] <= finished:
            ends.pop(0)
            reached += 1
        if reached:
            bar.update(reached)

    for step in steps:
        yield step
        ends.append(counts()[0])
        tell()
    while ends:
        _core.mark().wait()
        tell()
