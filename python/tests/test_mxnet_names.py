"""docs/mxnet.md tells the truth: names that it calls computed are there, and those that it calls missing are not."""
import pathlib
import re

import pytest

import asyncgrad.mxnet

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "mxnet.md"
ROWS = re.findall(r"^\| `([a-z._]+)` \| `?([^|`]*)`? \| `?([^|`]*)`? \|$", PAGE.read_text(), re.M)


@pytest.mark.parametrize("module, computed, missing", ROWS, ids=[row[0] for row in ROWS])
def test_names(module, computed, missing):
    space = asyncgrad.mxnet
    for part in module.split("."):
        space = getattr(space, part)
    assert [name for name in computed.split() if not hasattr(space, name)] == []
    for name in missing.split():
        with pytest.raises(AttributeError, match=name):
            getattr(space, name)


def test_the_page_has_every_module():
    assert len(ROWS) == 18 and all(computed for _, computed, _ in ROWS)
