#!/usr/bin/env bash
#===-- check-tidy.sh - clang-tidy over the compiler and the runtime -------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: tools/dev/check-tidy.sh BUILD [REGEX]: files of lib/ and
# runtime/src/ whose path matches. BUILD must be built: it has generated headers.
#
#===------------------------------------------------------------------------===#
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$1
pattern=${2-.}
git ls-files -z -- 'lib/*.cpp' 'runtime/src/*.cpp' |
  grep -zE -- "$pattern" |
  xargs -0 -r -n 1 -P "$(nproc)" \
    clang-tidy-22 -p "$build" --quiet \
    --header-filter="^$PWD/(include|lib|runtime/src)/" \
    --extra-arg=-Wno-unknown-warning-option
