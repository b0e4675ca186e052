"""Scopes of a thread: whether it records and trains, and its random numbers. Each is a context manager and a decorator."""
import functools
import inspect

from . import _core


class _Scope(_core._Scope):
    _kind = None

    def __new__(cls, function=None):
        """A scope; of a function, as by @no_grad, the function in that scope."""
        return super().__new__(cls) if cls._kind is None or function is None else cls()(function)

    def __init__(self):
        super().__init__(self._kind)

    def __call__(self, function):
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{type(self).__name__} cannot decorate {function!r}, which others interrupt; use `with` in its body")

        @functools.wraps(function)
        def within(*args, **kwargs):
            with self:
                result = function(*args, **kwargs)
            return self._steps(result) if inspect.isgeneratorfunction(function) else result

        return within

    def _steps(self, generator):
        """What a generator yields. Its body runs within the scope, and who asks for the next step does not."""
        go_on, value = generator.send, None
        while True:
            with self:
                try:
                    result = go_on(value)
                except StopIteration as end:
                    return end.value
            try:
                go_on, value = generator.send, (yield result)
            except GeneratorExit:
                with self:
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001  (thrown into the generator, which decides)
                go_on, value = generator.throw, error


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
