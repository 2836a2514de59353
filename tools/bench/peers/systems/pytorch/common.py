"""What all networks in PyTorch share: weights, the loss, a step of SGD."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from ...implementation import Implementation


class TorchImplementation(Implementation):
    """`inference` and `training` of a subclass hold methods by variant.

    Those of `inference` return the logits of the roots, and run in inference
    mode. Those of `training` return h of all vertices, in any order, and the
    classes of these vertices.
    """

    on_request = ("naive", "compile")
    unscheduled = ("naive", "padded")
    inference = {}
    training = {}

    def __init__(self, problem):
        super().__init__(problem)
        self.reset()

    def use_threads(self, count):
        torch.set_num_threads(count)

    def thread_counts(self):
        return sorted({1, self.problem.threads}, reverse=True)

    def reset(self):
        self.weights = {
            name: torch.from_numpy(array).requires_grad_(
                self.problem.mode == "training"
            )
            for name, array in self.problem.weights().items()
        }
        # Gradients of the embedding are sparse; momentum and decay are off.
        self.optimizer = torch.optim.SGD(
            self.weights.values(), lr=self.problem.learning_rate
        )
        self.after_reset()

    def after_reset(self):
        """Makes what is derived from the weights, for inference."""

    def load(self, batch):
        batch.labels = torch.from_numpy(batch.label.astype(np.int64))
        batch.words = torch.from_numpy(batch.word.astype(np.int64))
        return batch

    def variants(self):
        if self.problem.mode == "inference":
            return {
                name: self._inferring(getattr(self, method))
                for name, method in self.inference.items()
            }
        return {
            name: self._step(getattr(self, method))
            for name, method in self.training.items()
        }

    @staticmethod
    def _inferring(method):
        def run(batch):
            with torch.inference_mode():
                return method(batch)

        return run

    def _step(self, method):
        def run(batch):
            self.optimizer.zero_grad(set_to_none=True)
            h, labels = method(batch)
            loss = F.cross_entropy(self.head(h), labels, reduction="sum")
            loss.backward()
            self.optimizer.step()
            return loss

        return run

    def value(self, output):
        return output.detach().numpy()

    def embed(self, words):
        """[N] i64 to [N, H]."""
        if self.problem.mode == "inference":
            return self.weights["embedding"].index_select(0, words)
        return F.embedding(words, self.weights["embedding"], sparse=True)

    def head(self, h):
        return torch.addmm(self.weights["head.b"], h, self.weights["head.W"])
