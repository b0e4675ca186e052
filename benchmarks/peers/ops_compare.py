"""Measures the cells of ops.py on asyncgrad and on PyTorch, in turn, and reports families and the worst cells.

asyncgrad and each setting of PyTorch have one process for all cells. Every cell is measured twice on each, in turns, and
the lesser time counts. What is measured is noted in a file at once: a run that ends early is continued by the next one.
"""
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import files
import machine
import ops
import report
import systems
from workloads import type_of

CELL_LIMIT_S = 60
TURNS = 2
WORST = 40  # cells in the table
HEADER = ("family", "cells", "mean ratio", "slower cells", "its worst cell", "ratio")
CELL_HEADER = ("cell", "asyncgrad", "PyTorch", "ratio")


class Worker:
    """A process of op_worker.py; one that ends is started again for the next cell."""

    def __init__(self, command):
        self.command, self.process = command, None
        self.hello = self._start()

    def _start(self):
        """Its first line. Throws Unavailable if there is none."""
        self.close()
        self.errors = tempfile.TemporaryFile("w+")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors, "text": True}
        self.process = subprocess.Popen(list(map(str, self.command)), **pipes)
        hello = self._line()
        if not hello:
            why = self._why()
            self.close()
            raise systems.Unavailable(why)
        return json.loads(hello)

    def _line(self):
        """What it says next; nothing if it ends, or is ended for taking too long."""
        limit = threading.Timer(CELL_LIMIT_S, self.process.kill)
        limit.start()
        try:
            return self.process.stdout.readline()
        finally:
            limit.cancel()

    def _why(self):
        status = self.process.wait()
        if status < 0:
            return f"ended by signal {-status}, or after {CELL_LIMIT_S} s"
        self.errors.seek(0)
        return systems.last_line(self.errors.read())

    def ask(self, cell):
        """Its figures of a cell, or why there are none."""
        try:
            if self.process.poll() is not None:
                self._start()
            self.process.stdin.write(json.dumps(cell._asdict()) + "\n")
            self.process.stdin.flush()
        except (OSError, systems.Unavailable) as error:
            return {"failed": str(error)}
        line = self._line()
        return json.loads(line) if line else {"failed": self._why()}

    def close(self):
        """Ends it and waits for its end."""
        if self.process:
            with self.process:  # whose end is that of its pipes
                self.errors.close()


def better(one, other):
    """The lesser time of two answers; a failure counts."""
    failed = next((answer for answer in (one, other) if "failed" in answer), None)
    return failed or min(one, other, key=lambda answer: answer["seconds"])


def measure_cell(cell, workers):
    """The answer of each worker, by system."""
    answers = {}
    for _ in range(TURNS):
        for system, worker in workers.items():
            if "failed" not in answers.get(system, {}):
                answer = worker.ask(cell)
                answers[system] = better(answers.get(system, answer), answer)
    return answers


def row(cell, answers):
    """What is reported of a cell: the peer's time is that of its faster setting."""
    figures = {"row": cell.name, "family": cell.family}
    ours = answers["asyncgrad"]
    theirs = {system: answer for system, answer in answers.items() if system != "asyncgrad"}
    able = {system: answer for system, answer in theirs.items() if "failed" not in answer}
    if "failed" in ours:
        return figures | {"failed": f"asyncgrad failed: {ours['failed']}"}
    if not able:
        return figures | {"failed": f"the peer failed: {next(iter(theirs.values()))['failed']}"}
    setting = min(able, key=lambda system: able[system]["seconds"])
    peer = able[setting]
    return figures | {
        "asyncgrad_s": ours["seconds"],
        "peer_s": peer["seconds"],
        "ratio": ours["seconds"] / peer["seconds"],
        "setting": setting,
        "threads": peer.get("threads"),
    }


class Log:
    """A file of rows, one a line, that follow a line which says of what they are."""

    def __init__(self, path, of_what, wanted):
        self.path = path
        self.rows = self._kept(of_what, wanted)
        if not self.rows:
            files.replace(path, json.dumps(of_what) + "\n")

    def _kept(self, of_what, wanted):
        """The rows of an earlier run of the same that was not finished, by name."""
        try:
            head, *lines = self.path.read_text().splitlines()
            if json.loads(head) != of_what:
                return {}
        except (OSError, ValueError):
            return {}
        rows = {}
        for line in lines:
            try:
                figures = json.loads(line)
                rows[figures["row"]] = figures
            except ValueError:  # a line that was cut off
                continue
        kept = {name: rows[name] for name in wanted if name in rows}
        return {} if len(kept) == len(wanted) else kept

    def add(self, figures):
        self.rows[figures["row"]] = figures
        with open(self.path, "a", encoding="utf-8") as file:
            file.write("\n" * self._is_cut_off() + json.dumps(figures) + "\n")

    def _is_cut_off(self):
        return not self.path.read_bytes().endswith(b"\n")


def measure(cells, workers, log, minutes):
    """Measures the cells that the log lacks, until they are all there or the time is over."""
    end = time.monotonic() + minutes * 60
    missing = [cell for cell in cells if cell.name not in log.rows]
    for number, cell in enumerate(missing):
        if time.monotonic() > end:
            break
        if number % 50 == 0:
            print(f"{len(cells) - len(missing) + number} of {len(cells)} cells are measured", file=sys.stderr)
        log.add(row(cell, measure_cell(cell, workers)))


def mean(rows):
    return statistics.geometric_mean(figures["ratio"] for figures in rows)


def families(rows):
    """A summary of each family, that with the worst mean first."""
    by_family = {}
    for figures in rows:
        if "ratio" in figures:
            by_family.setdefault(figures["family"], []).append(figures)
    summaries = [
        {
            "family": family,
            "cells": len(of_family),
            "geometric_mean": mean(of_family),
            "slower": sum(figures["ratio"] > 1 for figures in of_family),
            "worst": max(of_family, key=lambda figures: figures["ratio"]),
        }
        for family, of_family in by_family.items()
    ]
    return sorted(summaries, key=lambda summary: -summary["geometric_mean"])


def tables(figures):
    """Families, the overall mean, and the first of the rows in which asyncgrad is slower."""
    lines = [
        (
            *(of["family"], str(of["cells"]), report.ratio(of["geometric_mean"]), str(of["slower"])),
            *(of["worst"]["row"], report.ratio(of["worst"]["ratio"])),
        )
        for of in figures["families"]
    ]
    measured = [of for of in figures["rows"] if "ratio" in of]
    worst = [of for of in measured if of["ratio"] > 1]
    cells = [
        (of["row"], report.duration(of["asyncgrad_s"]), report.duration(of["peer_s"]), report.ratio(of["ratio"]))
        for of in worst[:WORST]
    ]
    text = report.markdown(HEADER, lines, (1, 2, 3, 5))
    if measured:
        text += f"\n\nThe geometric mean of all {len(measured)} cells is {report.ratio(mean(measured))}."
    text += f" asyncgrad is slower in {len(worst)}; the worst first:\n\n" + report.markdown(CELL_HEADER, cells, (1, 2, 3))
    failed = [f"- `{of['row']}`: {of['failed']}" for of in figures["rows"] if "failed" in of]
    return text + ("\n\nWithout a ratio:\n\n" + "\n".join(failed) if failed else "")


def start(device):
    """The workers, by system. Throws Unavailable."""
    program, device_type = "op_worker.py", type_of(device)
    python, _ = systems.PEERS[device_type]["pytorch"]()
    commands = {"asyncgrad": [*systems.asyncgrad_in_python(program), "asyncgrad", device]}
    commands |= systems.settings("pytorch", [python, systems.HERE / program, "pytorch", device], device_type)
    return {system: Worker(command) for system, command in commands.items()}


def cells_like(pattern):
    """The cells whose names match; none if the pattern is not one."""
    try:
        return [cell for cell in ops.cells() if re.search(pattern, cell.name)]
    except re.error:
        return []


def compare(path, minutes, pattern=None, device="cpu", gpu=None):
    """Measures, prints and writes the figures to `path`. Returns them; `pattern` takes only cells with such names.
    `gpu`: machine.gpu()'s answer for the device if that is one."""
    workers = start(device)
    try:
        lacking = {op for worker in workers.values() for op in worker.hello["lacks"]}
        cells = [cell for cell in cells_like(pattern or "") if cell.op not in lacking]
        versions = {systems.peer_of(system): worker.hello["version"] for system, worker in workers.items()}
        machines = {"processor": machine.processor(), "gpu": gpu}
        of_what = machines | {"versions": versions, "built": systems.built(), "cells": pattern}
        log = Log(path.with_suffix(".jsonl"), of_what, [cell.name for cell in cells])
        with machine.Observed(gpu) as observed:
            measure(cells, workers, log, minutes)
            for worker in workers.values():
                worker.close()
    finally:
        for worker in workers.values():
            worker.process.kill()
            worker.close()
    rows = sorted(log.rows.values(), key=lambda of: -of.get("ratio", float("inf")))
    figures = report.observation(observed) | {
        "versions": versions,
        "lacking": sorted(lacking),
        "complete": len(rows) == len(cells),
        "families": families(rows),
        "rows": rows,
    }
    files.replace(path, json.dumps(figures, indent=1) + "\n")
    return figures


def results(figures):
    """The part of benchmarks/RESULTS.md."""
    return f"{report.measured_on(figures)}\n{report.versions(figures)}\n\n{tables(figures)}"
