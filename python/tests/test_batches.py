"""Data sets in batches: what items may be, and where a training goes on."""
import gc
import threading
import weakref

import numpy as np
import pytest

import asyncgrad as ag


class Data:
    def __init__(self, items):
        self.items, self.threads = items, set()

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        self.threads.add((i, threading.get_ident()))
        return self.items[i]


def batch(items):
    return [part.tolist() for part in next(iter(ag.data.Batches(Data(items), 8, shuffled=False)))]


@pytest.mark.parametrize("items, error", [
    ([1, 2.5, 3.75], "part 0 of item 1 is float32, that of the first item int64"),
    ([np.array([1.0, 2, 3]), np.array([9.0])], r"part 0 of item 1 has the shape \(1,\), that of the first item \(3,\)"),
    ([np.zeros((2, 1)), np.zeros((1, 2))], r"part 0 of item 1 has the shape \(1, 2\)"),
    ([(1.0, 2.0), (3.0,)], "item 1 has 1 parts where the first item has 2"),
    ([(1.0, 2.0), (3.0, 4.0, 5.0)], "item 1 has 3 parts where the first item has 2"),
    ([(1.0, 2.0), 3.0], "item 1 has 1 parts"),
    ([np.zeros(2, "float32"), np.zeros(2)], "part 0 of item 1 is float64, that of the first item float32"),
    ([np.zeros(2, "uint8"), np.zeros(2, "int64")], "part 0 of item 1 is int64, that of the first item uint8"),
    ([1, "two"], "a batch cannot have items of type"),
    ([1.5, 2.5j], "a batch cannot have items of type complex128"),
])
def test_items_that_differ_are_refused(items, error):
    with pytest.raises(ag.Error, match=error):
        batch(items)
    ag.recover()


@pytest.mark.parametrize("data", [np.array([1, 2**63], "uint64"), [2**63], [1, 2**63], [(1.0, np.array([2**64 - 1], "uint64"))]])
def test_integers_that_do_not_fit_are_refused(data):
    with pytest.raises((OverflowError, ag.Error), match="a batch has its integers in int64, which cannot hold (9223372036854775808|18446744073709551615)"):
        for parts in ag.data.Batches(data, 2, shuffled=False):
            [part.wait() for part in parts]
    assert next(iter(ag.data.Batches(np.array([2**63 - 1], "uint64"), 1)))[0].tolist() == [2**63 - 1]


@pytest.mark.parametrize("data", [np.ones(2, np.longdouble), [np.longdouble(1)]])
def test_numbers_of_more_bits_are_refused(data):
    with pytest.raises(TypeError, match=r"a batch cannot have items of type (float128|longdouble)"):
        ag.data.Batches(data, 2)


class Endless:
    def __len__(self):
        return 2**62

    def __getitem__(self, i):
        return float(i)


def test_more_items_than_fit_into_memory():
    with pytest.raises(MemoryError, match="a list of so many elements does not fit into memory"):
        next(iter(ag.data.Batches(Endless(), 2)))
    with pytest.raises(MemoryError, match="a list of so many elements does not fit into memory"):
        ag.data.weighted([1, 1], samples=2**62)(2, 0)
    assert next(iter(ag.data.Batches(Endless(), 2, shuffled=False)))[0].tolist() == [0, 1]


def test_masks_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for make in (lambda: ag.data.Batches(masked, 1), lambda: ag.data.Batches((np.zeros(2), masked)), lambda: batch([masked]),
                 lambda: batch([(1, masked)])):
        with pytest.raises(TypeError, match="mask"):
            make()
    with pytest.raises(ag.Error, match="mask"):
        batch([np.zeros(2), masked])
    ag.recover()
    assert batch([np.ma.array([1.0, 2.0]), np.zeros(2)]) == [[[1, 2], [0, 0]]]  # none is masked
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="array"):
        batch([deep])


def test_items_that_fit():
    assert batch([1.5, 2, True]) == [[1.5, 2, 1]]  # an integer among numbers
    assert batch([(1, [2.0, 3.0]), (4, [5.0, 6.0])]) == [[1, 4], [[2, 3], [5, 6]]]


def test_types_of_batches():
    def types(data):
        return [str(part.dtype) for part in next(iter(ag.data.Batches(data, 2)))]

    pixels, labels = np.zeros((4, 3), "uint8"), np.zeros(4, "uint8")
    assert types((pixels, labels, np.zeros(4, "float16"), np.zeros(4), np.zeros((4, 2), "int32"))) == [
        "uint8", "int64", "float32", "float64", "int64"]
    assert types(Data(list(zip(pixels, labels)))) == ["uint8", "int64"]
    with pytest.raises(TypeError, match="complex"):
        ag.data.Batches(np.zeros(2, "complex64"))
    for arrays in ((np.zeros(2), np.zeros(3)), np.array(1.0)):
        with pytest.raises(ValueError, match="rows"):
            ag.data.Batches(arrays)


def test_only_the_first_item_is_read_on_the_programs_thread():
    data = Data(list(range(12)))
    for (x,) in ag.data.Batches(data, 4, shuffled=False):
        x.wait()
    own = {i for i, thread in data.threads if thread == threading.get_ident()}
    assert own == {0} and {i for i, thread in data.threads if thread != threading.get_ident()} == set(range(12))


def seen(batches, count=None):
    found = []
    for (x,) in batches:
        found.append(x.tolist())
        if len(found) == count:
            break
    return found


def test_a_training_goes_on_within_an_epoch(tmp_path):
    whole = ag.data.Batches(np.arange(8), 2, seed=3)
    expected = [seen(whole), seen(whole)]
    batches = ag.data.Batches(np.arange(8), 2, seed=3)
    assert seen(batches, 2) == expected[0][:2] and (batches.epoch, batches.batch) == (0, 2)
    ag.Checkpoint(batches=batches).save(tmp_path / "c")
    assert batches.get_state() == {"epoch": 0, "batch": 2}
    other = ag.data.Batches(np.arange(8), 2, seed=3)
    seen(other, 1)
    ag.Checkpoint(batches=other).load(tmp_path / "c")
    for going_on in (batches, other):
        assert seen(going_on) == expected[0][2:] and seen(going_on) == expected[1]


def test_a_place_beyond_the_epoch_is_an_error():
    batches = ag.data.Batches(np.arange(8), 2)
    batches.set_state({"epoch": 0, "batch": 50})
    with pytest.raises(ValueError, match=r"\[Batches\] the place is batch 50 of epoch 0, which has 4; it was kept with another batch_size or other data"):
        next(iter(batches))
    batches.set_state({"epoch": 0, "batch": 3})
    assert len(seen(batches)) == 1


def test_a_data_set_without_items():
    items = []
    batches = ag.data.Batches(Data(items), 2, shuffled=False)
    assert len(batches) == 0 and seen(batches) == []
    items.extend([1, 2, 3])
    assert len(batches) == 2 and seen(batches) == [[1, 2], [3]]
    assert seen(ag.data.Batches((np.zeros((0, 3)), np.zeros(0)))) == []


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"ahead": -1}])
def test_options_that_make_no_sense(options):
    with pytest.raises(ValueError, match="Batches"):
        ag.data.Batches(np.arange(3), **options)


def test_options_of_other_names():
    with pytest.raises(TypeError, match="Batches has no parameter shuffle; it has data, batch_size=32, shuffled=True"):
        ag.data.Batches(np.arange(3), shuffle=False)


class Drawn:
    """Items with random numbers of their own."""

    def __init__(self, count, draw=lambda random: random.getrandbits(60)):
        self.count, self.draw = count, draw

    def __len__(self):
        return self.count

    def item(self, i, random):
        return i, self.draw(random)


def pairs(batches, count=None):
    """(epoch, item, what it drew) of each."""
    found = []
    for step, (i, drawn) in enumerate(batches):
        found.extend(zip([batches.epoch] * len(i), i.tolist(), drawn.tolist()))
        if step + 1 == count:
            break
    return found


def split_mix(counter):
    mask = (1 << 64) - 1
    z = (counter + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_random_items_repeat_with_the_seed():
    def epochs(**options):
        batches = ag.data.Batches(Drawn(20), 3, **options)
        return [sorted((i, drawn) for _, i, drawn in pairs(batches)) for _ in range(3)]

    once = epochs(seed=5)
    assert once == epochs(seed=5, ahead=7, shuffled=False)
    drawn = [number for epoch in once for _, number in epoch]
    assert len(set(drawn)) == 60  # another one for each item and epoch
    assert once != epochs(seed=6)
    for epoch in range(3):  # as in C++, whose numbers these are
        for i, number in once[epoch]:
            assert number == split_mix(split_mix(split_mix(split_mix(5) ^ epoch) ^ i)) >> 0 & ((1 << 60) - 1)


def test_random_items_go_on_after_a_checkpoint(tmp_path):
    whole = ag.data.Batches(Drawn(10), 2, seed=3)
    expected = pairs(whole) + pairs(whole)
    batches = ag.data.Batches(Drawn(10), 2, seed=3)
    begun = pairs(batches, 2)
    ag.Checkpoint(batches=batches).save(tmp_path / "c")
    other = ag.data.Batches(Drawn(10), 2, seed=3)
    ag.Checkpoint(batches=other).load(tmp_path / "c")
    assert begun + pairs(other) + pairs(other) == expected


def test_random_has_the_methods_of_pythons():
    def draw(random):
        assert 0 <= random.random() < 1 and random.randint(-2, 2) in range(-2, 3) and random.choice("ab") in "ab"
        assert len(random.sample(range(9), 3)) == 3 and isinstance(random.gauss(0, 1), float) and random.epoch in (0, 1)
        assert len(random.randbytes(5)) == 5 and random.getrandbits(200) >> 190 >= 0 and random.getrandbits(0) == 0
        for refused in (lambda: random.seed(3), random.getstate):
            with pytest.raises(NotImplementedError, match="seed of the Batches"):
                refused()
        return np.random.default_rng(random.getrandbits(64)).normal()

    batches = ag.data.Batches(Drawn(6, draw), 4)
    first = pairs(batches) + pairs(batches)
    batches = ag.data.Batches(Drawn(6, draw), 4)
    assert first == pairs(batches) + pairs(batches) and len({number for *_, number in first}) == 12


def test_an_item_of_another_kind_is_not_called():
    class Series(Data):
        def item(self):
            raise AssertionError

    assert seen(ag.data.Batches(Series([1, 2]), shuffled=False)) == [[1, 2]]


def labels(data, **options):
    return [i for (x,) in ag.data.Batches(data, 4, shuffled=False, **options) for i in x.tolist()]


def test_parts_of_a_data_set():
    data = Data([10 * i for i in range(10)])
    first, second = ag.data.split(data, [0.7, 0.3], seed=4)
    assert sorted(first.indices + second.indices) == list(range(10)) and len(second) == 3
    assert labels(second) == [10 * i for i in second.indices]
    assert labels(ag.data.Subset(second, [2, 2])) == [10 * second.indices[2]] * 2
    with pytest.raises(IndexError, match="there is no item 10 among 10"):
        ag.data.Subset(data, [10])
    for wrong in ([1.5], [True, False], np.array([True, False]), [None], ["1"]):
        with pytest.raises(TypeError, match="indices of items are integers, not .*; numpy.flatnonzero"):
            ag.data.Subset(data, wrong)


def test_parts_of_arrays():
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    part = ag.data.Subset((x, y), [7, 2])
    assert part[1][0].tolist() == [4, 5] and part[1][1] == 2
    (a, b), = ag.data.Batches(part, 4, shuffled=False)
    assert a.tolist() == [[14, 15], [4, 5]] and b.tolist() == [7, 2]
    assert labels(ag.data.split(y, [0.5], shuffled=False)[0]) == [0, 1, 2, 3, 4]
    assert labels(ag.data.Subset(ag.data.Subset(y, [7, 6, 5]), [2, 0])) == [5, 7]  # an array has an item(), too
    for wrong in ((x, y[:5]), (x, np.array(1)), ()):
        with pytest.raises(ValueError, match="the arrays have the shapes .*; each needs as many rows as the others"):
            ag.data.Subset(wrong, [0])
        with pytest.raises(ValueError, match="the arrays have the shapes .*; each needs as many rows as the others"):
            ag.data.split(wrong, [0.5])


def test_a_dict_of_arrays_is_not_a_data_set():
    arrays = {"x": np.ones((4, 2)), "y": np.arange(4)}
    with pytest.raises(TypeError, match=r"a dict has no item 0; a tuple of arrays, such as tuple\(data.values\(\)\)"):
        ag.data.Batches(arrays, 2)
    assert len(list(ag.data.Batches(tuple(arrays.values()), 2))) == 2
    assert len(list(ag.data.Batches({0: 1.0, 1: 2.0}, 2))) == 1


def test_seeds_are_integers_of_64_bits():
    y = np.arange(10)
    for seed in (-1, 2**64, 1.5, "a"):
        for call, name in ((lambda s: ag.data.split(y, [0.5], seed=s), "split"), (lambda s: ag.data.weighted([1], seed=s), "weighted"),
                           (lambda s: ag.data.Batches(y, seed=s), "Batches"), (ag.manual_seed, "manual_seed"), (ag.Generator, "Generator"),
                           (ag.Generator().set, "Generator.set")):
            with pytest.raises(TypeError, match=rf"\[{name}\] seed must be an integer in \[0, 2\^64\), got {seed!r}"):
                call(seed)


def test_parts_with_random_items():
    class Drawn(Data):
        def item(self, i, random):
            return i + random.random()

    part = ag.data.Subset(Drawn(range(10)), [4, 7])
    values = labels(part)
    assert [int(x) for x in values] == [4, 7] and values == labels(part) != [4, 7]


def test_samplers():
    batches = ag.data.Batches(np.arange(10), 4, sampler=lambda count, epoch: [count - 1, epoch, epoch])
    assert len(batches) == 1
    assert [[x.tolist() for (x,) in batches] for _ in range(2)] == [[[9, 0, 0]], [[9, 1, 1]]]
    weighted = ag.data.weighted([0, 0, 1], samples=5)
    assert labels(np.arange(3), sampler=weighted) == [2] * 5 and weighted(3, 0) == [2] * 5
    with pytest.raises(TypeError, match=r"\[Batches\] sampler must be a function of the number of items and the epoch, got 3"):
        ag.data.Batches(np.arange(3), sampler=3)
    with pytest.raises(TypeError, match=r"\[Batches\] an index of the sampler must be an integer, got 'a'"):
        next(iter(ag.data.Batches(np.arange(3), sampler=lambda *_: "abc")))
    with pytest.raises(TypeError, match=r"\[Batches\] an index of the sampler must be an integer, got True"):
        next(iter(ag.data.Batches(np.arange(3), sampler=lambda *_: [True, False])))
    with pytest.raises(ZeroDivisionError):
        next(iter(ag.data.Batches(np.arange(3), sampler=lambda *_: [1 // 0])))


def test_a_sampler_that_refers_to_its_batches_is_collected():
    class Choice:
        def __call__(self, count, epoch):
            return [self.batches.epoch]

    choice = Choice()
    choice.batches = ag.data.Batches(np.arange(3), sampler=choice)
    assert labels_of(choice.batches) == [0]
    gone = weakref.ref(choice)
    del choice
    gc.collect()
    assert gone() is None


def labels_of(batches):
    return [i for (x,) in batches for i in x.tolist()]


def test_a_loop_within_a_loop_needs_batches_of_its_own():
    batches = ag.data.Batches((np.arange(10),), batch_size=5, shuffled=False)
    with pytest.raises(RuntimeError, match="another loop over these Batches has begun within this one"):
        for _ in batches:
            for _ in batches:
                pass
    assert len(list(batches)) == 2
    first = iter(batches)
    assert next(first)[0].tolist() == [0, 1, 2, 3, 4]
    assert [rows.tolist() for rows, in batches] == [[5, 6, 7, 8, 9]]  # what the first one has left


def test_floating_numbers_of_python_have_the_default_type():
    assert [x.dtype for x in next(iter(ag.data.Batches(([1.0, 2.0], [0, 1]))))] == ["float32", "int64"]
    assert next(iter(ag.data.Batches([([1.0, 2.0], 3.0)])))[0].dtype == "float32"
    assert next(iter(ag.data.Batches([(np.ones(2), np.float64(3))])))[0].dtype == "float64"
    assert next(iter(ag.data.Batches([[np.float64(1), np.float64(2)]])))[0].dtype == "float64"
