"""x[key] and x[key] = value in every form that NumPy has."""
import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import asyncgrad as ag

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def numbered(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


def same(x, expected):
    values = np.asarray(x)
    assert values.shape == expected.shape
    np.testing.assert_array_equal(values, expected)


@st.composite
def keys(draw, shape):
    """A key of slices, integers, None, ..., arrays of integers and masks."""
    if draw(st.booleans()):
        return draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    places = draw(hnp.array_shapes(max_dims=2, max_side=3))
    key = []
    axis = 0
    while axis < len(shape) and draw(st.booleans() if axis else st.just(True)):
        kind = draw(st.sampled_from(["array", "list", "slice", "int", "mask"]))
        extent = shape[axis]
        if kind == "array":
            key.append(draw(hnp.arrays("int64", places, elements=st.integers(-extent, extent - 1))))
        elif kind == "list":
            key.append(draw(st.lists(st.integers(-extent, extent - 1), min_size=places[-1], max_size=places[-1])))
        elif kind == "slice":
            key.append(draw(st.slices(extent)))
        elif kind == "int":
            key.append(draw(st.integers(-extent, extent - 1)))
        else:
            mask = np.zeros(extent, bool)
            mask[:places[-1]] = True
            if mask.sum() != places[-1] and mask.sum() != 1:
                mask[:] = False
                mask[0] = True
            key.append(mask)
        axis += 1
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), None)
    if axis == len(shape) and draw(st.booleans()):  # an ellipsis that stands for no axis
        key.insert(draw(st.integers(0, len(key))), Ellipsis)
    return tuple(key)


@st.composite
def parts(draw):
    """An array, a key, and what NumPy selects by it; of at most six axes."""
    x = numbered(draw(SHAPES))
    key = draw(keys(x.shape))
    try:
        part = x[key]
    except IndexError:
        reject()
    assume(part.ndim <= 6)
    return x, key, part


@given(drawn=parts())
@settings(max_examples=400, deadline=None)
def test_get(drawn):
    x, key, part = drawn
    same(ag.array(x)[key], part)
    of_tensors = tuple(ag.array(item) if isinstance(item, np.ndarray) else item for item in (key if isinstance(key, tuple) else (key,)))
    same(ag.array(x)[of_tensors], part)


@given(drawn=parts(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_set(drawn, data):
    x, key, part = drawn
    a = ag.array(x)
    if data.draw(st.booleans()):
        value = data.draw(st.sampled_from([-1, -2.5]))
    else:
        value = -1 - numbered(part.shape)
        value = value[0] if value.ndim and data.draw(st.booleans()) and len(value) else value
    x[key] = value
    a[key] = value
    same(a, x)


@pytest.mark.parametrize("key", [
    (slice(None), 1, Ellipsis, [0, 1]), (0, Ellipsis, [0, 1], slice(None)), ([0, 1], Ellipsis, [1, 0], [1, 1]),
    (Ellipsis, 1, [0, 1]), (slice(None), 1, [0, 1], Ellipsis),
])
def test_an_ellipsis_without_axes_keeps_indices_apart(key):
    x = numbered((2, 2, 2))
    a = ag.array(x)
    same(a[key], x[key])
    a[key] *= 1
    same(a, x)


@pytest.mark.parametrize("shape", [(7,), (8,), (9, 1), (1, 9), (3, 5, 7), (2, 3, 4, 5), (64, 129), (0,), (3, 0)])
def test_places_of_what_is_true(shape):
    for share in 0, 0.01, 0.5, 1:
        mask = np.random.default_rng(1).random(shape) < share
        same(ag.nonzero(ag.array(mask)), np.argwhere(mask))
        x = np.arange(float(mask.size)).reshape(shape)
        same(ag.array(x)[ag.array(mask)], x[mask])
        same(ag.array(x)[mask], x[mask])
        if mask.ndim > 1:
            rows = mask.any(axis=-1)
            same(ag.array(x)[ag.array(rows)], x[rows])


@pytest.mark.parametrize("key", [0, -1, slice(1, 3), [2, 0], (slice(None), 1), (Ellipsis, -1), np.array([1, 1, 0])])
def test_gradient(key):
    x = ag.array(numbered((4, 3))).requires_grad_()
    y = x[key]
    y.backward(ag.ones_like(y))
    expected = np.zeros((4, 3))
    np.add.at(expected, key, 1)
    same(x.grad, expected)


def test_tensors_as_indices():
    x = numbered((4, 3))
    a = ag.array(x)
    same(a[ag.array([2, -1])], x[[2, -1]])
    same(a[ag.array(1)], x[1])
    same(a[:, ag.array([[0, 1], [2, -3]])], x[:, [[0, 1], [2, 0]]])
    same(a[ag.array([0, 1]), ag.array([2, 0])], x[[0, 1], [2, 0]])
    a[ag.array([0, 0, 1])] = ag.array(numbered((3, 3)))
    x[[0, 0, 1]] = numbered((3, 3))
    same(a, x)


def test_masks():
    x = numbered((4, 3)) - 5
    a = ag.array(x)
    same(a[a > 0], x[x > 0])
    same(a[a[:, 0] > -3], x[x[:, 0] > -3])
    a[a < 0] = 0
    x[x < 0] = 0
    a[a > 3] *= 2
    x[x > 3] *= 2
    a[a == 4] = ag.array(numbered((int((x == 4).sum()),)))
    x[x == 4] = numbered((int((x == 4).sum()),))
    same(a, x)


@pytest.mark.parametrize("key", [
    True, False, np.True_, np.array(False), (True, 0), (0, True), (False, slice(1)), (..., True), (None, False), (True, [0, 2]), (True, True), ([0, 2], True),
])
def test_a_single_bool_is_a_mask_without_axes(key):
    x = numbered((4, 3))
    a = ag.array(x).requires_grad_()
    part = a[key]
    same(part, x[key])
    part.sum().backward()
    expected = np.zeros((4, 3))
    expected[key] = 1
    same(a.grad, expected)
    b = ag.array(x)
    b[key], x[key] = -1, -1
    same(b, x)


def test_views():
    x = ag.array(numbered((4, 3)))
    x[1] += 10
    x[2:4][0] = 7
    assert np.asarray(x)[1].tolist() == [13, 14, 15] and np.asarray(x)[2].tolist() == [7, 7, 7]
    row = x[np.int64(0)]  # an integer of NumPy's
    row += 1
    assert np.asarray(x)[0].tolist() == [1, 2, 3] and x[np.int64(1), np.int64(2)].item() == 15


@pytest.mark.parametrize("key", [4, -5, (0, 3), (0, 0, 0), [4], "a", 1.5, (Ellipsis, Ellipsis), np.ones(3, bool), ag.ones(1),
                                 ([0, 1], [0, 1, 2])])
def test_bad_keys(key):
    x = ag.zeros(4, 3)
    with pytest.raises((IndexError, TypeError)):
        x[key]
    with pytest.raises((IndexError, TypeError)):
        x[key] = 1
    same(x, np.zeros((4, 3)))


def test_an_index_that_is_not_there_fails_later():
    y = ag.zeros(4, 3)[ag.array([1, 9])]
    with pytest.raises(ag.Error, match="9"):
        y.wait()


@pytest.mark.parametrize("key, message", [
    (([0], [5]), r"index 5 at position 0 of indices\[1\] is outside \[-4, 4\)"),
    (([2], [-5]), r"index -5 at position 0 of indices\[1\] is outside \[-4, 4\)"),
    (([1, 3], [0, 0]), r"index 3 at position 1 of indices\[0\] is outside \[-3, 3\)"),
    (([-4], [3]), r"index -4 at position 0 of indices\[0\] is outside \[-3, 3\)"),
])
@pytest.mark.parametrize("tensors", [(0,), (1,), (0, 1)])
def test_an_index_of_each_axis_stays_within_it(key, message, tensors):
    x = ag.arange(12).reshape(3, 4)
    given = tuple(ag.array(index) if i in tensors else np.array(index) for i, index in enumerate(key))
    with pytest.raises((ag.Error, IndexError), match=rf"{message}|index -?\d is out of bounds for axis [01]"):
        x[given].wait()
    with pytest.raises((ag.Error, IndexError)):
        x[given] = 1
    same(x, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("key", [[0, 1], np.array([True, True, False, False, False, False]), ag.array([1, 0])])
def test_a_part_of_a_tensor_is_assigned_to_another_part(key):
    x, expected = ag.arange(6).astype("float32"), np.arange(6.0)
    x[key] = x[1:3]
    expected[np.asarray(key)] = expected[1:3].copy()
    same(x, expected)


def test_assigned_gradients():
    w = ag.ones(2).requires_grad_()
    x = ag.zeros(4)
    x[1:3] = w * 3
    x.sum().backward()
    assert w.grad.tolist() == [3, 3]
    w.zero_grad()
    y = ag.zeros(4)
    y[[0, 3]] = w * 2
    (y * ag.arange(4).astype("float32")).sum().backward()
    assert w.grad.tolist() == [0, 6]
    w.zero_grad()
    z = ag.zeros(2)
    z[[1, 1]] = w * 2  # the last one counts
    z.sum().backward()
    assert z.tolist() == [0, 2] and w.grad.tolist() == [0, 2]


def test_what_is_overwritten_has_no_gradient():
    w = ag.array(numbered((2, 2))).requires_grad_()
    x = w * w
    x[[0, 0], [1, 1]] = 7
    x.sum().backward()
    assert x.tolist() == [[0, 7], [4, 9]] and w.grad.tolist() == [[0, 0], [4, 6]]
