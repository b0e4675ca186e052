"""Ratios from runs, the table, and the generated part of benchmarks/RESULTS.md."""
import statistics

import files
from networks import NETWORKS
from systems import peer_of
from workloads import GROUPS, OF_NETWORKS, WORKLOADS

END = "<!-- to here -->"
HEADER = ("workload", "peer", "asyncgrad", "peer's time", "ratio", "from – to")
NUMBERS = (2, 3, 4)  # columns
OF_NETWORKS_HEADER = (
    *("workload", "asyncgrad", "PyTorch", "ratio", "compiled", "ratio"),
    *("peak live", "growth of RSS", "PyTorch's", "losses differ by"),
)
# Losses of the first steps may differ by this share. Batch normalisation divides by the spread of few values, which
# enlarges differences of rounding from step to step.
LOSSES_MAY_DIFFER_BY, WITH_BATCH_NORM = 1e-3, 1e-2


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
    more = {}
    if "losses" in ours[0] and "losses" in theirs[0]:
        more["losses_differ_by"] = difference(ours[0]["losses"], theirs[0]["losses"])
    return more | {
        "asyncgrad_s": statistics.median(run["seconds"] for run in ours),
        "peer_s": statistics.median(run["seconds"] for run in theirs),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
    }


def difference(losses, others):
    """The largest difference of losses, as a share of theirs."""
    return max(abs(loss - other) / abs(other) for loss, other in zip(losses, others, strict=True))


def fastest(settings):
    """The name of the setting that took the least time, of those that did not fail if there are such."""

    def seconds(name):
        done = settings[name]
        return float("inf") if "failed" in done[-1] else statistics.median(run["seconds"] for run in done)

    return min(settings, key=seconds)


def memory(ours, settings):
    """What the systems say of their memory: the least of a peer's settings counts."""
    figures = {}
    for name, field in (("asyncgrad_peak_bytes", "peak_bytes"), ("asyncgrad_growth_bytes", "growth_bytes")):
        if field in ours[-1]:
            figures[name] = statistics.median(run[field] for run in ours)
    of_peer = [statistics.median(map(taken, done)) for done in settings if taken(done[-1]) is not None]
    return figures | ({"peer_peak_bytes": min(of_peer)} if of_peer else {})


def taken(run):
    """The bytes that a run of a peer took: its own figure on a GPU, the growth of its resident set on a CPU."""
    return run.get("peak_bytes", run.get("growth_bytes"))


def compared(runs, workload):
    """A row for each peer that did the workload, or the one that it is like; if there is none, one for asyncgrad. A
    peer's time is that of its fastest setting."""
    ours, theirs = runs[workload]["asyncgrad"], runs.get(WORKLOADS[workload].like or workload, {})
    peers = {}
    for system, done in theirs.items():
        if system != "asyncgrad":
            peers.setdefault(peer_of(system), {})[system] = done
    rows = []
    for peer, settings in peers.items():
        best = fastest(settings)
        row = {"workload": workload, "peer": peer, "setting": best, **paired(ours, settings[best])}
        rows.append(row | memory(ours, settings.values()))
    return rows or [{"workload": workload, "peer": "", **alone(ours)}]


def observation(observed):
    """What is reported of the machine, which was a machine.Observed."""
    return {
        "date": observed.date,
        "gpu": observed.gpu,
        "processor": observed.processor,
        "share_of_other_processes": observed.others,
    }


def figures(runs, absent, observed):
    """All that is reported. runs: compare.measure's; absent: peer -> why it could not take part."""
    versions = {}
    for of_system in runs.values():
        for system, done in of_system.items():
            if "version" in done[0]:
                versions[peer_of(system)] = done[0]["version"]
    return observation(observed) | {
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


def markdown(header, lines, numbers):
    """A table in Markdown that also reads well on a terminal; `numbers`: columns of them."""
    lines = [header, *lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * (width - 1) + (":" if column in numbers else "-") for column, width in enumerate(widths)])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def mebibytes(row, field):
    return f"{row[field] / 2**20:.0f} MiB" if field in row else ""


def losses(row):
    """How far they differ; in bold where that is more than rounding explains."""
    if "losses_differ_by" not in row:
        return ""
    network = NETWORKS[row["workload"].removeprefix("network_")]
    allowed = WITH_BATCH_NORM if network.batch_norm else LOSSES_MAY_DIFFER_BY
    text = f"{row['losses_differ_by']:.0e}"
    return text if row["losses_differ_by"] <= allowed else f"**{text}**"  # which NaN is, too


def network_cells(rows):
    """A line about a network, of the rows of its peers."""
    eager, compiled = {}, {}
    for row in rows:
        eager, compiled = (eager, row) if row["peer"] == "pytorch_compiled" else (row, compiled)
    time = lambda row, field: duration(row[field]) if field in row else row.get("failed", "")
    ratio_of = lambda row: ratio(row["ratio_median"]) if "ratio_median" in row else ""
    known = eager or compiled
    return (
        known["workload"],
        time(known, "asyncgrad_s"),
        *(time(eager, "peer_s"), ratio_of(eager), time(compiled, "peer_s"), ratio_of(compiled)),
        *(mebibytes(known, "asyncgrad_peak_bytes"), mebibytes(known, "asyncgrad_growth_bytes")),
        *(mebibytes(eager, "peer_peak_bytes"), losses(eager)),
    )


def without_empty_columns(header, lines):
    """The same without columns in which no line has anything, such as those of a peer that did not take part."""
    kept = [column for column in range(len(header)) if any(line[column] for line in lines)]
    return [[line[column] for column in kept] for line in (header, *lines)]


def table(all_figures):
    """The rows of networks in a table of their own, then the others."""
    of_networks, lines = {}, []
    for row in all_figures["rows"]:
        if row["workload"] in OF_NETWORKS:
            of_networks.setdefault(row["workload"], []).append(row)
        else:
            lines.append(cells(row))
    lines += [("all", peer, "", "", "", reason) for peer, reason in all_figures["absent"].items()]
    tables = []
    if of_networks:
        header, *rows = without_empty_columns(OF_NETWORKS_HEADER, list(map(network_cells, of_networks.values())))
        tables.append(markdown(header, rows, range(1, len(header))))
    if lines or not tables:
        tables.append(markdown(HEADER, lines, NUMBERS))
    return "\n\n".join(tables)


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


def versions(all_figures):
    of_systems = ", ".join(f"{name} {version}" for name, version in all_figures["versions"].items())
    return f"Versions: {of_systems}."


def medians_of(rounds):
    return "One round" if rounds == 1 else f"Medians of {rounds} rounds"


def of_group(all_figures, group):
    """The figures of the group's workloads alone."""
    workloads = GROUPS[group]
    rows = [row for row in all_figures["rows"] if row["workload"] in workloads]
    runs = {name: all_figures["runs"][name] for name in workloads if name in all_figures["runs"]}
    return all_figures | {"rows": rows, "runs": runs}


def results(all_figures):
    """A generated part of RESULTS.md."""
    workloads = "\n".join(f"- `{name}`: {WORKLOADS[name].what}" for name in all_figures["runs"])
    text = "\n".join([table(all_figures), "", *means(all_figures)]).rstrip()
    return f"""{measured_on(all_figures)}
{versions(all_figures)}
{medians_of(all_figures["rounds"])}:

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
