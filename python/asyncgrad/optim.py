"""Optimisers, and learning rates that change from step to step.

    sgd = ag.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = ag.optim.Schedule(sgd, ag.optim.warm_up(100, ag.optim.cosine(1000)))
    for ...:
        loss.backward(); sgd.step(); sgd.zero_grad(); schedule.step()
"""
from ._core import Optimizer, Plateau, Schedule, WeightAverage, clip_norm, cosine, one_cycle, steps, warm_up
from ._signature import Signature

__all__ = ["Optimizer", "Plateau", "Schedule", "WeightAverage", "clip_norm", "cosine", "one_cycle", "steps", "warm_up"]
TYPE_CHECKING = False
if TYPE_CHECKING:  # tools that do not run this find the optimisers' types there
    from ._core import *  # noqa: F403

for _kind in Optimizer.__subclasses__():  # those of the C++ library
    _kind.__signature__ = Signature(_kind)
    globals()[_kind.__name__] = _kind
    __all__.append(_kind.__name__)
del _kind
