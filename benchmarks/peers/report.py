"""Ratios from runs, the table, and the generated part of benchmarks/RESULTS.md."""
import statistics

from works import WORKS

BEGIN, END = "<!-- scripts/compare.sh writes from here -->", "<!-- to here -->"
HEADER = ("work", "peer", "asyncgrad", "peer's time", "ratio", "from – to")
NUMBERS = (2, 3, 4)  # columns


def paired(ours, theirs):
    """What the rounds of one work say of asyncgrad and one peer."""
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


def figures(runs, absent, observed):
    """All that is reported. runs: compare.measure's; absent: peer -> why it could not take part."""
    versions, rows = {}, []
    for work, of_system in runs.items():
        ours = of_system["asyncgrad"]
        for system, done in of_system.items():
            if "version" in done[0]:
                versions[system] = done[0]["version"]
            if system != "asyncgrad":
                rows.append({"work": work, "peer": system, **paired(ours, done)})
    return {
        "date": observed.date,
        "processor": observed.processor,
        "share_of_other_processes": observed.others,
        "rounds": max(len(done) for of_system in runs.values() for done in of_system.values()),
        "versions": versions,
        "absent": absent,
        "rows": rows,
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
        return (row["work"], row["peer"], "", "", "", row["failed"])
    spread = f"{ratio(row['ratio_min'])} – {ratio(row['ratio_max'])}"
    return (
        row["work"],
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


def results(all_figures):
    """The generated part of RESULTS.md."""
    versions = ", ".join(f"{name} {version}" for name, version in all_figures["versions"].items())
    works = "\n".join(f"- `{name}`: {WORKS[name].what}" for name in all_figures["runs"])
    others = f"{all_figures['share_of_other_processes']:.0%}"
    return f"""{BEGIN}
{all_figures["date"]}, {all_figures["processor"]}. Other processes took {others} of the cores meanwhile.
Versions: {versions}.
Medians of {all_figures["rounds"]} rounds:

{table(all_figures)}

One unit of each work:

{works}
{END}"""


def write_results(path, all_figures):
    """Replaces the generated part of the file, and nothing else."""
    before, rest = path.read_text().split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + results(all_figures) + after)
