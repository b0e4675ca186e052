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
