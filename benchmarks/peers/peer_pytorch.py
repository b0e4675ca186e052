"""The workloads on PyTorch; others import from it what they do in other ways."""
import functools

import networks
import stopwatch
import torch
from system_pytorch import System, use_gpu
from torch import nn
from trials_pytorch import TRIALS

_, _, DEVICE = stopwatch.command_line()
if DEVICE != "cpu":
    use_gpu(DEVICE)


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


def chapter_net():
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 1))
    return net.to(DEVICE)


def chapter_batch():
    return torch.randn(1024, 512, device=DEVICE), torch.ones(1024, 1, device=DEVICE)


def chapter_step():
    return training(chapter_net(), l2_loss, chapter_batch)


def at_precision(precision, prepare):
    """The same with another precision of products: "high" is TF32, "medium" bf16."""

    def prepare_precisely():
        torch.set_float32_matmul_precision(precision)
        return prepare()

    return prepare_precisely


def products():
    @torch.inference_mode()
    def run(units):
        for _ in range(units):
            a = torch.randn(1000, 1000, device=DEVICE)
            torch.mm(a, a)

    return run


def randn():
    def run(units):
        for _ in range(units):
            torch.randn(1000, 1000, device=DEVICE)

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


def main(workloads, set_threads=torch.set_num_threads):
    if DEVICE == "cpu":
        stopwatch.main(torch.__version__, workloads, set_threads=set_threads)
    else:
        stopwatch.main(torch.__version__, workloads, torch.cuda.synchronize)


if __name__ == "__main__":
    main(
        {
            "increments_async": increments,
            "increments_sync": increments,
            "tiny_mlp_step": tiny_mlp_step,
            "small_mlp_step": small_mlp_step,
            "chapter_step": chapter_step,
            "chapter_step_tf32": at_precision("high", chapter_step),
            "chapter_step_bf16": at_precision("medium", chapter_step),
            "randn": randn,
            "sgd_momentum": update(torch.optim.SGD, lr=0.01, momentum=0.9),
            "adam": update(torch.optim.Adam),
            **{f"product_{n}": product(n) for n in (64, 256, 1000, 4000)},
            "products": products,
            "products_queued": products,
            **TRIALS,
            **networks.workloads(functools.partial(System, DEVICE)),
        }
    )
