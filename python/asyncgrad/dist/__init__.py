"""Training on several processes, which MPI starts: `mpiexec -n 4 python train.py`.

    world = ag.dist.world()
    ag.dist.broadcast(net, world)
    batches = ag.data.Batches(images, 256, share=world.share)
    for x, y in batches:
        loss(net(x), y).mean().backward()
        ag.dist.average_gradients(adam, world)
        adam.step()
        adam.zero_grad()

All processes call the same functions in the same order. In a world of one they queue nothing. docs/dist.md has more.
"""
from .. import _core
from .._core import DistFigures, Optimizer, Tensor, World

__all__ = ["DistFigures", "World", "average_gradients", "broadcast", "sum", "world"]


def world(timeout_s: float = _core._world_timeout_s, lowest_common: bool = False, bytes_per_second: float = 0) -> World:
    """The processes that were started together, or this one alone. The first call waits until all have called it.

    timeout_s is how long a process waits for an answer of the others, in seconds. That of the latest call holds.
    lowest_common lets processors with different instruction sets compute with the best one that all have; otherwise they
    are an error. bytes_per_second simulates a network, for measuring; 0 is none.

    From then on the default generator gives other numbers in each process, mixed from its seed and the rank.
    """
    return _core._world(timeout_s, lowest_common, bytes_per_second)


def broadcast(value, world: World) -> None:
    """Gives all tensors of a layer, an optimiser, a tensor, or a list or dict of those, the values of rank 0, in place."""
    if isinstance(value, Optimizer):
        _core._broadcast(value, world)
    elif isinstance(value, Tensor):
        _core._broadcast_tensors([value], world)
    else:
        _core._broadcast_tensors([tensor for _, tensor in _core._state(value)], world)


def average_gradients(optimizer: Optimizer, world: World) -> None:
    """Replaces the gradients of the optimiser's parameters by their averages over all processes; between backward() and step().

    It queues operations. If one of them fails, so do the updates after it, on all processes.
    """
    _core._average_gradients(optimizer, world)


def sum(tensor, world: World):
    """The sum of a tensor over all processes, element by element, without history: of a metric, for example.

    Of a list of tensors it is the list of their sums; small tensors go together.
    """
    if isinstance(tensor, (list, tuple)):
        return _core._sums_of_ranks(tensor, world)
    return _core._sum_of_ranks(tensor, world)
