#!/usr/bin/env python3
"""Rewrites docs/examples/tree_lstm.mlir for another state size.

    resize_example.py STATE < docs/examples/tree_lstm.mlir > tree_lstm_STATE.mlir

The embedding becomes as wide as the state. Every number in the example that is
a multiple of the state size scales with it; the text is otherwise kept.
"""

import re
import sys

STATE, EMBEDDING = 256, 300


def main():
    state = int(sys.argv[1])
    sizes = {str(n * STATE): str(n * state) for n in range(1, 6)}
    sizes[str(EMBEDDING)] = str(state)
    # Numbers on their own, as in [256] or tensor<256x5xf32>; not in f32, i32.
    number = re.compile(r"(?<![a-zA-Z0-9_.%])\d+(?=[\]x,)>])")
    for line in sys.stdin:
        code, slash, comment = line.partition("//")
        # Dimensions are separated by an x, which the look-behind would refuse.
        code = re.sub(r"(?<=[\d?])x(?=\d)", " x ", code)
        code = number.sub(lambda m: sizes.get(m[0], m[0]), code)
        code = re.sub(r"\d+(?= x )", lambda m: sizes.get(m[0], m[0]), code)
        print(code.replace(" x ", "x") + slash + comment, end="")


if __name__ == "__main__":
    main()
