"""Activations under MXNet's names, which keep the shape."""
import asyncgrad as ag

from .. import init, npx
from .block import HybridBlock


class Activation(HybridBlock):
    """npx.activation() of a name: relu, sigmoid, tanh, softrelu or softsign."""

    def __init__(self, activation, prefix=None, params=None):
        self._alias = activation  # relu0
        super().__init__(prefix, params)
        self._activation = activation

    def forward(self, x):
        return npx.activation(x, self._activation)

    def __repr__(self):
        return f"{type(self).__name__}({self._activation})"


class LeakyReLU(HybridBlock):
    """x where it is positive, else alpha x."""

    def __init__(self, alpha, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def forward(self, x):
        return npx.leaky_relu(x, slope=self._alpha)

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class GELU(HybridBlock):
    """x (1 + erf(x / sqrt(2))) / 2"""

    def forward(self, x):
        return ag.gelu(x)


class PReLU(HybridBlock):
    """x where it is positive, else alpha x with a slope that is learnt, one for each channel or one for all."""

    def __init__(self, alpha_initializer=0.25, in_channels=1, prefix=None, params=None):
        super().__init__(prefix, params)
        if isinstance(alpha_initializer, (int, float)):
            alpha_initializer = init.Constant(alpha_initializer)
        self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def forward(self, x):
        alpha = self.alpha.data(x.ctx)
        if alpha.size > 1:
            alpha = alpha.reshape(-1, *([1] * (x.ndim - 2)))
        return ag.where(x > 0, x, alpha * x)


class ELU(HybridBlock):
    """x where it is positive, else alpha (e^x - 1)."""

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def forward(self, x):
        return npx.leaky_relu(x, "elu", self._alpha)


class Swish(HybridBlock):
    """x sigmoid(beta x)"""

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def forward(self, x):
        return ag.silu(x * self._beta) / self._beta if self._beta else x / 2
