"""The process that runs one system: `python3 -m peers.worker PEER`.

It answers JSON lines on standard input with JSON lines on standard output. What
libraries print goes to standard error. A request that fails is answered with
{"error": text}, and the worker lives on.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
import traceback

import numpy as np

from .problem import Problem
from .systems import implementation

# Structures whose results are compared, and steps of training.
CHECKED_STRUCTURES = 64
CHECKED_STEPS = 3
# Seconds that choosing among variants may take for each.
TRIAL_SECONDS = 0.5


class Worker:
    def __init__(self, peer):
        self.peer = peer

    def load(self, problem):
        """Takes a problem in; answers nothing."""
        self.solver = self.loaded = None  # frees the last one's memory
        self.problem = Problem.from_json(problem)
        self.solver = implementation(self.peer, self.problem)
        self.structures = self.problem.structures()
        self.batches = self.structures.batches(self.problem.batch)
        self.loaded = [self.solver.load(batch) for batch in self.batches]
        return {}

    def choose(self, pass_seconds):
        """Takes the fastest variant, unless the peer's name has one.

        Answers with its name, and the structures and vertices of one pass: all
        batches, or the first ones, as many as fit into `pass_seconds`.
        """
        known = self.solver.variants()
        named = self.peer.partition(":")[2]
        if named and named not in known:
            raise ValueError(f"'{self.peer}': expected one of {', '.join(known)}")
        self.names = (
            [named]
            if named
            else [name for name in known if name not in self.solver.on_request]
        )
        trials = {
            (name, threads): self._trial(known[name], threads)
            for name in self.names
            for threads in self.solver.thread_counts()
        }
        self.variant, threads = max(trials, key=trials.get)
        self.run = known[self.variant]
        self.solver.use_threads(threads)
        self.solver.reset()
        done, _ = self._pass(pass_seconds)
        self.pass_batches = self.batches[:done]
        return {
            "variant": self.variant,
            "threads": threads,
            "trials": [[*key, rate] for key, rate in trials.items()],
            "structures": sum(len(batch) for batch in self.pass_batches),
            "vertices": sum(batch.vertices for batch in self.pass_batches),
        }

    def _trial(self, run, threads):
        """Vertices a second of a variant, once it is warm."""
        self.solver.use_threads(threads)
        run(self.loaded[0])
        start, vertices, rate = time.perf_counter(), 0, 0.0
        for batch, loaded in zip(self.batches, self.loaded):
            run(loaded)
            vertices += batch.vertices
            seconds = time.perf_counter() - start
            rate = vertices / seconds
            if seconds > TRIAL_SECONDS:
                break
        return rate

    def _pass(self, limit=float("inf"), count=None):
        """Batches done, and seconds."""
        gc.collect()
        gc.disable()
        done = 0
        start = time.perf_counter()
        for loaded in self.loaded[:count]:
            self.run(loaded)
            done += 1
            if time.perf_counter() - start > limit:
                break
        seconds = time.perf_counter() - start
        gc.enable()
        return done, seconds

    def check(self, path):
        """Saves the results of every variant that was tried.

        For inference the logits of the first batches. For training the loss of
        the first batch, and by how much it falls after each of some steps on
        it, which only happens if gradients and updates are right.
        """
        results = {}
        for name in self.names:
            run = self.solver.variants()[name]
            self.solver.reset()
            value = lambda at: np.array(self.solver.value(run(self.loaded[at])))
            if self.problem.mode == "training":
                losses = [float(value(0).item()) for _ in range(1 + CHECKED_STEPS)]
                falls = [losses[0] - loss for loss in losses[1:]]
                results[name] = np.array(losses[:1] + falls)
            else:
                batches = -(-CHECKED_STRUCTURES // self.problem.batch)
                count = min(batches, len(self.batches))
                results[name] = np.concatenate([value(at) for at in range(count)])
        self.solver.reset()
        self._pass(count=1)
        np.savez(path, **results)
        return {}

    def time(self):
        """Seconds for one pass."""
        return {"seconds": self._pass(count=len(self.pass_batches))[1]}

    def construct(self):
        """Seconds to schedule, or to build the graphs of, one pass."""
        loaded = self.loaded[: len(self.pass_batches)]
        return {"seconds": self.solver.construction_seconds(loaded, self.variant)}

    def memory(self, problem, variant):
        """Bytes that the largest batch adds to the process, which must be fresh:
        an allocator keeps what it once had."""
        problem = Problem.from_json(problem)
        solver = implementation(self.peer, problem)
        run = solver.variants()[variant]
        structures = problem.structures()
        largest = max(structures.batches(problem.batch), key=lambda b: b.vertices)
        run(solver.load(structures.slice(0, 1)))
        loaded = solver.load(largest)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak becomes what is resident now
        before = _status("VmHWM")
        run(loaded)
        return {
            "bytes": _status("VmHWM") - before,
            "own_account": solver.bytes_needed(loaded),
            "vertices": largest.vertices,
        }


def _status(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise KeyError(field)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            answer = {"error": f"{text}\n\n{traceback.format_exc()}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
