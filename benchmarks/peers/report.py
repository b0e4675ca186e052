"""Ratios from runs, the table, and the generated part of benchmarks/RESULTS.md."""
import statistics

import files
from workloads import GROUPS, WORKLOADS

END = "<!-- to here -->"
HEADER = ("workload", "peer", "asyncgrad", "peer's time", "ratio", "from – to")
NUMBERS = (2, 3, 4)  # columns


def alone(ours):
    """The figures of asyncgrad in the rounds of one workload without a peer."""
    if "failed" in ours[-1]:
        return {"failed": f"asyncgrad failed: {ours[-1]['failed']}"}
    return {"asyncgrad_s": statistics.median(run["seconds"] for run in ours)}


def paired(ours, theirs):
    """The figures of asyncgrad and one peer in the rounds of one workload."""
    for system, run in (("asyncgrad", ours[-1]), ("the peer", theirs[-1])):
        if "failed" in run:
            return {"failed": f"{system} failed: {run['failed']}"}
    ratios = [our["seconds"] / their["seconds"] for our, their in zip(ours, theirs)]
    return {
        "asyncgrad_s": statistics.median(run["seconds"] for run in ours),
        "peer_s": statistics.median(run["seconds"] for run in theirs),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
    }


def compared(runs, workload):
    """A row for each peer that did the workload, or the one that it is like; if there is none, one for asyncgrad."""
    ours, theirs = runs[workload]["asyncgrad"], runs.get(WORKLOADS[workload].like or workload, {})
    rows = [
        {"workload": workload, "peer": peer, **paired(ours, done)}
        for peer, done in theirs.items()
        if peer != "asyncgrad"
    ]
    return rows or [{"workload": workload, "peer": "", **alone(ours)}]


def figures(runs, absent, observed):
    """All that is reported. runs: compare.measure's; absent: peer -> why it could not take part."""
    versions = {}
    for of_system in runs.values():
        for system, done in of_system.items():
            if "version" in done[0]:
                versions[system] = done[0]["version"]
    return {
        "date": observed.date,
        "gpu": observed.gpu,
        "processor": observed.processor,
        "share_of_other_processes": observed.others,
        "rounds": max(len(done) for of_system in runs.values() for done in of_system.values()),
        "versions": versions,
        "absent": absent,
        "rows": [row for workload in runs for row in compared(runs, workload)],
        "runs": runs,
    }


def duration(seconds):
    """123.4 µs: four figures at most, the unit by size."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def cells(row):
    if "failed" in row:
        return (row["workload"], row["peer"], "", "", "", row["failed"])
    if not row["peer"]:
        return (row["workload"], "", duration(row["asyncgrad_s"]), "", "", "")
    spread = f"{ratio(row['ratio_min'])} – {ratio(row['ratio_max'])}"
    return (
        row["workload"],
        row["peer"],
        duration(row["asyncgrad_s"]),
        duration(row["peer_s"]),
        ratio(row["ratio_median"]),
        spread,
    )


def table(all_figures):
    """Markdown that also reads well on a terminal."""
    lines = [HEADER, *map(cells, all_figures["rows"])]
    lines += [("all", peer, "", "", "", reason) for peer, reason in all_figures["absent"].items()]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    lines.insert(1, ["-" * (width - 1) + (":" if column in NUMBERS else "-") for column, width in enumerate(widths)])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def means(all_figures):
    """Lines with the geometric mean of each group's ratios, for each peer that did all of the group."""
    lines = []
    for group, workloads in GROUPS.items():
        rows = [row for row in all_figures["rows"] if row["workload"] in workloads and row["peer"]]
        for peer in dict.fromkeys(row["peer"] for row in rows):
            ratios = [row["ratio_median"] for row in rows if row["peer"] == peer and "failed" not in row]
            if len(ratios) == len(workloads):
                lines.append(f"{group}, {peer}: the geometric mean of the ratios is {ratio(statistics.geometric_mean(ratios))}.")
    return lines


def measured_on(all_figures):
    gpu = all_figures["gpu"]
    others = f"{all_figures['share_of_other_processes']:.0%}"
    where = f"{gpu}; {all_figures['processor']}" if gpu else all_figures["processor"]
    return f"{all_figures['date']}, {where}. Other processes took {others} of the cores meanwhile."


def of_group(all_figures, group):
    """The figures of the group's workloads alone."""
    workloads = GROUPS[group]
    rows = [row for row in all_figures["rows"] if row["workload"] in workloads]
    runs = {name: all_figures["runs"][name] for name in workloads if name in all_figures["runs"]}
    return all_figures | {"rows": rows, "runs": runs}


def results(all_figures):
    """A generated part of RESULTS.md."""
    versions = ", ".join(f"{name} {version}" for name, version in all_figures["versions"].items())
    workloads = "\n".join(f"- `{name}`: {WORKLOADS[name].what}" for name in all_figures["runs"])
    text = "\n".join([table(all_figures), "", *means(all_figures)]).rstrip()
    return f"""{measured_on(all_figures)}
Versions: {versions}.
Medians of {all_figures["rounds"]} rounds:

{text}

One unit of each workload:

{workloads}"""


def begin(command):
    """The line before the part of RESULTS.md that a command writes."""
    return f"<!-- {command} writes from here -->"


def write_part(path, command, text):
    """Replaces the part of the file that the command writes, and nothing else."""
    before, rest = path.read_text().split(begin(command))
    after = rest.split(END, 1)[1]
    files.replace(path, f"{before}{begin(command)}\n{text}\n{END}{after}")


def command_of(group, gpu):
    """The command that writes the part of a group."""
    return f"scripts/compare.sh{' --device cuda:0' if gpu else ''} --workload {group}"


def write_results(path, all_figures, groups):
    for group in groups:
        write_part(path, command_of(group, all_figures["gpu"]), results(of_group(all_figures, group)))
