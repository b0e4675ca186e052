"""Threads, forks, interrupts, the end of the process, memory: each in a process of its own where it may hurt."""
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import asyncgrad as ag


def run(program, **kwargs):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, **kwargs)


def test_a_wait_for_one_device():
    x = ag.ones(1000, 1000) * 2
    ag.wait_all("cpu")
    assert x.is_ready()
    ag.wait_all(device=x.device)
    with pytest.raises(ag.Error, match="there is no cpu:7 here"):
        ag.wait_all("cpu:7")


def test_threads():
    results = {}

    def work(number):
        x = ag.full((50, 50), float(number))
        for _ in range(200):
            x = x + 1
        results[number] = x.sum().item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 2500 * (i + 200) for i in range(6)}


def test_asking_whether_a_tensor_is_ready():
    started, go_on = threading.Event(), threading.Event()

    def function(out):
        started.set()
        go_on.wait(60)
        out.fill(3)

    x = ag.source("slow", (2,), function)
    y = x + 1
    started.wait(60)
    assert not x.is_ready() and not y.is_ready()
    go_on.set()
    while not y.is_ready():
        time.sleep(0.001)
    assert x.is_ready() and y.tolist() == [4, 4]
    failed = ag.take(ag.ones(3), ag.array([5]))
    while not failed.is_ready():
        time.sleep(0.001)
    with pytest.raises(ag.Error):
        failed.wait()
    ag.recover()


def test_queueing_that_waits_for_room_lets_others_run():
    done = run("""
        import asyncgrad as ag, threading
        ag.set_engine_options(queue_capacity=4)
        count, stop = [0], threading.Event()
        def other():
            while not stop.is_set():
                count[0] += 1
        thread = threading.Thread(target=other); thread.start()
        x = ag.randn(400, 400)
        for _ in range(40):
            x = (x @ x) * 1e-3
        ag.wait_all(); stop.set(); thread.join()
        print(ag.engine_figures()["peak_queued"] <= 4, count[0] > 0)
        """)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_exit_with_work_queued():
    done = run("""
        import asyncgrad as ag
        x = ag.randn(1000, 1000)
        for _ in range(50):
            x = x @ x * 1e-3
        ag.custom("slow", (3,), [], lambda out: __import__("time").sleep(0.1))
        """)
    assert done.returncode == 0 and done.stderr == ""


def test_exit_prints_errors_that_nobody_saw():
    done = run("import asyncgrad as ag; ag.take(ag.ones(3), ag.array([7]))")
    assert done.returncode == 0 and "index 7" in done.stderr


def test_fork():
    x = ag.randn(100, 100)
    y = x @ x
    child = os.fork()
    if child == 0:
        ok = abs((y.sum() - (x @ x).sum()).item()) < 1e-3
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (y + 1).shape == (100, 100)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(f"""
        import multiprocessing as mp, asyncgrad as ag
        def work(n):
            return ag.full((10,), float(n)).sum().item()
        if __name__ == "__main__":
            with mp.get_context("{method}").Pool(2) as pool:
                print(pool.map(work, range(4)))
        """))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[0.0, 10.0, 20.0, 30.0]", done.stderr


def test_an_interrupt_ends_a_wait_and_nothing_else():
    done = run("""
        import asyncgrad as ag, os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
        slept = ag.custom("sleep", (1,), [], lambda out: (time.sleep(2), out.fill(3)))
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            slept.wait()
        except KeyboardInterrupt:
            print("interrupted", ag.engine_figures()["queued"] > 0)
        print(slept.item())
        """)
    assert done.stdout.split() == ["interrupted", "True", "3.0"], done.stderr


@pytest.mark.parametrize("wait", [
    "np.asarray(x)", "np.array(x)", "memoryview(x)", "x.numpy()", "repr(x)", "ag.array_equal(x, x)", "ag.ones(1)[x > 0]",
    "ag.recover()", "ag.mark().wait()", "ag.profiler.start()", "ag.save('x', {'x': x})",
    "[x + 1 for _ in range(6000)]"])
def test_an_interrupt_ends_every_wait(wait, tmp_path):
    """With the exception of the program's handler, which a library in between may not forget."""
    done = run(f"""
        import asyncgrad as ag, numpy as np, os, signal, threading
        def stop(number, frame):
            raise TimeoutError("of the program")
        signal.signal(signal.SIGINT, stop)
        os.chdir({str(tmp_path)!r})
        end = threading.Event()
        x = ag.custom("held", (1,), [], lambda out: (end.wait(60), out.fill(3)))
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            {wait}
        except TimeoutError as error:
            print(error, ag.engine_figures()["queued"] > 0)
        end.set()
        print(np.asarray(x)[0])
        """)
    assert done.stdout == "of the program True\n3.0\n", done.stderr


def test_an_interrupt_ends_a_wait_for_new_options():
    done = run("""
        import asyncgrad as ag, os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        slept = ag.custom("sleep", (1,), [], lambda out: (time.sleep(2), out.fill(3)))
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            ag.set_engine_options(schedule="first_ready")
        except KeyboardInterrupt:
            print(ag.engine_figures()["queued"] > 0, ag.engine_options()["schedule"])
        print(slept.item())
        """)
    assert done.stdout.split() == ["True", "oldest_first", "3.0"], done.stderr


def test_a_handler_of_signals_may_wait():
    done = run("""
        import asyncgrad as ag, os, signal, threading, time
        signal.signal(signal.SIGUSR1, lambda *_: print("handled", ag.ones(3).sum().item()))
        slept = ag.custom("sleep", (1,), [], lambda out: (time.sleep(0.5), out.fill(3)))
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        print(slept.item())
        """)
    assert done.stdout.split() == ["handled", "3.0", "3.0"], done.stderr


def test_memory_stays():
    x, w = ag.ones(1, 2), ag.ones(1, 2).requires_grad_()

    def calls(count):
        for _ in range(count // 10):
            y = x + 1
            y += x
            (w * y).sum().backward()  # three calls
            w.zero_grad()
            y[0, 0] = y[0, 1]  # two
            np.asarray(y.reshape(2).T)
        ag.wait_all()
        return ag.resident_bytes()

    begin = calls(100_000)
    assert calls(1_000_000) - begin < 2 ** 20


def test_cycles_are_collected():
    class Net(ag.nn.Module):
        def __init__(self):
            self.layer = ag.nn.Dense(2, 2)
            self.again = ag.nn.Lambda(lambda x: self.layer(x))  # refers to the module
            self.hook = self.forward

        def forward(self, x):
            return self.again(x)

    def round_trip():
        net = Net()
        x = ag.ones(1, 2).requires_grad_()
        # The gradient's function refers to what it is a function of: backward() drops it.
        y = ag.with_gradient("scaled", net(x.detach()), [x], lambda dy: dy * y)
        y.sum().backward()
        return weakref.ref(net), weakref.ref(y), ag.ones(1000, 1000)

    found = [round_trip()[:2] for _ in range(20)]
    gc.collect()
    ag.wait_all()
    assert not any(reference() is not None for pair in found for reference in pair)
    assert ag.memory()["live_bytes"] < 20 * 4_000_000


def test_cycles_of_functions_that_are_kept_are_collected():
    def recomputed():
        y = None

        def twice(x):
            return x * 2 if y is None else y

        y = ag.nn.recompute(twice, ag.ones(1000).requires_grad_())
        return weakref.ref(twice)

    def recomputed_before():
        def twice(x):
            return x * 2 if "z" not in kept else kept["z"]

        kept = {}
        kept["z"] = ag.nn.recompute(twice, ag.ones(1000).requires_grad_()) + 1
        return weakref.ref(twice)

    def batches():
        class Data:
            def __init__(self):
                self.batches = ag.data.Batches(self, 2)

            def __len__(self):
                return 6

            def __getitem__(self, i):
                return float(i)

        data = Data()
        next(iter(data.batches))[0].wait()
        return weakref.ref(data)

    def schedule():
        class Own(ag.optim.SGD):
            pass

        class Training:
            def __init__(self):
                self.sgd = Own([ag.ones(2).requires_grad_()], lr=0.5)
                self.schedule = ag.optim.Schedule(self.sgd, self.factor)
                self.sgd.schedule = self.schedule

            def factor(self, step):
                return 0.5 ** step

        training = Training()
        training.schedule.step()
        assert training.sgd.lr == 0.25
        return weakref.ref(training)

    def warmed_up():
        class Training:
            def __init__(self):
                later = ag.optim.warm_up(2, ag.optim.warm_up(1, self.factor))
                self.schedule = ag.optim.Schedule(ag.optim.SGD([ag.ones(2).requires_grad_()], lr=1.0), later)

            def factor(self, step):
                return 0.25

        training = Training()
        for _ in range(4):
            training.schedule.step()
        return weakref.ref(training)

    for make in (recomputed, recomputed_before, batches, schedule, warmed_up):
        reference = make()
        ag.wait_all()
        for _ in range(100):  # what has been read may be let go a little later
            gc.collect()
            if reference() is None:
                break
            time.sleep(0.01)
        assert reference() is None, make.__name__


def test_nothing_is_collected_that_is_still_read():
    go = threading.Event()

    class Data:
        def __init__(self):
            self.items = [1.0, 2.0]
            self.batches = ag.data.Batches(self, 2, ahead=0)

        def __len__(self):
            return 2

        def __getitem__(self, i):
            if threading.current_thread() is not threading.main_thread():
                go.wait()
            return self.items[i]

    x = next(iter(Data().batches))[0]
    gc.collect()
    go.set()
    assert x.sum().item() == 3


def test_nothing_is_reported_at_the_end():
    done = run("""
        import asyncgrad as ag
        net = ag.nn.Sequential(ag.nn.Dense(2, 2), ag.nn.Lambda(lambda x: net[0](x)))
        adam = ag.optim.Adam(net.parameters())
        kept = [net(ag.ones(1, 2)), ag.default_generator(), ag.mark(), adam]
        ag.custom("own", (1,), [kept[0].detach()], lambda out, x: out.fill(1)).wait()
        kept.append(kept)
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_results_do_not_depend_on_the_schedule():
    def trained(**options):
        ag.set_engine_options(**options)
        ag.manual_seed(1)
        net = ag.nn.Sequential(ag.nn.Dense(8, 16, "relu"), ag.nn.Dense(16, 1))
        adam = ag.optim.Adam(net.parameters())
        for _ in range(5):
            adam.zero_grad()
            ag.nn.l2_loss(net(ag.randn(32, 8)), ag.randn(32, 1)).mean().backward()
            adam.step()
        return [np.array(p) for p in net.parameters()]

    before = ag.engine_options()
    try:
        expected = trained()
        for options in ({"schedule": "immediate"}, {"schedule": "oldest_first", "workers": 1}, {"inline_tiny": False}):
            for a, b in zip(expected, trained(**options)):
                assert a.tobytes() == b.tobytes()
    finally:
        ag.set_engine_options(schedule="oldest_first", workers=before["workers"], inline_tiny=True)


def test_marks_figures_and_reports():
    mark = ag.mark()
    x = ag.randn(300, 300)
    y = x @ x
    ag.mark().wait()
    mark.wait()
    assert "(300, 300) float32" in ag.to_dot(y) and ag.engine_figures()["operations"] > 0
    assert ag.memory()["live_bytes"] >= 2 * 300 * 300 * 4 and isinstance(ag.engine_report(), str)
    ag.reset_peaks()
    ag.trim_cache()


def test_profiler_and_blockers():
    ag.profiler.start()
    before = ag.engine_figures()["frontend_wait_s"]
    slow = ag.custom("slow", (1,), [], lambda out: (time.sleep(0.2), out.fill(1)))
    slow.item()  # the line that waits
    waited = ag.engine_figures()["frontend_wait_s"] - before
    blockers = ag.profiler.blockers()
    summary = ag.profiler.stop()
    assert summary.elapsed_s > 0.1 and any(row["name"] == "slow" for row in summary.operations)
    assert blockers[0][0] == __file__ and blockers[0][2] > 0.1 and "the line that waits" in repr(blockers)
    assert blockers.seconds >= 0.95 * waited


def test_dry_run():
    done = run("""
        import asyncgrad as ag
        ag.set_engine_options(schedule="dry_run")
        x = ag.zeros(1000, 1000)
        y = x @ x
        print(ag.dry_run_report()["serial_peak_bytes"], y.shape)
        try: y.sum().item()
        except Exception as e: print(type(e).__name__)
        """)
    assert done.stdout.split("\n")[0] == "8000000 (1000, 1000)", done.stderr


def test_a_budget_below_the_serial_peak_is_kept():
    weights = [(ag.randn(64, 64) * 0.2).requires_grad_() for _ in range(12)]
    x = ag.randn(512, 64)

    def step():
        h = x
        for weight in weights:
            h = (h @ weight).tanh()
        loss = h.square().mean()
        del h
        loss.backward()
        gradients = [weight.grad.numpy().tobytes() for weight in weights] if reads else []
        for weight in weights:
            weight.zero_grad()
        return gradients

    reads = False
    prices = ag.memory_prices(step, [1, 0.5])
    assert prices[0]["budget_bytes"] == prices[0]["serial_peak_bytes"] > prices[1]["recompute_peak_bytes"]
    assert prices[1]["recompute_peak_bytes"] <= prices[1]["budget_bytes"]
    reads = True
    expected = step()
    ag.set_engine_options(memory_budget=prices[1]["budget_bytes"], recompute_to_fit=True)
    try:
        reads = False
        ag.reset_peaks()
        step()
        first = ag.engine_figures()["recomputed_operations"]
        step()
        ag.wait_all()
        assert ag.memory()["serial_peak_bytes"] == prices[1]["recompute_peak_bytes"]
        assert ag.engine_figures()["recomputed_operations"] - first == prices[1]["recomputed_operations"] > 0
        reads = True
        assert step() == expected
    finally:
        ag.set_engine_options(memory_budget="automatic", recompute_to_fit=False)
    with pytest.raises(ValueError, match="needs a memory_budget of bytes"):
        ag.set_engine_options(recompute_to_fit=True)


def test_options_that_get_no_memory_change_nothing():
    done = run("""
        import resource
        import asyncgrad as ag
        ag.zeros(10).wait()
        before = ag.engine_options()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), resource.RLIM_INFINITY))
        try:
            ag.set_engine_options(queue_capacity=2 ** 20, schedule="dry_run", workers=3)
        except MemoryError as e:
            print("refused")
        assert ag.engine_options() == before, ag.engine_options()
        print((ag.ones(3) + 1).tolist())
        """)
    assert done.stdout.split("\n")[:2] == ["refused", "[2.0, 2.0, 2.0]"], done.stderr
