# print_logits.py RESULTS.npz: the logits as docs/examples/deploy prints them.

import sys

import numpy as np

for row in np.load(sys.argv[1])["logits"]:
    print("logits", *(f"{value:.6f}" for value in row))
