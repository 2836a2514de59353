"""Runs the peers of one problem in turn, and checks that they agree."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from .processes import RETURNING, WorkerError, WorkerProcess

# How far results may be off the first peer's.
TOLERANCE = 2e-3
# After a run its threads may still be spinning; the next one waits that out.
PAUSE_SECONDS = 0.05


class Disagreement(RuntimeError):
    """Two peers computed different things."""


def relative_error(mode, values, reference):
    """The largest difference over the largest logit, or, of a loss and its falls,
    over each one itself, but at least a thousandth of the loss: sums of many
    vertices are rounded. Infinite for results that are not finite."""
    if values.shape != reference.shape:
        raise Disagreement(f"shapes {values.shape} and {reference.shape}")
    if not np.isfinite(values).all():
        return float("inf")
    scale = np.abs(reference.astype(np.float64))
    if mode == "inference":
        scale = scale.max()
    else:
        scale = np.maximum(scale, 1e-3 * scale[0])
    return float((np.abs(values - reference) / np.maximum(scale, 1e-30)).max())


class Comparison:
    """One problem, and a worker for each peer that can solve it.

    Peers that cannot are left out with the reason in `failed`; nothing else is
    skipped.
    """

    def __init__(self, problem, workers):
        self.problem = problem
        self.workers = dict(workers)
        self.failed = {}
        self.chosen = {}
        self.errors = {}

    def each(self, order, function):
        """Calls function(peer, worker); a peer for which that fails is out."""
        for peer in order:
            if peer in self.failed:
                continue
            try:
                function(peer, self.workers[peer])
            except (WorkerError, Disagreement) as error:
                self.failed[peer] = str(error)
                reason = str(error).splitlines()[0]
                print(f"  {peer} failed: {reason}", file=sys.stderr)

    def prepare(self, pass_seconds):
        def one(peer, worker):
            worker.ask("load", problem=self.problem.to_json())
            self.chosen[peer] = worker.ask("choose", pass_seconds=pass_seconds)

        self.each(self.workers, one)

    def check(self):
        """Compares all variants' results with those of the first peer."""
        reference = []

        def one(peer, worker):
            path = os.path.join(self.problem.folder, "results.npz")
            worker.ask("check", path=path)
            with np.load(path) as file:
                results = {name: file[name] for name in file.files}
            if not reference:
                reference.append(next(iter(results.values())))
            errors = {
                name: relative_error(self.problem.mode, values, reference[0])
                for name, values in results.items()
            }
            self.errors[peer] = max(errors.values())
            for name, error in errors.items():
                if error > TOLERANCE:
                    raise Disagreement(
                        f"{name} is {error:.1e} off the results of "
                        f"{next(iter(self.workers))}"
                    )

        self.each(self.workers, one)

    def time(self, repeats):
        """Seconds of one pass, by peer; another peer begins in each repeat."""
        seconds = {peer: [] for peer in self.workers}
        order = list(self.workers)

        def one(peer, worker):
            time.sleep(PAUSE_SECONDS)
            seconds[peer].append(worker.ask("time")["seconds"])

        for repeat in range(repeats):
            turn = repeat % len(order)
            self.each(order[turn:] + order[:turn], one)
        return seconds

    def construction(self):
        """Seconds of scheduling alone for one pass; None where inseparable."""
        seconds = {}

        def one(peer, worker):
            worker.ask("construct")
            seconds[peer] = worker.ask("construct")["seconds"]

        self.each(self.workers, one)
        return seconds

    def memory(self, pythons):
        """Bytes of the largest batch, each in a process of its own."""
        found = {}

        def one(peer, _):
            threads, python = self.problem.threads, pythons(peer)
            with WorkerProcess(peer, threads, python, RETURNING) as fresh:
                found[peer] = fresh.ask(
                    "memory",
                    problem=self.problem.to_json(),
                    variant=self.chosen[peer]["variant"],
                )

        self.each(self.workers, one)
        return found


def cell_results(comparison, seconds, structures):
    """The JSON of one cell.

    A pass of a slow peer may have fewer structures than that of others, so
    rates are compared by vertices: samples/s is vertices/s over the vertices
    that all structures have on average.
    """
    mean = structures.vertices / len(structures)
    peers = {}
    for peer in comparison.workers:
        if peer in comparison.failed:
            peers[peer] = {"failed": comparison.failed[peer]}
            continue
        chosen = comparison.chosen[peer]
        rates = [chosen["vertices"] / s / mean for s in seconds[peer]]
        low, middle, high = np.percentile(rates, [25, 50, 75])
        peers[peer] = {
            **chosen,
            "seconds": seconds[peer],
            "samples_per_second": middle,
            "quartiles": [low, high],
            "error": comparison.errors[peer],
        }
    return peers
