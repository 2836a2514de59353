#!/usr/bin/env python3
"""PyTorch's part of train_step_bench.py: BATCH IMAGE THREADS STEPS [again].

ResNet-50 as `espalier.networks resnet50` has it, trained with momentum. Prints
the seconds of each step but a first one, and by how much the process grew.
"""

import json
import resource
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def normalized(inputs, outputs, kernel, stride=1, padding=0):
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class Block(nn.Module):
    def __init__(self, inputs, channels, stride, again):
        super().__init__()
        self.again = again
        self.body = nn.Sequential(
            *normalized(inputs, channels, 1, stride), nn.ReLU(inplace=True),
            *normalized(channels, channels, 3, padding=1), nn.ReLU(inplace=True),
            *normalized(channels, 4 * channels, 1),
        )
        projects = stride != 1 or inputs != 4 * channels
        self.shortcut = nn.Sequential(
            *(normalized(inputs, 4 * channels, 1, stride) if projects else [])
        )

    def compute(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))

    def forward(self, x):
        if self.again:
            return checkpoint(self.compute, x, use_reentrant=False)
        return self.compute(x)


def resnet50(again):
    layers = [*normalized(3, 64, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True)]
    inputs = 64
    for channels, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            stride = 2 if number == 0 and channels > 64 else 1
            layers.append(Block(inputs, channels, stride, again))
            inputs = 4 * channels
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    return nn.Sequential(*layers)


def main():
    batch, image, threads, steps = map(int, sys.argv[1:5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    network = resnet50("again" in sys.argv)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, image, image)
    labels = torch.randint(0, 1000, (batch,))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"seconds": seconds[1:], "bytes": grown * 1024}))


main()
