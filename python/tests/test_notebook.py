"""What notebooks show of tensors, tables and profiles."""
import html
import re

import numpy as np
import pytest

import asyncgrad as ag
import asyncgrad.extend


def cells(page):
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]


def test_a_matrix_is_a_table():
    page = ag.array([[1.5, -2.0], [np.nan, 1e-7]]).requires_grad_()._repr_html_()
    assert cells(page) == [["1.5", "-2"], ["nan", "1e-07"]]
    assert "<caption>float32 (2, 2) on cpu, requires a gradient</caption>" in page


@pytest.mark.parametrize("dtype, text", [("int32", ["1", "0"]), ("bool", ["True", "False"]), ("bfloat16", ["1", "0"])])
def test_a_vector_is_a_row(dtype, text):
    page = ag.array([1, 0]).astype(dtype)._repr_html_()
    assert cells(page) == [text] and f"{dtype} (2,) on cpu" in page


def test_ends_of_long_axes_are_shown():
    rows = cells(ag.arange(100 * 30).reshape(100, 30)._repr_html_())
    assert len(rows) == len(rows[0]) == 11
    assert rows[0] == ["0", "1", "2", "3", "4", "…", "25", "26", "27", "28", "29"] and rows[5] == ["…"] * 11 and rows[10][-1] == "2999"
    assert len(cells(ag.arange(11)._repr_html_())[0]) == 11


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 2, 2)])
def test_other_tensors_are_text(shape):
    x = ag.ones(shape)
    assert x._repr_html_() == f"<pre>{html.escape(str(x))}\nfloat32 {shape} on cpu</pre>"


def test_it_waits_as_repr_does():
    def broken(out):
        raise RuntimeError("no values")

    x = ag.source("broken", (2,), broken)
    with pytest.raises(ag.Error, match="no values"):
        x._repr_html_()


def test_a_derived_class_prints_itself():
    class Own(ag.Tensor):
        __slots__ = ()

    assert ag.extend.as_class(ag.ones(2), Own)._repr_html_() is None


def test_texts_are_escaped():
    class Net(ag.nn.Module):
        def __init__(self):
            self.members_by_name = {"<b>&": ag.nn.Dense(2, 3)}

    summary = Net().summary()
    assert isinstance(summary, str) and "<b>&" in summary
    assert summary._repr_html_() == f"<pre>{html.escape(summary)}</pre>" and "<b>" not in summary._repr_html_()


def test_profiles_are_shown():
    ag.profiler.start()
    ag.ones(2).wait()
    waits, times = ag.profiler.blockers(), ag.profiler.stop()
    for shown in (waits, times):
        assert shown._repr_html_() == f"<pre>{html.escape(repr(shown))}</pre>"
