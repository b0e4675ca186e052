"""Training on several processes, which MPI starts: `mpiexec -n 4 python train.py`.

    world = ag.dist.world()
    ag.dist.broadcast(net, world)
    batches = ag.data.Batches(images, 256, share=world.share)
    for x, y in batches:
        loss(net(x), y).mean().backward()
        ag.dist.average_gradients(adam, world)
        adam.step()
        adam.zero_grad()

Parts trains with the same bits on any number of processes. All processes call the same functions in the same order. In
a world of one they queue nothing. docs/dist.md has more.
"""
from collections.abc import Iterator as _Iterator

from .. import _core
from .._core import DistFigures, Optimizer, Tensor, WeightAverage, World
from ..nn import Module

__all__ = ["DistFigures", "Parts", "World", "average_gradients", "broadcast", "sum", "world"]


def world(timeout_s: float = _core._world_timeout_s, lowest_common: bool = _core._world_lowest_common,
          bytes_per_second: float = _core._world_bytes_per_second) -> World:
    """The processes that were started together, or this one alone. The first call waits until all have called it.

    timeout_s is how long a process waits for an answer of the others, in seconds. That of the latest call holds.
    lowest_common lets processors with different instruction sets compute with the best one that all have; otherwise they
    are an error. bytes_per_second simulates a network, for measuring; 0 is none.

    From then on the default generator gives other numbers in each process, mixed from its seed and the rank.
    """
    return _core._world(timeout_s, lowest_common, bytes_per_second)


def broadcast(value, world: World) -> None:
    """Gives all tensors of a layer, an optimiser, a WeightAverage, a tensor, or a list, tuple or dict of those, the values
    of rank 0, in place. Queued.
    """
    _core._broadcast(list(_tensors_in(value)), world)


def _tensors_in(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (Optimizer, WeightAverage)):
        yield from _core._tensors_listed_by(value)
    elif isinstance(value, Module):
        yield from (tensor for _, tensor in _core._state(value))
    elif isinstance(value, (list, tuple, dict)):
        for item in list(value.values()) if isinstance(value, dict) else value:
            yield from _tensors_in(item)
    else:
        raise TypeError("[broadcast] takes a layer, an optimiser, a WeightAverage, a tensor, or a list, tuple or dict of "
                        f"those, not {value!r}")


def average_gradients(optimizer: Optimizer, world: World) -> None:
    """Replaces the gradients of the optimiser's parameters by their averages over all processes; between backward() and step().

    It queues operations. If one of them fails, so do the updates after it, on all processes.
    """
    _core._average_gradients(optimizer, world)


def sum(tensor, world: World):
    """The sum of a tensor over all processes, element by element, without history: of a metric, for example.

    Of a list of tensors it is the list of their sums; small tensors go together.
    """
    return _core._sum(tensor, world)


class Parts(_core._Parts):
    """A training with the same bits on any number of processes: cuts each batch into `count` parts, a power of two.

        parts = ag.dist.Parts(world, 8)
        for batch in ag.data.Batches(images, 256, share=parts.share):
            for part in parts.mine():
                x, y = parts.rows(batch, part)
                loss(net(x), y).mean().backward()
                parts.add(adam)
            parts.average(adam)
            adam.step()
            adam.zero_grad()

    Every process computes count / world.size parts. Gradients are summed by one binary tree over the parts; in the loop the
    default generator is the part's own; running statistics are updated part after part, by average(). The seed is that of
    the default generator when this is made. A Checkpoint keeps it, and the number of the step.
    """

    def mine(self) -> _Iterator[int]:
        """Begins a step: the numbers of this process's parts, for one `for` statement.

        It drops what is left of a step that was not averaged, because of an exception for example. An exception that
        leaves the loop ends the step: average() fails with it on all other processes. That is told when the statement
        drops this object, so do not keep it in a variable.
        """
        return _core._LoopOverParts(self, self._parts_of_step())

    def _parts_of_step(self):
        with _core._Scope(self):
            while (part := self._next()) is not None:
                yield part

    def rows(self, batch, part):
        """The rows of a part, of this process's rows of a batch: a tensor, or a tuple or list of them."""
        if isinstance(batch, (tuple, list)):
            return tuple(self._rows(x, part) for x in batch)
        return self._rows(batch, part)

    def add(self, optimizer: Optimizer) -> None:
        """Takes the gradients of a part, after its backward(), so that the parameters have none. Queued.

        Called once for each part and optimiser. A parameter without a gradient counts as zeros if another part has one.
        """
        self._add(optimizer)

    def average(self, optimizer: Optimizer) -> None:
        """Gives the parameters the average over all parts as their gradients: after the loop, before step(). Queued.

        If an operation of any part fails, so do the updates after it, on all processes.
        """
        self._average(optimizer)
