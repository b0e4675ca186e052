"""What is said of typical mistakes: what is wrong, the values, the line, and what to do, as Python writes it.

tests/nn/mistakes_test.cpp has the same table for C++.
"""
import inspect
import warnings

import numpy as np
import pytest

import asyncgrad as ag


class Block(ag.nn.Module):
    def __init__(self):
        self.body = ag.nn.Sequential(ag.nn.Dense(8, 16, "relu"), ag.nn.Dense(12, 8))

    def forward(self, x):
        return x + self.body(x)


def batch():
    return ag.ones(6, 4)


def labels():
    return ag.zeros(6, dtype="int64")


def deep():
    ag.nn.Sequential(ag.nn.Dense(4, 8), Block())(batch())


def flatten_forgotten():
    ag.nn.Sequential(ag.nn.Conv2d(1, 2, 3), ag.nn.Dense(72, 4))(ag.ones(2, 1, 8, 8))


def backward_twice():
    loss = ag.nn.Dense(4, 2)(batch()).mean()
    loss.backward()
    loss.backward()


def backward_under_no_grad():
    with ag.no_grad():
        ag.nn.Dense(4, 2)(batch()).mean().backward()


def another_device():
    ag.set_engine_options(cpu_parts=2)
    try:
        ag.nn.Dense(4, 2, device="cpu:1")(ag.ones(6, 4, device="cpu:0"))
    finally:
        ag.set_engine_options(cpu_parts=1)


def saved_and_loaded(tmp_path, saved, loaded):
    ag.save(tmp_path / "net", saved)
    ag.load(tmp_path / "net", loaded)


def written_and_loaded(tmp_path, contents):
    (tmp_path / "net").write_bytes(contents)
    ag.load(tmp_path / "net", ag.nn.Dense(4, 2))


# (the error, parts of its message, the program)
MISTAKES = [
    (ValueError, ["[Dense] needs x (…, 12), got (6, 16); weight (12, 8); Dense(16, 8) takes it", "in layer 1.body.1"], deep),
    (ValueError, ["got (2, 2, 6, 6)", "Flatten before it makes x (2, 72)", "in layer 1"], flatten_forgotten),
    (ValueError, ["[conv2d] the weight is for x (N, 3, H, W) in 1 group: x (2, 8, 8, 3), weight (2, 3, 3, 3)",
                  "x.transpose(0, 3, 1, 2) makes it (2, 3, 8, 8)"],
     lambda: ag.nn.Conv2d(3, 2, 3)(ag.ones(2, 8, 8, 3))),
    (ValueError, ["x.reshape(1, 3, 8, 8) is a batch of one sample"], lambda: ag.nn.Conv2d(3, 2, 3)(ag.ones(3, 8, 8))),
    (ValueError, ["[LSTM] needs x (T, N, 4), time first", "got (2, 5, 7)"], lambda: ag.nn.LSTM(4, 3)(ag.ones(2, 5, 7))),
    (TypeError, ["[dense] types differ: x float64 (6, 4), weight float32 (4, 2); x.to(ag.float32) converts x"],
     lambda: ag.nn.Dense(4, 2)(ag.array(np.ones((6, 4))))),
    (TypeError, ["[dense] types differ: x uint8 (6, 4)", "x.to(ag.float32) converts x"],
     lambda: ag.nn.Dense(4, 2)(ag.zeros(6, 4, dtype="uint8"))),
    (TypeError, ["labels must be int64", "labels float32 (6)", "labels.to(ag.int64) converts them"],
     lambda: ag.cross_entropy(batch(), ag.zeros(6))),
    (TypeError, ["needs labels of type int64, got float32 (6); labels.to(ag.int64) converts them"],
     lambda: ag.nn.softmax_cross_entropy(batch(), ag.zeros(6))),
    (ValueError, ["got (6, 4) and int64 (6, 4); labels.argmax(1) makes indices of one-hot labels"],
     lambda: ag.nn.softmax_cross_entropy(batch(), ag.zeros(6, 4, dtype="int64"))),
    (ValueError, ["[dense] devices differ: x (6, 4) on cpu, weight (4, 2) on cpu:1; x.to(\"cpu:1\") copies x"],
     another_device),
    (ValueError, ["there is no cpu:3 here, only cpu; set_engine_options(cpu_parts=…) makes several of the CPU"],
     lambda: batch().to("cpu:3")),
    (ValueError, ["[device] no device is called 'gpu': cpu, cpu:0, cuda, cuda:1 …"], lambda: ag.ones(2, device="gpu")),
    (ValueError, ["[device] no device is called 'gpu'"], lambda: ag.nn.Dense(4, 2, device="gpu")),
    (IndexError, ["[sum] there is no axis 2 in (6, 4); axes are -2 to 1"], lambda: batch().sum(2)),
    (ValueError, ["[stack] shapes differ: first (6, 4), another (6); all are to have one shape"],
     lambda: ag.stack([batch(), ag.ones(6)])),
    (ValueError, ["[split] axis 0 of (6, 4) has no 5 equal parts; the count must divide its extent"],
     lambda: ag.split(batch(), 5)),
    (ValueError, ["there is no cuda:100 here, only cpu"], lambda: batch().to("cuda:100")),
    (ValueError, ["pass retain_graph=True to that call, or compute the loss again", "queued at test_mistakes.py:"],
     backward_twice),
    (ValueError, ["(6, 2) is not a scalar; take the mean or the sum, or pass its gradient"],
     lambda: ag.nn.Dense(4, 2)(batch()).backward()),
    (ValueError, ["depends on no leaf whose gradient is wanted", "requires_grad_() makes a leaf"],
     lambda: batch().mean().backward()),
    (ValueError, ["was computed under no_grad()", "enable_grad() records within no_grad()"], backward_under_no_grad),
    (ValueError, ["[Adam] lr must be finite and not negative, got -1"],
     lambda: ag.optim.Adam(ag.nn.Dense(4, 2).parameters(), lr=-1)),
    (ValueError, ["[InstanceNorm] channels must be at least 1, got 0"], lambda: ag.nn.InstanceNorm(0)),
    (ValueError, ["too many elements: (4611686018427387904) times 3"], lambda: ag.nn.Upsample(2 ** 62)(ag.ones(1, 1, 3, 3))),
    (ValueError, ["[SGD] the list of parameters is empty", "has nothing to train"],
     lambda: ag.optim.SGD(ag.nn.Sequential(ag.nn.Flatten()).parameters(), lr=1)),
]


@pytest.mark.parametrize("kind, parts, program", MISTAKES)
def test_says_what_and_where_and_what_to_do(kind, parts, program):
    with pytest.raises(kind) as caught:
        program()
    for part in [*parts, "at test_mistakes.py:"]:
        assert part in str(caught.value)


# (the error, the whole message, the program)
CALLS = [
    (TypeError, "MultiHeadAttention has no parameter mask; it has x",
     lambda: ag.nn.MultiHeadAttention(8, 2)(ag.ones(1, 2, 8), mask=None)),
    (TypeError, "[SGD] parameters must be a list of tensors; number 0 is of the type dict; add_group() takes tensors with "
     "options of their own", lambda: ag.optim.SGD([{"params": [ag.parameter(ag.ones(2))], "lr": 0.1}])),
    (TypeError, "[SGD] parameters must be a list of tensors, got a dict", lambda: ag.optim.SGD({"params": []})),
    (TypeError, "[SGD] parameters must be a list of tensors; number 0 is of the type tuple",
     lambda: ag.optim.SGD([("weight", ag.parameter(ag.ones(2)))])),
    (TypeError, "take needs indices; it has x, indices, axis=0", lambda: ag.take(batch())),
    (TypeError, "take has no parameter dim; it has x, indices, axis=0", lambda: ag.take(batch(), [0], dim=1)),
    (TypeError, "take takes at most 3 arguments without a name, got 4; it has x, indices, axis=0",
     lambda: ag.take(batch(), [0], 0, 1)),
    (TypeError, "take gets axis twice; it has x, indices, axis=0", lambda: ag.take(batch(), [0], 1, axis=1)),
    (TypeError, "take has no parameter dim; it has indices, axis=0", lambda: batch().take([0], dim=1)),
    (TypeError, "[take] axis must be an integer, got 'rows'", lambda: ag.take(batch(), [0], "rows")),
    (TypeError, "[take] axis must be an integer, got 0.5", lambda: batch().take([0], 0.5)),
    (TypeError, "[take] indices must not be None", lambda: ag.take(batch(), None)),
    (TypeError, "[Conv2d] kernel_size must be an integer or a pair (height, width), got 'a'", lambda: ag.nn.Conv2d(1, 2, "a")),
    (ValueError, "[Conv2d] stride must be an integer or a pair (height, width), got (1, 2, 3)", lambda: ag.nn.Conv2d(1, 2, 3, stride=(1, 2, 3))),
    (TypeError, "[max_pool2d] padding must be an integer, got 0.5", lambda: ag.max_pool2d(ag.ones(1, 1, 4, 4), 2, padding=(0, 0.5))),
    (TypeError, "[SGD] lr must be a number, got '3'", lambda: setattr(ag.optim.SGD([ag.ones(1).requires_grad_()]), "lr", "3")),
    (TypeError, "[SGD] lr must not be None", lambda: setattr(ag.optim.SGD([ag.ones(1).requires_grad_()]), "lr", None)),
    (TypeError, "[Subset] indices must be a list of integers, got 3", lambda: ag.data.Subset([1, 2], 3)),
    (TypeError, "[world] timeout_s must be a number, got 'a'", lambda: ag.dist.world("a")),
    (TypeError, "[broadcast] world must not be None", lambda: ag.dist.broadcast(batch(), None)),
    (TypeError, "[sum] world must be a World, got 3", lambda: ag.dist.sum(batch(), 3)),
    (TypeError, "[average_gradients] optimizer must be an Optimizer, got 3", lambda: ag.dist.average_gradients(3, ag.dist.World())),
    (TypeError, "[to] target must not be None", lambda: ag.nn.Dense(4, 2).to(None)),
    (TypeError, "[split] shares must not be None", lambda: ag.data.split([1, 2], None)),
    (TypeError, "[custom] name must be a text, got 3", lambda: ag.custom(3, (2,), [], print)),
    (TypeError, "[with_gradient] value must not be None", lambda: ag.with_gradient("own", None, [], print)),
    (IndexError, f"there is no axis {2 ** 40}; a tensor has six at most", lambda: batch().sum(2 ** 40)),
    (MemoryError, "there is not enough memory for what the call makes", lambda: ag.nn.PositionalEncoding(2 ** 45, 1)),
    (TypeError, "[LayerNorm] row is an integer, not 'a'", lambda: ag.nn.LayerNorm("a")),
    (ValueError, f"[take] axis must be in [-2^31, 2^31), got {2 ** 40}", lambda: ag.take(batch(), [0], 2 ** 40)),
    (ValueError, f"[take] axis does not fit into 64 bits: {2 ** 70}", lambda: ag.take(batch(), [0], 2 ** 70)),
    (TypeError, "[sum] keepdims must be True or False, got 1", lambda: batch().sum(0, 1)),
    (TypeError, "[dropout] p must be a number, got 'half'", lambda: ag.dropout(batch(), "half")),
    (TypeError, "[dropout] generator must be a Generator, got 3", lambda: ag.dropout(batch(), 0.5, 3)),
    (TypeError, "zeros has no parameter type; it has dtype=None, device=None", lambda: ag.zeros(2, type="int64")),
    (TypeError, "SGD needs parameters; it has parameters, lr=0.01, momentum=0.0, weight_decay=0.0, nesterov=False",
     lambda: ag.optim.SGD()),
    (TypeError, "[Schedule] optimizer must be an Optimizer, got 3", lambda: ag.optim.Schedule(3, lambda step: 1)),
    (TypeError, "Generator has no parameter number; it has seed=0, place=0", lambda: ag.Generator(number=3)),
    (TypeError, "a list of tensors is asked for, not 3", lambda: ag.stack(3)),
    (TypeError, "a list of pairs (before, after), one for each axis, is asked for, not [1, 2]",
     lambda: ag.pad(batch(), [1, 2])),
    (TypeError, "a list of pairs (before, after), one for each axis, is asked for, not [(1, 2, 3)]",
     lambda: ag.pad(batch(), [(1, 2, 3)])),
    (TypeError, "repeats must be an integer, got 'a'", lambda: ag.repeat(batch(), "a")),
    (TypeError, "[set_engine_options] inline_tiny must be True or False, got 1",
     lambda: ag.set_engine_options(inline_tiny=1)),
    (TypeError, "schedule must be oldest_first, first_ready, immediate or dry_run, got 3",
     lambda: ag.set_engine_options(schedule=3)),
]


@pytest.mark.parametrize("kind, message, program", CALLS)
def test_a_call_that_does_not_fit(kind, message, program):
    with pytest.raises(kind) as caught:
        program()
    text = str(caught.value)
    assert text == message


INDICES = [
    ("[take] index -1 at position 0 is outside 6 rows", lambda: ag.take(batch(), [-1])),
    ("[take] index 6 at position 0 is outside 6 rows", lambda: batch().take(6)),
    ("[take] index 4 at position 3 is outside 4 rows", lambda: ag.take(batch(), [[0, 1], [2, 4]], 1)),
    ("[take] index 7 at position 1 is outside 6 rows", lambda: ag.take(batch(), np.array([0, 7], "uint8"))),
    ("[gather] index -2 at position 0 is outside 4 rows", lambda: ag.gather(batch(), [[-2]] * 6, 1)),
    ("[scatter_add] index 6 at position 0 is outside 6 rows", lambda: ag.scatter_add(batch(), [[6] * 4], ag.ones(1, 4), 0)),
    ("[index_add] index 9 at position 0 is outside 6 rows", lambda: ag.index_add(batch(), [9], ag.ones(1, 4), 0)),
    ("[one_hot] index 3 at position 1 is outside 3 classes", lambda: ag.one_hot([0, 3], 3)),
]


@pytest.mark.parametrize("message, program", INDICES)
def test_indices_of_a_list_are_checked_at_the_call(message, program):
    with pytest.raises(IndexError) as caught:
        program()
    assert str(caught.value).startswith(message + ", which are numbered from 0, at test_mistakes.py:")


X, NARROW, FLAT = ag.ones(6, 4), ag.zeros(3, dtype="int32"), ag.zeros(6, 4, dtype="int64")


@pytest.mark.parametrize("program", [
    lambda: ag.take(X, NARROW, 2),
    lambda: ag.gather(X, NARROW, 0),
    lambda: ag.index_add(X, NARROW, X, 0),
    lambda: ag.one_hot(NARROW, 0),
    lambda: ag.nn.cosine_similarity(X, X, axis=2),
    lambda: ag.nn.cosine_similarity(FLAT, FLAT),
    lambda: ag.nn.cosine_loss(X, X, NARROW),
    lambda: ag.nn.l2_loss(X, X, weight=NARROW),
    lambda: ag.nn.binary_cross_entropy(X, X, positive_weight=FLAT),
    lambda: ag.nn.l1_loss(X, X, mask=NARROW),
])
def test_a_refused_call_queues_nothing(program):
    ag.wait_all()
    before = ag.engine_figures()["operations"]
    with pytest.raises((ValueError, TypeError, IndexError)):
        program()
    ag.wait_all()
    assert ag.engine_figures()["operations"] == before


@pytest.mark.parametrize("kind, use", [
    (ag.optim.SGD, lambda sgd: sgd.lr), (ag.optim.SGD, lambda sgd: sgd.step()), (ag.optim.Adam, lambda adam: setattr(adam, "lr", 0.5)),
    (ag.optim.WeightAverage, lambda average: average.averages), (ag.optim.Schedule, lambda schedule: schedule.count),
    (ag.data.Batches, lambda batches: batches.epoch), (ag.data.Batches, lambda batches: batches.get_state()),
    (ag.dist.World, lambda world: world.figures), (ag.dist.Parts, lambda parts: parts.count),
    (ag.Generator, lambda generator: generator.place), (ag.Generator, lambda generator: generator.set(5))])
@pytest.mark.filterwarnings("ignore:nanobind")
def test_an_object_that_is_not_made_yet(kind, use):
    class Own(kind):
        def __init__(self):  # forgets super().__init__()
            pass

    for made in (Own(), kind.__new__(kind)):
        with pytest.raises(TypeError, match=rf"an object of the class {type(made).__name__} is used before it is made; .*super"):
            use(made)


def test_an_error_of_the_program_stays_as_it_is():
    class Silent:
        def __str__(self):
            raise LookupError

        def __call__(self, dy):
            raise TypeError(self)

    x = ag.ones(2).requires_grad_()
    with pytest.raises(TypeError) as caught:
        ag.with_gradient("mine", x.detach(), [x], Silent()).sum().backward()
    assert isinstance(caught.value.args[0], Silent)


def callables():
    for room in (ag, ag.nn, ag.optim, ag.data, ag.Tensor):
        for name, value in vars(room).items():
            if callable(value) and not name.startswith("_"):
                yield pytest.param(value, room is ag.Tensor, id=f"{room.__name__}.{name}")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function, is_method", list(callables()))
def test_no_call_lists_signatures(function, is_method):
    """As nanobind does, where a call fits none of them."""
    own = (batch(),) if is_method else ()
    calls = [((batch(),) * 12, {}), ((), {}), ((), {"no_such": 1})]
    calls += [((batch(),) * place + (wrong,), {}) for wrong in (object(), None, "a", -1) for place in range(4)]
    for arguments, named in calls:
        try:
            function(*own, *arguments, **named)
        except Exception as error:  # noqa: BLE001
            assert "incompatible function arguments" not in str(error)
            assert "an argument is of another type" not in str(error)
    ag.recover()


FILES = [
    (b"PK\x03\x04 a zip file of torch.save", ["is a zip archive, such as a torch.save file, no safetensors file"]),
    (b"\x80\x02}q\x00X\x06\x00\x00\x00weight", ["is a pickle, such as an old torch.save file"]),
    (b"\x93NUMPY\x01\x00v\x00{'descr'", ["is an array of numpy.save"]),
    (b"weight,bias\n0.5,1\n", ["is no safetensors file: its header would have"]),
]


@pytest.mark.parametrize("contents, parts", FILES)
def test_a_file_of_another_format(tmp_path, contents, parts):
    with pytest.raises(ValueError) as caught:  # whose traceback has the line
        written_and_loaded(tmp_path, contents)
    for part in parts:
        assert part in str(caught.value)


def test_a_file_of_another_network(tmp_path):
    with pytest.raises(ValueError) as caught:
        saved_and_loaded(tmp_path, ag.nn.Dense(2, 4), ag.nn.Dense(4, 2))
    assert 'F32 (2, 4) in the file, F32 (4, 2) here; rename=[("weight", "weight", True)] transposes it' in str(caught.value)
    with pytest.raises(ValueError) as caught:
        saved_and_loaded(tmp_path, ag.nn.Dense(4, 2), ag.nn.Sequential(ag.nn.Dense(4, 2)))
    assert '"weight", F32 (4, 2), is left over; rename=[("weight", "0.weight")] makes it "0.weight"' in str(caught.value)
    assert "With strict=False" in str(caught.value)


# --- Warnings

@pytest.fixture
def given():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def check(given, first_line, *parts):
    assert [(w.category, w.filename, w.lineno) for w in given] == [(ag.Warning, __file__, first_line)]
    for part in parts:
        assert part in str(given[0].message)


def here():
    return inspect.currentframe().f_back.f_lineno


def test_a_loss_that_broadcasts(given):
    net, t = ag.nn.Dense(4, 1), ag.ones(6)
    for _ in range(3):
        line = here() + 1
        difference = net(batch()) - t
        (difference ** 2).mean().backward()
    check(given, line, "[subtract] x (6, 1) and y (6) broadcast to (6, 6) in a loss", "y.reshape(6, 1) gives both one shape")


def test_losses_that_do_not_broadcast(given):
    net, t = ag.nn.Dense(4, 1), ag.ones(6)
    ag.nn.l2_loss(net(batch()), t).mean().backward()
    ((net(batch()).reshape(6) - t) ** 2).mean().backward()
    ((net(batch()) - t.reshape(6, 1)) ** 2).mean().backward()
    assert not given


def test_dropout_in_what_looks_like_evaluation(given):
    net = ag.nn.Sequential(ag.nn.Dense(4, 4), ag.nn.Dropout(0.5))
    with ag.no_grad():
        for _ in range(3):
            line = here() + 1
            net(batch())
    check(given, line, "[Dropout] drops 0.5 of x (6, 4) under no_grad()", "net.eval()", "in layer 1")


def test_dropout_that_trains_or_evaluates(given):
    net = ag.nn.Sequential(ag.nn.Dense(4, 4), ag.nn.Dropout(0.5))
    net(batch()).mean().backward()
    with ag.inference():
        net(batch())
    net.eval()
    with ag.no_grad():
        net(batch())
    assert not given


def test_an_optimiser_that_no_gradient_reaches(given):
    net = ag.nn.Dense(4, 1)
    sgd = ag.optim.SGD(net.parameters(), lr=0.1)
    net = net.clone()
    for _ in range(3):
        net(batch()).mean().backward()
        line = here() + 1
        sgd.step()
    check(given, line, "[SGD] none of its 2 parameters, the first one (4, 1), has had a gradient", "missing(loss)")


def drop_without_gradients():
    with ag.no_grad():
        ag.nn.Dropout(0.5)(batch())


def test_one_line_switches_them_off(given):
    ag.set_warnings(False)
    drop_without_gradients()
    assert not given and not ag.warnings_are_on()
    ag.set_warnings(True)
    warnings.simplefilter("ignore", ag.Warning)
    drop_without_gradients()
    assert not given


def test_a_filter_makes_them_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.Warning)
        for _ in range(2):
            with pytest.raises(ag.Warning, match="Dropout"):
                with ag.no_grad():
                    ag.nn.Dropout(0.5)(batch())
