"""Models the parallel efficiency of averaging gradients over a network, for the table in docs/dist.md.

Alpha-beta: summing b bytes over n ranks takes 2 (n - 1) / n * b / bandwidth, and ALPHA_S for each of 2 log2(n) rounds. The
backward pass is two thirds of the computing, and its gradients come in the order of the lists: (share of the bytes, share
of the backward pass). The next step begins when all is summed.
"""
import math

ALPHA_S = 5e-6
RESNET50 = [(0.60, 0.15), (0.28, 0.30), (0.09, 0.30), (0.03, 0.25)]  # fc and stage 5, then stages 4, 3, and the rest
GPT2 = [(0.69, 0.99), (0.31, 0.01)]  # blocks, then the embedding, which is also the last layer
ROWS = [("ResNet-50, 256 images a rank, 10 Gb/s, 2 ranks", RESNET50, 102e6, 256 / 3000, 1.25e9, 2),
        ("ResNet-50, 64 images a rank, 100 Gb/s, 4,096 ranks", RESNET50, 102e6, 64 / 2600, 12.5e9, 4096),
        ("GPT-2 124M, 16k tokens a rank, 100 Gb/s, 256 ranks", GPT2, 498e6, 6 * 124e6 * 16384 / 125e12, 12.5e9, 256),
        ("GPT-2 124M, 16k tokens a rank, 400 Gb/s, 256 ranks", GPT2, 498e6, 6 * 124e6 * 16384 / 125e12, 50e9, 256)]


def efficiency(stages, size, compute_s, bandwidth, ranks, piece):
    """piece: the bytes that are summed together; size: all at the end."""
    chunks, now = [], compute_s / 3  # (when it is there, bytes), in small parts
    for share, of_backward in stages:
        for _ in range(100):
            now += of_backward / 100 * compute_s * 2 / 3
            chunks.append((now, share / 100 * size))
    link_free, waiting = 0.0, 0.0
    for place, (ready, more) in enumerate(chunks):
        waiting += more
        is_last = place == len(chunks) - 1
        while waiting >= piece or (is_last and waiting > 1):
            moved = min(waiting, piece)
            transfer_s = 2 * (ranks - 1) / ranks * moved / bandwidth + 2 * math.log2(ranks) * ALPHA_S
            link_free, waiting = max(link_free, ready) + transfer_s, waiting - moved
    return compute_s / max(link_free, compute_s)


for name, *row in ROWS:
    figures = [efficiency(*row, piece) for piece in (row[1], 25e6, 4 * 2**20)]
    print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")
