"""Trainers: MXNet's optimisers, each a row with a function of weight, gradient and state.

Their formulas are not those of asyncgrad.optim: here the learning rate is part of the momentum, epsilon is under the
root or beside another term, decay is clipped with the gradient or apart from it, and other options are the usual ones.
That of sgd without momentum is, but here numbers may be negative, and the gradient is not in the tensor's own grad.
"""
import math
import typing

import asyncgrad as ag
from asyncgrad import extend

from .. import autograd
from ..context import of_device
from ..multiarray import check_no_others
from .parameter import Parameter, ParameterDict


def _sgd(o, t, lr, w, g, state):
    momentum = o.get("momentum", 0.0)
    if not momentum:
        w -= g * lr
        return
    velocity = state.setdefault("momentum", w.detach() * 0)
    velocity *= momentum
    velocity -= g * lr
    w += velocity


def _nag(o, t, lr, w, g, state):
    momentum, wd = o.get("momentum", 0.0), o["wd"]
    velocity = state.setdefault("momentum", w.detach() * 0)
    velocity *= momentum
    w += velocity * momentum - (g + w * wd) * (lr * (1 + momentum))
    velocity -= (g + w * wd) * lr  # MXNet reads the weight that it has just written


def _adam(o, t, lr, w, g, state):
    beta1, beta2, epsilon = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    mean, var = (state.setdefault(name, w.detach() * 0) for name in ("mean", "var"))
    mean *= beta1
    mean += g * (1 - beta1)
    var *= beta2
    var += ag.square(g) * (1 - beta2)
    w -= mean * (lr * (1 - beta2 ** t) ** 0.5 / (1 - beta1 ** t)) / (ag.sqrt(var) + epsilon)


def _adagrad(o, t, lr, w, g, state):
    history = state.setdefault("history", w.detach() * 0)
    history += ag.square(g)
    w -= (g / ag.sqrt(history + o.get("eps", 1e-7)) + w * o["wd"]) * lr


def _rmsprop(o, t, lr, w, g, state):
    gamma1 = o.get("gamma1", 0.9)
    if o.get("centered"):
        raise NotImplementedError("rmsprop(centered=True)")
    n = state.setdefault("n", w.detach() * 0)
    n *= gamma1
    n += ag.square(g) * (1 - gamma1)
    w -= g * lr / ag.sqrt(n + o.get("epsilon", 1e-8))


def _adadelta(o, t, lr, w, g, state):
    rho, epsilon = o.get("rho", 0.9), o.get("epsilon", 1e-5)
    acc_g, acc_delta = (state.setdefault(name, w.detach() * 0) for name in ("acc_g", "acc_delta"))
    acc_g *= rho
    acc_g += ag.square(g) * (1 - rho)
    delta = ag.sqrt(acc_delta + epsilon) / ag.sqrt(acc_g + epsilon) * g
    acc_delta *= rho
    acc_delta += ag.square(delta) * (1 - rho)
    w -= delta + w * o["wd"]


class _Rule(typing.NamedTuple):
    update: typing.Callable
    options: tuple
    learning_rate: float | None = None  # a scheduler's, too; None stands for the scheduler's own, or 0.01
    adds_decay: bool = True  # wd * weight is added to the gradient first; other rules read o["wd"]


_RULES = {
    "sgd": _Rule(_sgd, ("momentum",)), "nag": _Rule(_nag, ("momentum",), adds_decay=False),
    "adam": _Rule(_adam, ("beta1", "beta2", "epsilon"), 0.001), "adagrad": _Rule(_adagrad, ("eps",), adds_decay=False),
    "rmsprop": _Rule(_rmsprop, ("gamma1", "gamma2", "epsilon", "centered"), 0.001),
    "adadelta": _Rule(_adadelta, ("rho", "epsilon"), adds_decay=False)}
_WITHOUT_EFFECT = ("lazy_update", "multi_precision", "aggregate_num")


_STALE = ("Gradient of Parameter `{}` on context {} has not been updated by backward since last `step`. This could mean a bug in "
          "your model that made it only use a subset of the Parameters (Blocks) for this iteration. If you are intentionally "
          "only using a subset, call step with ignore_stale_grad=True to suppress this warning and skip updating of "
          "Parameters with stale gradient")


def _sum_over_devices(arrays):
    grads = [array.grad for array in arrays]
    return grads[0] if len(grads) == 1 else ag.reduce_add(grads, arrays[0].device)


_SYNCHRONOUS = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device")


def _world_of(kvstore):
    """The processes whose gradients are added: those that mpiexec has started, for a kvstore whose name begins with dist."""
    if not isinstance(kvstore, str) or not kvstore.startswith("dist"):
        return ag.dist.World()
    if kvstore not in _SYNCHRONOUS:
        raise NotImplementedError(f"Trainer(kvstore={kvstore!r}): there is 'dist_sync', in which all processes step together")
    return ag.dist.world()


def _check_finite(name, value):
    try:
        is_finite = math.isfinite(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not is_finite:
        raise ValueError(f"{name} must be finite, got {value}")


def _listed(params):
    found = list(params.values()) if isinstance(params, (dict, ParameterDict)) else params
    if not isinstance(found, (list, tuple)):
        raise ValueError(f"First argument must be a list or dict of Parameters, got {type(found)}; collect_params() of a block gives one")
    for parameter in found:
        if not isinstance(parameter, Parameter):
            raise ValueError(f"First argument must be a list or dict of Parameters, got list of {type(parameter)}")
    return list(found)


class Trainer:
    """Updates parameters by a rule: sgd, nag, adam, adagrad, rmsprop or adadelta. step(batch_size) averages gradients.

    With kvstore="dist_sync" in a program that mpiexec has started, step() adds the gradients of all processes, and the
    first one gives all parameters the values of process 0.
    """

    def __init__(self, params, optimizer="sgd", optimizer_params=None, kvstore=None, update_on_kvstore=None,
                 **others):
        check_no_others("Trainer", others)
        self._params = _listed(params)
        if not isinstance(optimizer, str) or optimizer.lower() not in _RULES:
            raise NotImplementedError(f"Trainer(optimizer={optimizer!r}): there are {', '.join(_RULES)}, by their names")
        self._rule = _RULES[optimizer.lower()]
        self._options = dict(optimizer_params or {})
        self._scheduler = self._options.pop("lr_scheduler", None)
        lr = self._options.pop("learning_rate", self._rule.learning_rate)
        if self._scheduler is not None and lr is not None:
            self._scheduler.base_lr = lr
        self._lr = 0.01 if lr is None else lr
        self._wd, self._clip = self._options.pop("wd", 0.0), self._options.pop("clip_gradient", None)
        self._rescale = self._options.pop("rescale_grad", 1.0)
        for name in self._options:
            if name not in self._rule.options + _WITHOUT_EFFECT:
                raise TypeError(f"the optimizer {optimizer} has no option {name}")
        numbers = {name: value for name, value in self._options.items() if name not in _WITHOUT_EFFECT}
        for name, value in {**numbers, "learning_rate": self._lr, "wd": self._wd, "rescale_grad": self._rescale}.items():
            _check_finite(f"{name} of the optimizer {optimizer}", value)
        if self._clip is not None and self._clip != math.inf:
            _check_finite(f"clip_gradient of the optimizer {optimizer}", self._clip)
        if self._clip is not None and not 0 < self._clip < math.inf:  # as in MXNet
            self._clip = None
        # As in MXNet every parameter counts its own updates, and the scheduler gets the largest count.
        self._updates, self._counts, self._states = 0, {}, {}
        self._world, self._is_shared = _world_of(kvstore), False
        # As in MXNet the gradients of the devices stay as they are in a step, unless the program wants to see the sums.
        self._shows_sums, self._is_reduced = update_on_kvstore is False, False

    @property
    def learning_rate(self):
        """The learning rate of the next step."""
        return self._lr if self._scheduler is None else self._scheduler(self._updates)

    def set_learning_rate(self, lr):
        """Sets the learning rate, unless a scheduler does."""
        if self._scheduler is not None:
            raise UserWarning("a learning rate cannot be set where an lr_scheduler sets it")
        _check_finite("learning_rate", lr)
        self._lr = lr

    def step(self, batch_size, ignore_stale_grad=False):
        """Adds the gradients of all devices, divides by batch_size and updates. Waits for nothing.

        A gradient that no backward() has written since the last step raises UserWarning, before anything is updated; with
        ignore_stale_grad it is left out, which several processes cannot do.
        """
        if self._world.size == 1:  # a process that raises before the others have its gradients would keep them waiting
            self._check(batch_size, ignore_stale_grad)
        sums = self._sums()
        if self._world.size > 1:
            self._check(batch_size, ignore_stale_grad)
        if self._shows_sums:
            self._show(sums)
        self._update_all(batch_size, sums)

    def allreduce_grads(self):
        """Lets the gradient of every array be the sum over all devices and processes, which update() reads."""
        self._show(self._sums())
        self._is_reduced = True

    def _show(self, sums):
        for index, total in sums.items():
            for array in self._params[index].list_data():
                autograd.replace_gradient(array, total.to(array.device))

    def _sums(self):
        """The sums of gradients over all devices and processes, by the parameter's number; without those that are no sums."""
        if self._world.size > 1:
            arrays = [[extend.as_class(array, ag.Tensor) for array in parameter.list_data()] for parameter in self._params]
            if not self._is_shared:
                ag.dist.broadcast(arrays, self._world)
                self._is_shared = True
        wanted, totals = [], []
        with ag.no_grad():
            for index, parameter in enumerate(self._params):
                if parameter.grad_req == "null":
                    continue
                arrays = parameter.list_data()
                # A process cannot leave out what others have.
                summed = arrays if self._world.size > 1 else [array for array in arrays if autograd.is_fresh(array)]
                if summed and (len(arrays) > 1 or self._world.size > 1):
                    wanted.append(index)
                    totals.append(_sum_over_devices(summed))
            if self._world.size > 1:
                totals = ag.dist.sum(totals, self._world)
        return dict(zip(wanted, totals))

    def update(self, batch_size, ignore_stale_grad=False):
        """The same as step(), after allreduce_grads()."""
        self._check(batch_size, ignore_stale_grad)
        self._update_all(batch_size, {} if self._is_reduced else self._sums())
        self._is_reduced = False

    def _update_all(self, batch_size, sums):
        counted = lr = None
        with ag.no_grad():
            for index, parameter in enumerate(self._params):
                arrays = parameter.list_data() if parameter.grad_req != "null" else []
                if not any(map(autograd.is_fresh, arrays)):
                    continue
                count = self._counts[index] = self._counts.get(index, 0) + 1
                self._updates = max(self._updates, count)
                if counted != self._updates:
                    counted, lr = self._updates, self.learning_rate
                self._update(index, arrays, sums.get(index), count, lr * parameter.lr_mult, self._rescale / batch_size)
                for array in arrays:
                    autograd.mark_used(array)

    def _check(self, batch_size, ignore_stale_grad):
        _check_finite("batch_size", batch_size)
        if batch_size == 0:
            raise ValueError("batch_size must not be 0: the gradients are divided by it")
        if self._world.size > 1 and ignore_stale_grad:
            raise NotImplementedError("ignore_stale_grad with several processes, which may not agree on what is stale")
        for parameter in self._params:
            for array in parameter.list_data() if parameter.grad_req != "null" else []:
                if not ignore_stale_grad and not autograd.is_fresh(array):
                    raise UserWarning(_STALE.format(parameter.name, of_device(array.device)))

    def _update(self, index, arrays, total, count, lr, scale):
        """Updates a parameter's arrays on all devices by a sum of gradients, or by those that they have."""
        wd = self._wd * self._params[index].wd_mult
        # One operation in place of two: the same numbers but for rounding.
        plain = self._rule.update is _sgd and not self._options.get("momentum") and not wd and self._clip is None
        for place, weight in enumerate(arrays):
            grad = weight.grad if total is None else total.to(weight.device)
            if plain:
                weight -= grad * (lr * scale)
                continue
            state = self._states.setdefault((index, place), {})
            options = {**self._options, "wd": wd}
            self._rule.update(options, count, lr, weight, self._prepared(grad * scale, weight, wd), state)

    def _prepared(self, grad, weight, wd):
        """The gradient that a rule gets: clipped, and with the decay if the rule adds that to it."""
        decays = wd and self._rule.adds_decay
        if decays and self._rule.update in (_adam, _rmsprop):  # clips the sum
            grad, decays = grad + weight * wd, False
        if self._clip is not None:
            grad = ag.clip(grad, -self._clip, self._clip)
        return grad + weight * wd if decays else grad

    def zero_grad(self):
        """Lets the gradients of all parameters be zeros."""
        for parameter in self._params:
            parameter.zero_grad()
