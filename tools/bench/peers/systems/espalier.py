"""Espalier, through the C interface of its runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p, sizeof

import numpy as np

from ..implementation import Implementation
from .espalier_c import POLICIES, Runtime, SessionOptions, Stats, Tensor
from .espalier_c import named_tensors

RESIZE = os.path.join(os.path.dirname(__file__), "..", "..", "resize_example.py")

# Peers neither clip nor decay.
TRAINING_FLAGS = ["--train=sgd", "--train-without=clipping,decay"]
# Nor do they bring a state of every vertex into the caller's order.
INFERENCE_FLAGS = ["--results=logits"]
TRAINING_SCALARS = {"gradient_scale": 1.0}

# The arrays of a batch by the names of the entries' arguments.
FIELDS = {"word": "word", "label": "label", "labels": "label"}


def build(problem, variant):
    return Espalier(problem, variant)


def compile_model(problem, flags):
    """The library of the model at the problem's state size, compiled once."""
    name = f"{problem.model}_{problem.state}" + "".join(
        c if c.isalnum() else "_" for flag in flags for c in flag
    )
    source = os.path.join(problem.folder, name + ".mlir")
    library = os.path.join(problem.folder, name + ".so")
    if os.path.exists(library):
        return library
    with open(problem.model_file) as example, open(source, "w") as resized:
        subprocess.run(
            [sys.executable, RESIZE, str(problem.state)],
            stdin=example,
            stdout=resized,
            check=True,
        )
    compiler = os.path.join(problem.tools, "espalier-compile")
    done = subprocess.run(
        [compiler, source, "-o", library, *flags], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{compiler} refused the model:\n{done.stderr}")
    return library


class Espalier(Implementation):
    """`espalier:serial` is one vertex at a time; `espalier:ablate=fusion`, or
    any other word, is the model compiled with --ablate=fusion."""

    def __init__(self, problem, variant):
        super().__init__(problem)
        self.training = problem.mode == "training"
        self.variant = variant or "batched"
        flags = list(TRAINING_FLAGS if self.training else INFERENCE_FLAGS)
        if self.variant not in POLICIES:
            flags.append(f"--{self.variant}")
        self.policy = POLICIES.get(self.variant, POLICIES["batched"])
        self.runtime = Runtime(problem.runtime)
        library = compile_model(problem, flags)
        self.module = self.runtime.make("module_load", library.encode())
        self.entry = "train_step" if self.training else "classify"
        inputs = self.runtime.entry_inputs(self.module, self.entry)
        scalars = {"learning_rate": problem.learning_rate, **TRAINING_SCALARS}
        scalars = {k: np.float32(v) for k, v in scalars.items() if k in inputs}
        self.scalar_count = len(scalars)
        self.scalars = named_tensors({k: np.asarray(v) for k, v in scalars.items()})
        self.fields = [name for name in inputs if name not in scalars]
        if not set(self.fields) <= set(FIELDS):
            raise KeyError(
                f"{self.entry} takes {', '.join(self.fields)}: expected no more "
                f"than {', '.join(FIELDS)}"
            )
        self.session = self.weights = None
        self.reset()

    def _session(self, profile):
        options = SessionOptions(
            sizeof(SessionOptions),
            self.policy,
            self.entry.encode(),
            self.problem.threads,
            profile,
        )
        return self.runtime.make(
            "session_create", self.module, self.weights, byref(options)
        )

    def reset(self):
        self.runtime.destroy("session", self.session)
        self.runtime.destroy("weights", self.weights)
        arrays = self.problem.weights()
        self.weights = self.runtime.make(
            "weights_create", named_tensors(arrays), len(arrays)
        )
        self.session = self._session(profile=0)

    def load(self, batch):
        structures = self.runtime.make("structures_create")
        for begin, end in zip(batch.ends - batch.sizes, batch.ends):
            rows = batch.children[begin:end]
            there = rows >= 0
            offsets = np.zeros(end - begin + 1, np.int64)
            np.cumsum(there.sum(axis=1), out=offsets[1:])
            children = np.ascontiguousarray(rows[there] - begin, np.int32)
            self.runtime.call(
                "structures_append",
                structures,
                end - begin,
                offsets.ctypes.data_as(POINTER(c_int64)),
                children.ctypes.data_as(POINTER(c_int32)),
            )
        for field in self.fields:
            tensor = Tensor.of(getattr(batch, FIELDS[field]))
            self.runtime.call(
                "structures_set_field", structures, field.encode(), byref(tensor)
            )
        return structures

    def variants(self):
        run = self.runtime.library.espalier_session_run
        destroy = self.runtime.library.espalier_result_destroy
        result = c_void_p()
        out = byref(result)

        def batched(structures):
            destroy(result)
            result.value = None
            status = run(self.session, structures, self.scalars, self.scalar_count, out)
            if status != 0:
                self.runtime.fail()
            return result

        return {self.variant: batched}

    def value(self, output):
        tensor = Tensor()
        name = b"loss" if self.training else b"logits"
        self.runtime.call("result_tensor", output, name, byref(tensor))
        array = tensor.array()
        # A loss may be a number, or one for each vertex: its sum is differentiated.
        return array.sum(dtype=np.float64) if self.training else array

    def construction_seconds(self, batches, variant):
        session = self._session(profile=1)
        run = [self.scalars, self.scalar_count]
        for batch in batches:
            self.runtime.destroy(
                "result", self.runtime.make("session_run", session, batch, *run)
            )
        stats = Stats(struct_size=sizeof(Stats))
        self.runtime.call("session_stats", session, byref(stats))
        self.runtime.destroy("session", session)
        return stats.schedule_seconds

    def bytes_needed(self, loaded):
        needed = c_int64()
        self.runtime.call("session_bytes_needed", self.session, loaded, byref(needed))
        return needed.value
