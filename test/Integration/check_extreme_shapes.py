# check_extreme_shapes.py FOLDER: trains, with a stack of 1 MiB, a language model
# on a chain of a million tokens between sequences of one and of none, and a
# child-sum Tree-LSTM on stars of ten thousand children between single vertices
# and a structure without any. The loss has to fall as far as it is known to, and
# to be the same on two threads and without streaming.

import json
import os
import resource
import sys

import numpy as np

import models

LENGTH, CHILDREN, WORDS = 1000000, 10000, 50

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
draw = np.random.default_rng(5)


def path(name):
    return os.path.join(folder, name)


def train(name, structures, format, *options):
    """The losses of six epochs, all structures in one batch."""
    models.call(
        "espalier-run", path(name + ".so"), "--train", "--structures", path(structures),
        "--format", format, "--epochs", "6", "--batch-size", "0", "--mean",
        "--learning-rate", "0.1", "--log", path("log"), "--vocabulary", path("words.txt"),
        "--save-weights", path("weights.safetensors"), *options,
    )  # fmt: skip
    with open(path("log")) as file:
        lines = [json.loads(line) for line in file]
    losses = [line["loss"] for line in lines]
    assert len(losses) == 6 and np.isfinite(losses).all(), lines
    return np.array(losses)


def check(name, structures, format, share):
    """The last loss is below `share` of the first, whatever the threads."""
    text = models.Variant(name, state=8, embedding=5, table=WORDS).text
    with open(path(name + ".mlir"), "w") as file:
        file.write(text)
    library = path(name + ".so")
    models.call("espalier-compile", path(name + ".mlir"), "--train=adam", "-o", library)
    losses = train(name, structures, format)
    print(f"{name}: {losses}")
    assert losses[-1] < share * losses[0], losses
    for options in (["--threads", "2"], ["--threads", "2", "--ablate", "streaming"]):
        others = train(name, structures, format, *options)
        assert np.allclose(others, losses, rtol=1e-4), (options, others, losses)


with open(path("words.txt"), "w") as file:
    file.writelines(f"w{word}\n" for word in range(WORDS))

# Words mostly follow one another, so that there is something to learn.
steps = 1 + (draw.random(LENGTH) < 0.1)
with open(path("chain.txt"), "w") as file:
    chain = " ".join(f"w{word}" for word in np.cumsum(steps) % WORDS)
    file.write(f"w3\n\n{chain}\n\nw4\n")

with open(path("stars.jsonl"), "w") as file:
    for children in (0, CHILDREN, -1, 0, CHILDREN):
        vertices = children + 1
        words = draw.integers(0, WORDS, vertices).tolist()
        structure = {
            "children": [[]] * children + [list(range(children))] * (vertices > 0),
            "fields": {"word": words, "label": [word % 5 for word in words]},
        }
        file.write(json.dumps(structure) + "\n")

resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
check("lstm_lm", "chain.txt", "sequence", share=0.9)
check("child_sum", "stars.jsonl", "jsonl", share=0.7)
