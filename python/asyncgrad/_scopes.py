"""Scopes of a thread: whether it records and trains, and its random numbers. Each is a context manager and a decorator."""
import functools

from . import _core


class _Scope(_core._Scope):
    _kind = None

    def __init__(self):
        super().__init__(self._kind)

    def __call__(self, function):
        @functools.wraps(function)
        def within(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return within


class no_grad(_Scope):
    """A scope in which operations are not recorded for backward(), and parameters may be written in place."""

    _kind = "no_grad"


class enable_grad(_Scope):
    """A scope in which operations are recorded, whatever scope is around it: a prediction may need a gradient."""

    _kind = "enable_grad"


class evaluation(_Scope):
    """A scope in which dropout keeps everything, and normalisations use their stored statistics."""

    _kind = "evaluation"


class detect_nan(_Scope):
    """A scope in which an operation that makes a NaN fails: waits raise asyncgrad.Error with its line and layer."""

    _kind = "detect_nan"


class inference(_Scope):
    """A scope that is no_grad and evaluation together."""

    _kind = "inference"


class GeneratorScope(_Scope):
    """A scope in which `generator` is this thread's default generator.

    A layer made in it has the same initial values on every thread, whatever other threads draw.
    """

    def __init__(self, generator):
        if not isinstance(generator, _core.Generator):
            raise TypeError(f"[GeneratorScope] generator must be a Generator, got {generator!r}")
        self._kind = generator
        super().__init__()
