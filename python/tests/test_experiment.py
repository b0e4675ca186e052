"""asyncgrad.experiment: runs in processes of their own, and in the process of a notebook."""
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import textwrap

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
    """What is typed in is pickled by the name `__main__`, which means another module elsewhere."""
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


def test_refuses_what_is_no_run():
    with pytest.raises(ValueError, match="runs: 'nine' is not a run: immediate, or batch, none or in-flight:K"):
        ag.experiment.compare(make, step, runs=("none", "nine"))
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        ag.experiment.compare(make, step, 0)
    with pytest.raises(ValueError, match="repeat must be at least 1, got -1"):
        ag.experiment.compare(make, step, repeat=-1)
    with pytest.raises(ValueError, match=r"the loss of a step must be a scalar, got the shape \(2\)"):
        ag.experiment.compare(lambda: make(), lambda training: ag.ones(2), steps=1, runs=("none",))
