"""Measures the networks of examples/ in seven ways each, and writes docs/memory.md with a picture of each network.

Each network is timed for a moment first, so that no run takes much longer than --seconds. What ran too early is taken from
a trace of a run without a budget.
"""
import argparse
import bisect
import collections
import json
import math
import re
import statistics
import subprocess
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ("async_training", "lenet", "gpt", "resnet", "lstm_text", "seq2seq", "gan")
FEWEST_BATCHES = 20
TRACED_BATCHES = 40
MIB = 2**20
ITEM_BYTES = {"float64": 8, "int64": 8, "bool": 1, "uint8": 1, "bfloat16": 2}

# A network is in danger without the budget where it takes this many times the memory.
DANGEROUS, NOTICEABLE = 1.5, 1.1

INTRODUCTION = """\
What no barrier, a barrier for every batch, no memory budget and the order of readiness cost the networks of
[examples](../examples/README.md): time, live memory and the growth of the resident set. `scripts/memory.sh` measures all of it and
writes this page. The runs are those of the [README](../README.md#what-it-shows): `batch` waits for the loss of every batch, `none` for
nothing, `none:unbounded` has no memory budget, and `none:first_ready` runs first what was ready first."""

EARLY = """\
An operation that reads nothing which the training computes can run as soon as it is queued. `normal` and `uniform` draw random numbers,
`batch` reads a batch, `matmul` in digits_data.cpp enlarges its images, and `fill` makes initial states and the zeros to which
`backward()` adds the gradients of parts of a tensor: rows of an embedding, or steps of a sequence. Such a result is held until the
training comes to it. The budget holds the work back until then. Without the budget it runs ahead, and memory grows with the number of
batches that are queued, until the queue is full. The sections below list what ran ahead."""


# --- Measuring ---


def run(program, *arguments):
    print("+", program.name, *arguments, flush=True)
    subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def run_once(program, kind, batches, folder, *arguments):
    run(program, "--runs", kind, "--batches", batches, "--json", folder / "data.json", "--plot", folder / "plot.svg", *arguments)


def measure(name, options, picture):
    program = options.programs / name
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_once(program, "none", FEWEST_BATCHES, folder)
        [timed] = json.loads((folder / "data.json").read_text())["runs"]
        affordable = int(options.seconds / timed["total_s"] * FEWEST_BATCHES)
        batches = max(FEWEST_BATCHES, min(options.batches, affordable))
        data = options.results / f"{name}.json"
        run(program, "--batches", batches, "--repeat", options.repeat, "--json", data, "--plot", picture)
        traced = min(batches, TRACED_BATCHES)
        run_once(program, "none:unbounded", traced, folder, "--trace", folder / "trace.json")
        early = early_operations(json.loads((folder / "trace.json").read_text())["traceEvents"], traced)
    (options.results / f"{name}.early.json").write_text(json.dumps({"batches": traced, "early": early}, indent=1) + "\n")


# --- What ran early ---


def results_of(operation):
    """Of a trace's "to (64, 10), to (64), (64, 3)": "64, 10" and "64"."""
    return re.findall(r"to \(([^)]*)\)", operation["operands"])


def result_bytes(operation):
    shapes = results_of(operation)
    elements = sum(math.prod(int(extent) for extent in shape.split(",") if extent.strip()) for shape in shapes)
    return elements * ITEM_BYTES.get(operation["dtype"], 4)


def early_operations(events, batches):
    """The operations that began when an operation of the batch before, or of one before that, was unfinished, and that
    made the most bytes: by name, line and shapes."""
    operations = [event["args"] | {"name": event["name"]} for event in events if event.get("cat") == "operation"]
    operations.sort(key=lambda operation: operation["number"])
    a_batch = len(operations) / batches
    finished_us, latest_us = [], 0  # until all up to an operation were finished
    for operation in operations:
        latest_us = max(latest_us, operation["ended_us"])
        finished_us.append(latest_us)
    times, made = collections.Counter(), collections.Counter()
    for place, operation in enumerate(operations):
        oldest_unfinished = bisect.bisect_right(finished_us, operation["started_us"])
        if place - oldest_unfinished > a_batch:
            key = operation["name"], operation["queued_at"], ", ".join(f"({shape})" for shape in results_of(operation))
            times[key] += 1
            made[key] += result_bytes(operation)
    return [{"name": key[0], "queued_at": key[1], "shapes": key[2], "times": times[key], "bytes": size}
            for key, size in made.most_common()]


# --- Figures of the results ---


class Results:
    """The runs of one network, and what ran early in it."""

    def __init__(self, name, folder):
        self.name = name
        data = json.loads((folder / f"{name}.json").read_text())
        self.machine, self.runs = data["machine"], data["runs"]
        early = json.loads((folder / f"{name}.early.json").read_text())
        self.early, self.traced_batches = early["early"], early["batches"]
        self.batches = self.runs[0]["batches"]
        self.names = list(dict.fromkeys(run["name"] for run in self.runs))
        self.repetitions = len(self.runs) // len(self.names)

    def median(self, run, figure):
        return statistics.median(each[figure] for each in self.runs if each["name"] == run)

    def ratio(self, run, other, figure):
        divisor = self.median(other, figure)
        return self.median(run, figure) / divisor if divisor else math.inf

    def ratio_of(self, run, figure, of):
        return self.median(run, figure) / self.median(run, of)

    def step_s(self, run):
        return self.median(run, "total_s") / self.batches

    def batches_ahead(self, run):
        queued = self.queued_operations(run)
        return self.median(run, "peak_queued_operations") * self.batches / queued if queued else 0

    def queued_operations(self, run):
        """Those of all batches that went through the queue: the others were tiny, and ran at the call."""
        return self.median(run, "operations") - self.median(run, "inlined_operations")

    def growth_without_budget(self):
        return max(self.ratio(run, "none", "peak_live_bytes") for run in ("none:unbounded", "none:first_ready"))


def seconds(value):
    unit, scale = ("s", 1) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{value * scale:.3g} {unit}"


def mebibytes(value):
    return f"{value / MIB:.1f} MiB"


def table(header, rows, numbers_from=1):
    line = ["---" if column < numbers_from else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, line, *rows))


def paragraph(text):
    return textwrap.fill(" ".join(text.split()), 130, break_long_words=False, break_on_hyphens=False)


def listed(names):
    names = [f"`{name}`" for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def span(values, decimals=1):
    least, *_, most = (f"{value:.{decimals}f}" for value in sorted([*values] * 2))
    return least if least == most else f"{least} to {most}"


# --- The page ---

COMPARED = ("immediate", "in-flight:1", "batch", "none", "none:unbounded", "none:first_ready")


def comparison(all_results, text):
    header = ["network", *(f"`{run}`" for run in COMPARED)]
    return table(header, [[f"[{each.name}](#{each.name})", *(text(each, run) for run in COMPARED)] for each in all_results])


def danger(all_results):
    """Sentences on the memory without a budget."""
    def sizes(each):
        times = span(each.ratio(run, "none", "peak_live_bytes") for run in ("none:unbounded", "none:first_ready"))
        most = f", above all for `{each.early[0]['name']}` at {each.early[0]['queued_at'].split(',')[0]}" if each.early else ""
        return f"`{each.name}` takes {times} times the live memory of `none`{most}"

    dangerous = [each for each in all_results if each.growth_without_budget() >= DANGEROUS]
    noticeable = [each for each in all_results if NOTICEABLE <= each.growth_without_budget() < DANGEROUS]
    harmless = [each for each in all_results if each.growth_without_budget() < NOTICEABLE]
    parts = []
    if dangerous:
        parts.append(f"**Dangerous**, {DANGEROUS} times the memory and more: {'; '.join(map(sizes, dangerous))}.")
    if noticeable:
        parts.append(f"**Noticeable**, {NOTICEABLE} times and more: {'; '.join(map(sizes, noticeable))}.")
    if harmless:
        parts.append(f"**Harmless**: {listed(each.name for each in harmless)} "
                     f"{'takes' if len(harmless) == 1 else 'take'} less than {NOTICEABLE} times the live memory of `none`: "
                     "what runs ahead there is small beside what a step needs.")
    return "\n\n".join(map(paragraph, parts))


def queue_capacity():
    return int(re.search(r"queue_capacity = (\d+)", (ROOT / "core" / "engine.h").read_text())[1])


def held_front_end(all_results):
    """Sentences on what the front end of `none` waited for."""
    capacity = queue_capacity()
    full = [each for each in all_results if each.median("none", "peak_queued_operations") >= capacity]
    short_of_memory = [each for each in all_results if each not in full and
                       each.ratio_of("none", "frontend_wait_s", "total_s") > 0.05]
    free = [each for each in all_results if each not in full and each not in short_of_memory]

    def waited(each):
        return f"waited {seconds(each.median('none', 'frontend_wait_s'))} of {seconds(each.median('none', 'total_s'))}"

    parts = []
    if full:
        held = "; ".join(f"`{each.name}` was {each.batches_ahead('none'):.0f} batches ahead and {waited(each)}" for each in full)
        parts.append("Where it was full, it and not the budget held the front end of `none`: "
                     f"{held}. There a run without a budget is no further ahead either, so that a longer run takes no more memory.")
    if short_of_memory:
        parts.append("A tensor that is made of the program's own values waits at its call for room in memory. That held the front "
                     f"end of `none`: {'; '.join(f'`{each.name}` {waited(each)}' for each in short_of_memory)}.")
    if free:
        places = "; ".join(f"`{each.name}` had queued its {each.batches} batches in "
                           f"{seconds(each.median('none', 'frontend_s'))}, and its queue would be full "
                           f"{capacity * each.batches / each.queued_operations('none'):.0f} batches ahead" for each in free)
        parts.append(f"Nothing held the front end of the others: {places}. Up to there, memory without a budget grows with the "
                     "length of the run.")
    return "\n\n".join(map(paragraph, (f"The queue has room for {capacity:,} operations.", *parts)))


def first_sentences(name):
    """What the example says of itself in the comment at its top."""
    lines = []
    for line in (ROOT / "examples" / f"{name}.cpp").read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[3:])
    return " ".join(lines)


def early_table(each):
    most = [early for early in each.early[:4] if early["bytes"] >= 0.05 * sum(one["bytes"] for one in each.early)]
    if sum(early["bytes"] for early in most) < 0.1 * MIB:
        return paragraph(f"Hardly anything ran more than a batch early in {each.traced_batches} batches of `none:unbounded`.")
    rows = [(f"`{early['name']}`", f"{early['shapes']}", f"{early['queued_at']}", str(early["times"]),
             mebibytes(early["bytes"])) for early in most]
    return (paragraph(f"What ran more than a batch early in {each.traced_batches} batches of `none:unbounded`:") + "\n\n" +
            table(("operation", "result", "queued at", "times", "together"), rows, 3))


def section(each, page_folder):
    rows = [(f"`{run}`", seconds(each.step_s(run)), seconds(each.median(run, "frontend_s")),
             seconds(each.median(run, "frontend_wait_s")), mebibytes(each.median(run, "peak_live_bytes")),
             mebibytes(each.median(run, "peak_rss_growth_bytes")), f"{each.median(run, 'peak_queued_operations'):.0f}",
             f"{each.batches_ahead(run):.1f}") for run in each.names]
    hashes = {run["parameters_hash"] for run in each.runs}
    bits = "the same parameters, bit for bit" if len(hashes) == 1 else f"{len(hashes)} different sets of parameters"
    header = ("run", "a step", "queued in", "of that waiting", "peak live", "growth of RSS", "most queued", "batches ahead")
    return f"""## {each.name}

{paragraph(f"{first_sentences(each.name)} {each.batches} batches a run; all {len(each.runs)} runs ended with {bits}.")}

{table(header, rows)}

![Live memory over time, a line a run]({page_folder}/{each.name}.svg)

{early_table(each)}"""


def page(all_results, page_folder):
    machine = all_results[0].machine
    repetitions = all_results[0].repetitions
    medians = f"medians of {repetitions} repetitions" if repetitions > 1 else "single runs"
    batches = span((each.batches for each in all_results), 0)

    def ratios(figure):
        return span((each.ratio("none", "batch", figure) for each in all_results), 2)

    sections = "\n\n".join(section(each, page_folder) for each in all_results)
    return f"""# The networks' memory and time

{INTRODUCTION}

{paragraph(f"These are {medians} of {batches} batches each, on {machine['cores']} cores of an {machine['cpu']}, in float32. "
           f"Without a barrier, in `none`, a training takes {ratios('total_s')} times the time of `batch`, and "
           f"{ratios('peak_live_bytes')} times its live memory.")}

Time of a step:

{comparison(all_results, lambda each, run: seconds(each.step_s(run)))}

Peak of live memory:

{comparison(all_results, lambda each, run: mebibytes(each.median(run, "peak_live_bytes")))}

Growth of the resident set, which also has kernels' scratch memory and what is cached for the next tensors:

{comparison(all_results, lambda each, run: mebibytes(each.median(run, "peak_rss_growth_bytes")))}

## Where asynchrony is dangerous without the budget

{danger(all_results)}

{EARLY}

## Who held the front end

{held_front_end(all_results)}

{sections}
"""


def main():
    parser = argparse.ArgumentParser(prog="scripts/memory.sh", description=__doc__.split("\n\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS), help="the networks to measure, with commas between them")
    parser.add_argument("--batches", type=int, default=150, help="the most batches of a run (default: 150)")
    parser.add_argument("--seconds", type=float, default=55, help="take fewer batches, but 20 at least, for runs of "
                        "about these seconds (default: 55)")
    parser.add_argument("--repeat", type=int, default=1, help="take medians of so many repetitions (default: 1)")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "memory.md", help="the page to write; its pictures are in a "
                        "folder of its name beside it (default: docs/memory.md)")
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "release", help="the folder of the programs "
                        "(default: build/release)")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "memory", help="the folder of the figures "
                        "(default: results/memory)")
    parser.add_argument("--write", action="store_true", help="measure nothing: write the page of the figures that are there")
    parser.add_argument("--list", action="store_true", help="print the names of the networks")
    options = parser.parse_args()
    if options.list:
        print("\n".join(NETWORKS))
        return
    names = options.networks.split(",")
    unknown = [name for name in names if name not in NETWORKS]
    if unknown or options.batches < FEWEST_BATCHES or options.repeat < 1:
        parser.error(f"there is no network {unknown[0]}" if unknown else
                     f"--batches is {FEWEST_BATCHES} at least, and --repeat 1")
    if options.page.suffix != ".md" or not 0 < options.seconds < float("inf"):
        parser.error("--page ends in .md, and --seconds is a number above 0")
    pictures = options.page.with_suffix("")
    if not options.write:
        for folder in (options.results, pictures):
            folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            measure(name, options, pictures / f"{name}.svg")
    options.page.write_text(page([Results(name, options.results) for name in names], pictures.name))
    print(f"page: {options.page}")


if __name__ == "__main__":
    main()
