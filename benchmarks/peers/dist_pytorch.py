"""The chapter's training on two processes of one thread each: DistributedDataParallel on gloo. Prints a line of JSON."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn

WARM_STEPS, STEPS, REPEATS = 5, 20, 3  # as in dist_steps.cpp
RANKS = 2


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 1))
    net = nn.parallel.DistributedDataParallel(net)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)

    def run(count):
        for _ in range(count):
            x, y = torch.randn(1024 // RANKS, 512), torch.ones(1024 // RANKS, 1)
            loss = nn.functional.mse_loss(net(x), y) / 2
            sgd.zero_grad()
            loss.backward()
            sgd.step()

    run(WARM_STEPS)
    step_s = []
    for _ in range(REPEATS):
        dist.barrier()
        start = time.perf_counter()
        run(STEPS)
        step_s.append((time.perf_counter() - start) / STEPS)
    if rank == 0:
        print(json.dumps({"ranks": RANKS, "step_s": sorted(step_s)[REPEATS // 2]}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(train, (sys.argv[1],), RANKS)
