"""Other interpreters of a process, which cannot have the package, and do it no harm."""
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    if sys.argv[1] == "last":
        import asyncgrad
    for kind in ["legacy", "isolated"] if sys.version_info >= (3, 13) else [None]:
        interpreter = interpreters.create(*filter(None, [kind]))
        interpreters.run_string(interpreter, f'''if True:
            import sys
            sys.path[:0] = {sys.path!r}
            try:
                import asyncgrad
            except ImportError as error:
                print(error)
            ''')
        interpreters.destroy(interpreter)
    import asyncgrad as ag, numpy as np
    net = ag.nn.Sequential(ag.nn.Dense(2, 2, "relu"))
    assert len(net.state()) == 2 and ag.zeros(2, dtype="float64").dtype == ag.float64
    assert ag.custom("one", (2,), [], lambda out: out.fill(1)).tolist() == [1, 1]
    """


@pytest.mark.parametrize("order", ["first", "last"])
def test_another_interpreter_is_turned_away(order):
    pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM), order], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines and all("main interpreter of a process alone" in line or "does not support loading in subinterpreters" in line for line in lines)


AGAIN = """
    import importlib, sys
    import asyncgrad as ag
    net = ag.nn.Sequential(ag.nn.Dense(2, 3), ag.nn.Dense(3, 1))
    importlib.reload(ag)
    importlib.reload(ag.nn)
    assert len(net.parameters()) == 4 and isinstance(net, ag.nn.Module) and ag.nn.Dense(2, 3)(ag.ones(1, 2)).shape == (1, 3)
    try:
        importlib.reload(ag.nn.module)
    except ImportError as error:
        print(error)
    assert len(net.parameters()) == 4 and len(ag.nn.Sequential(net).parameters()) == 4
    for name in [name for name in sys.modules if name.startswith("asyncgrad")]:
        del sys.modules[name]
    try:
        import asyncgrad
    except ImportError as error:
        print(error)
    """


def test_the_package_is_loaded_once():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(AGAIN)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "nanobind" not in done.stderr, done.stderr
    assert done.stdout.splitlines() == [
        "asyncgrad.nn.module cannot be reloaded: layers that were made before would have no parameters; start a new process",
        "asyncgrad can be imported once in a process, and was taken out of sys.modules since; start a new process"]
