"""Compares runs of one training: with barriers, with a few steps in flight, and without barriers.

    def make():                            # the training, made anew for each run
        net = ag.nn.Dense(64, 1)
        return net, ag.optim.SGD(net.parameters(), lr=0.01)

    def step(training):                    # queues a step and returns its loss
        net, sgd = training
        loss = net(ag.randn(128, 64)).square().mean()
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        return loss

    print(ag.experiment.compare(make, step))

The table, the sentences, the picture, the names of the runs and all figures are those of the C++ library's
asyncgrad::experiment.
"""
import contextlib
import gc
import html
import json
import multiprocessing
import operator
import os
import pickle
import subprocess
import sys
import threading
import traceback

from . import _core
from ._html import preformatted
from .nn import Module

RUNS = tuple(_core._experiment_runs())
STEPS, SEED = _core._experiment_steps, _core._experiment_seed


class Comparison:
    """The measurements of compare(). They print as a table; a notebook shows the table and the picture."""

    def __init__(self, lines, note):
        self._lines, self._note = lines, note

    @property
    def runs(self):
        """The figures of each run as a dict, with the keys of the JSON document."""
        runs = [json.loads(line) for line in self._lines]
        # JSON has no number for what is not finite, and keeps it as "nan", "inf" or "-inf".
        return [{**run, "first_loss": float(run["first_loss"]), "last_loss": float(run["last_loss"])} for run in runs]

    def table(self):
        """A row for each run, with medians over repetitions."""
        return _core._experiment_table(self._lines)

    def sentences(self):
        """The figures as sentences, with the reason for a blank column."""
        return _core._experiment_sentences(self._lines) + self._note

    def json(self):
        """The figures of all runs and the machine, as the JSON document that C++ programs write, too."""
        return _core._experiment_document(self._lines)

    def svg(self):
        """The picture of live memory over time, as SVG. Raises RuntimeError if gnuplot, which draws it, is missing."""
        program = _core._experiment_plot(self._lines, ".svg")
        if not program:
            raise RuntimeError("no change of live memory was recorded")
        try:
            drawn = subprocess.run(["gnuplot", "-d"], input=program, capture_output=True, text=True, check=True)
        except FileNotFoundError as error:
            raise RuntimeError("gnuplot could not be started; is it installed?") from error
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"gnuplot ended with exit status {error.returncode}: {error.stderr}") from error
        return drawn.stdout

    def __repr__(self):
        return f"{self.table()}\n{self.sentences()}".rstrip("\n")

    def _repr_html_(self):
        text = preformatted(repr(self))
        try:
            picture = self.svg()
        except RuntimeError as error:
            return f"{text}<p>no picture: {html.escape(str(error))}</p>"
        return text + picture[picture.index("<svg"):]


def compare(make, step, steps=STEPS, *, runs=RUNS, repeat=1, seed=SEED, parameters=None):
    """Trains once in each way and returns a Comparison.

    make() makes the training, and step(training) queues one step and returns its loss, a scalar; it should wait for
    nothing, because each run has its barriers. A step that is not counted comes before the `steps` that are.
    parameters(training) lists the tensors whose bits the runs are compared by. Without it they are those of
    training.parameters(), or of the layers among the items or attributes of the training. `runs` are names as
    "in-flight:2" or "none:64MiB", or one of them, `repeat` says how often to go through them, and random numbers begin
    at `seed`. All runs have the engine options, the default device and type, and the math mode of the caller, except
    what the names of the runs say.

    Functions that another process can import run in processes of their own; a script needs `if __name__ ==
    "__main__":` around the call. Those of a notebook run one after the other in this process: then the growth of the
    resident memory, which the runs share, is left blank. Blocks. Raises what make and step raise; for a process of its
    own that is a RuntimeError with their traceback.
    """
    runs = (runs,) if isinstance(runs, str) else tuple(runs)
    if not runs:
        raise ValueError("runs names no run")
    for name in runs:
        _core._experiment_check_run(name)
    _core._experiment_check_numbers(steps, repeat, seed)
    for name, function in (("make", make), ("step", step), ("parameters", parameters or list)):
        if not callable(function):
            raise TypeError(f"{name} is a function, not {function!r}")
    work = (make, step, parameters, operator.index(steps), operator.index(seed))
    local = [name for name, function in zip(("make", "step", "parameters"), work) if not _is_importable(function)]
    measure = _measure_here if local else _measure_apart
    note = _note(local)
    lines = []
    for repetition in range(1, repeat + 1):
        for name in runs:
            line = measure(name, *work)
            lines.append(json.dumps({**json.loads(line), "repetition": repetition}) if repeat > 1 else line)
    return Comparison(lines, note)


def _note(local):
    if not local:
        return ""
    note = (f"The growth of RSS is blank: no other process can import {' and '.join(local)}, so the runs shared this "
            "one, and with it the resident memory.\n")
    with _alone():
        _free()
    held = _core.memory()["live_bytes"] / 2**20
    return note + (f"Live memory includes the {held:.1f} MiB that this process held before.\n" if held >= 0.05 else "")


def _is_importable(function):
    """Whether a new process finds it. A notebook and an interactive session have no file that could be imported."""
    try:
        reference = pickle.dumps(function)
    except Exception:
        return False
    file = getattr(sys.modules["__main__"], "__file__", None)
    return b"__main__" not in reference or (file is not None and os.path.exists(file))


def _parameters_of(training):
    if callable(getattr(training, "parameters", None)):
        return training.parameters()
    holder = Module()
    if isinstance(training, (list, tuple, dict)):
        holder.parts = training
    else:
        holder.parts = list(getattr(training, "__dict__", {}).values())
    return holder.parameters()


def _measure(shares_process, name, make, step, parameters, steps, seed):
    """Trains in this process, and returns what was measured as a line of JSON."""
    def made():
        _core.manual_seed(seed)
        training = make()
        return (lambda: step(training)), (lambda: list((parameters or _parameters_of)(training)))

    return _core._experiment_measure(name, steps, seed, shares_process, made)


_here = threading.Lock()  # of runs in this process, which set options of all of it, and of what follows
_measuring = None  # the thread that has it
_restoring = None  # the thread that sets the engine's options again after the last run in this process


@contextlib.contextmanager
def _alone():
    global _measuring
    if _measuring == threading.get_ident():
        raise RuntimeError("compare() measures on this thread; what it measures cannot call it")
    with _here:
        _measuring = threading.get_ident()
        try:
            yield
        finally:
            _measuring = None


def _free():
    """Gives back what an earlier run has left, which is not memory of the next one."""
    if _restoring is not None:
        _restoring.join()
    gc.collect()
    _core.trim_cache()


def _measure_here(name, *work):
    with _alone():
        return _measure_alone(name, *work)


def _measure_alone(name, *work):
    global _restoring
    _free()
    options, generator = _core.engine_options(), _core.default_generator()
    place = generator.seed, generator.place
    interrupted = False
    try:
        return _measure(True, name, *work)
    except KeyboardInterrupt:
        interrupted = True  # ends the call at once, though options wait for what is queued
        raise
    finally:
        generator.set(*place)
        _restoring = threading.Thread(target=_core.set_engine_options, kwargs=options, daemon=True)
        _restoring.start()
        if not interrupted:
            _restoring.join()


_PATIENCE = 2  # seconds in which the process of a run that is over may end; its program may have threads that never do


def _measure_apart(name, *work):
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_run, args=(sender, _settings(), name, *work))
    process.start()
    sender.close()
    patience = 0
    try:
        line, failure = receiver.recv()
        patience = _PATIENCE
    except EOFError:
        process.join(_PATIENCE)
        line, failure = None, f"its process ended with exit code {process.exitcode}"
    finally:
        process.join(patience)
        process.kill()
        process.join()
    if line is None:
        raise RuntimeError(f"run {name} failed: {failure}")
    return line


def _settings():
    return _core.engine_options(), _core.default_device(), _core.default_dtype(), _core.math_mode()


def _set(options, device, dtype, math_mode):
    _core.set_engine_options(**options)
    _core.set_default_device(device)
    _core.set_default_dtype(dtype)
    _core.set_math_mode(math_mode)


def _run(sender, settings, name, *work):
    """The whole of a run's process."""
    _core._experiment_end_with_parent()
    if os.getppid() != multiprocessing.parent_process().pid:
        return  # it has ended before
    with sender:  # which ends with this, also if the program exits
        try:
            _set(*settings)
            answer = _measure(False, name, *work), None
        except Exception:
            answer = None, traceback.format_exc()
        sender.send(answer)
