"""The waits of a fork for functions of the program that run in operations.

Handlers of a fork are called in the reverse order of their registration. So the modules of the standard library that
take a lock there, which a function may want, come first.
"""
import logging  # noqa: F401
import os

from . import _core

try:
    import concurrent.futures.thread  # noqa: F401
except RuntimeError:  # the end of the process has begun: it has no executors any more
    pass

os.register_at_fork(before=_core._before_fork, after_in_parent=_core._after_fork_in_parent,
                    after_in_child=_core._after_fork_in_child)
