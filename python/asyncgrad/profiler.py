"""The time of a program, by operation and by line.

    ag.profiler.start()
    train()
    print(ag.profiler.stop("trace.json"))   # a table; the file opens in https://ui.perfetto.dev
    print(ag.profiler.blockers())           # which lines waited, and how long
"""
import linecache

from . import _core
from ._html import preformatted


class Summary:
    """The times of all operations. print() shows a table; the figures are attributes, in seconds."""

    def __init__(self, figures):
        self.text = figures.pop("text")
        self.__dict__.update(figures)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return preformatted(self.text)


class Blockers(list):
    """Lines that waited, the longest first: (file, line, seconds, waits)."""

    @property
    def seconds(self):
        """Seconds waited on all lines together."""
        return sum(row[2] for row in self)

    def __repr__(self):
        rows = [f"{'waited':>10}  {'waits':>7}  where"]
        for file, line, seconds, waits in self:
            text = linecache.getline(file, line).strip()
            rows.append(f"{seconds:8.3f} s  {waits:7}  {file}:{line}  {text}")
        return "\n".join(rows)

    def _repr_html_(self):
        return preformatted(repr(self))


def start():
    """Waits for everything queued so far, then records what happens until stop()."""
    _core._profiler_start()


def stop(path=None):
    """Waits until everything is finished, ends the recording and returns a Summary; with a path it writes a trace."""
    return Summary(_core._profiler_stop(path))


def blockers():
    """The seconds that the program has waited since start(), or since it began, line by line."""
    rows = [tuple(row) for row in _core._blockers()]
    return Blockers(sorted(rows, key=lambda row: -row[2]))


def forget_blockers():
    """Sets the seconds of all lines back to 0."""
    _core._forget_blockers()
