"""Trainers: MXNet's optimisers, each as a function of weight, gradient and state."""
from ... import _core
from ..._scopes import no_grad
from .parameter import ParameterDict


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
    velocity = state.setdefault("momentum", w.detach() * 0)
    velocity *= o.get("momentum", 0.0)
    velocity -= g * lr
    w += velocity * o.get("momentum", 0.0) - g * lr


def _adam(o, t, lr, w, g, state):
    beta1, beta2, epsilon = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    mean, var = (state.setdefault(name, w.detach() * 0) for name in ("mean", "var"))
    mean *= beta1
    mean += g * (1 - beta1)
    var *= beta2
    var += _core.square(g) * (1 - beta2)
    w -= mean * (lr * (1 - beta2 ** t) ** 0.5 / (1 - beta1 ** t)) / (_core.sqrt(var) + epsilon)


def _adagrad(o, t, lr, w, g, state):
    history = state.setdefault("history", w.detach() * 0)
    history += _core.square(g)
    w -= g * lr / _core.sqrt(history + o.get("eps", o.get("epsilon", 1e-7)))


def _rmsprop(o, t, lr, w, g, state):
    gamma1 = o.get("gamma1", o.get("rho", 0.9))
    if o.get("centered"):
        raise NotImplementedError("rmsprop(centered=True)")
    n = state.setdefault("n", w.detach() * 0)
    n *= gamma1
    n += _core.square(g) * (1 - gamma1)
    w -= g * lr / _core.sqrt(n + o.get("epsilon", 1e-8))


def _adadelta(o, t, lr, w, g, state):
    rho, epsilon = o.get("rho", 0.9), o.get("epsilon", 1e-5)
    acc_g, acc_delta = (state.setdefault(name, w.detach() * 0) for name in ("acc_g", "acc_delta"))
    acc_g *= rho
    acc_g += _core.square(g) * (1 - rho)
    delta = _core.sqrt(acc_delta + epsilon) / _core.sqrt(acc_g + epsilon) * g
    acc_delta *= rho
    acc_delta += _core.square(delta) * (1 - rho)
    w -= delta


_RULES = {"sgd": (_sgd, 0.01), "nag": (_nag, 0.1), "adam": (_adam, 0.001), "adagrad": (_adagrad, 0.01),
          "rmsprop": (_rmsprop, 0.001), "adadelta": (_adadelta, 1.0)}


class Trainer:
    """Updates parameters; step(batch_size) divides gradients by the size."""

    def __init__(self, params, optimizer="sgd", optimizer_params=None, kvstore=None, update_on_kvstore=None, **_):
        self._params = list(params.values()) if isinstance(params, (dict, ParameterDict)) else list(params)
        if not isinstance(optimizer, str) or optimizer.lower() not in _RULES:
            raise NotImplementedError(f"Trainer(optimizer={optimizer!r})")
        self._rule, default_lr = _RULES[optimizer.lower()]
        self._options = dict(optimizer_params or {})
        self._scheduler = self._options.pop("lr_scheduler", None)
        lr = self._options.pop("learning_rate", None)
        if self._scheduler is not None and lr is not None:
            self._scheduler.base_lr = lr
        self._lr = default_lr if lr is None else lr
        self._wd, self._clip = self._options.pop("wd", 0.0), self._options.pop("clip_gradient", None)
        self._rescale = self._options.pop("rescale_grad", 1.0)
        self._updates, self._states = 0, {}

    @property
    def learning_rate(self):
        return self._lr if self._scheduler is None else self._scheduler(self._updates)

    def set_learning_rate(self, lr):
        self._lr = lr

    def step(self, batch_size, ignore_stale_grad=False):
        """Adds the gradients of all devices, divides by batch_size and updates. Waits for nothing."""
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self):
        """Gradients of several devices are added when they are used."""

    def update(self, batch_size, ignore_stale_grad=False):
        self._updates += 1
        lr = self.learning_rate
        with no_grad():
            for parameter in self._params:
                if parameter.grad_req != "null" and parameter._data is not None:
                    self._update(parameter, lr * parameter.lr_mult, self._rescale / batch_size)

    def _update(self, parameter, lr, scale):
        arrays, grads = parameter.list_data(), parameter.list_grad()
        total = grads[0] if len(grads) == 1 else _core.reduce_add(grads, arrays[0].device)
        wd = self._wd * parameter.wd_mult
        # One operation in place of two: the same numbers but for rounding.
        plain = self._rule is _sgd and not self._options.get("momentum") and not wd and self._clip is None
        for place, weight in enumerate(arrays):
            grad = total if len(grads) == 1 else total.to(weight.device)
            if plain:
                weight -= grad * (lr * scale)
                continue
            grad = grad * scale
            if self._clip is not None:
                grad = _core.clip(grad, -self._clip, self._clip)
            if wd:
                grad = grad + weight * wd
            self._rule(self._options, self._updates, lr, weight, grad, self._states.setdefault((parameter.name, place), {}))

    def zero_grad(self):
        for parameter in self._params:
            parameter.zero_grad()
