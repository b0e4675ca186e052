"""How PyTorch does the cells of ops.py: by the function that its users call for it.

What PyTorch alone gives as a view, such as a transposed matrix, is copied, so that both systems have the values in order.
"""
import torch
from system_pytorch import use_gpu
from torch import nn
from torch.nn import functional
from workloads import type_of

VERSION = torch.__version__
set_threads = torch.set_num_threads
without_gradient = torch.inference_mode
device = "cpu"  # of all that is made here


def wait():
    """PyTorch computes within the call on a CPU."""


def use(name):
    global device, set_threads, wait
    device = name
    if device != "cpu":
        use_gpu(device)
        set_threads, wait = None, torch.cuda.synchronize


def forget_cache():
    """It has none beside glibc's."""


def operand(kind, shape, with_gradient):
    kind, _, below = kind.partition(":")
    if kind == "integers":
        return torch.randint(0, int(below), shape, device=device)
    if kind == "boolean":
        return torch.randn(shape, device=device) > 0
    draw = torch.rand if kind in ("positive", "constant") else torch.randn
    x = draw(shape, device=device) + (0.5 if draw is torch.rand else 0)
    return x.requires_grad_() if with_gradient and kind != "constant" else x


def backward(ys, inputs, dys):
    for x in inputs:
        x.grad = None
    torch.autograd.backward(ys, dys)


ones_like = torch.ones_like


def layer(kind):
    def make(operands, hidden, layers):
        net = kind(operands[0].shape[-1], hidden, layers).to(device)
        return lambda: net(operands[0])[0], list(net.parameters())

    return make


def update(kind, fused_on=("cpu", "cuda"), **options):
    """In one pass over each parameter on the types of devices for which PyTorch has that."""

    def make(operands):
        parameters = [nn.Parameter(x) for x in operands]
        fused = {"fused": True} if type_of(device) in fused_on else {}
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        return kind(parameters, **fused, **options).step, []

    return make


def dense(operands, activation):
    """PyTorch's layer keeps weights as (outputs, inputs)."""
    x, weight, bias = operands
    turned = weight.detach().t().contiguous().requires_grad_(weight.requires_grad)
    activate = {None: lambda y: y, "relu": torch.relu, "gelu": functional.gelu}[activation]
    operands[1] = turned
    return lambda: activate(functional.linear(x, turned, bias)), []


# See ops_asyncgrad.py.
MADE = {
    "dense": dense,
    "rnn": layer(nn.RNN),
    "gru": layer(nn.GRU),
    "lstm": layer(nn.LSTM),
    "sgd": update(torch.optim.SGD, lr=0.01),
    "momentum": update(torch.optim.SGD, lr=0.01, momentum=0.9),
    "adam": update(torch.optim.Adam),
    "adamw": update(torch.optim.AdamW),
    "adagrad": update(torch.optim.Adagrad, fused_on=("cpu",)),
    "rmsprop": update(torch.optim.RMSprop, fused_on=(), foreach=True),
}


def reduced(function):
    """torch's reductions name the axis `dim`, and some have it only where there is one."""
    return lambda x, axis: function(x) if axis is None else function(x, dim=axis)


def logsumexp(x, axis):
    return torch.logsumexp(x, tuple(range(x.ndim)) if axis is None else axis)


def matmul(x, w, transpose_x=False, transpose_w=False):
    return torch.matmul(x.mT if transpose_x else x, w.mT if transpose_w else w)


def cut(x, axis, begin, end, step):
    return x[(slice(None),) * axis + (slice(begin, end, step),)].contiguous()


def shared(view):
    """A view, as in both systems; but its gradient is a copy, and not the tensor that backward() was given."""

    def copied(of_inputs, _):
        return tuple(None if gradient is None else gradient.clone() for gradient in of_inputs)

    def call(x, **options):
        y = view(x, **options)
        if y.requires_grad:
            y.grad_fn.register_hook(copied)
        return y

    return call


def masked_attention(q, k, v, mask):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def mean_of_rows(loss):
    return loss.mean(tuple(range(1, loss.ndim)))


def half_squared_error(x, y):
    return functional.mse_loss(x, y, reduction="none") / 2


def ctc(x, targets):
    (steps, samples, classes), length = x.shape, targets.shape[1]
    lengths = (torch.full((samples,), n) for n in (steps, length))
    return functional.ctc_loss(x, targets, *lengths, blank=classes - 1, reduction="none")


FUNCTIONS = {
    **{name: reduced(getattr(torch, name)) for name in ("sum", "mean", "any", "all", "argmax", "argmin")},
    "prod": lambda x, axis: torch.prod(x) if axis is None else torch.prod(x, axis),
    "max": reduced(torch.amax),
    "min": reduced(torch.amin),
    "var": lambda x, axis: torch.var(x, dim=axis, correction=0),
    "norm": lambda x, axis: torch.linalg.vector_norm(x, dim=axis),
    "logsumexp": logsumexp,
    "cumsum": lambda x, axis: torch.cumsum(x, axis),
    "softmax": lambda x, axis: torch.softmax(x, axis),
    "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
    "cross_entropy": lambda x, labels: functional.cross_entropy(x, labels, reduction="none"),
    "ctc": ctc,
    "einsum": lambda *operands, equation: torch.einsum(equation, *operands).contiguous(),
    "tensordot": lambda x, y, axes: torch.tensordot(x, y, dims=axes),
    "l2_loss": lambda x, y: mean_of_rows(half_squared_error(x, y)),
    "squared_error": lambda x, y: mean_of_rows(functional.mse_loss(x, y, reduction="none")),
    "l1_loss": lambda x, y: mean_of_rows(functional.l1_loss(x, y, reduction="none")),
    "huber_loss": lambda x, y: mean_of_rows(functional.huber_loss(x, y, reduction="none")),
    "binary_cross_entropy": lambda x, y: mean_of_rows(
        functional.binary_cross_entropy_with_logits(x, y, reduction="none")
    ),
    "kl_divergence": lambda x, y: mean_of_rows(functional.kl_div(x, y, reduction="none")),
    "argsort": lambda x, axis: torch.argsort(x, dim=axis, stable=True),
    "sort": lambda x, axis: torch.sort(x, dim=axis, stable=True)[0],
    "topk": lambda x, axis, count: torch.topk(x, count, axis)[0],
    "interpolate": lambda x, size, mode: functional.interpolate(x, size, mode=mode),
    "half_squared_error": half_squared_error,
    "matmul": matmul,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    **{name: getattr(functional, name) for name in ("hardswish", "leaky_relu", "elu", "selu", "softsign", "mish")},
    "equal": torch.eq,
    "not_equal": torch.ne,
    "maximum": lambda x, y: torch.maximum(x, y) if isinstance(y, torch.Tensor) else torch.clamp(x, min=y),
    "dropout": lambda x, p: functional.dropout(x, p),
    "scaled_dot_product_attention": lambda q, k, v, causal=False: functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal
    ),
    "masked_attention": masked_attention,
    "take": lambda x, indices, axis: torch.index_select(x, axis, indices),
    "index": lambda x, rows, columns: x[rows, columns],
    "gather": lambda x, indices, axis: torch.gather(x, axis, indices),
    "scatter_add": lambda x, indices, source, axis: torch.scatter_add(x, axis, indices, source),
    "one_hot": lambda indices, classes: functional.one_hot(indices, classes).float(),
    "permute": lambda x, axes: x.permute(axes).contiguous(),
    "slice": cut,
    "flip": lambda x, axis: torch.flip(x, (axis,)),
    "concat": lambda *parts, axis: torch.cat(parts, axis),
    "stack": lambda *parts, axis: torch.stack(parts, axis),
    "split": lambda x, sizes, axis: [part.contiguous() for part in torch.split(x, sizes, axis)],
    "pad": lambda x, width: functional.pad(x, [n for axis in reversed(width) for n in axis]),
    "reshape": shared(torch.reshape),
    "unsqueeze": shared(lambda x, axis: torch.unsqueeze(x, axis)),
    "roll": lambda x, shift, axis: torch.roll(x, shift, axis),
    "broadcast_to": lambda x, shape: x.expand(shape).clone(memory_format=torch.contiguous_format),
    "tile": lambda x, reps: torch.tile(x, reps),
    "repeat": lambda x, repeats, axis: torch.repeat_interleave(x, repeats, axis),
    "astype": lambda x, dtype: x.to(getattr(torch, dtype)),
    "zeros": lambda n: torch.zeros(n, device=device),
    "full": lambda n: torch.full((n,), 2.5, device=device),
    "arange": lambda n: torch.arange(n, device=device),
    "rand": lambda n: torch.rand(n, device=device),
    "randn": lambda n: torch.randn(n, device=device),
    "randint": lambda n: torch.randint(0, 1000, (n,), device=device),
    "permutation": lambda n: torch.randperm(n, device=device),
    "bernoulli": lambda n: torch.rand(n, device=device) < 0.5,
    "max_pool2d": functional.max_pool2d,
    "avg_pool2d": functional.avg_pool2d,
    "max_pool1d": functional.max_pool1d,
    "avg_pool1d": functional.avg_pool1d,
    "layer_norm": lambda x, weight, bias: functional.layer_norm(x, x.shape[-1:], weight, bias),
    "rms_norm": lambda x, weight: functional.rms_norm(x, x.shape[-1:], weight),
    "group_norm": lambda x, weight, bias, groups: functional.group_norm(x, groups, weight, bias),
    "batch_norm": lambda x, weight, bias: functional.batch_norm(x, None, None, weight, bias, training=True),
    "batch_norm_with": functional.batch_norm,
    "conv2d": functional.conv2d,
    "conv1d": functional.conv1d,
    "conv_transpose1d": functional.conv_transpose1d,
    "conv_transpose2d": functional.conv_transpose2d,
}


def function(name):
    return FUNCTIONS.get(name) or getattr(torch, name, None)
