import os

import pytest

import asyncgrad as ag

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", "/tmp/asyncgrad_hypothesis")


@pytest.fixture(autouse=True)
def fresh():
    """Every test begins with the same random numbers and leaves no error behind."""
    ag.manual_seed(0)
    yield
    ag.recover()
