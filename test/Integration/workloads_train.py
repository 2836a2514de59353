# workloads_train.py FOLDER MODEL...: examples are trained, those with many
# parameters at small sizes, on slices of the data that they are for; the loss of
# the last epoch has to be well below that of the first. Without the data nothing
# is trained.

import itertools
import json
import os
import sys

import check_losses
import models

CONVERTERS = os.path.join(models.EXAMPLES, "..", "..", "tools", "data")

# A slice of a file of the data folder: its lines (None: all), converter and
# format.
SLICES = {
    "trees": ("sst/train.txt", 60, None, "ptb"),
    "sentences": ("sst/train.txt", 60, ["sentences.py"], "jsonl"),
    "text": ("wikitext2/wiki.valid.tokens", 30, None, "sequence"),
    "words": ("ud/en_ewt-ud-dev.conllu", 888, ["conllu.py"], "jsonl"),
    "dependencies": (
        "ud/en_ewt-ud-dev.conllu", 888, ["conllu.py", "--view", "trees"], "jsonl",
    ),
    "expressions": (
        "listops/test_d20s.tsv", 60, ["listops.py", "--view", "binary"], "jsonl",
    ),
    "programs": ("asts/cpython_functions_a.jsonl", 60, ["asts.py"], "jsonl"),
    "networks": (
        "dags/enas_final_structures6.first80.txt", 400, ["dags.py"], "jsonl",
    ),
    # It begins with how many there are.
    "lattices": ("lattice/dev.txt", None, ["lattice.py"], "jsonl"),
}  # fmt: skip

# By example: its slice, the optimiser, epochs, the step, and the part of the first
# epoch's loss that the last one's has to be below.
TRAINING = {
    "tree_fc": ("trees", "adagrad", 12, 0.05, 0.6),
    "tree_lstm": ("trees", "adam", 12, 0.02, 0.6),
    "mv_rnn": ("trees", "adam", 12, 0.02, 0.6),
    "lstm": ("sentences", "adam", 20, 0.02, 0.6),
    "gru": ("sentences", "adam", 20, 0.02, 0.6),
    "bilstm": ("words", "adam", 12, 0.02, 0.6),
    "child_sum": ("dependencies", "adam", 12, 0.02, 0.6),
    "lstm_lm": ("text", "adam", 20, 0.02, 0.7),
    "stacked_lstm": ("text", "adam", 20, 0.02, 0.7),
    "list_ops": ("expressions", "adam", 40, 0.02, 0.7),
    "ast": ("programs", "adam", 12, 0.02, 0.6),
    "dag": ("networks", "adam", 20, 0.02, 0.6),
    "lattice_lstm": ("lattices", "adam", 6, 0.02, 0.6),
}

STATE, EMBEDDING, TABLE = 24, 16, 4000
# Of data that has numbers for words instead of words.
TABLES = {"lattice_lstm": 20000}


def text_of(model):
    """The example; with fewer words and smaller states if it is a big one."""
    if model in check_losses.NUMBERS:
        with open(os.path.join(models.EXAMPLES, model + ".mlir")) as file:
            return file.read()
    as_wide = model in ["tree_fc", "stacked_lstm"]
    table = TABLES.get(model, TABLE)
    return models.Variant(model, STATE, STATE if as_wide else EMBEDDING, table).text


def train(model, folder, data):
    """Whether the loss falls as far as it has to."""
    slice, optimiser, epochs, step, bound = TRAINING[model]
    source, lines, converter, format = SLICES[slice]
    os.makedirs(folder, exist_ok=True)
    structures, library, log = (
        os.path.join(folder, name) for name in ["slice", "model.so", "log.jsonl"]
    )
    with open(os.path.join(data, source), encoding="utf-8", newline="\n") as file:
        head = "".join(itertools.islice(file, lines))
    with open(structures, "w", encoding="utf-8") as file:
        file.write(head)
    if converter:
        name, *options = converter
        script = os.path.join(CONVERTERS, name)
        converted = models.call(sys.executable, script, *options, structures)
        with open(structures, "w", encoding="utf-8") as file:
            file.write(converted)
    source = os.path.join(folder, model + ".mlir")
    with open(source, "w") as file:
        file.write(text_of(model))
    models.call("espalier-compile", source, "--train=" + optimiser, "-o", library)
    models.call(
        "espalier-run", library, "--train", "--structures", structures,
        "--format", format, "--epochs", epochs, "--batch-size", "8", "--mean",
        "--learning-rate", step, "--log", log,
        "--save-weights", os.path.join(folder, "weights.safetensors"),
    )  # fmt: skip
    with open(log) as file:
        losses = [json.loads(line)["loss"] for line in file]
    print(f"{model}: {losses[0]:.4g} in the first epoch, {losses[-1]:.4g} in the last")
    return losses[-1] < bound * losses[0]


def main():
    folder, *names = sys.argv[1:]
    data = os.environ.get("ESPALIER_TEST_DATA", "")
    if not os.path.isdir(data):
        print(f"no data in '{data}'")
        return 0
    slow = [n for n in names if not train(n, os.path.join(folder, n), data)]
    for name in slow:
        print(f"FAILED {name}: its loss has to fall below {TRAINING[name][4]} of that")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
