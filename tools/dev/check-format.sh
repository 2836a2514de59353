#!/usr/bin/env bash
#===-- check-format.sh - Is every source file formatted? ------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# With --fix, formats them.
#
#===------------------------------------------------------------------------===#
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

options=(--dry-run -Werror)
[[ "${1-}" != --fix ]] || options=(-i)
git ls-files -z -- '*.h' '*.hpp' '*.inc' '*.c' '*.cpp' |
  xargs -0 -r clang-format-22 "${options[@]}"
