"""Forks, threads and the end of the interpreter while functions of the program run, each in a process of its own."""
import signal
import subprocess
import sys
import textwrap
import time

import pytest


def run(program, **kwargs):
    kwargs = {"timeout": 100, **kwargs}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, **kwargs)


# A function that is queued while the process forks, and wants a lock which CPython holds meanwhile.
BODIES = {
    "its first import of NumPy": "pass",
    "an import": "import colorsys, wave",
    "logging": "import logging; logging.getLogger('reader').warning('read')",
    "an executor": "import concurrent.futures as c\n    with c.ThreadPoolExecutor(1) as e: e.submit(int).result()",
    "threads": "import threading\n    t = threading.Thread(target=int); t.start(); t.join()",
}
FORKS = {
    "os.fork": """
pid = os.fork()
if pid == 0: os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
    "multiprocessing": """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=int)
process.start()
process.join()
assert process.exitcode == 0
""",
    "preexec_fn": """
import subprocess
subprocess.run(["true"], preexec_fn=int, check=True)
""",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_fork_waits_for_functions(body):
    forks = "".join(f"\ndef by_{number}():\n{textwrap.indent(text.strip(), '    ')}" for number, text in enumerate(FORKS.values()))
    done = run(f"""
import os, time, asyncgrad as ag
def read(out):
    time.sleep(0.02)
    {BODIES[body]}
    out[...] = 1
{forks}
for fork in ({", ".join(f"by_{number}" for number in range(len(FORKS)))}):
    for queue in (lambda: ag.source("read", (4,), read), lambda: ag.custom("read", (4,), [], read)):
        x = queue()
        time.sleep(0.01)
        fork()
        assert x.sum().item() == 4
""")
    assert done.returncode == 0, done.stderr


def test_forks_while_another_thread_queues_functions():
    done = run("""
        import os, threading, asyncgrad as ag
        stop = threading.Event()
        def read(out):
            import logging
            logging.getLogger("reader").debug("reading")
            out[...] = 1
        def queue():
            while not stop.is_set(): assert ag.source("read", (4,), read).sum().item() == 4
        threads = [threading.Thread(target=queue) for _ in range(2)]
        for t in threads: t.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                ok = ag.source("read", (4,), read).sum().item() == 4
                os._exit(0 if ok else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for t in threads: t.join()
        """)
    assert done.returncode == 0, done.stderr


# Each waits until nothing is queued.
IDLE = {
    "options": "for n in range(200): ag.set_engine_options(queue_capacity=1000 + n % 2)",
    "batches": "assert len(next(iter(ag.data.Batches((np.ones((100, 3)),), batch_size=10)))[0]) == 10",
    "source": "assert ag.source('read', (4,), lambda out: out.fill(1)).sum().item() == 4",
    **FORKS,
}


@pytest.mark.parametrize("what", IDLE)
def test_a_thread_that_never_waits_lets_others_have_an_idle_engine(what):
    done = run(f"""
import os, threading, numpy as np, asyncgrad as ag
def queue():
    x = ag.ones(100, 100)
    while True:
        x = (x @ x).tanh() * .01
threading.Thread(target=queue, daemon=True).start()
while ag.engine_figures()["operations"] < 100: pass
{IDLE[what].strip()}
x = ag.ones(100, 100)
for _ in range(1000): x = x + 1
assert x.sum().item() == 1001 * 10_000
""")
    assert done.returncode == 0 and done.stderr == ""


def test_a_fork_in_the_wait_of_a_fork():
    done = run("""
import os, signal, time, asyncgrad as ag
def slow(out):
    time.sleep(.5)
    out.fill(1)
def fork(*_):
    if os.fork() == 0: os._exit(0)
    assert os.wait()[1] == 0
x = ag.source("read", (1,), slow)
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, .1)
fork()
assert x.item() == 1 and ag.source("read", (1,), slow).item() == 1
""", timeout=30)
    assert done.returncode == 0 and done.stderr == ""


def test_a_dry_run_that_begins_in_a_wait_is_an_error():
    done = run("""
import threading, time, asyncgrad as ag
def fail(out):
    time.sleep(.3)
    raise ValueError("failed")
y = ag.source("read", (1000,), fail) + 1
threading.Timer(.05, ag.set_engine_options, kwargs={"schedule": "dry_run"}).start()
for read in y.numpy, y.sum().item:
    try:
        read()
    except Exception as error:
        print("error")
""")
    assert done.returncode == 0 and done.stdout == "error\n" * 2


def test_training_goes_on_after_an_interrupted_comparison():
    done = run("""
import os, signal, threading, asyncgrad as ag, asyncgrad.experiment
def step(training):
    x, = training
    for _ in range(20): x = (x @ x).tanh() * .01
    return x.mean()
signal.setitimer(signal.ITIMER_REAL, .15)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    ag.experiment.compare(lambda: [ag.ones(100, 100)], step, runs="none:unbounded", steps=100_000, parameters=list)
except KeyboardInterrupt:
    print("interrupted")
x = ag.ones(100, 100)
for _ in range(20_000): x = x * .5 + 1
assert x.max().item() == 2
""")
    assert done.returncode == 0 and done.stdout == "interrupted\n"


def test_a_fork_in_a_function():
    done = run("""
        import os, logging, threading, asyncgrad as ag
        def read(out):
            pid = os.fork()
            if pid == 0: os._exit(7)
            out[...] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(ag.source("read", (4,), read).tolist())
        threading.Thread(target=lambda: print(logging.getLogger("a.b").name)).start()  # CPython's locks are free again
        """)
    assert (done.returncode, done.stdout.split("\n")[:2]) == (0, ["[7.0, 7.0, 7.0, 7.0]", "a.b"]), done.stderr


@pytest.mark.parametrize("fork", ["if os.fork() == 0: os._exit(0)",
                                  "multiprocessing.get_context('fork').Process(target=int).start()"])
def test_an_interrupt_ends_a_fork_that_waits_for_a_function(fork):
    done = run(f"""
        import multiprocessing, os, queue, signal, sys, threading, time, asyncgrad as ag
        signal.signal(signal.SIGINT, signal.default_int_handler)
        q = queue.Queue()
        x = ag.source("read", (1,), lambda out: out.fill(q.get()))
        time.sleep(0.2)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        program = os.getpid()
        try:
            {fork}
            print("forked", os.getpid() == program)
        except KeyboardInterrupt:
            print("interrupted", os.getpid() == program)  # the child ends at once
        q.put(5)
        print(x.item())
        if os.fork() == 0: os._exit(0 if (ag.ones(2) + 1).sum().item() == 4 else 1)
        pid, status = os.wait()
        while status != 0: pid, status = os.wait()
        print("forks again")
        """, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted True\n5.0\nforks again\n"), done.stderr


def test_a_fork_in_a_destructor():
    done = run("""
        import os, threading, asyncgrad as ag
        def read(out): out.fill(1)
        class Read:
            def __call__(self, out): out.fill(1)
            def __del__(self):
                pid = os.fork()
                if pid == 0: os._exit(int(ag.source("read", (2,), read).sum().item()))
                print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
                global forks
                forks += 1
        forks = 0
        def work():  # not on the main thread, so that an object goes when a later source is queued
            for _ in range(3): ag.source("read", (1,), Read()).wait()
            while forks < 3: ag.source("read", (1,), read).wait()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """, timeout=60)
    # A child may release another object, too.
    assert done.returncode == 0 and done.stdout.count("2\n") >= 3 and not done.stdout.replace("2\n", ""), done.stderr


def test_an_import_while_the_process_ends():
    done = run("""
        import threading, time
        def late():
            threading.main_thread().join()
            import asyncgrad as ag
            print(ag.source("read", (2,), lambda out: out.fill(1)).sum().item(), flush=True)
        threading.Thread(target=late).start()
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0\n", "")


def test_a_child_that_is_forked_in_a_function_may_end():
    done = run("""
        import os, sys, asyncgrad as ag
        def read(out):
            pid = os.fork()
            if pid == 0:
                try: ag.ones(2).sum().item()
                except Exception as e: assert "operation" in str(e), e
                os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit(5)"])
            out[...] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(ag.source("read", (1,), read).item())
        """)
    assert (done.returncode, done.stdout) == (0, "5.0\n"), done.stderr


@pytest.mark.parametrize("wait", [
    "x.wait", "x.item", "ag.wait_all", "lambda: [x.sum().item() for _ in range(99)]", "lambda: ag.mark().wait()",
    "lambda: [ag.custom('own', (1,), [x], lambda o, x: None).wait()]",
    "lambda: ag.with_gradient('own', ag.ones(1), [w], forever).backward()",
])
def test_the_end_with_a_daemon_thread_that_waits(wait):
    done = run(f"""
        import sys, threading, time, asyncgrad as ag
        w = ag.ones(1).requires_grad_()
        def forever(dy):
            while True: sum(range(1000))
        x = ag.randn(1000, 1000)
        for _ in range(20): x = (x @ x) * 1e-3
        x = x.sum()
        threading.Thread(target={wait}, daemon=True).start()
        time.sleep(0.03)
        sys.exit(3)
        """)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize("wait", ["q.get()", "time.sleep(1000)", "[None for _ in iter(int, 1)]"])
def test_the_end_with_a_source_that_blocks(wait):
    done = run(f"""
        import queue, time, asyncgrad as ag
        q = queue.Queue()
        x = ag.source("read", (4,), lambda out: {wait})
        time.sleep(0.1)
        """, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_interrupt_at_the_end_does_not_wait_for_a_function():
    program = """
        import queue, time, signal, asyncgrad as ag
        signal.signal(signal.SIGINT, signal.default_int_handler)
        q = queue.Queue()
        ag.custom("own", (4,), [], lambda out: (print("runs", flush=True), q.get()))
        time.sleep(0.3)
        """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "runs\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in text and process.returncode == 0


@pytest.mark.parametrize("program", [
    # Before the function is called.
    """
    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "numpy": time.sleep(1)
    sys.meta_path.insert(0, Slow())
    def function(out): pass
    """,
    # After it has raised.
    """
    import numpy
    class Own(Exception):
        def __str__(self, sleep=time.sleep): sleep(1)
    def function(out): raise Own
    """], ids=["arrays", "exception"])
def test_an_interpreter_that_ends_meanwhile_takes_no_lock_away(program):
    """What the end leaves behind, because of an interrupt, may be in any function of Python."""
    done = run(f"""
        import asyncgrad as ag, signal, sys, time
        class Late:  # so that the interpreter still ends when the second is over
            def __del__(self, sleep=time.sleep): sleep(1.5)
        sys.modules["late"] = Late()
        def interrupt(*_): raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        {textwrap.indent(textwrap.dedent(program), " " * 8).strip()}
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        ag.custom("own", (1,), [], function)
        time.sleep(0.2)
        """)
    assert done.returncode == 0 and done.stderr.rstrip().endswith("KeyboardInterrupt:"), done.stderr


def test_a_function_that_has_started_ends_before_the_process():
    done = run("""
        import time, asyncgrad as ag
        ag.custom("own", (1,), [], lambda out: (print("begins", flush=True), time.sleep(1.5), print("ends", flush=True)))
        time.sleep(0.2)
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "begins\nends\n", "")


def test_a_function_that_comes_too_late_is_an_error_of_who_waits():
    done = run("""
        import atexit
        def late():
            print("sum", (ag.ones(2) + 1).sum().item())
            for x in queued:
                try: print(x.tolist())
                except ag.Error as e: print(e)
        atexit.register(late)  # before the import: it is called after the package's
        import asyncgrad as ag
        x = ag.randn(700, 700)
        for _ in range(20): x = (x @ x) * 1e-3
        queued = [ag.custom("fill", (2,), [x], lambda out, x: out.fill(7))]
        """)
    assert done.returncode == 0 and done.stdout.startswith("sum 4.0\n[fill] the interpreter has ended"), done.stdout
    assert done.stderr == ""


def test_sys_exit_in_threads():
    done = run("""
        import sys, threading, asyncgrad as ag
        def work():
            (ag.randn(100, 100) @ ag.randn(100, 100)).wait()
            sys.exit(4)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        sys.exit(2)
        """)
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize("first", ["numpy", "logging", "concurrent.futures", "multiprocessing", "torch"])
@pytest.mark.parametrize("order", ["import {0}, asyncgrad", "import asyncgrad, {0}"])
def test_orders_of_imports(first, order):
    if first == "torch":
        pytest.importorskip("torch")
    done = run(f"""
        {order.format(first)}
        import os, time
        ag = asyncgrad
        x = ag.source("read", (4,), lambda out: (time.sleep(0.05), __import__("logging").getLogger("a"), out.fill(1)))
        time.sleep(0.02)
        if os.fork() == 0: os._exit(0)
        print(x.sum().item())
        """)
    assert (done.returncode, done.stdout) == (0, "4.0\n"), done.stderr
