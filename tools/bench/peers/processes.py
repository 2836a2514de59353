"""The worker processes, from the side of the one that drives them."""

from __future__ import annotations

import json
import os
import subprocess

# Memory that was once touched stays mapped: page faults alone cost peers up to
# 2.7 times their speed. What glibc takes is an int, so just below 2 GiB.
KEEPING = {
    "MALLOC_MMAP_THRESHOLD_": "1000000000",
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_TOP_PAD_": str(256 << 20),
}
# Memory that is freed goes back at once, so that what is resident is in use.
RETURNING = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}


class WorkerError(RuntimeError):
    """A worker could not do what it was asked to, or ended."""


class WorkerProcess:
    """One peer with a number of threads, for as long as `with` lasts.

    It belongs to the process group of its parent, so that an interrupt ends
    all of them.
    """

    def __init__(self, peer, threads, python, allocator=KEEPING):
        count = str(threads)
        environment = {
            **os.environ,
            **allocator,
            "OMP_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
        }
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.process = subprocess.Popen(
            [python, "-m", "peers.worker", peer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=here,
            env=environment,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, do, **arguments):
        """One request, and its answer. WorkerError if it failed."""
        try:
            request = json.dumps({"do": do, **arguments})
            print(request, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            raise WorkerError(f"its process ended with {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer
