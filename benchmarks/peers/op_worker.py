"""Times cells of ops.py on one system and a device, whose names it is given: ops_NAME.py.

A line of JSON that comes in is a cell, and one goes out for each: its seconds, or why it failed. The first line that goes
out has the system's version and the operations that it lacks. A cell that comes twice in a row is prepared once.
"""
import contextlib
import functools
import importlib
import json
import statistics
import sys

import ops
import stopwatch
from workloads import type_of

MEASURED_S = {"cpu": 0.1, "cuda": 0.01}  # for each line; a GPU's times hardly move
CHOOSING_S = 0.02  # for each number of threads that is tried
BATCH_S = 0.005  # calls that take less are timed together


def tuples(value):
    """JSON's lists as tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def one_call(system, op, operands, options, with_gradient):
    """A function that does what the cell says."""
    values = [shape if kind == "number" else system.operand(kind, shape, with_gradient) for kind, shape in operands]
    parameters = []
    if op in system.MADE:
        run, parameters = system.MADE[op](values, **options)
    else:
        run = functools.partial(system.function(op), *values, **options)
    if not with_gradient:
        return run
    inputs = [value for value, (kind, _) in zip(values, operands) if ops.is_floating(kind)] + parameters
    dys = [system.ones_like(y) for y in as_list(run())]
    return lambda: system.backward(as_list(run()), inputs, dys)


class Prepared:
    """A cell that was run, with the number of calls that are timed together."""

    def __init__(self, system, cell):
        self.system, self.name = system, cell["name"]
        options = {name: tuples(value) for name, value in cell["options"].items()}
        call = one_call(system, cell["op"], tuples(cell["operands"]), options, cell["grad"])

        def run(units):
            for _ in range(units):
                call()

        self.run, self.units, self.threads = run, 1, None
        self.context = contextlib.nullcontext if cell["grad"] else system.without_gradient
        with self.context():
            run(1)
            self.units = max(1, min(1000, int(BATCH_S / min(self.repeat(0)))))
            if system.set_threads:
                self.threads = stopwatch.choose_threads(system.set_threads, run, self.units, system.wait, CHOOSING_S)

    def repeat(self, at_least_s):
        return stopwatch.repeat(self.run, self.units, self.system.wait, at_least_s, at_least=2)

    def measure(self, at_least_s):
        figures = {}
        if self.threads:
            self.system.set_threads(self.threads)
            figures["threads"] = self.threads
        with self.context():
            return {"seconds": statistics.median(self.repeat(at_least_s)) / self.units} | figures


def answers(system, lines, at_least_s):
    prepared = None
    for line in lines:
        cell = json.loads(line)
        try:
            if prepared is None or prepared.name != cell["name"]:
                prepared = None
                system.forget_cache()
                prepared = Prepared(system, cell)
            yield prepared.measure(at_least_s)
        except Exception as error:
            prepared = None
            reason = str(error).partition("\n")[0]  # for a line of a list
            yield {"failed": f"{type(error).__name__}: {reason}"}


def main():
    name, device = sys.argv[1:]
    system = importlib.import_module(f"ops_{name}")
    system.use(device)
    wanted = {cell.op for cell in ops.cells()}
    lacks = sorted(op for op in wanted if op not in system.MADE and system.function(op) is None)
    print(json.dumps({"version": system.VERSION, "lacks": lacks}), flush=True)
    for answer in answers(system, sys.stdin, MEASURED_S[type_of(device)]):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
