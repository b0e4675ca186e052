"""asyncgrad.experiment: runs in processes of their own, and in the process of a notebook."""
import dataclasses
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import asyncgrad as ag

COLUMNS = ("time per epoch", "queued in", "peak live", "growth of RSS", "most operations queued")


def make():
    net = ag.nn.Sequential(ag.nn.Dense(8, 16, "relu"), ag.nn.Dense(16, 1))
    return net, ag.optim.SGD(net.parameters(), lr=0.01)


def step(training):
    net, sgd = training
    loss = ag.nn.l2_loss(net(ag.randn(32, 8)), ag.ones(32, 1)).mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    return loss


def end_early(training):
    os._exit(7)


def make_with_a_thread():
    threading.Thread(target=time.sleep, args=(600,)).start()
    return make()


def make_with_a_thread_and_exit():
    make_with_a_thread()
    sys.exit(3)


def make_that_diverges():
    net = ag.nn.Dense(8, 1)
    return net, ag.optim.SGD(net.parameters(), lr=1e30)


def make_of_settings():
    net = ag.nn.Dense(8, 1)
    assert net.weight.dtype == ag.float64 and net.weight.device == "cpu:1" and ag.math_mode() == "bf16"
    return net


def step_of_settings(net):
    return net(ag.ones(1, 8)).sum()


def sleep_long(training):
    print(os.getpid(), flush=True)
    time.sleep(60)


def fail(training):
    raise KeyError("no such batch")


@pytest.fixture(scope="module")
def apart():
    return ag.experiment.compare(make, step, steps=6)


def here(**options):
    """The same with functions that no other process can import."""
    return ag.experiment.compare(lambda: make(), lambda training: step(training), steps=6, **options)


def test_every_kind_of_run_is_measured_and_ends_with_the_same_bits(apart):
    assert tuple(run["name"] for run in apart.runs) == ag.experiment.RUNS
    assert ag.experiment.RUNS[-1] == "none:first_ready"
    assert len({run["parameters_hash"] for run in apart.runs}) == 1
    for run in apart.runs:
        assert run["batches"] == 6 and run["frontend_s"] <= run["total_s"]
        assert run["peak_live_bytes"] > run["setup_live_bytes"] >= (9 * 16 + 17) * 4
    barriers = {run["name"]: (run["barrier"], run["in_flight"], run["schedule"]) for run in apart.runs}
    assert barriers["in-flight:2"] == ("in-flight", 2, "oldest_first")
    assert barriers["immediate"] == ("none", None, "immediate")


def test_processes_of_their_own_measure_resident_memory(apart):
    assert all(run["peak_rss_growth_bytes"] is not None for run in apart.runs)
    assert "growth of RSS is blank" not in str(apart)


def test_prints_as_the_table_of_the_library(apart):
    heading, *rows = apart.table().splitlines()
    assert all(column in heading for column in COLUMNS)
    assert [row.split()[0] for row in rows] == list(ag.experiment.RUNS)
    assert str(apart).startswith(apart.table())
    assert "All 7 runs ended with the same parameters, bit for bit." in str(apart)


def test_the_document_is_that_of_a_program_in_cpp(apart):
    document = json.loads(apart.json())
    assert document["format"] == 1 and document["machine"]["cores"] >= 1
    assert document["runs"] == apart.runs


def test_a_notebook_shows_table_and_picture(apart):
    page = apart._repr_html_()
    assert page.startswith("<pre>run  ") and "time per epoch" in page
    if shutil.which("gnuplot"):
        assert "<svg" in page and "live memory (MiB)" in page
    else:
        assert "no picture: gnuplot" in page


def test_without_gnuplot_there_is_the_table(apart, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "<p>no picture: gnuplot could not be started; is it installed?</p>" in apart._repr_html_()
    with pytest.raises(RuntimeError, match="gnuplot could not be started"):
        apart.svg()


def test_functions_of_a_notebook_share_its_process_and_say_so(apart):
    options, place = ag.engine_options(), ag.default_generator().place
    shared = here()
    assert [run["parameters_hash"] for run in shared.runs] == [run["parameters_hash"] for run in apart.runs]
    assert all(run["peak_rss_growth_bytes"] is None for run in shared.runs)
    blank = "The growth of RSS is blank: no other process can import make and step, so the runs shared this one"
    assert blank in str(shared)
    row = shared.table().splitlines()[1]
    heading = shared.table().splitlines()[0]
    end = heading.index("growth of RSS") + len("growth of RSS")
    assert row[end - 16:end].strip() == "" and row[end:].strip().isdigit()
    assert ag.engine_options() == options and ag.default_generator().place == place


def test_a_notebook_has_no_file_to_import(tmp_path):
    """A class that is typed in is pickled by the name `__main__`, which means another module elsewhere."""
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import asyncgrad as ag
        import test_experiment as t
        def step(training):
            return t.step(training)
        print(ag.experiment.compare(t.make, step, steps=3, runs=("batch", "none")))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "no other process can import step, so" in done.stdout


def test_a_script_may_compare_its_own_functions(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import asyncgrad as ag
        import test_experiment as t
        def step(training):
            return t.step(training)
        if __name__ == "__main__":
            print(ag.experiment.compare(t.make, step, steps=3, runs=("batch", "none")))
    """))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "All 2 runs ended with the same parameters" in done.stdout and "blank" not in done.stdout


def test_repetitions_give_medians():
    comparison = here(runs=("batch", "none"), repeat=3)
    measured = [(run["name"], run["repetition"]) for run in comparison.runs]
    assert measured == [(name, i) for i in (1, 2, 3) for name in ("batch", "none")]
    assert len(comparison.table().splitlines()) == 3


def test_a_loss_that_is_not_finite_costs_no_figures():
    for make in (make_that_diverges, lambda: make_that_diverges()):
        comparison = ag.experiment.compare(make, step, steps=6, runs=("batch", "none"), repeat=2)
        assert "All 4 runs ended with the same parameters" in str(comparison)
        assert all(math.isnan(run["last_loss"]) for run in comparison.runs)
        document = json.loads(comparison.json(), parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))
        assert document["runs"][0]["last_loss"] == "nan"
        assert "svg" in comparison._repr_html_() or "gnuplot" in comparison._repr_html_()


def test_processes_of_their_own_have_the_settings_of_this_one():
    options = ag.engine_options()
    try:
        ag.set_engine_options(cpu_parts=2, workers=2)
        ag.set_default_device("cpu:1")
        ag.set_default_dtype("float64")
        ag.set_math_mode("bf16")
        run, = ag.experiment.compare(make_of_settings, step_of_settings, steps=2, runs="none").runs
    finally:
        ag.set_math_mode("float32")
        ag.set_default_dtype("float32")
        ag.set_default_device("cpu")
        ag.set_engine_options(**options)
    assert (run["device"], run["math"], run["workers"]) == ("cpu:1", "bf16", 2)


def test_a_comparison_within_a_comparison_is_refused():
    def nested(_):
        return ag.experiment.compare(lambda: ag.nn.Dense(1, 1), lambda net: net(ag.ones(1, 1)).mean(), steps=1, runs="none")

    with pytest.raises(RuntimeError, match="compare.. measures on this thread; what it measures cannot call it"):
        ag.experiment.compare(lambda: ag.nn.Dense(1, 1), nested, steps=1, runs="none")


def test_a_process_ends_with_the_one_that_started_it(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import asyncgrad as ag
        import test_experiment as t
        if __name__ == "__main__":
            ag.experiment.compare(t.make, t.sleep_long, steps=3, runs="none")
    """))
    with subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True) as program:
        assert int(program.stdout.readline()) != program.pid
        program.send_signal(signal.SIGKILL)
        assert program.stdout.read() == ""  # returns when the child, too, has let go of the output


def test_threads_compare_in_this_process_one_after_the_other():
    options, done = ag.engine_options(), []

    def compare():
        done.append(ag.experiment.compare(lambda: make(), lambda training: step(training), steps=3, runs=("batch", "none")))

    threads = [threading.Thread(target=compare) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(comparison.runs) for comparison in done] == [2, 2, 2]
    assert ag.engine_options() == options


def test_an_interrupt_ends_a_comparison_in_this_process_at_once(tmp_path):
    program = textwrap.dedent(f"""
        import sys, os, signal, threading, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import asyncgrad as ag
        import test_experiment as t
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end = threading.Event()
        def step(training):
            held = ag.custom("held", (1,), [], lambda out: (end.wait(60), out.fill(0)))
            return t.step(training) + held.sum()
        def make():
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            return t.make()
        options = ag.engine_options()
        try:
            ag.experiment.compare(make, step, steps=3, runs="none:unbounded")
        except KeyboardInterrupt:
            print("interrupted", ag.engine_figures()["queued"] > 0, ag.engine_options() == options)
        end.set()
        print(len(ag.experiment.compare(lambda: t.make(), t.step, steps=3, runs="none").runs))
        print(ag.engine_options() == options)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=50)
    assert done.stdout.split() == ["interrupted", "True", "False", "1", "True"], done.stderr


def test_live_memory_of_the_session_is_named():
    held = ag.ones(1 << 20)
    note = re.search(r"Live memory includes the (.*) MiB that this process held before\.", str(here(runs="none")))
    assert 4 <= float(note[1]) < 100
    del held


def test_runs_are_any_iterable_or_one_name():
    for runs in ("none", iter(["none"]), (name for name in ["none"])):
        assert [run["name"] for run in here(runs=runs).runs] == ["none"]


@pytest.mark.parametrize("shares", [True, False], ids=["shared", "apart"])
def test_a_budget_may_be_a_share_of_the_serial_peak(shares):
    made = (lambda: make()) if shares else make
    runs = ag.experiment.compare(made, step, steps=6, runs=("none", "none:50%", "none:100%:recompute")).runs
    peak = runs[0]["serial_peak_bytes"]
    assert runs[2]["memory_budget_bytes"] == peak  # a smaller one without recompute allows the peak, too
    assert len({run["parameters_hash"] for run in runs}) == 1
    assert runs[2]["recomputed_operations"] == 0 and not ag.engine_options()["recompute_to_fit"]
    for bad in ("none:0%", "none:101%", "none:x%", "none:-1%:recompute", "none:recompute"):
        with pytest.raises(ValueError, match="runs"):
            ag.experiment.compare(made, step, steps=1, runs=bad)


def test_the_seed_decides_the_bits():
    first, again, other = (here(runs=("none",), seed=seed).runs[0]["parameters_hash"] for seed in (1, 1, 2))
    assert first == again != other


@dataclasses.dataclass
class Training:
    net: ag.nn.Module
    optimiser: object


def test_parameters_come_from_any_training():
    net = ag.nn.Dense(8, 1)

    class Slots:
        __slots__ = ("net",)

    def compare_once(make, **options):
        return ag.experiment.compare(make, lambda t: net(ag.ones(1, 8)).sum(), steps=1, runs=("none",), **options)

    for training in (net, (net,), [net, 7], {"net": net}, Training(net, None)):
        found = compare_once(lambda t=training: t)
        named = compare_once(lambda: 7, parameters=lambda t: net.parameters())
        assert found.runs[0]["parameters_hash"] == named.runs[0]["parameters_hash"]
    for training in (7, (), {}, Slots()):
        with pytest.raises(ValueError, match="the training lists no parameters"):
            compare_once(lambda t=training: t)


def test_what_a_step_raises_is_raised():
    with pytest.raises(KeyError, match="no such batch"):
        ag.experiment.compare(lambda: make(), fail, steps=2, runs=("none",))
    assert ag.engine_options()["schedule"] == "oldest_first"
    with pytest.raises(RuntimeError, match=r"(?s)run none failed: .*KeyError: 'no such batch'"):
        ag.experiment.compare(make, fail, steps=2, runs=("none",))


def test_a_process_that_ends_early_is_an_error():
    with pytest.raises(RuntimeError, match="run none failed: its process ended with exit code 7"):
        ag.experiment.compare(make, end_early, steps=2, runs=("none",))


def test_threads_of_the_program_do_not_keep_a_run_from_ending():
    began = time.monotonic()
    assert len(ag.experiment.compare(make_with_a_thread, step, steps=2, runs="none").runs) == 1
    with pytest.raises(RuntimeError, match="run none failed: its process ended"):
        ag.experiment.compare(make_with_a_thread_and_exit, step, steps=2, runs="none")
    assert time.monotonic() - began < 300


def test_refuses_what_is_no_run():
    with pytest.raises(ValueError, match="runs: 'nine' is not a run: immediate, or batch, none or in-flight:K"):
        ag.experiment.compare(make, step, runs=("none", "nine"))
    with pytest.raises(ValueError, match="steps: '0' is not a whole number from 1 to 2147483647"):
        ag.experiment.compare(make, step, 0)
    with pytest.raises(ValueError, match="repeat: '-1' is not a whole number from 1 to 1000000"):
        ag.experiment.compare(make, step, repeat=-1)
    for wrong, kind, message in (
            ({"seed": -1}, ValueError, "seed: '-1' is not a whole number from 0 to 18446744073709551615"),
            ({"seed": None}, TypeError, "seed is an integer, not None"),
            ({"steps": 2.5}, TypeError, "steps is an integer, not 2.5"),
            ({"steps": 2**40}, ValueError, "steps: '1099511627776' is not a whole number from 1 to 2147483647"),
            ({"steps": 2**70}, ValueError, "steps: '1180591620717411303424' is not a whole number"),
            ({"repeat": "2"}, TypeError, "repeat is an integer, not '2'"),
            ({"runs": [3]}, TypeError, 'runs are names, such as "in-flight:2", not 3'),
            ({"runs": ()}, ValueError, "runs names no run"),
            ({"parameters": 3}, TypeError, "parameters is a function, not 3")):
        with pytest.raises(kind, match=re.escape(message)):
            ag.experiment.compare(make, step, **wrong)
    with pytest.raises(TypeError, match="step returns its loss, a tensor, not None"):
        ag.experiment.compare(lambda: make(), lambda training: None, steps=1, runs="none")
    with pytest.raises(ValueError, match=r"the loss of a step must be a scalar, got the shape \(2\)"):
        ag.experiment.compare(lambda: make(), lambda training: ag.ones(2), steps=1, runs=("none",))
