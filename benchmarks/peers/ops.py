"""The cells of the group `ops`: every operation over a grid of shapes, written once for all systems.

A cell is an operation, its operands and options, by the names of asyncgrad's Python package, with or without gradient.
ops_asyncgrad.py and ops_pytorch.py say how a system does an operation; op_worker.py times it.
"""
import random
from itertools import groupby
from math import prod
from typing import NamedTuple


class Cell(NamedTuple):
    name: str  # op/OPERATION/SHAPES[/grad]
    family: str
    op: str
    operands: tuple  # of (kind, shape), see normal() and the functions after it
    options: dict
    grad: bool


TINY, ODD, LARGE = 7, 100_003, 10_000_000  # numbers of elements
SIZES = (TINY, ODD, LARGE)
COLUMNS = (1, 3, 7, 33)
CHANNELS = (1, 3, 17)


def normal(*shape):
    return ("normal", shape)


def positive(*shape):
    return ("positive", shape)


def boolean(*shape):
    return ("boolean", shape)


def integers(below, *shape):
    return (f"integers:{below}", shape)


def number(value):
    return ("number", value)


def is_floating(kind):
    return kind in ("normal", "positive")


def in_rows(elements, columns):
    return (max(1, elements // columns), columns)


def text(value):
    return "x".join(map(text, value)) if isinstance(value, (tuple, list)) else str(value)


def cell_name(op, operands, options, grad):
    shapes = []
    for shape, equal in groupby(text(shape) for _, shape in operands):
        count = len(list(equal))
        shapes.append(shape if count == 1 else f"{count}*{shape}")
    shapes += [f"{key}={text(value)}" for key, value in options.items() if value is not None]
    return f"op/{op}/{','.join(shapes)}{'/grad' if grad else ''}"


def forward(family, op, *operands, **options):
    return [Cell(cell_name(op, operands, options, False), family, op, operands, options, False)]


def both(family, op, *operands, **options):
    """Without gradient, and with gradients in all floating operands."""
    with_gradient = Cell(cell_name(op, operands, options, True), family, op, operands, options, True)
    return [*forward(family, op, *operands, **options), with_gradient]


UNARY = (
    *("relu", "sigmoid", "tanh", "exp", "square", "abs", "sin", "cos", "erf", "expm1", "sinh", "cosh", "silu", "softplus"),
    *("gelu", "gelu_tanh", "hardswish", "leaky_relu", "elu", "selu", "softsign", "mish", "negative"),
)
OF_POSITIVE = ("log", "sqrt", "rsqrt", "log1p", "log2", "log10")
WITHOUT_GRADIENT = ("floor", "round", "sign", "isnan", "isfinite", "logical_not")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "half_squared_error")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")


def elementwise():
    for n in SIZES:
        for op in UNARY:
            yield from both("unary", op, normal(n))
        for op in OF_POSITIVE:
            yield from both("unary", op, positive(n))
        for op in WITHOUT_GRADIENT:
            yield from forward("unary", op, normal(n))
        yield from both("unary", "clip", normal(n), min=-1, max=1)
        for op in BINARY:
            yield from both("binary", op, normal(n), normal(n))
        for op in ("pow", "remainder"):
            yield from both("binary", op, positive(n), positive(n))
        yield from forward("binary", "floor_divide", positive(n), positive(n))
        for op, value in (("pow", 2), ("pow", 3), ("pow", 0.5), ("add", 1.5), ("multiply", 1.5), ("maximum", 0.5)):
            yield from both("binary", op, positive(n), number(value))
        for op in COMPARISONS:
            yield from forward("comparison", op, normal(n), normal(n))
        for op in LOGICAL:
            yield from forward("comparison", op, boolean(n), boolean(n))
        yield from both("comparison", "where", boolean(n), normal(n), normal(n))
        yield from both("comparison", "masked_fill", normal(n), boolean(n), number(0.5))


def broadcasts():
    for elements, ops in ((ODD, ("add", "multiply", "maximum")), (LARGE, ("multiply",))):
        for op in ops:
            for columns in COLUMNS:
                rows, _ = in_rows(elements, columns)
                for other in ((columns,), (rows, 1), (1, 1)):
                    yield from both("broadcast", op, normal(rows, columns), normal(*other))
                yield from both("broadcast", op, normal(rows, 1), normal(1, columns))
            for channels in CHANNELS:
                side = int((elements / 8 / channels) ** 0.5)
                yield from both("broadcast", op, normal(8, channels, side, side), normal(channels, 1, 1))


def reductions():
    shapes = [((TINY,), (0,)), ((ODD,), (None,)), ((LARGE,), (None,)), ((5, 3, 7), (0, 1, 2))]
    shapes += [(in_rows(ODD, columns), (0, 1)) for columns in COLUMNS]
    shapes += [(in_rows(LARGE, columns), (0, 1)) for columns in (3, 33, 1000)]
    shapes += [((45, 46, 47), (0, 1, 2)), ((215, 216, 217), (0, 1, 2)), ((8, 17, 28, 28), ((0, 2, 3), (2, 3)))]
    for shape, axes in shapes:
        for axis in axes:
            one = not isinstance(axis, tuple)
            for op in ("sum", "mean", "max", "min", "var", "norm", "logsumexp"):
                yield from both("reduction", op, normal(*shape), axis=axis)
            for op in ("any", "all"):
                yield from forward("reduction", op, boolean(*shape), axis=axis)
            for op in ("argmax", "argmin") if one else ():
                yield from forward("reduction", op, normal(*shape), axis=axis)
            if one:
                yield from both("reduction", "prod", normal(*shape), axis=axis)
            if one and axis is not None:
                yield from both("cumsum", "cumsum", normal(*shape), axis=axis)
    for n in SIZES:
        yield from forward("reduction", "sum", boolean(n), axis=0)


def softmaxes():
    shapes = [(in_rows(ODD, columns), (0, 1)) for columns in (*COLUMNS, 1000)]
    shapes += [(in_rows(LARGE, columns), (1,)) for columns in (3, 33, 1000)]
    shapes += [((TINY,), (0,)), *(((8, channels, 27, 27), (1,)) for channels in CHANNELS)]
    for shape, axes in shapes:
        for axis in axes:
            for op in ("softmax", "log_softmax"):
                yield from both("softmax", op, normal(*shape), axis=axis)
    for elements in (ODD, LARGE):
        for columns in (3, 7, 33, 1000):
            rows, _ = in_rows(elements, columns)
            yield from both("loss", "cross_entropy", normal(rows, columns), integers(columns, rows))
    for steps, samples, classes, length in ((7, 2, 5, 3), (150, 32, 29, 30), (500, 16, 1000, 50)):
        yield from both("loss", "ctc", normal(steps, samples, classes), integers(classes - 1, samples, length))
    for n in SIZES:
        shape = in_rows(n, 7)
        for op in ("l2_loss", "squared_error", "l1_loss", "huber_loss"):
            yield from both("loss", op, normal(*shape), normal(*shape))
        for op in ("binary_cross_entropy", "kl_divergence"):
            yield from both("loss", op, normal(*shape), positive(*shape))


def products():
    shapes = [((n, n), (n, n)) for n in (1, 7, 33, 100, 317, 1000)]
    shapes += [((1, 1000), (1000, 1000)), ((1000, 1), (1, 1000)), ((100_000, 3), (3, 7)), ((3, 100_000), (100_000, 7))]
    shapes += [((64, 33, 33), (64, 33, 33)), ((17, 100, 64), (64, 33)), ((8, 4, 128, 64), (8, 4, 64, 128))]
    for x, w in shapes:
        yield from both("product", "matmul", normal(*x), normal(*w))
    for n in (33, 317, 1000):
        yield from both("product", "matmul", normal(n, n), normal(n, n), transpose_x=True)
        yield from both("product", "matmul", normal(n, n), normal(n, n), transpose_w=True)
    for equation, *operands in (
        *(("ij,jk->ik", (317, 317), (317, 317)), ("bij,bjk->bik", (64, 33, 65), (64, 65, 33))),
        *(("bhqd,bhkd->bhqk", (4, 8, 128, 64), (4, 8, 128, 64)), ("bqhd,bkhd->bhqk", (4, 128, 8, 64), (4, 128, 8, 64))),
        *(("ij,ij->i", (10_000, 33), (10_000, 33)), ("i,j->ij", (1000,), (1000,)), ("ii->i", (1000, 1000))),
        ("ab,bc,cd->ad", (100, 300), (300, 200), (200, 50)),
    ):
        yield from both("product", "einsum", *[normal(*shape) for shape in operands], equation=equation)
    yield from both("product", "tensordot", normal(32, 28, 64), normal(28, 64, 100), axes=2)
    for n, i, o in ((7, 3, 5), (1, 512, 512), (33, 65, 17), (256, 784, 10), (1024, 512, 2048), (4096, 3, 64)):
        for activation in (None, "relu", "gelu"):
            yield from both("dense", "dense", normal(n, i), normal(i, o), normal(o), activation=activation)


def attentions():
    for n, heads, t, d in ((1, 1, 7, 3), (2, 4, 33, 17), (4, 8, 128, 64), (1, 8, 1024, 64), (4, 4, 100, 33)):
        qkv = [normal(n, heads, t, d)] * 3
        yield from both("attention", "scaled_dot_product_attention", *qkv)
        yield from both("attention", "scaled_dot_product_attention", *qkv, causal=True)
        yield from both("attention", "masked_attention", *qkv, boolean(n, 1, 1, t))


def indexing():
    for shape, axis, count in (
        *(((7, 3), 0, 5), ((1000, 33), 0, 10_000), ((1000, 33), 1, 100), ((100_000, 32), 0, 4096)),
        *(((100_000, 1), 0, 100_000), ((3000, 3000), 1, 3000)),
    ):
        yield from both("indexing", "take", normal(*shape), integers(shape[axis], count), axis=axis)
    for shape in ((7, 3), in_rows(ODD, 33), in_rows(LARGE, 1000)):
        for axis in (0, 1):
            index = integers(shape[axis], *shape)
            yield from both("indexing", "gather", normal(*shape), index, axis=axis)
            yield from both("indexing", "scatter_add", normal(*shape), index, normal(*shape), axis=axis)
    for shape in ((7, 3), in_rows(ODD, 33), in_rows(LARGE, 1000)):
        yield from forward("order", "argsort", normal(*shape), axis=1)
        yield from both("order", "sort", normal(*shape), axis=1)
        yield from both("order", "topk", normal(*shape), axis=1, count=3)
    for shape, count in (((7, 3), 5), ((4096, 100), 4096), ((1000, 1000), 100_000)):
        yield from both("indexing", "index", normal(*shape), integers(shape[0], count), integers(shape[1], count))
    for n, classes in ((7, 3), (10_000, 10), (10_000, 1000)):
        yield from forward("indexing", "one_hot", integers(classes, n), classes=classes)
    for n in (7, 317, 3163):
        for op in ("tril", "triu"):
            yield from both("indexing", op, normal(n, n))


def shapes():
    for shape, order in (
        *(((2, 3), (1, 0)), ((316, 317), (1, 0)), ((100_000, 3), (1, 0)), ((3, 100_000), (1, 0)), ((3162, 3163), (1, 0))),
        *(((8, 17, 56, 56), (0, 2, 3, 1)), ((8, 56, 56, 17), (0, 3, 1, 2)), ((32, 100, 8, 33), (0, 2, 1, 3))),
    ):
        yield from both("shape", "permute", normal(*shape), axes=order)
    for shape in ((7, 7), (100, 1000), (3162, 3163)):
        rows, columns = shape
        yield from both("shape", "slice", normal(*shape), axis=0, begin=1, end=rows - 1, step=1)
        yield from both("shape", "slice", normal(*shape), axis=0, begin=0, end=rows, step=3)
        yield from both("shape", "slice", normal(*shape), axis=1, begin=1, end=columns - 1, step=1)
        yield from both("shape", "slice", normal(*shape), axis=1, begin=0, end=columns, step=2)
        yield from both("shape", "slice", normal(*shape), axis=1, begin=5, end=6, step=1)
        for axis in (0, 1):
            yield from both("shape", "flip", normal(*shape), axis=axis)
            yield from both("shape", "concat", normal(*shape), normal(*shape), normal(*shape), axis=axis)
            yield from both("shape", "stack", normal(*shape), normal(*shape), axis=axis)
            yield from both("shape", "split", normal(*shape), sizes=(3, shape[axis] - 3), axis=axis)
        yield from both("shape", "pad", normal(*shape), width=((1, 2), (3, 0)))
        yield from both("shape", "reshape", normal(*shape), shape=(-1,))
        yield from both("shape", "unsqueeze", normal(*shape), axis=1)
        yield from both("shape", "clone", normal(*shape))
        yield from both("shape", "roll", normal(*shape), shift=2, axis=1)
    for columns in COLUMNS:
        rows, _ = in_rows(ODD, columns)
        yield from both("shape", "broadcast_to", normal(rows, 1), shape=(rows, columns))
        yield from both("shape", "broadcast_to", normal(1, columns), shape=(rows, columns))
        yield from both("shape", "tile", normal(100, columns), reps=(100, 3))
        yield from both("shape", "repeat", normal(1000, columns), repeats=3, axis=0)


def conversions():
    for n in SIZES:
        for dtype in ("float64", "int64", "int32", "uint8", "bfloat16", "bool"):
            yield from forward("conversion", "astype", positive(n), dtype=dtype)
        yield from forward("conversion", "astype", integers(100, n), dtype="float32")
        yield from forward("conversion", "astype", boolean(n), dtype="float32")
        for op in ("zeros", "full", "arange", "rand", "randn", "randint", "permutation", "bernoulli"):
            yield from forward("creation", op, number(n))
        yield from both("dropout", "dropout", normal(n), p=0.5)


def pools():
    shapes = [(8, channels, 56, 56) for channels in (*CHANNELS, 64)] + [(64, 64, 7, 7), (2, 3, 8, 8), (8, 32, 112, 112)]
    for shape in shapes:
        for kernel_size, stride, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1), (7, 7, 0), (8, 8, 0)):
            if kernel_size <= shape[-1]:
                for op in ("max_pool2d", "avg_pool2d"):
                    options = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
                    yield from both("pool", op, normal(*shape), **options)


def lines_and_sizes():
    for shape in ((8, 17, 1000), (64, 64, 63)):
        for op in ("max_pool1d", "avg_pool1d"):
            yield from both("pool", op, normal(*shape), kernel_size=3, stride=2)
    for mode in ("nearest", "bilinear"):
        yield from both("size", "interpolate", normal(8, 17, 28, 28), size=(56, 56), mode=mode)


def normalisations():
    for elements in (ODD, LARGE):
        for width in (3, 7, 33, 768):
            rows, _ = in_rows(elements, width)
            yield from both("normalisation", "layer_norm", normal(rows, width), normal(width), normal(width))
            yield from both("normalisation", "rms_norm", normal(rows, width), normal(width))
    planes = [(8, channels, 28) for channels in (*CHANNELS, 64)] + [(256, 32, 4), (64, 512, 7), (8, 64, 112), (512, 17, 1)]
    for images, channels, side in planes:
        x, of_channels = normal(images, channels, side, side), (normal(channels), normal(channels))
        yield from both("normalisation", "batch_norm", x, *of_channels)
        statistics = (("constant", (channels,)), ("constant", (channels,)))
        yield from both("normalisation", "batch_norm_with", x, *statistics, *of_channels)
        for groups in {1, channels}:
            yield from both("normalisation", "group_norm", x, *of_channels, groups=groups)


def recurrent():
    for steps, sequences, inputs, hidden in ((7, 1, 3, 5), (35, 32, 256, 256), (64, 33, 17, 33), (100, 1, 64, 64)):
        for op in ("rnn", "gru", "lstm"):
            yield from both("recurrent", op, normal(steps, sequences, inputs), hidden=hidden, layers=1)
    yield from both("recurrent", "lstm", normal(35, 32, 128), hidden=128, layers=2)


def updates():
    for op in ("sgd", "momentum", "adam", "adamw", "adagrad", "rmsprop"):
        for n in SIZES:
            yield from forward("optimiser", op, normal(n))
        yield from forward("optimiser", op, *[normal(33, 17)] * 100)


def conv(x, outputs, kernel, **options):
    """A convolution 2-D of x (N, C, H, W); kernel: a number or a pair."""
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weight = (outputs, x[1] // options.get("groups", 1), *kernel)
    return both("conv2d", "conv2d", normal(*x), normal(*weight), normal(outputs), **options)


def convolutions():
    for kernel in (1, 3, 5, 7, 11):
        same = kernel // 2
        for stride in (1, 2, 4):
            yield from conv((8, 64, 28, 28), 64, kernel, stride=stride, padding=same)
            yield from conv((8, 3, 56, 56), 32, kernel, stride=stride, padding=same)
        yield from conv((256, 32, 4, 4), 32, kernel, padding=same)
        yield from conv((64, 64, 7, 7), 64, kernel, padding=same)
        for inputs, outputs in ((1, 16), (3, 17), (17, 33), (33, 17), (64, 1)):
            yield from conv((8, inputs, 28, 28), outputs, kernel, padding=same)
    for kernel in (3, 5):
        for dilation in (2, 4):
            yield from conv((8, 32, 28, 28), 32, kernel, padding=dilation * (kernel // 2), dilation=dilation)
    for channels, groups in ((64, 2), (64, 4), (64, 16), (128, 32), (66, 3)):
        yield from conv((8, channels, 28, 28), channels, 3, padding=1, groups=groups)
        yield from conv((8, channels, 28, 28), channels, 1, groups=groups)
    for channels, side in ((3, 56), (17, 28), (33, 28), (64, 56), (96, 28), (512, 7)):  # depthwise
        for kernel in (3, 5, 7):
            for multiplier, stride in ((1, 1), (1, 2), (2, 1)):
                options = {"stride": stride, "padding": kernel // 2, "groups": channels}
                yield from conv((8, channels, side, side), multiplier * channels, kernel, **options)
    yield from conv((8, 3, 224, 224), 64, 7, stride=2, padding=3)
    yield from conv((8, 3, 224, 224), 192, 16, stride=16)
    yield from conv((32, 3, 64, 64), 192, 8, stride=8)
    yield from conv((4, 3, 224, 224), 64, 11, stride=4, padding=2)
    yield from conv((8, 64, 56, 56), 64, 3, padding=1)
    yield from conv((8, 64, 56, 56), 128, 3, stride=2, padding=1)
    yield from conv((8, 64, 32, 32), 32, 3, padding=1)
    yield from conv((8, 512, 7, 7), 512, 3, padding=1)
    for inputs, outputs in ((512, 512), (512, 128), (128, 512)):
        yield from conv((8, inputs, 7, 7), outputs, 1)
    yield from conv((256, 6, 14, 14), 16, 5)
    yield from conv((256, 1, 28, 28), 6, 5, padding=2)
    yield from conv((1, 1, 5, 5), 1, 3)
    yield from conv((1, 64, 128, 128), 64, 3, padding=1)
    for kernel, padding in (((1, 7), (0, 3)), ((7, 1), (3, 0)), ((3, 1), (1, 0)), ((1, 3), (0, 1)), ((2, 5), (0, 2))):
        yield from conv((8, 32, 28, 28), 32, kernel, padding=padding)


def other_convolutions():
    for n, channels, length in ((8, 1, 1000), (8, 3, 1000), (8, 17, 1000), (16, 64, 256), (4, 32, 4096)):
        for kernel, options in ((1, {}), (2, {"dilation": 16}), (3, {"padding": 1}), (7, {"stride": 2})):
            weight = normal(32, channels, kernel)
            yield from both("conv1d", "conv1d", normal(n, channels, length), weight, normal(32), **options)
    for n, inputs, outputs, side in ((8, 64, 32, 16), (4, 17, 33, 28), (8, 3, 1, 32), (64, 128, 64, 4)):
        for kernel, stride, padding in ((2, 2, 0), (4, 2, 1), (3, 1, 1)):
            operands = normal(n, inputs, side, side), normal(inputs, outputs, kernel, kernel), normal(outputs)
            yield from both("conv_transpose", "conv_transpose2d", *operands, stride=stride, padding=padding)
    for n, inputs, outputs, length in ((8, 64, 32, 256), (8, 1, 3, 1000)):
        for kernel, stride, padding in ((2, 2, 0), (4, 2, 1)):
            operands = normal(n, inputs, length), normal(inputs, outputs, kernel), normal(outputs)
            yield from both("conv_transpose", "conv_transpose1d", *operands, stride=stride, padding=padding)


def cells():
    """All cells, in an order that is random but always the same: whoever stops early has a sample of the grid."""
    parts = (
        *(elementwise, broadcasts, reductions, softmaxes, products, attentions, indexing, shapes, conversions, pools, lines_and_sizes),
        *(normalisations, recurrent, updates, convolutions, other_convolutions),
    )
    all_cells = list({cell.name: cell for part in parts for cell in part()}.values())
    random.Random(0).shuffle(all_cells)
    return all_cells


def elements(cell):
    return sum(prod(shape) for kind, shape in cell.operands if kind != "number")
