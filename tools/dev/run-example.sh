#!/usr/bin/env bash
#===-- run-example.sh - A Tree-LSTM over a few trees ----------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Compiles docs/examples/tree_lstm.mlir and runs it with random weights.
#
#===------------------------------------------------------------------------===#
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=${1:-build/release}
out=$build/example
mkdir -p "$out"
set -x
"$build/bin/espalier-compile" docs/examples/tree_lstm.mlir -o "$out/tree_lstm.so"
"$build/bin/espalier-run" "$out/tree_lstm.so" \
  --structures docs/examples/data/trees.ptb --random-weights 1 \
  --output "$out/results.npz"
