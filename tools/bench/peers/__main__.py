"""Espalier and its peers, one against the other.

    cd tools/bench
    python3 -m peers --model tree_lstm --states 64,256,512 --batches 1,16,64,256 \\
        --threads 1,2 --mode inference --peers espalier,torch,dynet,gemm-bound \\
        --data SST/dev.txt --repeats 5 -o results.json
    python3 -m peers --print results.json

measures a grid, writes it to a file after every cell, and prints it as Markdown.
The harness itself needs NumPy only; each peer needs its package (torch; dynet;
onnxruntime and onnx), in the same Python or in one of its own, as with `--python
dynet=/path/to/python3.8`. DyNet's wheels are built for processors without AVX; its
source package, installed for this processor and with an OpenBLAS, is the honest
peer. Say which one was measured.

Models, with embeddings as wide as the state and the same random weights for all:

    tree_lstm   docs/examples/tree_lstm.mlir over binary trees in brackets (SST)
    lstm        docs/examples/lstm.mlir over random words; --data has a length a
                line (PTB)
    tree_fc     docs/examples/tree_fc.mlir over complete trees of 256 leaves

Inference computes the logits of every root. Training is one step of SGD a batch
on the cross-entropy of 5 classes, summed over all vertices; Espalier's model then
needs an entry `loss` with the fields `word` and `label`, and --model-file if the
example has none.

Peers, a name or name:variant (without one the fastest of the variants is used):

    espalier                 the C interface through ctypes; `espalier:serial`,
                             `espalier:ablate=fusion` (flags of espalier-compile)
    torch                    by height, one product a level. Training variants:
                             `split` (autograd, states handed from the level that
                             made them to the one that reads them), `cat`
                             (autograd, all states concatenated at every level),
                             `manual` (backward written by hand). Chains: `packed`
                             (nn.LSTM), `padded`, `loop`
    torch:naive              vertex by vertex
    torch:compile            by height, the cell through torch.compile
    dynet                    DyNet with autobatching
    onnxruntime              chains, inference: operator LSTM with lengths; the
                             batch as a whole, or in groups of like length
    gemm-bound               no peer: the time of the matrix products alone, by
                             espalier-gemm-bench (see gemm_bound.py)
    numpy                    a reference, to test the harness with

What is timed is one pass over all batches: for each, scheduling or building the
graph, and computing. Not timed: parsing, and bringing single structures into a
system's own types. A pass of a slow peer ends after --pass-seconds; rates are then
compared by vertices. Every peer runs in a process of its own that lives for the
whole grid; the processes take turns, in another order each time, with allocators
that keep their memory. Given more threads than one, torch and dynet use one where
that is faster. Results are medians with quartiles. Before any timing the results of
all variants are compared with those of the first peer: logits, or how the loss falls
in three steps.

--construction measures scheduling alone, --memory the memory of the largest batch.
A peer that fails is reported as such, in the tables too, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import sys
import tempfile
import time

from . import gemm_bound, report, structures
from .comparison import Comparison, cell_results
from .problem import TABLE, Problem
from .processes import WorkerProcess
from .systems import system_of

REPOSITORY = os.path.join(os.path.dirname(__file__), "..", "..", "..")
BOUND = "gemm-bound"
TREE_FC_LEAVES, TREE_FC_TREES = 256, 256


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    numbers = lambda text: [int(part) for part in text.split(",")]
    names = lambda text: text.split(",")
    models = ["tree_lstm", "lstm", "tree_fc"]
    add = parser.add_argument
    add("--print", metavar="FILE", help="print a file of results and end")
    add("--model", choices=models, default="tree_lstm")
    add("--mode", choices=["inference", "training"], default="inference")
    add("--states", type=numbers, default=[64])
    add("--batches", type=numbers, default=[16])
    add("--threads", type=numbers, default=[1])
    add("--peers", type=names, default=["espalier", "torch"])
    add("--data", metavar="FILE", help="treebank, or lengths for lstm")
    add("--structures", type=int, metavar="N", help="only the first N")
    add("--repeats", type=int, default=5)
    add("--pass-seconds", type=float, default=10.0)
    add("--learning-rate", type=float, default=0.01, help="of the mean over a batch")
    add("--construction", action="store_true")
    add("--memory", action="store_true")
    add("--gemm-backend", default="builtin", help="of gemm-bound: builtin, onednn")
    add("--model-file", metavar="FILE", help="instead of docs/examples/MODEL.mlir")
    add("--tools", default=os.path.join(REPOSITORY, "build", "release", "bin"))
    add("--runtime", help="default: lib/libespalier_runtime.so beside --tools")
    add("--python", action="append", default=[], metavar="PEER=PYTHON")
    add("-o", "--output", metavar="FILE", help="where to write results (JSON)")
    options = parser.parse_args()
    if options.print is None:
        for peer in options.peers:
            if peer != BOUND:
                try:
                    system_of(peer)
                except ValueError as error:
                    parser.error(str(error))
        if options.data is None and options.model != "tree_fc":
            parser.error(f"{options.model} needs --data")
    return options


def read_data(options):
    if options.model == "tree_lstm":
        return structures.read_treebank(options.data, options.structures)
    if options.model == "lstm":
        return structures.read_lengths(options.data, TABLE, options.structures)
    count = options.structures or TREE_FC_TREES
    return structures.complete_trees(TREE_FC_LEAVES, count, TABLE)


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if "model name" in line]
    return f"{names[0]}, {len(names)} cores, {platform.system()} {platform.machine()}"


def busy_cores(seconds=0.5):
    """How many cores others use while the harness does nothing."""

    def idle_and_all():
        with open("/proc/stat") as file:
            ticks = [int(field) for field in file.readline().split()[1:]]
        return ticks[3] + ticks[4], sum(ticks[:8])

    idle, total = idle_and_all()
    time.sleep(seconds)
    idle_after, total_after = idle_and_all()
    share = 1 - (idle_after - idle) / max(1, total_after - total)
    return share * os.cpu_count()


class Grid:
    """All cells that the options ask for."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.data = read_data(options)
        self.data.save(os.path.join(folder, "structures.npz"))
        self.pythons = dict(pair.split("=", 1) for pair in options.python)
        self.rates = gemm_bound.Rates(options.tools, options.gemm_backend)
        self.results = {
            "machine": machine(),
            "command": sys.argv[1:],
            "repeats": options.repeats,
            "cells": [],
        }

    def python_of(self, peer):
        return self.pythons.get(peer, self.pythons.get(system_of(peer), sys.executable))

    def problem(self, state, batch, threads):
        options = self.options
        tools = os.path.abspath(options.tools)
        runtime = options.runtime or os.path.join(
            os.path.dirname(tools), "lib", "libespalier_runtime.so"
        )
        example = os.path.join(REPOSITORY, "docs", "examples", options.model + ".mlir")
        return Problem(
            model=options.model,
            mode=options.mode,
            state=state,
            batch=batch,
            threads=threads,
            learning_rate=options.learning_rate / batch,
            folder=self.folder,
            model_file=os.path.abspath(options.model_file or example),
            tools=tools,
            runtime=os.path.abspath(runtime),
        )

    def run(self):
        for threads in self.options.threads:
            with contextlib.ExitStack() as stack:
                workers = {
                    peer: stack.enter_context(
                        WorkerProcess(peer, threads, self.python_of(peer))
                    )
                    for peer in self.options.peers
                    if peer != BOUND
                }
                grid = itertools.product(self.options.states, self.options.batches)
                for state, batch in grid:
                    self.cell(self.problem(state, batch, threads), workers)

    def cell(self, problem, workers):
        start = time.time()
        print(problem, file=sys.stderr, flush=True)
        problem.write_weights()
        comparison = Comparison(problem, workers)
        comparison.prepare(self.options.pass_seconds)
        comparison.check()
        busy = busy_cores()
        seconds = comparison.time(self.options.repeats)
        peers = cell_results(comparison, seconds, self.data)
        apart = {}
        if self.options.construction:
            apart["construction_seconds"] = comparison.construction()
        if self.options.memory:
            apart["memory"] = comparison.memory(self.python_of)
        for key, values in apart.items():
            for peer, value in values.items():
                peers[peer][key] = value
        for peer, reason in comparison.failed.items():
            peers[peer] = {"failed": reason}
        if BOUND in self.options.peers:
            peers[BOUND] = self.bound(problem)
        self.results["cells"].append(
            {
                "model": problem.model,
                "mode": problem.mode,
                "state": problem.state,
                "batch": problem.batch,
                "threads": problem.threads,
                "busy_cores": round(max(busy, busy_cores()), 2),
                "data": f"{len(self.data)} structures, {self.data.vertices} vertices",
                "peers": peers,
            }
        )
        self.save()
        print(f"  {time.time() - start:.0f} s", file=sys.stderr, flush=True)

    def bound(self, problem):
        seconds = self.rates.bound(problem, self.data.batches(problem.batch))
        rate = len(self.data) / seconds
        return {
            "variant": self.options.gemm_backend,
            "threads": problem.threads,
            "samples_per_second": rate,
            "quartiles": [rate, rate],
            "error": 0.0,
        }

    def save(self):
        if self.options.output:
            partial = self.options.output + ".part"
            with open(partial, "w") as file:
                json.dump(self.results, file, indent=1)
            os.replace(partial, self.options.output)

    def failed(self):
        return any(
            "failed" in entry
            for cell in self.results["cells"]
            for entry in cell["peers"].values()
        )


def main():
    options = parse_arguments()
    if options.print is not None:
        with open(options.print) as file:
            print(report.markdown(json.load(file)))
        return 0
    with tempfile.TemporaryDirectory(prefix="espalier-peers-") as folder:
        grid = Grid(options, folder)
        grid.run()
        print(report.markdown(grid.results))
        return 1 if grid.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
