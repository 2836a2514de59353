# spoil_weights.py MODEL FOLDER: safetensors files that do not fit the model as
# make_model.py makes it by default, each named after what is wrong with it; and good ones.

import os
import sys

import models

model, folder = sys.argv[1:]
good = models.Variant(model, 8, 5, 50).weights(seed=7)


def write(name, tensors):
    models.write_safetensors(os.path.join(folder, name + ".safetensors"), tensors)


write("missing", {name: good[name] for name in good if name not in ("U", "head.b")})
write("extra", good | {"V": good["b"], "W2": good["W"]})
write("shape", good | {"W": good["W"].T.copy(), "b": good["b"][:-1]})
write("dtype", good | {"U": good["U"].astype("<f8")})
write("good", good)
# Nothing is wrong with this one.
write("reordered", dict(reversed(good.items())))
with open(os.path.join(folder, "good.safetensors"), "rb") as file:
    data = file.read()
for name, count in [("truncated", len(data) - 4), ("header", 100), ("tiny", 5)]:
    with open(os.path.join(folder, name + ".safetensors"), "wb") as file:
        file.write(data[:count])
with open(os.path.join(folder, "trailing.safetensors"), "wb") as file:
    file.write(data + bytes(4))
