"""Data sets in batches, read ahead of the training.

    for x, y in ag.data.Batches((images, labels), batch_size=128):
        train(x, y)
"""
from . import _core
from ._custom import source


class Batches:
    """Goes through a data set in batches, which other threads read ahead of the program.

    data: a tuple of arrays with equal first extents, or an object with len() and [i], which returns an item: arrays and
    numbers, one or a tuple of them. Integers and bool become int64, floating numbers float32, or float64 if they are
    that. shuffle gives every epoch another order, which depends on `seed` and the epoch's number. `ahead` batches are
    queued before they are asked for.
    """

    def __init__(self, data, batch_size=32, shuffle=True, seed=0, drop_last=False, ahead=1):
        if batch_size < 1:
            raise ValueError(f"a batch size of {batch_size}")
        self._arrays = _arrays_of(data)
        self._data, self._size = data, batch_size
        self._shuffle, self._seed, self._drop, self._ahead = shuffle, seed, drop_last, ahead
        self.epoch = 0
        self._count = len(self._arrays[0]) if self._arrays else len(data)

    def __len__(self):
        return self._count // self._size if self._drop else -(-self._count // self._size)

    def __iter__(self):
        import numpy

        order = (numpy.array(_core._shuffled(self._count, self._seed, self.epoch)) if self._shuffle
                 else numpy.arange(self._count))
        self.epoch += 1
        queue = []
        for i in range(len(self)):
            queue.append(self._read(order[i * self._size:(i + 1) * self._size]))
            if len(queue) > self._ahead:
                yield queue.pop(0)
        yield from queue

    def _read(self, places):
        if self._arrays:
            parts = [(a.shape[1:], a.dtype) for a in self._arrays]
        else:
            parts = [(a.shape, a.dtype) for a in _parts(self._data[int(places[0])])]
        outputs = [((len(places), *shape), _type_of(dtype)) for shape, dtype in parts]

        def fill(*out):
            if self._arrays:
                for into, array in zip(out, self._arrays):
                    into[...] = array[places]
                return
            for row, place in enumerate(places):
                for into, part in zip(out, _parts(self._data[int(place)])):
                    into[row] = part

        return tuple(source("batch", outputs, fill))

    def get_state(self):
        """What a Checkpoint keeps: the number of the epoch, which decides the order of its batches."""
        return {"epoch": self.epoch}

    def set_state(self, state):
        """Goes on from what get_state() returned."""
        self.epoch = state["epoch"]


def _type_of(dtype):
    name = str(dtype)
    return name if name == "float64" else "float32" if "float" in name else "int64"


def _parts(item):
    import numpy

    parts = item if isinstance(item, tuple) else (item,)
    return [numpy.asarray(part, "float32") if isinstance(part, float) else numpy.asarray(part) for part in parts]


def _arrays_of(data):
    import numpy

    if isinstance(data, (_core.Tensor, numpy.ndarray)):
        data = (data,)
    if not isinstance(data, tuple):
        return None
    arrays = [numpy.asarray(array) for array in data]
    if len({len(array) for array in arrays}) != 1:
        raise ValueError(f"the arrays have {[len(array) for array in arrays]} rows")
    return arrays


def progress(steps, bar):
    """The steps, with a bar that shows finished work, not queued work. It waits only at the end.

    bar: an object with update(n), such as tqdm.tqdm(total=len(steps)).

        for x, y in ag.data.progress(batches, tqdm.tqdm(total=len(batches))):
            train(x, y)
    """
    ends = []

    def tell():
        figures = _core.engine_figures()
        finished = figures["operations"] - figures["queued"]
        reached = 0
        while ends and ends[0] <= finished:
            ends.pop(0)
            reached += 1
        if reached:
            bar.update(reached)

    for step in steps:
        yield step
        ends.append(_core.engine_figures()["operations"])
        tell()
    while ends:
        _core.mark().wait()
        tell()
