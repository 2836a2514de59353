#!/usr/bin/env bash
#===-- update-reference-docs.sh - Reference pages from a build tree -------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Builds the pages that are generated from .td files and copies them to
# docs/reference. Usage: tools/dev/update-reference-docs.sh BUILD
#
#===------------------------------------------------------------------------===#
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

build=$(cd "$1" && pwd)
cmake --build "$build" --target espalier-docs
rm -rf "$root/docs/reference"
cp -R "$build/docs/reference" "$root/docs/reference"
