"""Order, selection by value and other sizes, beside NumPy."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import asyncgrad as ag

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort_is_stable_and_keeps_the_type(dtype, axis):
    a = RANDOM.integers(0, 2 if dtype == "bool" else 9, (6, 7)).astype(dtype)
    places = np.argsort(a, axis, kind="stable")
    x = ag.array(a)
    assert np.array_equal(ag.argsort(x, axis), places)
    values, indices = x.sort(axis)
    assert str(values.dtype) == str(x.dtype) and np.array_equal(indices, places)
    assert np.array_equal(values, np.sort(a, axis))


def test_topk():
    a = RANDOM.permutation(40).reshape(4, 10).astype("float32")
    values, indices = ag.topk(ag.array(a), 3)
    assert np.array_equal(values, -np.sort(-a)[:, :3])
    assert np.array_equal(np.take_along_axis(a, np.asarray(indices), 1), values)
    values, _ = ag.array(a).topk(2, axis=0, largest=False)
    assert np.array_equal(values, np.sort(a, 0)[:2])
    with pytest.raises(ValueError, match="count must be in"):
        ag.topk(ag.array(a), 11)


def test_selection_by_value():
    a = np.array([[0, 3, -1], [0, 5, 3]])
    x = ag.array(a)
    assert np.array_equal(ag.nonzero(x), np.argwhere(a))
    assert np.array_equal(x.masked_select(x > 0), a[a > 0])
    values, inverse, counts = ag.unique(x)
    wanted = np.unique(a, return_inverse=True, return_counts=True)
    assert np.array_equal(values, wanted[0]) and np.array_equal(counts, wanted[2])
    assert np.array_equal(values.numpy()[inverse.numpy()], a)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_unique_of_few_and_many_values(dtype):
    rng = np.random.default_rng(1)
    for different in 1, 2, 50, 8191, 8192, 8193, 20_000:
        a = np.concatenate([np.arange(different), rng.integers(0, different, 3000)])
        a = (rng.permutation(a) - different // 2).astype(dtype) * (1 if dtype == "int64" else 0.25)
        if dtype != "int64":
            a[::500] = np.nan
            a[1::2] = np.where(a[1::2] == 0, -0.0, a[1::2])
        values, inverse, counts = ag.unique(ag.array(a))
        wanted, first, of_each, count = np.unique(a, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
        assert np.array_equal(np.asarray(values).view("u4" if dtype == "float32" else "u8"),
                              a[first].view("u4" if dtype == "float32" else "u8"))  # the first of equal zeros
        assert np.array_equal(inverse, of_each) and np.array_equal(counts, count)


def test_index_add():
    x = ag.parameter(ag.zeros(3, 2))
    source = ag.parameter(ag.arange(8, dtype="float32").reshape(4, 2))
    y = ag.index_add(x, ag.array([2, 0, 2, 2]), source, 0)
    assert y.tolist() == [[2, 3], [0, 0], [10, 13]]
    (y * y).sum().backward()
    assert source.grad.tolist() == [[20, 26], [4, 6], [20, 26], [20, 26]]


def test_pooling_and_interpolation():
    x = ag.arange(12, dtype="float32").reshape(1, 2, 6)
    assert ag.max_pool1d(x, 2).tolist() == [[[1, 3, 5], [7, 9, 11]]]
    assert ag.avg_pool1d(x, 3, stride=3).tolist() == [[[1, 4], [7, 10]]]
    planes = ag.array([[[[0.0, 1.0], [2.0, 3.0]]]])
    assert ag.interpolate(planes, (2, 4)).tolist() == [[[[0, 0, 1, 1], [2, 2, 3, 3]]]]
    assert ag.interpolate(planes, (1, 4), mode="bilinear").tolist() == [[[[1, 1.25, 1.75, 2]]]]
    with pytest.raises(TypeError, match="'nearest' or 'bilinear'"):
        ag.interpolate(planes, 2, mode="cubic")


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_planes_without_memory_are_an_error(mode):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(f"""
        import asyncgrad as ag, resource
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        try: ag.interpolate(ag.ones(1, 1, 2, 2), (2 ** 40, 1), {mode!r}).wait()
        except ag.Error as error: print("out of memory" in str(error))
        """)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


def test_numbers_at_equal_distances():
    assert np.array_equal(ag.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype="float32"))
    assert np.array_equal(ag.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, False, dtype="float32"))
    assert ag.linspace(0, 10, 3, dtype="int64").tolist() == [0, 5, 10]
    for k in (-5, -1, 0, 2, 7):
        assert np.array_equal(ag.eye(3, 4, k), np.eye(3, 4, k))


def test_averages_and_plateaus_in_checkpoints(tmp_path):
    def made():
        p = ag.parameter(ag.ones(2))
        sgd = ag.optim.SGD([p], lr=1)
        average, plateau = ag.optim.WeightAverage([p], decay=0.5), ag.optim.Plateau(sgd, patience=1)
        return p, sgd, average, plateau, ag.Checkpoint(average=average, plateau=plateau)

    p, sgd, average, plateau, checkpoint = made()
    with ag.no_grad():
        p[...] = 3
    average.update()
    assert plateau.step(1.0) is False and plateau.step(1.0) is False
    checkpoint.save(tmp_path / "c")
    _, sgd, average, plateau, checkpoint = made()
    checkpoint.load(tmp_path / "c")
    assert average.updates == 1 and average.averages[0].tolist() == [2, 2]
    assert plateau.step(1.0) is True and sgd.lr == pytest.approx(0.1)
    average.swap()
