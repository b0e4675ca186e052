"""Optimisers, and learning rates that change from step to step.

    sgd = ag.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = ag.optim.Schedule(sgd, ag.optim.warm_up(100, ag.optim.cosine(1000)))
    for ...:
        sgd.zero_grad(); loss.backward(); sgd.step(); schedule.step()
"""
import math

from ._core import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop, clip_norm

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "Schedule", "clip_norm", "cosine", "steps", "warm_up"]


def steps(every, factor):
    """A schedule: factor^floor(t / every) after t steps."""
    if every < 1:
        raise ValueError(f"a step of {every}")
    return lambda t: factor ** (t // every)


def cosine(length, least=0.0):
    """A schedule: least + (1 - least) (1 + cos(pi t / length)) / 2 after t steps, and `least` from t = length on."""
    if length < 1:
        raise ValueError(f"a length of {length}")
    return lambda t: least if t >= length else least + (1 - least) * (1 + math.cos(math.pi * t / length)) / 2


def warm_up(length, then=lambda t: 1.0):
    """A schedule: (t + 1) / length after t steps, and then(t - length) from t = length on."""
    if length < 1:
        raise ValueError(f"a length of {length}")
    return lambda t: (t + 1) / length if t < length else then(t - length)


class Schedule:
    """Sets the learning rate to the first one times factor(t), where t is the number of steps so far."""

    def __init__(self, optimizer, factor):
        self._optimizer, self._factor, self.count = optimizer, factor, 0
        self._first = optimizer.lr
        optimizer.lr = self._first * factor(0)

    def step(self):
        """Call it once after each step of the optimiser."""
        self._optimizer.lr = self._first * self._factor(self.count + 1)
        self.count += 1

    def get_state(self):
        """What a Checkpoint keeps: the count of steps and the first learning rate."""
        return {"count": self.count, "first": self._first}

    def set_state(self, state):
        """Goes on from what get_state() returned."""
        self.count, self._first = state["count"], state["first"]
