"""Learning rates that depend on the number of updates, under MXNet's names."""
import asyncgrad as ag

from .base import unwritten


class LRScheduler:
    """What schedulers have in common: a call with the number of updates gives the learning rate; it may warm up."""

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        if not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise ValueError(f"warmup_steps must be an integer of at least 0, got {warmup_steps!r}")
        if warmup_begin_lr > base_lr:
            raise ValueError(f"warmup_begin_lr must be at most base_lr {base_lr}, got {warmup_begin_lr}")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"warmup_mode must be 'linear' or 'constant', got {warmup_mode!r}")
        self.base_lr = self.warmup_final_lr = base_lr
        self.warmup_steps, self.warmup_begin_lr, self.warmup_mode = warmup_steps, warmup_begin_lr, warmup_mode

    def get_warmup_lr(self, num_update):
        """The learning rate of the first updates, which reach base_lr linearly or stay where they begin."""
        if self.warmup_mode == "linear":
            return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps
        return self.warmup_begin_lr

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        self._update(num_update)
        return self.base_lr

    def _update(self, num_update):
        """Sets base_lr after the first updates; or write __call__() in a class of your own."""
        raise unwritten(self, "__call__")


def _check_step(step):
    if not step >= 1:
        raise ValueError(f"step must be at least 1, got {step}")


def _check_factor(factor):
    if not factor <= 1:
        raise ValueError(f"factor must be at most 1, got {factor}")


def _check_max_update(max_update):
    if not isinstance(max_update, int) or max_update < 1:
        raise ValueError(f"max_update must be an integer of at least 1, got {max_update!r}")


class FactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor every `step` updates, down to stop_factor_lr."""

    def __init__(self, step, factor=1, stop_factor_lr=1e-8, base_lr=0.01, **kwargs):
        _check_step(step)
        _check_factor(factor)
        super().__init__(base_lr, **kwargs)
        self.step, self.factor, self.stop_factor_lr, self.count = step, factor, stop_factor_lr, 0

    def _update(self, num_update):
        steps = int(-((self.count - num_update) // self.step)) - 1
        if steps <= 0:
            return
        self.count += steps * self.step
        for _ in range(steps):
            before, self.base_lr = self.base_lr, max(self.base_lr * self.factor, self.stop_factor_lr)
            if self.base_lr == before:  # and stays
                return


class MultiFactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor after each of the updates in the list `step`."""

    def __init__(self, step, factor=1, base_lr=0.01, **kwargs):
        if not isinstance(step, list) or not step or sorted(set(step)) != step:
            raise ValueError(f"step must be a list of increasing integers, got {step!r}")
        _check_step(step[0])
        _check_factor(factor)
        super().__init__(base_lr, **kwargs)
        self.step, self.factor, self.cur_step_ind = step, factor, 0

    def _update(self, num_update):
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.cur_step_ind += 1
            self.base_lr *= self.factor


class _FallingScheduler(LRScheduler):
    """Falls from base_lr to final_lr until max_update: _left() is the share of the way that is left after some updates."""

    def __init__(self, max_update, base_lr, final_lr, **kwargs):
        _check_max_update(max_update)
        super().__init__(base_lr, **kwargs)
        self.first, self.max_update, self.final_lr = base_lr, max_update, final_lr
        self.max_steps = max_update - self.warmup_steps

    def _update(self, num_update):
        if num_update <= self.max_update:
            left = self._left(num_update - self.warmup_steps) if self.max_steps else 0
            self.base_lr = self.final_lr + (self.first - self.final_lr) * left


class PolyScheduler(_FallingScheduler):
    """final_lr + (base_lr - final_lr) (1 - t / max_update)^pwr, and final_lr from max_update on."""

    def __init__(self, max_update, base_lr=0.01, pwr=2, final_lr=0, **kwargs):
        super().__init__(max_update, base_lr, final_lr, **kwargs)
        self.power = pwr

    def _left(self, updates):
        return (1 - updates / self.max_steps) ** self.power


_PARTS = 2 ** 32


class CosineScheduler(_FallingScheduler):
    """final_lr + (base_lr - final_lr) (1 + cos(pi t / max_update)) / 2, and final_lr from max_update on."""

    def __init__(self, max_update, base_lr=0.01, final_lr=0, **kwargs):
        super().__init__(max_update, base_lr, final_lr, **kwargs)

    def _left(self, updates):
        # In parts of an update: as in MXNet it may be an array, and a number between two updates.
        return ag.optim.cosine(self.max_steps * _PARTS)(round(float(updates) * _PARTS))
