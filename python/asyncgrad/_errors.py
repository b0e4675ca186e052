"""Errors of operations that failed after they were queued."""
import collections
import traceback

from . import _core


class Error(RuntimeError):
    """A wait raises this for an operation that failed, or for a value that was to be computed from its result.

    The traceback ends at the line that queued the operation. If a function of the program failed in it, such as that
    of custom(), then __cause__ is what that function raised.

    Attributes, as far as they are known:
        operation: its name, "take", or None.
        message: what went wrong, without the name and the place: "index 5 is not in [0, 3)".
        file: the whole path of the file that queued it, or None.
        line: the line of that file, counted from 1, or 0.
        layer: the path of the layer that queued it, "0.body.1", or None.
        cause: what a call that refused the same would have raised: ValueError, TypeError, IndexError or MemoryError.
    """

    operation = file = layer = None
    message = ""
    line = 0
    cause = ValueError


class Warning(UserWarning):  # noqa: A001
    """What a program is warned of at its line, once: it runs, but hardly does what it was written for.

    Dropout is on in what looks like evaluation, a loss broadcasts predictions against all labels, no parameter of an
    optimiser gets a gradient, or a tape that is kept makes each step compute values again (recompute_to_fit).
    asyncgrad.set_warnings(False) switches these off, as do filters of the module warnings.
    """


# The last exceptions that functions of the program raised in operations, as ((operation, message), exception).
_kept = collections.deque(maxlen=32)


def _keep(operation, message, exception):
    """Keeps an exception until the error of its operation is raised; called on the thread that computes."""
    # The frames refer to arrays whose memory is valid in the call alone.
    for one in _chain(exception):
        traceback.clear_frames(one.__traceback__)
    _kept.append(((operation, message), exception))


def _chain(exception):
    """An exception, all that it was raised from, or while they were handled, and those of a group."""
    found, left = [], [exception]
    while left:
        one = left.pop()
        if one is not None and not any(one is other for other in found):
            found.append(one)
            left += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return found


def _kept_for(operation, message):
    """The exception that was kept for an operation. It stays, as several waits may raise the same error."""
    return next((exception for key, exception in list(_kept) if key == (operation, message)), None)


def recover():
    """Waits until everything is finished, and lets the program go on after failures.

    Tensors that a failed operation should have changed in place keep the values that they had, and all errors are
    forgotten. Returns how many of these no wait had raised.
    """
    unraised = _core._recover()
    _kept.clear()
    return unraised


def _raised_at(error, file, line):
    """The error with a traceback that ends at a line of the program, as if that line had raised it."""
    code = compile("\n" * (line - 1) + "raise error", file, "exec")
    code = code.replace(co_name="<queued here>")
    try:
        exec(code, {"error": error})
    except Error as raised:
        if raised.__traceback__ is not None and raised.__traceback__.tb_next is not None:
            raised.__traceback__ = raised.__traceback__.tb_next
        return raised


def _asynchronous(text, operation, message, file, line, layer, cause):
    error = Error(text)
    error.operation, error.message, error.layer = operation or None, message, layer or None
    error.file, error.line, error.cause = file or None, line, cause
    error.__cause__ = _kept_for(operation, message)
    return _raised_at(error, file, line) if file and line > 0 else error


Error.__module__ = Warning.__module__ = "asyncgrad"
_core._set_warning_class(Warning)
_core._set_error_functions(_asynchronous, _keep)
