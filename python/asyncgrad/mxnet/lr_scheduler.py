"""Learning rates that depend on the number of updates, under MXNet's names."""
import math


class LRScheduler:
    """What schedulers have in common: a call with the number of updates gives the learning rate; it may warm up."""

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        self.base_lr = self.warmup_final_lr = base_lr
        self.warmup_steps, self.warmup_begin_lr, self.warmup_mode = warmup_steps, warmup_begin_lr, warmup_mode

    def get_warmup_lr(self, num_update):
        """The learning rate of the first updates, which reach base_lr linearly or stay where they begin."""
        if self.warmup_mode == "linear":
            return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps
        return self.warmup_begin_lr


class FactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor every `step` updates, down to stop_factor_lr."""

    def __init__(self, step, factor=1, stop_factor_lr=1e-8, base_lr=0.01, **kwargs):
        super().__init__(base_lr, **kwargs)
        self.step, self.factor, self.stop_factor_lr, self.count = step, factor, stop_factor_lr, 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor after each of the updates in the list `step`."""

    def __init__(self, step, factor=1, base_lr=0.01, **kwargs):
        super().__init__(base_lr, **kwargs)
        self.step, self.factor, self.cur_step_ind = step, factor, 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class PolyScheduler(LRScheduler):
    """final_lr + (base_lr - final_lr) (1 - t / max_update)^pwr, and final_lr from max_update on."""

    def __init__(self, max_update, base_lr=0.01, pwr=2, final_lr=0, **kwargs):
        super().__init__(base_lr, **kwargs)
        self.first, self.max_update, self.power, self.final_lr = base_lr, max_update, pwr, final_lr
        self.max_steps = max_update - self.warmup_steps

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            left = 1 - (num_update - self.warmup_steps) / self.max_steps
            self.base_lr = self.final_lr + (self.first - self.final_lr) * left ** self.power
        return self.base_lr


class CosineScheduler(LRScheduler):
    """final_lr + (base_lr - final_lr) (1 + cos(pi t / max_update)) / 2, and final_lr from max_update on."""

    def __init__(self, max_update, base_lr=0.01, final_lr=0, **kwargs):
        super().__init__(base_lr, **kwargs)
        self.first, self.max_update, self.final_lr = base_lr, max_update, final_lr
        self.max_steps = max_update - self.warmup_steps

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            turn = math.pi * (num_update - self.warmup_steps) / self.max_steps
            self.base_lr = self.final_lr + (self.first - self.final_lr) * (1 + math.cos(turn)) / 2
        return self.base_lr
