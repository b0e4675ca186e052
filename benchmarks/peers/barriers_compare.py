"""Measures networks on asyncgrad alone: two workers beside two processes of one worker each, and no barrier beside one.

Two processes that run at the same time share nothing, so their throughput is what two cores can give: the ratio says
how much of it the two workers of one process get.
"""
import json
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

import files
import machine
import report
import systems

HEADER = (
    *("network", "none", "in-flight:1", "ratio", "two processes", "throughputs"),
    *("peak live", "in-flight:1", "growth of RSS", "in-flight:1"),
)


def run(name, workers, barrier):
    """The figures of a training in a process of its own. Throws Unavailable."""
    command = [*systems.asyncgrad_in_python("barriers_run.py"), name, str(workers), barrier]
    return json.loads(systems.check_run("asyncgrad failed", *command))


def measure_round(name):
    """What a round says of a network."""
    none, in_flight = run(name, 2, "none"), run(name, 2, "in-flight:1")
    with ThreadPoolExecutor(2) as both:
        processes = list(both.map(lambda _: run(name, 1, "none"), range(2)))
    return {
        "none": none,
        "in_flight_1": in_flight,
        "processes": processes,
        "throughput_ratio": 1 / none["seconds"] / sum(1 / of["seconds"] for of in processes),
        "none_over_in_flight_1": none["seconds"] / in_flight["seconds"],
    }


def row(name, rounds):
    """Medians of the rounds."""

    def median(*path):
        def value(of):
            for key in path:
                of = of[key]
            return of

        return statistics.median(map(value, rounds))

    return {
        "row": name,
        "none_s": median("none", "seconds"),
        "in_flight_1_s": median("in_flight_1", "seconds"),
        "two_processes_s": statistics.median(of["seconds"] for one in rounds for of in one["processes"]),
        **{ratio: median(ratio) for ratio in ("throughput_ratio", "none_over_in_flight_1")},
        **{
            f"{run}_{field}": median(run, field)
            for run in ("none", "in_flight_1")
            for field in ("peak_bytes", "growth_bytes")
        },
    }


def cells(of):
    if "failed" in of:
        return (of["row"], of["failed"], *[""] * (len(HEADER) - 2))
    fields = [f"{run}_{what}_bytes" for what in ("peak", "growth") for run in ("none", "in_flight_1")]
    return (
        *(of["row"], report.duration(of["none_s"]), report.duration(of["in_flight_1_s"])),
        *(report.ratio(of["none_over_in_flight_1"]), report.duration(of["two_processes_s"])),
        *(report.ratio(of["throughput_ratio"]), *(report.mebibytes(of, field) for field in fields)),
    )


def table(figures):
    return report.markdown(HEADER, map(cells, figures["rows"]), range(1, len(HEADER)))


def compare(path, names, rounds):
    """Measures the networks, and writes the figures to `path`. Returns them. Throws Unavailable if none is measured."""
    done, failed = {name: [] for name in names}, {}
    with machine.Observed() as observed:
        for number in range(1, rounds + 1):
            for name in names:
                print(f"Round {number} of {rounds}: {name}", file=sys.stderr)
                try:
                    if name not in failed:
                        done[name].append(measure_round(name))
                except systems.Unavailable as reason:
                    failed[name] = {"row": name, "failed": str(reason)}
    measured = [of for of in done.values() if of]
    if not measured:
        raise systems.Unavailable(next(iter(failed.values()))["failed"])
    figures = report.observation(observed) | {
        "rounds": rounds,
        "versions": {"asyncgrad": measured[0][0]["none"]["version"]},
        "rows": [failed.get(name) or row(name, done[name]) for name in names],
        "runs": done,
    }
    files.replace(path, json.dumps(figures, indent=1) + "\n")
    return figures


def results(figures):
    """The part of benchmarks/RESULTS.md."""
    rounds = f"{report.medians_of(figures['rounds'])}:"
    return f"{report.measured_on(figures)}\n{report.versions(figures)}\n{rounds}\n\n{table(figures)}"
