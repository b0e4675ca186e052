"""Evaluates expressions by MXNet's names and prints what they give as JSON: with `mxnet` itself, or with asyncgrad's.

    python mxnet_expressions.py mxnet|asyncgrad
"""
import json
import sys

import numpy

SETUP = """
rng = numpy.random.default_rng(0)
X = rng.normal(size=(2, 3, 4)).astype("float32")
P = rng.uniform(0.1, 2, (3, 4)).astype("float32")
x, p = np.array(X), np.array(P)
i = np.array([2, 0, 1])
"""

UNARY = ("exp log sqrt sin cos tan tanh sinh cosh abs square sign floor ceil log1p expm1 log2 log10 reciprocal negative").split()

EXPRESSIONS = [
    *(f"np.{name}(p)" for name in UNARY),
    "np.array([1, 2])", "np.array([[1.5, 2]])", "np.array(3)", "np.arange(3)", "np.arange(1, 7, 2)", "np.zeros((2, 3))",
    "np.ones(3)", "np.full((2,), 7)", "np.eye(3)", "np.linspace(0, 1, 5)", "np.zeros_like(p)", "np.ones_like(p)",
    "np.array(numpy.arange(3.0))", "np.array(X)", "np.meshgrid(np.arange(2), np.arange(3))[1]",
    "p + p", "p - 1", "2 - p", "p * 3", "p / 2", "1 / p", "p ** 2", "2 ** p", "-p", "p % 0.3", "np.abs(-p)",
    "p > 1", "p <= 1", "p == p", "p != p", "np.maximum(p, 1)", "np.minimum(p, 1)", "np.clip(p, 0.5, 1)",
    "np.where(p > 1, p, -p)", "p.sum()", "p.sum(axis=0)", "p.mean()", "p.mean(axis=1, keepdims=True)", "p.max()", "p.max(axis=1)",
    "p.min(axis=0)", "p.argmax(axis=1)", "p.argmin(axis=0)", "p.std()", "p.var(axis=0)", "x.sum(axis=(0, 2))", "np.cumsum(p, axis=1)",
    "np.sum(p, axis=1, keepdims=True)", "np.linalg.norm(p)", "np.linalg.norm(p, axis=1)",
    "np.dot(p, p.T)", "p.dot(p[0])", "np.dot(p[0], p[1])", "np.tensordot(x, x, axes=([0, 1], [0, 1]))", "np.dot(x, p.T)",
    "x.reshape(6, 4)", "x.reshape((2, -1))", "x.T", "x.transpose(1, 0, 2)", "np.transpose(x, (2, 0, 1))", "x.swapaxes(0, 1)",
    "np.expand_dims(p, 1)", "np.squeeze(np.expand_dims(p, 1))", "np.concatenate([p, p], axis=1)", "np.concatenate((p, p))",
    "np.stack([p, p], axis=1)", "np.tile(p, (2, 1))", "np.repeat(p, 2, axis=0)", "np.flip(p, axis=0)", "np.broadcast_to(p[0], (2, 4))",
    "np.split(p, 2, axis=1)[1]", "np.vstack([p[0], p[1]])", "np.hstack([p, p])", "np.moveaxis(x, 0, 2)", "np.sort(p, axis=1)",
    "p[0]", "p[-1, 1:3]", "p[:, ::2]", "p[:, None].reshape(3, 4)", "x[..., 1]", "x[1, :, 2]", "p[::-1]", "x[0][1:3]", "p[i]", "p[[0, 2]]",
    "p.astype('float64')", "p.astype('int64')", "(p > 1).sum()", "(p > 1).astype('float32')", "(p > 1).mean()",
    "len(p)", "p.size", "p.ndim", "p.shape", "p.item(0)", "p[0, 0].item()", "float(p[0, 0])", "repr(np.ones((1, 2)) * 3)", "str(np.arange(3))",
    "repr(np.array([[1.0, 2.5]]))", "f'{p[0].sum().item():.3f}'",
    "npx.relu(x)", "npx.sigmoid(x)", "npx.softmax(x)", "npx.log_softmax(x, axis=1)", "npx.pick(p, np.array([0, 3, 1]))",
    "npx.pick(p, np.array([0, 9, 1]))", "npx.one_hot(i, 3)", "npx.batch_dot(x, x, transpose_b=True)", "npx.batch_dot(x, x, transpose_a=True)",
    "npx.sequence_mask(x, np.array([1, 2, 1]), True, value=-1)", "npx.sequence_mask(x, np.array([1, 3]), True, axis=1)",
    "npx.leaky_relu(x, slope=0.1)", "npx.topk(p, k=2, axis=1)", "npx.topk(p, k=2, ret_typ='value')",
    "gradient(lambda a: (a * a).sum(), p)", "gradient(lambda a: a * 3, p)", "gradient(lambda a: npx.softmax(a)[:, 0], p)",
    "gradient(lambda a: np.log(a).sum(axis=0) ** 2, p)", "gradient(lambda a: a[1:, ::2] * 5, p)", "gradient(lambda a: np.abs(a - 1), p)",
    "gradient(lambda a: np.maximum(a, 1), p)", "gradient(lambda a: a.max(axis=1), p)", "gradient(lambda a: np.concatenate([a, a * 2]), p)",
    "gradient(lambda a: npx.relu(a - 1), p)", "gradient(lambda a: a.detach() * a, p)", "gradient(lambda a: np.dot(a, a.T), p)",
    "gluon.loss.L2Loss()(p, p * 2)", "gluon.loss.L1Loss()(p, p * 2)", "gluon.loss.SoftmaxCrossEntropyLoss()(p, np.array([0, 3, 1]))",
    "gluon.loss.SigmoidBCELoss()(p, p > 1)", "gluon.loss.HuberLoss()(p, p * 3)",
    "gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)(p, npx.softmax(p))",
    *(f"trained({name!r}, {options})" for name, options in (
        ("sgd", {"learning_rate": 0.1}), ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}), ("adam", {"learning_rate": 0.1}),
        ("adagrad", {"learning_rate": 0.1}), ("rmsprop", {"learning_rate": 0.1}), ("adadelta", {"rho": 0.9}),
        ("nag", {"learning_rate": 0.1, "momentum": 0.9}), ("sgd", {"learning_rate": 0.1, "clip_gradient": 0.5}))),
    *(f"layer({layer})" for layer in (
        "nn.Dense(2)", "nn.Dense(2, activation='tanh', flatten=False)", "nn.LayerNorm()", "nn.BatchNorm()", "nn.Flatten()", "nn.Dropout(0.5)")),
    *(f"layer({layer}, image)" for layer in (
        "nn.Conv2D(3, 3)", "nn.Conv2D(4, (3, 2), strides=2, padding=1, activation='relu')", "nn.Conv2D(4, 1, groups=2)",
        "nn.Conv2D(2, 3, dilation=2)", "nn.MaxPool2D()", "nn.MaxPool2D(3, 2, 1)", "nn.AvgPool2D(2)", "nn.AvgPool2D(3, 1, 1)",
        "nn.GlobalAvgPool2D()", "nn.BatchNorm()")),
    "[lr_scheduler.FactorScheduler(2, 0.5, base_lr=1)(t) for t in range(1, 8)]",
    "[lr_scheduler.CosineScheduler(10, 1, 0.1)(t) for t in range(12)]", "[lr_scheduler.PolyScheduler(10, 1, 2, 0.1)(t) for t in range(12)]",
    "[s(t) for s in [lr_scheduler.MultiFactorScheduler([2, 5], 0.5, base_lr=1, warmup_steps=2, warmup_begin_lr=0.1)] for t in range(8)]",
]


def space_of(package):
    space = {"numpy": numpy, "json": json}
    exec(f"from {package} import autograd, gluon, init, lr_scheduler, np, npx\nfrom {package}.gluon import nn\nnpx.set_np()", space)
    exec("""
def gradient(function, a):
    a = a.copy()
    a.attach_grad()
    with autograd.record():
        y = function(a)
    y.backward()
    return a.grad

def filled(block, seed=1):
    values = numpy.random.default_rng(seed)
    for name, p in block.collect_params().items():
        if p.grad_req != "null":
            p.set_data(np.array(values.normal(size=p.shape).astype("float32")))

def trained(name, options):
    net = nn.Dense(1, in_units=4)
    net.initialize()
    filled(net)
    trainer = gluon.Trainer(net.collect_params(), name, options)
    for _ in range(3):
        with autograd.record():
            l = gluon.loss.L2Loss()(net(p), np.ones((3, 1)))
        l.backward()
        trainer.step(3)
    return np.concatenate([net.weight.data().reshape(-1), net.bias.data()])

image = np.array(numpy.random.default_rng(3).normal(size=(2, 2, 6, 7)).astype("float32"))

def layer(block, inputs=None):
    inputs = x if inputs is None else inputs
    block.initialize()
    block(inputs)
    filled(block)
    a = inputs.copy()
    a.attach_grad()
    with autograd.record(train_mode=not isinstance(block, nn.Dropout)):
        y = block(a)
        l = (y * y).sum()
    l.backward()
    grads = [q.grad().reshape(-1) for q in block.collect_params().values() if q.grad_req != "null"]
    return np.concatenate([y.reshape(-1), a.grad.reshape(-1), block(inputs).reshape(-1), *grads])
""", space)
    exec(SETUP, space)
    return space


def described(value):
    """A value as JSON can hold it: arrays with their type."""
    if hasattr(value, "asnumpy"):
        array = value.asnumpy()
        return {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.astype("float64").reshape(-1).tolist()}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    return value


def evaluated(package):
    space, results = space_of(package), {}
    for expression in EXPRESSIONS:
        try:
            results[expression] = described(eval(expression, space))
        except Exception as error:
            results[expression] = {"raised": f"{type(error).__name__}: {error}"[:200]}
    return results


if __name__ == "__main__":
    print(json.dumps(evaluated({"mxnet": "mxnet", "asyncgrad": "asyncgrad.mxnet"}[sys.argv[1]])))
