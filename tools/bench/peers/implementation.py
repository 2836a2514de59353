"""What a system must offer to be compared."""

from __future__ import annotations

import time


class Implementation:
    """How one system solves one problem.

    A system may know several ways to do it: the fastest of its `variants` is
    what gets compared, unless the user names one. Those in `on_request` only
    run if named.
    """

    on_request = ()
    # Variants that have no schedule apart from the computation.
    unscheduled = ()

    def __init__(self, problem):
        self.problem = problem

    def variants(self):
        """Functions by name, best guess first. Each takes what `load` returned.

        For inference a function returns the logits, for training it makes one
        step and returns the loss before it, both as `value` understands them.
        """
        raise NotImplementedError

    def use_threads(self, count):
        """Computes with that many threads from now on."""

    def thread_counts(self):
        """How many threads are worth trying. More than one only if `use_threads`
        does something: the problem's number, and one, where that is faster."""
        return [self.problem.threads]

    def reset(self):
        """Goes back to the weights of the problem."""

    def load(self, batch):
        """What parsing leaves behind: `batch` in the system's own types.

        Not timed. Nothing may be computed here that depends on which
        structures are in the batch together; of single structures, only what a
        user would keep with the data: the height of each vertex.
        """
        return batch

    def value(self, output):
        """What a variant returned, as an array."""
        return output

    def construct(self, loaded, variant):
        """Only the schedule, or the graph, of a batch; timed apart."""
        raise NotImplementedError

    def construction_seconds(self, batches, variant):
        """Seconds to schedule `batches`, or None if that cannot be told apart."""
        if variant in self.unscheduled:
            return None
        start = time.perf_counter()
        for batch in batches:
            self.construct(batch, variant)
        return time.perf_counter() - start

    def bytes_needed(self, loaded):
        """Bytes of dynamic tensors by the system's own account, or None."""
        return None
