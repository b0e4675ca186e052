"""The chapter's step on PyTorch by hand-made CUDA graphs: the whole step is captured once, then replayed.

As in PyTorch's notes, "Whole-network capture": https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""
import torch
from peer_pytorch import at_precision, chapter_batch, chapter_net, l2_loss, main


def chapter_step():
    net = chapter_net()
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, fused=True)

    def step():
        x, y = chapter_batch()
        sgd.zero_grad()
        l2_loss(net(x), y).backward()
        sgd.step()

    # Handles and states that the first steps make must be there before the capture.
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)

    graph = torch.cuda.CUDAGraph()
    sgd.zero_grad()  # so that the gradients are made, and made anew, in the graph's own memory
    with torch.cuda.graph(graph):
        step()

    def run(units):
        for _ in range(units):
            graph.replay()

    return run


main({"chapter_step": chapter_step, "chapter_step_tf32": at_precision("high", chapter_step)})
