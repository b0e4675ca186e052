"""Normalisation under MXNet's names, which keeps the shape."""
import asyncgrad as ag

from .. import autograd, npx
from ..multiarray import axis_of, check_no_others
from .block import HybridBlock


class LayerNorm(HybridBlock):
    """(x - mean) / sqrt(variance + epsilon) gamma + beta along an axis."""

    def __init__(self, axis=-1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
                 in_channels=0, prefix=None, params=None):
        super().__init__(prefix, params)
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self.params.get("gamma", grad_req="write" if scale else "null", shape=(in_channels,),
                                     init=gamma_initializer, allow_deferred_init=True)
        self.beta = self.params.get("beta", grad_req="write" if center else "null", shape=(in_channels,),
                                    init=beta_initializer, allow_deferred_init=True)

    def forward(self, x):
        for parameter in (self.gamma, self.beta):
            parameter.complete((x.shape[self._axis],))
        return npx.layer_norm(x, self.gamma.data(x.ctx), self.beta.data(x.ctx), self._axis, self._epsilon)

    def __repr__(self):
        return (f"{type(self).__name__}(eps={self._epsilon}, axis={self._axis}, center={self.beta.grad_req != 'null'}, "
                f"scale={self.gamma.grad_req != 'null'}, in_channels={self.gamma.shape[0]})")


class BatchNorm(HybridBlock):
    """(x - mean) / sqrt(variance + epsilon) gamma + beta for each channel, which `axis` counts.

    In training the statistics are those of the batch, and running_mean and running_var keep the share `momentum` of
    what they were; in prediction these take their place. As in MXNet they stay where nothing is recorded.
    """

    def __init__(self, axis=1, momentum=0.9, epsilon=1e-5, center=True, scale=True, use_global_stats=False,
                 beta_initializer="zeros", gamma_initializer="ones", running_mean_initializer="zeros",
                 running_variance_initializer="ones", in_channels=0, prefix=None, params=None, **others):
        check_no_others("BatchNorm", others)
        super().__init__(prefix, params)
        self._axis, self._momentum, self._epsilon, self._global = axis, momentum, epsilon, use_global_stats
        make = lambda name, differentiable, init: self.params.get(name, shape=(in_channels,), init=init, allow_deferred_init=True,
                                                                  differentiable=differentiable)
        self.gamma = make("gamma", scale, gamma_initializer)
        self.beta = make("beta", center, beta_initializer)
        self.running_mean = make("running_mean", False, running_mean_initializer)
        self.running_var = make("running_var", False, running_variance_initializer)

    def forward(self, x):
        axis = axis_of(self._axis, x.ndim)
        for parameter in (self.gamma, self.beta, self.running_mean, self.running_var):
            parameter.complete((x.shape[axis],))
        gamma, beta, mean, var = (p.data(x.ctx) for p in (self.gamma, self.beta, self.running_mean, self.running_var))
        x = x if axis == 1 else x.swapaxes(1, axis)
        if autograd.is_training() and not self._global:
            y, own_mean, own_var = ag.batch_norm(x, gamma, beta, self._epsilon)
            if autograd.is_recording():
                self._update(mean, own_mean, var, own_var)
        else:
            y = ag.batch_norm_with(x, mean, var, gamma, beta, self._epsilon)
        return y if axis == 1 else y.swapaxes(1, axis)

    def __repr__(self):
        return (f"{type(self).__name__}(axis={self._axis}, eps={self._epsilon}, momentum={self._momentum}, "
                f"fix_gamma={self.gamma.grad_req == 'null'}, use_global_stats={self._global}, "
                f"in_channels={self.gamma.shape[0]})")

    def _update(self, mean, own_mean, var, own_var):
        for kept, own in ((mean, own_mean), (var, own_var)):
            ag.nn.update_running(kept, self._momentum, own.reshape(-1), 1 - self._momentum)
