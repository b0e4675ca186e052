"""Initial values of parameters: functions of (shape, dtype, device)."""
from .. import _core


def _drawn(function):
    def initialiser(shape, dtype=None, device=None, generator=None):
        return function(shape, dtype, device, generator or _core.default_generator())

    initialiser.__name__, initialiser.__doc__ = function.__name__, function.__doc__.partition("\n\n")[2] or function.__doc__
    return initialiser


xavier_uniform = _drawn(_core.xavier_uniform)
xavier_normal = _drawn(_core.xavier_normal)
he_uniform = _drawn(_core.he_uniform)
he_normal = _drawn(_core.he_normal)


def normal(standard_deviation=0.01):
    """N(0, standard_deviation^2)."""
    return lambda shape, dtype=None, device=None: _core.normal(0, standard_deviation, shape, dtype, device)


def uniform(bound=0.07):
    """Uniform in [-bound, bound]."""
    return lambda shape, dtype=None, device=None: _core.uniform(-bound, bound, shape, dtype, device)


def constant(value):
    """One number everywhere."""
    def initialiser(shape, dtype=None, device=None):
        return _core.full(shape, value, dtype or "float32", device)

    initialiser.__doc__ = f"{value} everywhere."
    return initialiser


zeros, ones = constant(0), constant(1)
