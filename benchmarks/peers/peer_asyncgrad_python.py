"""The workloads on asyncgrad's own Python package, which scripts/python.sh builds."""
import asyncgrad as ag
import networks
import numpy
import stopwatch
from asyncgrad.mxnet import np
from system_asyncgrad import System


def training(net, loss_of, draw):
    sgd = ag.optim.SGD(net.parameters(), lr=0.01)

    def run(units):
        for _ in range(units):
            x, y = draw()
            loss = loss_of(net(x), y).mean()
            sgd.zero_grad()
            loss.backward()
            sgd.step()

    return run


def tiny_step():
    x, y = ag.randn(2, 4), ag.ones(2, 1)
    return training(ag.nn.Sequential(ag.nn.Dense(4, 4, "relu"), ag.nn.Dense(4, 1)), ag.nn.l2_loss, lambda: (x, y))


def chapter_epoch():
    net = ag.nn.Sequential(ag.nn.Dense(512, 2048, "relu"), ag.nn.Dense(2048, 512, "relu"), ag.nn.Dense(512, 1))
    return training(net, ag.nn.l2_loss, lambda: (ag.randn(1024, 512), ag.ones(1024, 1)))


def asnumpy():
    x = ag.randn(1000, 1000).wait()

    def run(units):
        for _ in range(units):
            numpy.array(x)

    return run


if __name__ == "__main__":
    ag.set_default_device(stopwatch.command_line()[2])
    wait = lambda y: y.wait()
    stopwatch.main(
        ag.__version__,
        {
            "python_increments": stopwatch.increments(lambda: ag.zeros(1, 2), wait),
            "python_increments_waited": stopwatch.increments(lambda: ag.zeros(1, 2), wait, each=True),
            "python_increments_mxnet": stopwatch.increments(lambda: np.zeros((1, 2)), wait),
            "python_tiny_step": tiny_step,
            "python_chapter_epoch": chapter_epoch,
            "python_asnumpy": asnumpy,
            **networks.workloads(System),
        },
        ag.wait_all,
    )
