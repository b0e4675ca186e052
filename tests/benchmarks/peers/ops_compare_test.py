"""Tests of benchmarks/peers/ops.py and ops_compare.py with made-up systems."""
import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import op_worker  # noqa: E402
import ops  # noqa: E402
import ops_compare  # noqa: E402
import systems  # noqa: E402

# Operations of docs/operations.md that have cells by another name, or compute nothing themselves.
BY_ANOTHER_NAME = {
    **{"expand": "broadcast_to", "to": "astype", "transpose": "permute", "variance": "var", "squeeze": "unsqueeze"},
    **{"uniform": "rand", "normal": "randn", "rand_like": "rand", "randn_like": "randn", "ones": "full"},
    **{"zeros_like": "zeros", "ones_like": "full", "full_like": "full", "softmax_cross_entropy": "cross_entropy"},
}
WITHOUT_CELLS = {
    *("custom", "custom_many", "source", "source_many", "with_gradient", "recomputed", "grad", "parameter"),
    *("reduce_add", "pin_memory"),  # of several devices; of GPUs
    # Made of operations that have cells, or waiting for values.
    *("absolute_error", "huber", "logistic_loss", "divergence", "nll_loss", "cosine_similarity", "cosine_loss"),
    "ctc_loss",
    *("index_add", "linspace", "eye", "nonzero", "masked_select", "unique", "ravel_multi_index"),
}

# A worker that notes its cells, and takes as many seconds for each as it is told; "die" ends it.
WORKER = """
import json, sys
name, seconds, log = sys.argv[1:]
print(json.dumps({"version": "1.0", "lacks": ["tanh"] if name == "theirs" else []}), flush=True)
for line in sys.stdin:
    cell = json.loads(line)
    open(log, "a").write(name + " " + cell["op"] + "\\n")
    if seconds == "die":
        sys.exit("too hard")
    print(json.dumps({"failed": "no " + cell["op"]} if seconds == "fail" else {"seconds": float(seconds)}), flush=True)
"""


def cell(op, family="unary"):
    return ops.Cell(f"op/{op}/7", family, op, (("normal", (7,)),), {}, False)


def took(name, ratio, family="unary"):
    return {"row": name, "family": family, "asyncgrad_s": ratio, "peer_s": 1.0, "ratio": ratio, "setting": "a"}


class Ops(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "log"

    def worker(self, name, seconds):
        program = self.folder / "worker.py"
        program.write_text(WORKER)
        worker = ops_compare.Worker([sys.executable, program, name, str(seconds), self.log])
        self.addCleanup(worker.close)
        return worker

    def test_cells_have_names_of_their_own_in_an_order_that_stays(self):
        cells = ops.cells()
        self.assertEqual(len({cell.name for cell in cells}), len(cells))
        self.assertEqual(cells, ops.cells())
        self.assertNotEqual([cell.name for cell in cells], sorted(cell.name for cell in cells))
        for cell in cells:
            self.assertRegex(cell.name, rf"^op/{cell.op}/[^/ ]+(/grad)?$")
            self.assertEqual(cell.name.endswith("/grad"), cell.grad)

    def test_names_say_shapes_and_options(self):
        (cell,) = ops.forward("family", "op", ops.normal(3, 4), *[ops.normal(5)] * 2, ops.number(0.5), axis=(0, 1), k=None)
        self.assertEqual(cell.name, "op/op/3x4,2*5,0.5,axis=0x1")
        without, with_gradient = ops.both("family", "op", ops.normal(3))
        self.assertEqual((without.name, with_gradient.name), ("op/op/3", "op/op/3/grad"))

    def test_every_operation_has_cells(self):
        rows = [line.split(" | ")[0] for line in (ROOT / "docs" / "operations.md").read_text().splitlines()]
        named = {name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)\(", row)}
        self.assertGreater(len(named), 90)
        wanted = {BY_ANOTHER_NAME.get(name, name) for name in named - WITHOUT_CELLS}
        self.assertLessEqual(wanted, {cell.op for cell in ops.cells()})

    def test_systems_take_turns_and_the_lesser_time_counts(self):
        workers = {"asyncgrad": self.worker("ours", 2), "pytorch/a": self.worker("a", 8), "pytorch/b": self.worker("b", 4)}
        row = ops_compare.row(cell("exp"), ops_compare.measure_cell(cell("exp"), workers))
        self.assertEqual(self.log.read_text().split(), ["ours", "exp", "a", "exp", "b", "exp"] * 2)
        self.assertEqual((row["row"], row["family"]), ("op/exp/7", "unary"))
        self.assertEqual((row["asyncgrad_s"], row["peer_s"], row["ratio"], row["setting"]), (2, 4, 0.5, "pytorch/b"))
        self.assertEqual(ops_compare.better({"seconds": 3}, {"seconds": 2}), {"seconds": 2})

    def test_what_fails_has_no_ratio(self):
        able, unable = {"seconds": 1}, {"failed": "no exp"}
        row = lambda ours, a, b: ops_compare.row(cell("exp"), {"asyncgrad": ours, "pytorch/a": a, "pytorch/b": b})
        self.assertEqual(row(able, unable, able)["setting"], "pytorch/b")
        self.assertEqual(row(able, unable, unable)["failed"], "the peer failed: no exp")
        self.assertEqual(row(unable, able, able)["failed"], "asyncgrad failed: no exp")
        self.assertEqual(ops_compare.better(unable, able), unable)

    def test_a_worker_that_ends_is_started_again(self):
        worker = self.worker("theirs", "die")
        for _ in range(2):
            self.assertEqual(worker.ask(cell("exp")), {"failed": "too hard"})
        slow = self.worker("slow", 1)
        with mock.patch.object(ops_compare, "CELL_LIMIT_S", 0.2), mock.patch.object(slow, "process") as process:
            process.poll.return_value = None
            process.stdout.readline.side_effect = lambda: time.sleep(0.5) or ""
            process.wait.return_value = -9
            self.assertIn("ended by signal 9", slow.ask(cell("exp"))["failed"])
            process.kill.assert_called_once()
        with self.assertRaisesRegex(systems.Unavailable, "no such module"):
            ops_compare.Worker([sys.executable, "-c", "import sys; sys.exit('no such module')"])

    def measured(self, wanted, of_what="a machine", path="ops.jsonl"):
        """The rows that are measured now, and all that are known."""
        before = self.log.read_text() if self.log.exists() else ""
        workers = {"asyncgrad": self.worker("ours", 1), "pytorch": self.worker("theirs", 2)}
        log = ops_compare.Log(self.folder / path, of_what, [cell.name for cell in wanted])
        with contextlib.redirect_stderr(io.StringIO()):
            ops_compare.measure(wanted, workers, log, minutes=1)
        new = self.log.read_text().removeprefix(before).splitlines() if self.log.exists() else []
        return sorted({line.split()[1] for line in new}), sorted(log.rows)

    def test_a_run_goes_on_where_another_of_the_same_ended(self):
        one, two, three = cell("exp"), cell("log"), cell("sin")
        self.assertEqual(self.measured([one, two]), (["exp", "log"], ["op/exp/7", "op/log/7"]))
        with open(self.folder / "ops.jsonl", "a") as file:
            file.write('{"row": "op/si')  # as if it was cut off
        every = [one, two, three]
        self.assertEqual(self.measured(every), (["sin"], ["op/exp/7", "op/log/7", "op/sin/7"]))
        self.assertEqual(self.measured(every)[0], ["exp", "log", "sin"])  # it was complete
        lines = (self.folder / "ops.jsonl").read_text().splitlines()
        (self.folder / "ops.jsonl").write_text("\n".join(lines[:2]) + "\n")
        self.assertEqual(self.measured(every)[0], ["log", "sin"])
        (self.folder / "ops.jsonl").write_text("\n".join(lines[:2]) + "\n")
        self.assertEqual(self.measured(every, "another machine")[0], ["exp", "log", "sin"])

    def test_no_cell_begins_when_the_time_is_over(self):
        log = ops_compare.Log(self.folder / "ops.jsonl", "a machine", ["op/exp/7"])
        ops_compare.measure([cell("exp")], {}, log, minutes=-1)
        self.assertEqual(log.rows, {})

    def test_families_have_means_and_the_worst_cell_stands_first(self):
        rows = [{"row": "op/e/7", "family": "unary", "failed": "asyncgrad failed: no e"}]
        rows += [took("op/c/7", 8, "binary"), took("op/b/7", 2), took("op/d/7", 2, "binary"), took("op/a/7", 0.5)]
        families = ops_compare.families(rows)
        self.assertEqual([of["family"] for of in families], ["binary", "unary"])
        self.assertAlmostEqual(families[0]["geometric_mean"], 4)
        self.assertAlmostEqual(families[1]["geometric_mean"], 1)
        self.assertEqual((families[1]["cells"], families[1]["slower"], families[1]["worst"]["row"]), (2, 1, "op/b/7"))
        text = ops_compare.tables({"rows": rows, "families": families})
        self.assertIn("The geometric mean of all 4 cells is 2.00. asyncgrad is slower in 3", text)
        worst = text.split("the worst first:")[1]
        self.assertEqual(re.findall(r"op/\w/7", worst), ["op/c/7", "op/b/7", "op/d/7", "op/e/7"])
        self.assertIn("- `op/e/7`: asyncgrad failed: no e", worst)
        self.assertNotIn("op/a/7", worst)

    def test_a_worker_prepares_a_cell_once_and_survives_a_failure(self):
        made = []

        class System:
            MADE, set_threads = {}, None
            without_gradient = contextlib.nullcontext
            wait = forget_cache = staticmethod(lambda: None)

            @staticmethod
            def operand(kind, shape, with_gradient):
                made.append((kind, shape, with_gradient))
                return shape

            @staticmethod
            def function(name):
                return {"twice": lambda x, by: x * by}.get(name)

        def asked(op):
            return json.dumps(ops.Cell(op, "", op, (("normal", (2, 3)),), {"by": 2}, False)._asdict())

        answers = list(op_worker.answers(System, [asked("twice"), asked("twice"), asked("none"), asked("twice")], 0))
        self.assertEqual(made, [("normal", (2, 3), False)] * 3)
        self.assertEqual(["seconds" in answer for answer in answers], [True, True, False, True])


if __name__ == "__main__":
    unittest.main()
