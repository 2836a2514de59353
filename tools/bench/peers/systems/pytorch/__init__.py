"""PyTorch: by height and vertex by vertex."""

from __future__ import annotations

import torch

from .lstm import Lstm
from .tree_fc import TreeFc
from .tree_lstm import TreeLstm


def build(problem, variant):
    torch.set_num_threads(problem.threads)
    return {"tree_lstm": TreeLstm, "tree_fc": TreeFc, "lstm": Lstm}[problem.model](
        problem
    )
