"""Paths of files, and names in them."""
import os
import pathlib

import pytest

import asyncgrad as ag

USES = {
    "save": (lambda path: ag.save(path, {"a": ag.ones(2)}), True),
    "load": (lambda path: ag.load(path), False),
    "load into": (lambda path: ag.load(path, {"a": ag.zeros(2)}), False),
    "save checkpoint": (lambda path: ag.Checkpoint(x=ag.ones(2)).save(path), True),
    "load checkpoint": (lambda path: ag.Checkpoint(x=ag.ones(2)).load(path), False),
    "trace": (lambda path: (ag.profiler.start(), ag.profiler.stop(path)), True),
}
KINDS = [str, os.fsencode, pathlib.Path, lambda p: type("Path", (), {"__fspath__": lambda self: os.fsencode(p)})()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plain", "ümläut", b"not \xff utf-8"])
def test_every_kind_of_path(kind, name, tmp_path):
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    for use in ("save", "load", "load into", "save checkpoint", "load checkpoint", "trace"):
        USES[use][0](kind(os.fsdecode(path)))
        assert os.path.exists(path)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [str, os.fsencode])
def test_a_path_with_a_zero_is_refused(use, kind, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("x")
    with pytest.raises(ValueError, match="embedded null"):
        USES[use][0](kind(f"{precious}\0.new"))
    assert precious.read_text() == "x" and os.listdir(tmp_path) == ["precious"]
    if use == "trace":
        ag.profiler.stop()


@pytest.mark.parametrize("wrong", [None, 7, 1.5, ["file"]])
@pytest.mark.parametrize("use", ["save", "load into", "save checkpoint", "load checkpoint"])
def test_what_is_no_path(use, wrong):
    with pytest.raises(TypeError):
        USES[use][0](wrong)


def test_what_is_saved_can_be_loaded(tmp_path):
    path = tmp_path / "file"
    ag.save(path, {1: ag.ones(2), "é \"\n": ag.zeros(1), "": ag.ones(0)})
    assert set(ag.load(path)) == {"1", "é \"\n", ""}
    before = path.read_bytes()
    for wrong in ({1: ag.ones(2), "1": ag.zeros(2)}, {"__metadata__": ag.ones(2)}):
        with pytest.raises((ValueError, ag.Error)):
            ag.save(path, wrong)
        assert path.read_bytes() == before


def test_a_checkpoint_refuses_two_keys_of_one_name(tmp_path):
    with pytest.raises(ValueError):
        ag.Checkpoint(x={1: 2, "1": 3}).save(tmp_path / "file")
