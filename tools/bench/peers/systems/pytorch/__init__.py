"""PyTorch: by height and vertex by vertex."""

from __future__ import annotations

from .lstm import Lstm
from .tree_fc import TreeFc
from .tree_lstm import TreeLstm


def build(problem, variant):
    return {"tree_lstm": TreeLstm, "tree_fc": TreeFc, "lstm": Lstm}[problem.model](
        problem
    )
