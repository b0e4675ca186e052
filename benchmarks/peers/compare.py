"""Runs the same workloads on asyncgrad and on its peers in turn, and reports ratios; scripts/compare.sh calls it.

A round runs every workload once on every system that does it, asyncgrad first, each in a process of its own. A ratio
is asyncgrad's time over the peer's in the same round.
"""
import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import files
import machine
import report
import systems
from workloads import GROUPS, PYTHON, WORKLOADS, does, units

RUN_LIMIT_S = 300


def command_line():
    parser = argparse.ArgumentParser(
        prog="scripts/compare.sh",
        description="Runs the same workloads on asyncgrad and on PyTorch (from Python and from C++), JAX, MXNet and "
        "numpy in turn, or on a GPU on PyTorch in several ways, and prints the ratios of their times. Five rounds of a whole "
        f"group of workloads ({', '.join(GROUPS)}) with all peers also write its part of benchmarks/RESULTS.md.",
    )
    parser.add_argument("--device", metavar="NAME", default="cpu", help="cpu (default) or a GPU, cuda:0")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="number of rounds (default 5)")
    minutes = "start no round that may end later than this (default: no limit)"
    parser.add_argument("--minutes", metavar="M", type=float, default=float("inf"), help=minutes)
    all_peers = dict.fromkeys(name for peers in systems.PEERS.values() for name in peers)
    for name, known in (("workload", [*GROUPS, *WORKLOADS]), ("peer", all_peers)):
        only = f"take this {name} only; may be given several times: {', '.join(known)}"
        parser.add_argument(f"--{name}", metavar="NAME", action="append", choices=known, help=only)
    json_default = "write all figures to this file (default results/compare.json, on a GPU results/compare_gpu.json)"
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
    chosen.type = chosen.device.split(":")[0]
    json_name = "compare.json" if chosen.type == "cpu" else "compare_gpu.json"
    chosen.json = chosen.json or systems.ROOT / "results" / json_name
    if chosen.workload:
        chosen.workload = [workload for name in chosen.workload for workload in GROUPS.get(name, [name])]
    all_peers = not chosen.peer
    workloads = on_device(parser, chosen, "workload", [name for name in WORKLOADS if units(name, chosen.device)])
    chosen.groups = complete_groups(workloads, chosen.device) if all_peers else []
    compared_with = [name for workload in workloads for name in (WORKLOADS[workload].like, workload) if name]
    chosen.workload = list(dict.fromkeys(compared_with))
    chosen.peer = on_device(parser, chosen, "peer", list(systems.PEERS[chosen.type]))
    return chosen


def complete_groups(workloads, device):
    """The groups of which the workloads are all that the device does."""
    of_device = {group: [name for name in of_group if units(name, device)] for group, of_group in GROUPS.items()}
    return [group for group, needed in of_device.items() if needed and set(needed) <= set(workloads)]


def on_device(parser, chosen, kind, known):
    """The workloads or peers that were asked for, by default all known ones. An error if one is for other devices."""
    asked = getattr(chosen, kind) or known
    for name in asked:
        if name not in known:
            parser.error(f"on {chosen.device} there is no {kind} {name}")
    return asked


def make_ready(peers, device_type):
    """Commands of those that can take part, and why the others cannot."""
    commands, absent = {}, {}
    for name in peers:
        try:
            commands[name] = systems.PEERS[device_type][name]()
        except systems.Unavailable as reason:
            absent[name] = str(reason)
            print(f"{name} {reason}", file=sys.stderr)
    return commands, absent


def run_workload(command, workload, device):
    """The output of the system: its version and the seconds of a unit, or the reason why it failed."""
    full = [*command, workload, str(units(workload, device)), device]
    try:
        done = subprocess.run(full, capture_output=True, text=True, check=False, timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {RUN_LIMIT_S} s"}
    if done.returncode:
        return {"failed": systems.last_line(done.stderr)}
    try:
        figures = json.loads(done.stdout)
        return {"version": str(figures["version"]), "seconds": float(figures["seconds"])}
    except (ValueError, TypeError, KeyError):
        return {"failed": f"it printed no figures but: {systems.last_line(done.stdout)}"}


def measure(commands, workloads, rounds, device, minutes=float("inf")):
    """Runs all in turn. Returns runs[workload][system], a list of what run_workload returned; a failure ends a list."""
    runs = {workload: {system: [] for system in commands if does(system, workload)} for workload in workloads}
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
                    in_python = system == "asyncgrad" and workload in PYTHON
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
    if chosen.groups and figures["rounds"] >= 5:
        report.write_results(systems.ROOT / "benchmarks" / "RESULTS.md", figures, chosen.groups)
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
        compare(chosen, None if chosen.type == "cpu" else machine.gpu(chosen.device))
    except machine.NoGpu as reason:
        print(report.table({"rows": [], "absent": dict.fromkeys(["asyncgrad", *chosen.peer], str(reason))}))
        print("\nNothing was measured.")


if __name__ == "__main__":
    main()
