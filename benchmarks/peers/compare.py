"""Runs the same workloads on asyncgrad and on its peers in turn, and reports ratios; scripts/compare.sh calls it.

A round runs every workload once on every system that does it, asyncgrad first, each in a process of its own; a peer
runs once in each of its settings. A ratio is asyncgrad's time over the peer's in the same round.
"""
import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import barriers_compare
import files
import machine
import ops_compare
import report
import systems
from workloads import BY_DEFAULT, GROUPS, IN_PYTHON, OF_NETWORKS, WORKLOADS, does, type_of, units

RESULTS = systems.ROOT / "benchmarks" / "RESULTS.md"
RUN_LIMIT_S = 900
# What is measured in a way of its own, and which workloads may be named beside it.
SEPARATE = {"ops": (), "barriers": tuple(OF_NETWORKS)}
# For a part of benchmarks/RESULTS.md. A GPU's times hardly move.
ROUNDS_NEEDED = dict.fromkeys(GROUPS, 5) | {"networks": 3, "barriers": 3}
ROUNDS_NEEDED_ON_GPU = 1


def command_line():
    parser = argparse.ArgumentParser(
        prog="scripts/compare.sh",
        description="Runs the same workloads on asyncgrad and on PyTorch (from Python and from C++), JAX, MXNet and "
        "numpy in turn, or on a GPU on PyTorch in several ways, and prints the ratios of their times. On a CPU PyTorch "
        "runs with glibc's defaults and with glibc told to keep its memory, each with one thread or one for each core, "
        "whichever is faster; the faster time and the smaller memory count. Five rounds of a whole group of workloads "
        f"({', '.join(GROUPS)}; of networks three) with all peers also write its part of benchmarks/RESULTS.md. ops is "
        "every operation over a grid of shapes, from Python beside PyTorch: a process for each system and setting "
        "measures all of it. If it ends early, the next run goes on where it ended; when it is complete it writes its "
        "part. barriers trains the networks on asyncgrad alone: two workers beside two processes of one worker, and no "
        "barrier beside one. Networks, ops and barriers take an hour each, and run only where they are named.",
    )
    parser.add_argument("--device", metavar="NAME", default="cpu", help="cpu (default) or a GPU, cuda:0")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="number of rounds (default 5)")
    minutes = "start no round that may end later than this, and no cell of ops (default: no limit)"
    parser.add_argument("--minutes", metavar="M", type=float, default=float("inf"), help=minutes)
    all_peers = dict.fromkeys(name for peers in systems.PEERS.values() for name in peers)
    for name, known in (("workload", [*GROUPS, *SEPARATE, *WORKLOADS]), ("peer", all_peers)):
        only = f"take this {name} only; may be given several times: {', '.join(known)}"
        parser.add_argument(f"--{name}", metavar="NAME", action="append", choices=known, help=only)
    only_cells = "of ops: take only cells whose names match this, such as 'conv2d/.*grad'"
    parser.add_argument("--cells", metavar="PATTERN", help=only_cells)
    json_default = "write all figures to this file (default results/compare.json, with _gpu, _ops … in its name)"
    parser.add_argument("--json", metavar="FILE", type=Path, help=json_default)
    return parser


def options(arguments=None):
    parser = command_line()
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not chosen.minutes > 0:
        parser.error("--minutes must be above 0")
    if not re.fullmatch("cpu|cuda:[0-9]+", chosen.device):
        parser.error("--device must be cpu or a GPU, such as cuda:0")
    chosen.type = type_of(chosen.device)
    chosen.separate = next((name for name in chosen.workload or () if name in SEPARATE), None)
    if chosen.cells and chosen.separate != "ops":
        parser.error("--cells is for --workload ops")
    if chosen.cells and not ops_compare.cells_like(chosen.cells):
        parser.error(f"--cells: no cell has a name that matches '{chosen.cells}'")
    parts = ("compare", "cells" if chosen.cells else chosen.separate, "gpu" if chosen.type == "cuda" else None)
    chosen.json = chosen.json or systems.ROOT / "results" / f"{'_'.join(filter(None, parts))}.json"
    if chosen.separate:
        choose_beside(parser, chosen)
    else:
        choose_workloads(parser, chosen)
    return chosen


def choose_beside(parser, chosen):
    """Fills in the workloads of what is measured in a way of its own."""
    beside = [name for name in chosen.workload if name != chosen.separate]
    allowed = SEPARATE[chosen.separate]
    if chosen.peer or not set(beside) <= set(allowed):
        only = " but networks" if allowed else ""
        parser.error(f"{chosen.separate} is measured without --peer and with no other workload{only}")
    if chosen.separate == "barriers" and chosen.type != "cpu":
        parser.error("barriers is measured on a cpu")
    chosen.groups = [] if chosen.cells or beside else [chosen.separate]
    chosen.workload = beside or list(allowed)


def choose_workloads(parser, chosen):
    """Fills in which workloads and peers are measured, and which groups are complete."""
    all_peers = not chosen.peer
    of_device = [name for name in WORKLOADS if units(name, chosen.device)]
    groups = groups_on(chosen.device)
    asked = [workload for name in chosen.workload or BY_DEFAULT for workload in groups.get(name, [name])]
    workloads = on_device(parser, chosen, "workload", asked, of_device)
    chosen.groups = complete_groups(workloads, chosen.device) if all_peers else []
    compared_with = [name for workload in workloads for name in (WORKLOADS[workload].like, workload) if name]
    chosen.workload = list(dict.fromkeys(compared_with))
    of_device = list(systems.PEERS[chosen.type])
    chosen.peer = on_device(parser, chosen, "peer", chosen.peer or of_device, of_device)


def complete_groups(workloads, device):
    """The groups of which the workloads are all that the device does."""
    return [group for group, needed in groups_on(device).items() if needed and set(needed) <= set(workloads)]


def groups_on(device):
    """The workloads of each group that the device does."""
    return {group: [name for name in names if units(name, device)] for group, names in GROUPS.items()}


def on_device(parser, chosen, kind, asked, known):
    """The workloads or peers that were asked for. An error if one is for other devices."""
    for name in asked:
        if name not in known:
            parser.error(f"on {chosen.device} there is no {kind} {name}")
    return asked


def make_ready(peers, device_type):
    """Commands of those that can take part, in each of their settings, and why the others cannot."""
    commands, absent = {}, {}
    for name in peers:
        try:
            commands |= systems.settings(name, systems.PEERS[device_type][name](), device_type)
        except systems.Unavailable as reason:
            absent[name] = str(reason)
            print(f"{name} {reason}", file=sys.stderr)
    return commands, absent


def run_workload(command, workload, device):
    """The output of the system: its version, the seconds of a unit, and what else it says; or why it failed."""
    full = [*command, workload, str(units(workload, device)), device]
    try:
        done = subprocess.run(full, capture_output=True, text=True, check=False, timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {RUN_LIMIT_S} s"}
    if done.returncode:
        return {"failed": systems.last_line(done.stderr)}
    try:
        figures = json.loads(done.stdout)
        return figures | {"version": str(figures["version"]), "seconds": float(figures["seconds"])}
    except (ValueError, TypeError, KeyError):
        return {"failed": f"it printed no figures but: {systems.last_line(done.stdout)}"}


def measure(commands, workloads, rounds, device, minutes=float("inf")):
    """Runs all in turn. Returns runs[workload][system], a list of what run_workload returned; a failure ends a list."""
    able = lambda workload: [name for name in commands if does(systems.peer_of(name), workload, device)]
    runs = {workload: {name: [] for name in able(workload)} for workload in workloads}
    started = time.monotonic()
    for number in range(1, rounds + 1):
        spent_s = time.monotonic() - started
        if number > 1 and spent_s * number / (number - 1) > minutes * 60:
            print(f"There is no time for round {number}.", file=sys.stderr)
            break
        for workload in workloads:
            print(f"Round {number} of {rounds}: {workload}", file=sys.stderr)
            for system, done in runs[workload].items():
                if not done or "failed" not in done[-1]:
                    in_python = system == "asyncgrad" and workload in IN_PYTHON
                    command = systems.asyncgrad_in_python() if in_python else commands[system]
                    done.append(run_workload(command, workload, device))
    return runs


def compare(chosen, gpu=None):
    commands, absent = make_ready(chosen.peer, chosen.type)
    with machine.Observed(gpu) as observed:
        everyone = {"asyncgrad": systems.ASYNCGRAD, **commands}
        runs = measure(everyone, chosen.workload, chosen.rounds, chosen.device, chosen.minutes)
    figures = report.figures(runs, absent, observed)
    print(report.table(figures))
    print("\n".join(report.means(figures)))
    if all("failed" in row for row in figures["rows"]):
        sys.exit(f"Nothing was measured, so {chosen.json} stays as it was.")
    files.replace(chosen.json, json.dumps(figures, indent=1) + "\n")
    print(f"\nAll figures are in {chosen.json}.")
    if any("failed" in of_system["asyncgrad"][-1] for of_system in runs.values()):
        sys.exit("asyncgrad itself failed.")
    needed = lambda group: ROUNDS_NEEDED[group] if chosen.type == "cpu" else ROUNDS_NEEDED_ON_GPU
    groups = [group for group in chosen.groups if figures["rounds"] >= needed(group)]
    if groups and absent and chosen.type == "cpu":
        print(f"benchmarks/RESULTS.md stays as it was, because {', '.join(absent)} could not be measured.")
    elif groups:
        report.write_results(RESULTS, figures, groups)
        print("benchmarks/RESULTS.md has the new figures.")


def compare_separately(chosen, gpu=None):
    try:
        if chosen.separate == "ops":
            figures = ops_compare.compare(chosen.json, chosen.minutes, chosen.cells, chosen.device, gpu)
            text, enough = ops_compare.results(figures), figures["complete"]
        else:
            figures = barriers_compare.compare(chosen.json, chosen.workload, chosen.rounds)
            text, enough = barriers_compare.results(figures), chosen.rounds >= ROUNDS_NEEDED["barriers"]
    except systems.Unavailable as reason:
        sys.exit(f"{chosen.separate} cannot be measured: {reason}")
    print(f"{text}\n\nAll figures are in {chosen.json}.")
    if enough and chosen.groups:
        report.write_part(RESULTS, report.command_of(chosen.separate, gpu), text)
        print("benchmarks/RESULTS.md has the new figures.")


def main():
    chosen = options()
    if sys.stdout is None:
        sys.exit("Standard output is closed: the table could not be printed.")
    try:
        files.check(chosen.json)
    except OSError as error:
        sys.exit(f"--json: {chosen.json} cannot be written: {error}")
    try:
        run = compare_separately if chosen.separate else compare
        run(chosen, None if chosen.type == "cpu" else machine.gpu(chosen.device))
    except machine.NoGpu as reason:
        print(report.table({"rows": [], "absent": dict.fromkeys(["asyncgrad", *(chosen.peer or ())], str(reason))}))
        print("\nNothing was measured.")


if __name__ == "__main__":
    main()
