"""Scopes that switch recording and training off. Each is a context manager and a decorator."""
import functools

from . import _core


class _Scope:
    _enter = ()

    def __enter__(self):
        for enter in self._enter:
            enter()
        return self

    def __exit__(self, *_):
        for _ in self._enter:
            _core._leave()

    def __call__(self, function):
        @functools.wraps(function)
        def within(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return within


class no_grad(_Scope):
    """A scope in which operations are not recorded for backward(), and parameters may be written in place."""

    _enter = (_core._enter_no_grad,)


class evaluation(_Scope):
    """A scope in which dropout keeps everything, and normalisations use their stored statistics."""

    _enter = (_core._enter_evaluation,)


class detect_nan(_Scope):
    """A scope in which an operation that makes a NaN fails: waits raise asyncgrad.Error with its line and layer."""

    _enter = (_core._enter_detect_nan,)


class inference(_Scope):
    """A scope that is no_grad and evaluation together."""

    _enter = (_core._enter_no_grad, _core._enter_evaluation)
