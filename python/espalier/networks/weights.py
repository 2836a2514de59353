"""First weights of a network, as a safetensors file.

Weights of convolutions and dense layers are uniform with variance 2 / fan-in (He et
al. 2015), biases and shifts 0, scales 1; running means 0 and running variances 1. A
tensor's values depend on the seed and on its name, and not on the other tensors.
"""

import json
import math
import random
import struct
import sys
from array import array

from .files import whole_file

CODES = {"f32": ("F32", "f"), "f64": ("F64", "d")}
CHUNK = 1 << 16


def values_of(parameter, seed):
    """The first values of a parameter, in chunks."""
    code = CODES[parameter.tensor.element][1]
    generator = random.Random(f"{seed} {parameter.tensor.name}")
    limit = math.sqrt(6.0 / parameter.fan_in) if parameter.fan_in else 0.0
    for begin in range(0, parameter.tensor.elements, CHUNK):
        count = min(CHUNK, parameter.tensor.elements - begin)
        if limit:
            draw = generator.random
            yield array(code, [limit * (2.0 * draw() - 1.0) for _ in range(count)])
        else:
            yield array(code, [parameter.value]) * count


def write_weights(network, path, seed):
    header = {}
    offset = 0
    for parameter in network.parameters:
        tensor = parameter.tensor
        name, code = CODES[tensor.element]
        size = tensor.elements * array(code).itemsize
        header[tensor.name] = {
            "dtype": name,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    # Spaces, so that data is aligned.
    text += b" " * (-len(text) % 8)
    with whole_file(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for parameter in network.parameters:
            for chunk in values_of(parameter, seed):
                if sys.byteorder == "big":
                    chunk.byteswap()
                file.write(chunk.tobytes())
