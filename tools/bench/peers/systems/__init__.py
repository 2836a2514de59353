"""The systems that are compared, each in a module of its own.

A module is only imported by a worker that runs its system, so that none of them
needs what another one needs.
"""

from __future__ import annotations

import importlib

MODULES = {
    "espalier": "espalier",
    "torch": "pytorch",
    "dynet": "dynet",
    "onnxruntime": "onnx_runtime",
    "numpy": "numpy_reference",
}


def system_of(peer):
    """'torch' of 'torch:naive'. ValueError for a system that is not known."""
    system = peer.partition(":")[0]
    if system not in MODULES:
        raise ValueError(f"unknown peer '{peer}': expected one of {', '.join(MODULES)}")
    return system


def implementation(peer, problem):
    """The implementation, and the variant that the user named or None.

    ValueError if the system has none for the problem.
    """
    system, _, variant = peer.partition(":")
    module = importlib.import_module(f"{__name__}.{MODULES[system_of(peer)]}")
    made = module.build(problem, variant)
    if made is None:
        raise ValueError(f"{system} has no {problem.model} for {problem.mode}")
    return made
