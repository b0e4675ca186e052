"""Tests of benchmarks/peers/compare.py with made-up systems."""
import contextlib
import hashlib
import importlib.util
import io
import json
import shutil
import statistics
import sys
import tempfile
import types
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import barriers_compare  # noqa: E402
import compare  # noqa: E402
import files  # noqa: E402
import machine  # noqa: E402
import networks  # noqa: E402
import report  # noqa: E402
import stopwatch  # noqa: E402
import systems  # noqa: E402
import workloads  # noqa: E402

OBSERVED = types.SimpleNamespace(date="2030-01-02", gpu=None, processor="Slow, 1 core", others=0.25)
OBSERVED_GPU = types.SimpleNamespace(**{**vars(OBSERVED), "gpu": "Hot GPU, driver 1.2"})


def took(*seconds):
    return [{"version": "1.0", "seconds": s} for s in seconds]


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def system(self, name, body='print(\'{"version": "1.0", "seconds": 2}\')'):
        """A system that notes each run in a file, and then does what `body` says."""
        program = self.folder / f"{name}.py"
        program.write_text(f"import sys\nopen({str(self.folder / 'log')!r}, 'a').write({name!r} + ' ')\n{body}\n")
        return [sys.executable, program]

    def log(self):
        return (self.folder / "log").read_text().split()

    def test_systems_run_in_turn(self):
        commands = {"asyncgrad": self.system("ours"), "peer": self.system("theirs")}
        runs = compare.measure(commands, ["randn"], 3, "cpu")
        self.assertEqual(self.log(), ["ours", "theirs"] * 3)
        self.assertEqual(runs["randn"]["peer"], took(2, 2, 2))

    def test_no_round_begins_for_which_there_is_no_time(self):
        clock = mock.patch.object(compare.time, "monotonic", side_effect=[0, 0, 60, 150])  # at the start, and each round
        with clock:
            runs = compare.measure({"asyncgrad": self.system("ours")}, ["randn"], 9, "cpu", minutes=3)
        self.assertEqual(len(runs["randn"]["asyncgrad"]), 2)

    def test_a_system_is_asked_for_what_it_does(self):
        commands = {"asyncgrad": self.system("ours"), "numpy": self.system("numpy")}
        runs = compare.measure(commands, ["tiny_mlp_step", "product_64"], 1, "cpu")
        self.assertEqual(self.log(), ["ours", "ours", "numpy"])
        self.assertEqual(list(runs["tiny_mlp_step"]), ["asyncgrad"])

    def test_a_system_is_given_the_work_its_units_and_the_device(self):
        command = self.system("ours", "sys.exit(' '.join(sys.argv[1:]))")
        self.assertEqual(compare.run_workload(command, "randn", "cpu"), {"failed": "randn 10 cpu"})
        self.assertEqual(compare.run_workload(command, "randn", "cuda:1"), {"failed": "randn 100 cuda:1"})

    def test_a_failed_work_is_a_row_and_is_not_tried_again(self):
        broken = self.system("broken", "raise ValueError('no such device')")
        runs = compare.measure({"asyncgrad": self.system("ours"), "peer": broken}, ["randn"], 3, "cpu")
        self.assertEqual(self.log().count("broken"), 1)
        table = report.table(report.figures(runs, {}, OBSERVED))
        self.assertIn("the peer failed: ValueError: no such device", table)

    def test_ratios_are_of_the_same_round(self):
        row = report.paired(took(1, 8, 3), took(2, 4, 12))
        self.assertEqual((row["ratio_median"], row["ratio_min"], row["ratio_max"]), (0.5, 0.25, 2))
        self.assertEqual((row["asyncgrad_s"], row["peer_s"]), (3, 4))

    def test_the_faster_setting_and_the_smaller_memory_count(self):
        settings = {
            "pytorch/keeping": [{"version": "2", "seconds": s, "growth_bytes": 900} for s in (4, 1, 1)],
            "pytorch/default": [{"version": "2", "seconds": s, "growth_bytes": 300} for s in (2, 2, 2)],
        }
        ours = [{"version": "1", "seconds": 2, "growth_bytes": 5, "peak_bytes": 7}] * 3
        (row,) = report.compared({"randn": {"asyncgrad": ours, **settings}}, "randn")
        self.assertEqual((row["peer"], row["setting"], row["peer_s"], row["ratio_median"]), ("pytorch", "pytorch/keeping", 1, 2))
        self.assertEqual((row["asyncgrad_growth_bytes"], row["asyncgrad_peak_bytes"], row["peer_peak_bytes"]), (5, 7, 300))
        settings["pytorch/keeping"][-1] = {"failed": "no memory"}
        (row,) = report.compared({"randn": {"asyncgrad": ours, **settings}}, "randn")
        self.assertEqual((row["setting"], row["peer_s"]), ("pytorch/default", 2))

    def test_pytorch_runs_in_two_settings_on_a_cpu(self):
        for peer in ("pytorch", "libtorch"):
            settings = systems.settings(peer, ["run"])
            self.assertEqual(list(settings), [f"{peer}/keeping", f"{peer}/default"])
            self.assertIn("MALLOC_MMAP_MAX_=0", settings[f"{peer}/keeping"])
            self.assertEqual(settings[f"{peer}/default"], ["run"])
            self.assertEqual(systems.peer_of(f"{peer}/keeping"), peer)
        self.assertEqual(systems.settings("jax", ["run"]), {"jax": ["run"]})
        self.assertEqual(systems.settings("pytorch", ["run"], "cuda"), {"pytorch": ["run"]})

    def test_a_network_is_one_line_with_eager_and_compiled_peers(self):
        def ran(seconds, *losses, **more):
            return [{"version": "1", "seconds": seconds, "losses": losses, "growth_bytes": 2**20, **more}]

        name = "network_lenet"
        ours = ran(1, 4.0, peak_bytes=3 * 2**20)
        runs = {name: {"asyncgrad": ours, "pytorch/keeping": ran(2, 4.001), "pytorch_compiled": ran(4, 4.0)}}
        table = report.table(report.figures(runs, {}, OBSERVED))
        line = r"\| network_lenet +\| 1 s +\| 2 s +\| 0.50 +\| 4 s +\| 0.25 +\| 3 MiB +\| 1 MiB +\| 1 MiB +\| 2e-04 +\|"
        self.assertRegex(table, line)
        runs[name]["pytorch/keeping"] = ran(2, 4.1)
        self.assertRegex(report.table(report.figures(runs, {}, OBSERVED)), r"\| \*\*2e-02\*\* ")
        runs["network_unet"] = {"asyncgrad": ours, "pytorch/keeping": ran(2, 4.01), "pytorch_compiled": [{"failed": "no"}]}
        self.assertRegex(report.table(report.figures(runs, {}, OBSERVED)), r"\| network_unet .* 2e-03 +\|")  # batch norm

    def test_networks_on_a_gpu_have_the_systems_own_figures_of_memory_and_no_columns_of_who_is_not_there(self):
        ours = [{"version": "1", "seconds": 1, "losses": [4.0], "peak_bytes": 3 * 2**20}]
        theirs = [{"version": "2", "seconds": 2, "losses": [4.0], "peak_bytes": 5 * 2**20}]
        runs = {"network_lenet": {"asyncgrad": ours, "pytorch": theirs}}
        figures = report.figures(runs, {}, OBSERVED_GPU)
        self.assertEqual(figures["rows"][0]["peer_peak_bytes"], 5 * 2**20)
        header, _, line = report.table(figures).splitlines()
        self.assertRegex(header, r"^\| workload +\| asyncgrad +\| PyTorch +\| ratio +\| peak live +\| PyTorch's +\| losses differ by \|$")
        self.assertRegex(line, r"^\| network_lenet +\| 1 s +\| 2 s +\| 0.50 +\| 3 MiB +\| 5 MiB +\| 0e\+00 +\|$")
        self.assertTrue(workloads.does("pytorch", "network_lenet", "cuda:0"))
        self.assertFalse(workloads.does("pytorch_compiled", "network_lenet", "cuda:0"))
        self.assertTrue(workloads.does("pytorch_compiled", "network_lenet", "cpu"))

    def test_a_part_of_the_results_is_for_the_networks_on_a_gpu(self):
        path = self.folder / "RESULTS.md"
        shutil.copy(ROOT / "benchmarks" / "RESULTS.md", path)
        runs = {"network_lenet": {"asyncgrad": took(1), "pytorch": took(10)}}
        report.write_results(path, report.figures(runs, {}, OBSERVED_GPU), ["networks"])
        part = path.read_text().split(report.begin("scripts/compare.sh --device cuda:0 --workload networks"))[1]
        self.assertRegex(part, r"\| network_lenet +\| 1 s +\| 10 s +\| 0.10 +\|")
        self.assertIn("- `network_lenet`: a training step of LeNet on 256 images 28×28; float32\n", part)

    def test_the_package_runs_in_its_environment_or_in_this_python(self):
        python = self.folder / "python" / "bin" / "python"
        with mock.patch.object(systems, "ENVIRONMENTS", self.folder):
            self.assertEqual(systems.asyncgrad_in_python("a.py")[2:], [sys.executable, systems.HERE / "a.py"])
            python.parent.mkdir(parents=True)
            python.touch()
            self.assertEqual(systems.asyncgrad_in_python()[2:], [python, systems.HERE / "peer_asyncgrad_python.py"])

    def test_peaks_of_memory_begin_once_all_is_warm(self):
        class Run:
            done = []

            def __call__(self, units):
                self.done.append(units)

            def forget_peak(self):
                self.done.append("forget")

            def figures(self):
                return {"peak_bytes": 7}

        argv = mock.patch.object(sys, "argv", ["peer", "work", "5", "cuda:0"])
        repeat = mock.patch.object(stopwatch, "repeat", lambda run, units, *_, **__: [run(units) or 1.0])
        with argv, repeat, contextlib.redirect_stdout(io.StringIO()) as said:
            stopwatch.main("1.0", {"work": Run})
        self.assertEqual(Run.done, [5, "forget", 5])
        self.assertEqual(json.loads(said.getvalue()), {"version": "1.0", "seconds": 0.2, "peak_bytes": 7})

    def test_two_workers_are_compared_with_two_processes(self):
        def run(name, workers, barrier):
            if name == "network_gan":
                raise systems.Unavailable("no memory")
            seconds = 3 if workers == 1 else 2 if barrier == "none" else 4
            return {"version": "1", "seconds": seconds, "growth_bytes": workers * 2**20, "peak_bytes": 3 * 2**20}

        names = ["network_lenet", "network_gan"]
        with mock.patch.object(barriers_compare, "run", run), contextlib.redirect_stderr(io.StringIO()):
            figures = barriers_compare.compare(self.folder / "barriers.json", names, 3)
            with self.assertRaisesRegex(systems.Unavailable, "no memory"):
                barriers_compare.compare(self.folder / "barriers.json", names[1:], 1)
        row, failed = figures["rows"]
        self.assertEqual((row["throughput_ratio"], row["none_over_in_flight_1"], row["none_growth_bytes"]), (0.75, 0.5, 2**21))
        self.assertEqual(failed["failed"], "no memory")
        line = r"\| network_lenet +\| 2 s +\| 4 s +\| 0.50 +\| 3 s +\| 0.75 +\| 3 MiB +\| 3 MiB +\| 2 MiB +\| 2 MiB "
        self.assertRegex(barriers_compare.results(figures), line)

    def test_networks_have_parameters_that_do_not_depend_on_the_system(self):
        self.assertEqual(networks.Drawn().words(3), networks.Drawn().words(3))
        self.assertEqual((networks.scale_of((5,)), networks.scale_of((4, 6)), networks.scale_of((4, 6, 1, 4))), (0.05, 1, 0.5))

    def test_the_better_number_of_threads_is_taken(self):
        clock, threads = [0], []

        def run(units):
            clock[0] += units * cost[threads[-1]]

        many = mock.patch.object(stopwatch.os, "sched_getaffinity", lambda _: range(8))
        with many, mock.patch.object(stopwatch.time, "perf_counter", lambda: clock[0]):
            for cost, best in (({1: 5, 8: 3}, 8), ({1: 2, 8: 3}, 1)):
                chosen = stopwatch.choose_threads(threads.append, run, 4, lambda: None)
                self.assertEqual((chosen, threads[-1]), (best, best))

    def test_growth_of_resident_memory_is_that_of_its_peak(self):
        growth = stopwatch.ResidentGrowth()
        self.assertLess(growth.peak_bytes(), 2**24)
        bytearray(b"1") * 2**26
        self.assertGreater(growth.peak_bytes(), 2**25)

    def test_a_group_has_a_mean_once_all_of_it_is_measured(self):
        group = workloads.GROUPS["trials"]
        chosen = compare.options(["--workload", "trials", "--peer", "pytorch"])
        self.assertEqual(chosen.workload, list(group))
        runs = {name: {"asyncgrad": took(2), "pytorch": took(4 if i % 2 else 1)} for i, name in enumerate(group)}
        expected = statistics.geometric_mean(0.5 if i % 2 else 2 for i in range(len(group)))
        means = report.means(report.figures(runs, {}, OBSERVED))
        self.assertEqual(means, [f"trials, pytorch: the geometric mean of the ratios is {expected:.2f}."])
        runs.pop(group[0])
        self.assertEqual(report.means(report.figures(runs, {}, OBSERVED)), [])

    def test_a_peer_that_cannot_be_installed_is_a_row(self):
        (self.folder / "ghost.txt").write_text(f"{self.folder}/ghost-1.0-py3-none-any.whl\n")
        places = mock.patch.multiple(systems, HERE=self.folder, ENVIRONMENTS=self.folder / "environments")
        with places, mock.patch.dict(systems.PEERS["cpu"], ghost=lambda: systems.python_peer("ghost")):
            commands, absent = compare.make_ready(["ghost"], "cpu")
        self.assertEqual(commands, {})
        table = report.table(report.figures({"randn": {"asyncgrad": took(1)}}, absent, OBSERVED))
        self.assertRegex(table, r"\| all +\| ghost .*could not be installed: ")

    def test_every_package_of_a_peer_has_a_hash(self):
        for name in ("pytorch", "jax", "mxnet", "numpy"):
            text = (systems.HERE / f"{name}.txt").read_text().replace("\\\n", "")
            packages = [line for line in text.splitlines() if line and not line.startswith("#")]
            self.assertTrue(packages)
            for package in packages:
                self.assertRegex(package, r"^[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}$")

    @unittest.skipUnless(importlib.util.find_spec("pip"), "there is no pip")
    def test_a_package_with_another_hash_is_not_installed(self):
        wheel = self.folder / "ghost-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("ghost.py", "")
            archive.writestr("ghost-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: ghost\nVersion: 1.0\n")
            archive.writestr("ghost-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr("ghost-1.0.dist-info/RECORD", "")
        right = hashlib.sha256(wheel.read_bytes()).hexdigest()
        places = mock.patch.multiple(systems, HERE=self.folder, ENVIRONMENTS=self.folder / "environments")
        local = mock.patch.dict("os.environ", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder))
        with places, local:
            (self.folder / "ghost.txt").write_text(f"ghost==1.0 --hash=sha256:{'0' * 64}\n")
            with self.assertRaisesRegex(systems.Unavailable, "could not be installed: "):
                systems.environment("ghost")
            (self.folder / "ghost.txt").write_text(f"ghost==1.0 --hash=sha256:{right}\n")
            systems.environment("ghost")

    def test_a_system_that_prints_no_figures_has_failed(self):
        for body in ("print('hello')", "print('{}')", "print('[1]')", "pass"):
            failed = compare.run_workload(self.system("odd", body), "randn", "cpu")["failed"]
            self.assertIn("it printed no figures", failed)

    def test_where_nothing_was_measured_the_old_figures_stay(self):
        old = self.folder / "old.json"
        old.write_text("old")
        chosen = compare.options(["--workload", "randn", "--rounds", "1", "--json", str(old)])
        with mock.patch.multiple(systems, ASYNCGRAD=self.system("ours", "sys.exit(1)"), PEERS={"cpu": {}}):
            chosen.peer = []
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaisesRegex(SystemExit, "Nothing was measured, so .* stays as it was"):
                    compare.compare(chosen)
        self.assertEqual(old.read_text(), "old")

    def test_a_file_is_replaced_as_a_whole(self):
        path = self.folder / "a"
        path.write_text("old")
        path.chmod(0o640)
        (self.folder / "link").symlink_to(path)
        with mock.patch.object(files.os, "fsync", side_effect=OSError("the disk is full")):
            with self.assertRaisesRegex(OSError, "the disk is full"):
                files.replace(path, "new")
        self.assertEqual(path.read_text(), "old")
        files.replace(self.folder / "link", "new")
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), ("new", 0o640))
        self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_a_file_that_cannot_be_written_is_refused_before_the_rounds(self):
        for wrong in (self.folder, Path("/proc/none/a.json")):
            with mock.patch.object(sys, "argv", ["compare.py", "--json", str(wrong)]):
                with self.assertRaisesRegex(SystemExit, f"--json: {wrong} cannot be written"):
                    compare.main()

    def test_without_standard_output_nothing_begins(self):
        with mock.patch.object(sys, "argv", ["compare.py"]), mock.patch.object(sys, "stdout", None):
            with self.assertRaisesRegex(SystemExit, "Standard output is closed"):
                compare.main()

    def test_a_work_like_another_is_compared_with_what_peers_took_for_that(self):
        runs = {
            "chapter_step": {"asyncgrad": took(4, 4), "pytorch": took(2, 8)},
            "chapter_step_graph": {"asyncgrad": took(1, 2)},
        }
        rows = report.figures(runs, {}, OBSERVED_GPU)["rows"]
        self.assertEqual([(row["workload"], row["peer"]) for row in rows], [(workload, "pytorch") for workload in runs])
        self.assertEqual([row["ratio_max"] for row in rows], [2, 0.5])
        self.assertFalse(workloads.does("pytorch", "chapter_step_graph"))

    def test_without_peers_asyncgrad_has_rows_of_its_own(self):
        broken = {"randn": {"asyncgrad": took(3)}, "products": {"asyncgrad": [{"failed": "no such device"}]}}
        table = report.table(report.figures(broken, {}, OBSERVED_GPU))
        self.assertRegex(table, r"\| randn +\| +\| 3 s +\|")
        self.assertRegex(table, r"\| products .*\| asyncgrad failed: no such device \|")

    def test_options_are_for_the_device(self):
        chosen = compare.options(["--device", "cuda:0"])
        self.assertEqual(chosen.peer, ["pytorch", "pytorch_compiled", "pytorch_graphs"])
        self.assertIn("chapter_step_graph", chosen.workload)
        self.assertNotIn("tiny_mlp_step", chosen.workload)
        self.assertEqual(chosen.groups, ["basics"])
        self.assertFalse(set(chosen.workload) & set(workloads.OF_NETWORKS))
        chosen = compare.options(["--device", "cuda:0", "--workload", "networks"])
        self.assertEqual((chosen.workload, chosen.groups), (list(workloads.OF_NETWORKS), ["networks"]))
        chosen = compare.options(["--device", "cuda:0", "--workload", "chapter_step_graph"])
        self.assertEqual(chosen.workload, ["chapter_step", "chapter_step_graph"])
        self.assertEqual(chosen.groups, [])
        self.assertEqual(compare.options([]).groups, ["basics", "trials", "python"])
        self.assertEqual(compare.options(["--workload", "python"]).groups, ["python"])
        self.assertEqual(compare.options(["--workload", "trials", "--peer", "pytorch"]).groups, [])
        self.assertEqual(compare.options(["--workload", "networks"]).groups, ["networks"])
        ops = compare.options(["--workload", "ops", "--cells", "conv"])
        self.assertEqual((ops.separate, ops.groups, ops.json.name), ("ops", [], "compare_cells.json"))
        ops = compare.options(["--workload", "ops", "--device", "cuda:0"])
        self.assertEqual((ops.separate, ops.groups, ops.json.name), ("ops", ["ops"], "compare_ops_gpu.json"))
        barriers = compare.options(["--workload", "barriers"])
        self.assertEqual((barriers.workload, barriers.groups), (list(workloads.OF_NETWORKS), ["barriers"]))
        barriers = compare.options(["--workload", "network_gan", "--workload", "barriers"])
        self.assertEqual((barriers.workload, barriers.groups), (["network_gan"], []))
        without_sense = (["--device", "tpu"], ["--minutes", "nan"], ["--rounds", "0"], ["--cells", "conv"])
        without_sense += (["--workload", "ops", "--workload", "adam"], ["--workload", "barriers", "--device", "cuda:0"])
        without_sense += (["--workload", "barriers", "--workload", "ops"], ["--workload", "ops", "--peer", "pytorch"])
        for wrong in (*without_sense, ["--peer", "pytorch_graphs"], ["--device", "cuda:0", "--workload", "adam"]):
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                compare.options(wrong)
            self.assertIn("error: ", said.getvalue())

    def test_where_there_is_no_gpu_every_row_says_so(self):
        no_gpu = mock.patch.object(machine, "gpu", side_effect=machine.NoGpu("there is no cuda:7 here"))
        arguments = ["compare.py", "--device", "cuda:7", "--json", str(self.folder / "compare.json")]
        arguments = mock.patch.object(sys, "argv", arguments)
        with no_gpu, arguments, contextlib.redirect_stdout(io.StringIO()) as said:
            compare.main()
        for system in ("asyncgrad", "pytorch", "pytorch_compiled", "pytorch_graphs"):
            self.assertRegex(said.getvalue(), rf"\| all +\| {system} .*\| there is no cuda:7 here \|")
        self.assertIn("Nothing was measured.", said.getvalue())

    def test_operations_are_not_measured_where_there_is_no_gpu(self):
        no_gpu = mock.patch.object(machine, "gpu", side_effect=machine.NoGpu("there is no cuda:7 here"))
        arguments = ["compare.py", "--workload", "ops", "--device", "cuda:7", "--json", str(self.folder / "compare.json")]
        with no_gpu, mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(io.StringIO()) as said:
            compare.main()
        self.assertRegex(said.getvalue(), r"\| all +\| asyncgrad .*\| there is no cuda:7 here \|")

    def test_a_gpu_is_asked_for_by_its_number(self):
        for name, body in (("knows", "echo 'Hot GPU, 1.2'"), ("fails", "echo No devices were found; exit 6")):
            program = self.folder / name / "nvidia-smi"
            program.parent.mkdir()
            program.write_text(f"#!/bin/sh\n{body}\n")
            program.chmod(0o755)
        with mock.patch.dict("os.environ", PATH=f"{self.folder}/knows:/bin"):
            self.assertEqual(machine.gpu("cuda:0"), "Hot GPU, driver 1.2")
        for path, reason in (("fails", "No devices were found"), ("nowhere", "nvidia-smi is missing")):
            with mock.patch.dict("os.environ", PATH=f"{self.folder}/{path}"):
                with self.assertRaisesRegex(machine.NoGpu, f"there is no cuda:1 here: {reason}"):
                    machine.gpu("cuda:1")

    def test_a_peer_without_a_gpu_is_a_row(self):
        reason = systems.Unavailable("its PyTorch sees no GPU")
        with mock.patch.object(systems, "pytorch_for_gpu", lambda: reason):
            commands, absent = compare.make_ready(["pytorch", "pytorch_graphs"], "cuda")
        self.assertEqual((commands, list(absent.values())), ({}, [str(reason)] * 2))

    def test_the_clock_is_read_after_the_wait_or_when_all_is_queued(self):
        clock = [0]

        def advance(seconds):
            clock[0] += seconds

        with mock.patch.object(stopwatch.time, "perf_counter", lambda: clock[0]):
            for only_queue, expected in ((False, 5), (True, 2)):
                times = stopwatch.repeat(lambda units: advance(units), 2, lambda: advance(3), 10, only_queue)
                self.assertEqual(statistics.median(times), expected)

    def test_only_the_generated_part_of_the_results_is_replaced(self):
        path = self.folder / "RESULTS.md"
        shutil.copy(ROOT / "benchmarks" / "RESULTS.md", path)
        before, rest = path.read_text().split(report.begin("scripts/compare.sh --workload basics"))
        between = rest.split(report.END, 1)[1].split(report.begin("scripts/gpu_check.sh"))[0]
        self.assertIn("## asyncgrad's own figures", between)
        runs = {"randn": {"asyncgrad": took(1), "peer": took(10)}}
        other = {"adam": {"asyncgrad": took(1)}, "trial_pow_2": {"asyncgrad": took(1), "peer": took(7)}}
        report.write_results(path, report.figures(runs, {}, OBSERVED_GPU), ["basics"])
        for seconds in (4, 5):
            runs = {"randn": {"asyncgrad": took(1), "peer": took(seconds)}}
            report.write_results(path, report.figures(runs | other, {}, OBSERVED), ["basics"])
        text = path.read_text()
        self.assertTrue(text.startswith(before))
        self.assertIn(between, text)
        self.assertIn("2030-01-02, Slow, 1 core. Other processes took 25% of the cores", text)
        self.assertIn("2030-01-02, Hot GPU, driver 1.2; Slow, 1 core. Other", text)
        self.assertRegex(text, r"\| randn +\| peer \| 1 s +\| 5 s +\| 0.20 +\| 0.20 – 0.20 +\|")
        self.assertRegex(text, r"\| randn +\| peer \| 1 s +\| 10 s +\| 0.10 +\| 0.10 – 0.10 +\|")
        self.assertNotIn("0.25 – 0.25", text)
        self.assertNotRegex(text, r"\| trial_pow_2 +\| peer ")


if __name__ == "__main__":
    unittest.main()
