"""Errors of operations that failed after they were queued."""
import re

from . import _core


class Error(RuntimeError):
    """What a wait raises for an operation that failed, or for a value that was to be computed from its result.

    operation, file, line and layer say which one it was and where it was queued, as far as that is known. The
    traceback ends at that line.
    """

    operation = file = layer = None
    line = 0


def _place(message):
    found = re.search(r"queued at (\S.*?):(\d+)", message)
    if not found:
        return None, 0
    return _core._path_of_file(found[1]) or found[1], int(found[2])


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


def _asynchronous(message):
    error = Error(message)
    operation = re.match(r"\[([^\]]+)\]", message)
    layer = re.search(r"in layer ([^,\s]+)", message)
    error.operation = operation[1] if operation else None
    error.layer = layer[1] if layer else None
    error.file, error.line = _place(message)
    return _raised_at(error, error.file, error.line) if error.file else error


Error.__module__ = "asyncgrad"
_core._set_error_maker(Error, _asynchronous)
