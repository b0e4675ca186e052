"""The workloads on MXNet, with networks as compiled graphs (hybridize)."""
import mxnet as mx
import stopwatch
from mxnet import autograd, gluon, nd


def mlp(*sizes):
    """Layers of so many outputs each, all but the last with relu."""
    net = gluon.nn.HybridSequential()
    for outs in sizes[:-1]:
        net.add(gluon.nn.Dense(outs, activation="relu"))
    net.add(gluon.nn.Dense(sizes[-1]))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def training(net, loss_of, draw, batch_size):
    loss_of.hybridize(static_alloc=True, static_shape=True)
    sgd = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

    def run(units):
        for _ in range(units):
            x, y = draw()
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            sgd.step(batch_size)  # divides the gradients by it, so that they are those of the mean
        nd.waitall()

    return run


def tiny_mlp_step():
    x, y = nd.random.normal(shape=(2, 4)), nd.ones((2, 1))
    return training(mlp(4, 1), gluon.loss.L2Loss(), lambda: (x, y), 2)


def small_mlp_step():
    x, y = nd.random.normal(shape=(32, 64)), nd.arange(32) % 10
    return training(mlp(64, 10), gluon.loss.SoftmaxCrossEntropyLoss(), lambda: (x, y), 32)


def chapter_step():
    def draw():
        return nd.random.normal(shape=(1024, 512)), nd.ones((1024, 1))

    return training(mlp(2048, 512, 1), gluon.loss.L2Loss(), draw, 1024)


def randn():
    def run(units):
        for _ in range(units):
            nd.random.normal(shape=(1000, 1000))
        nd.waitall()

    return run


stopwatch.main(
    mx.__version__,
    {
        "increments_async": stopwatch.increments(lambda: nd.zeros((1, 2)), lambda y: y.wait_to_read()),
        "increments_sync": stopwatch.increments(lambda: nd.zeros((1, 2)), lambda y: y.wait_to_read(), each=True),
        "tiny_mlp_step": tiny_mlp_step,
        "small_mlp_step": small_mlp_step,
        "chapter_step": chapter_step,
        "randn": randn,
    },
)
