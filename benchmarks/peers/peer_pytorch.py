"""The works on PyTorch."""
import stopwatch
import torch
from torch import nn


def increments():
    # PyTorch computes within the call on a CPU: nothing is left to wait for.
    @torch.inference_mode()
    def run(units):
        y = torch.zeros(1, 2)
        for _ in range(units):
            y = y + 1

    return run


def training(net, loss_of, draw):
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)

    def run(units):
        for _ in range(units):
            x, y = draw()
            loss = loss_of(net(x), y)
            sgd.zero_grad()
            loss.backward()
            sgd.step()

    return run


def l2_loss(prediction, label):
    return nn.functional.mse_loss(prediction, label) / 2


def tiny_mlp_step():
    x, y = torch.randn(2, 4), torch.ones(2, 1)
    return training(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), l2_loss, lambda: (x, y))


def small_mlp_step():
    x, y = torch.randn(32, 64), torch.arange(32) % 10
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return training(net, nn.functional.cross_entropy, lambda: (x, y))


def chapter_step():
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 1))
    return training(net, l2_loss, lambda: (torch.randn(1024, 512), torch.ones(1024, 1)))


def chapter_step_bf16():
    torch.set_float32_matmul_precision("medium")
    return chapter_step()


def randn():
    def run(units):
        for _ in range(units):
            torch.randn(1000, 1000)

    return run


def update(optimizer, **options):
    def prepare():
        parameter = nn.Parameter(torch.randn(10_000_000))
        parameter.grad = torch.randn(10_000_000)
        updating = optimizer([parameter], fused=True, **options)

        def run(units):
            for _ in range(units):
                updating.step()

        return run

    return prepare


def product(n):
    def prepare():
        x, w = torch.randn(n, n), torch.randn(n, n)

        @torch.inference_mode()
        def run(units):
            for _ in range(units):
                x @ w

        return run

    return prepare


stopwatch.main(
    torch.__version__,
    {
        "increments_async": increments,
        "increments_sync": increments,
        "tiny_mlp_step": tiny_mlp_step,
        "small_mlp_step": small_mlp_step,
        "chapter_step": chapter_step,
        "chapter_step_bf16": chapter_step_bf16,
        "randn": randn,
        "sgd_momentum": update(torch.optim.SGD, lr=0.01, momentum=0.9),
        "adam": update(torch.optim.Adam),
        **{f"product_{n}": product(n) for n in (64, 256, 1000, 4000)},
    },
)
