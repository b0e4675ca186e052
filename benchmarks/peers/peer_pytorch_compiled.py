"""Training steps on PyTorch by torch.compile.

Compiled is all from the batch to the loss, and so its gradient; the update is PyTorch's fused one, on a GPU a single
launch. mode="reduce-overhead" replays graphs of launches on a GPU. On a CPU the code is for all cores.
"""
import functools

import networks
import torch
from peer_pytorch import DEVICE, at_precision, chapter_batch, chapter_net, l2_loss, main
from system_pytorch import System


def chapter_step():
    net = chapter_net()
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, fused=True)

    @torch.compile(mode="reduce-overhead")
    def loss_of_batch():
        x, y = chapter_batch()
        return l2_loss(net(x), y)

    def run(units):
        for _ in range(units):
            sgd.zero_grad()  # first: gradients lie in the memory of a graph, which a new step takes over
            torch.compiler.cudagraph_mark_step_begin()
            loss_of_batch().backward()
            sgd.step()

    return run


main(
    {
        "chapter_step": chapter_step,
        "chapter_step_tf32": at_precision("high", chapter_step),
        **networks.workloads(functools.partial(System, DEVICE, compiles=True)),
    },
    set_threads=None,
)
