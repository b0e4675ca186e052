"""How asyncgrad's Python package does the cells of ops.py."""
import asyncgrad as ag

VERSION = ag.__version__
use = ag.set_default_device
set_threads = None  # the default number of workers is taken
wait = ag.wait_all
without_gradient = ag.no_grad
forget_cache = ag.trim_cache


def operand(kind, shape, with_gradient):
    kind, _, below = kind.partition(":")
    if kind == "integers":
        return ag.randint(0, int(below), shape)
    if kind == "boolean":
        return ag.randn(*shape) > 0
    x = ag.uniform(0.5, 1.5, shape) if kind in ("positive", "constant") else ag.randn(*shape)
    return x.requires_grad_() if with_gradient and kind != "constant" else x


def backward(ys, inputs, dys):
    """Gradients of the inputs, in place of those that they had."""
    for x in inputs:
        x.zero_grad()
    ag.backward(ys, dys)


ones_like = ag.ones_like


def layer(kind):
    """Makes a function of an operand, and says which parameters have gradients, too."""

    def make(operands, hidden, layers):
        net = kind(operands[0].shape[-1], hidden, layers)
        return lambda: net(operands[0]), net.parameters()

    return make


def update(kind, **options):
    def make(operands):
        for x in operands:
            x.requires_grad_()
        ag.backward([x.sum() for x in operands])
        return kind(operands, **options).step, []

    return make


# (operands, **options) -> a function without parameters, and what has gradients beside the operands.
MADE = {
    "rnn": layer(ag.nn.RNN),
    "gru": layer(ag.nn.GRU),
    "lstm": layer(ag.nn.LSTM),
    "sgd": update(ag.optim.SGD),
    "momentum": update(ag.optim.SGD, momentum=0.9),
    "adam": update(ag.optim.Adam),
    "adamw": update(ag.optim.AdamW),
    "adagrad": update(ag.optim.Adagrad),
    "rmsprop": update(ag.optim.RMSprop),
}


def cut(x, axis, begin, end, step):
    return x[(slice(None),) * axis + (slice(begin, end, step),)]


def split(x, sizes, axis):
    return ag.split(x, [sizes[0]], axis)


def ctc(x, targets):
    (steps, samples, classes), length = x.shape, targets.shape[1]
    lengths = (ag.full((samples,), n, dtype="int64") for n in (steps, length))
    return ag.ctc(x, targets, *lengths, blank=classes - 1)


# Operations that have another name or other parameters than the package's function.
FUNCTIONS = {
    "astype": lambda x, dtype: x.astype(dtype),
    "batch_norm": lambda *operands: ag.batch_norm(*operands)[0],
    "bernoulli": lambda n: ag.bernoulli(0.5, (n,)),
    "clone": lambda x: x.clone(),
    "concat": lambda *parts, axis: ag.concat(parts, axis),
    "ctc": ctc,
    "einsum": lambda *operands, equation: ag.einsum(equation, *operands),
    "full": lambda n: ag.full((n,), 2.5),
    "group_norm": lambda x, weight, bias, groups: ag.group_norm(x, groups, weight, bias),
    "index": lambda x, rows, columns: x[rows, columns],
    "masked_attention": lambda q, k, v, mask: ag.scaled_dot_product_attention(q, k, v, mask=mask),
    "pad": lambda x, width: ag.pad(x, width),
    "permute": lambda x, axes: ag.transpose(x, axes),
    "randint": lambda n: ag.randint(0, 1000, (n,)),
    "slice": cut,
    "sort": lambda x, axis: ag.sort(x, axis)[0],
    "split": split,
    "stack": lambda *parts, axis: ag.stack(parts, axis),
    "topk": lambda x, axis, count: ag.topk(x, count, axis)[0],
}


def function(name):
    return FUNCTIONS.get(name) or getattr(ag, name, None)
