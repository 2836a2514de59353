#!/usr/bin/env bash
#===-- run-tests.sh - All tests of a build tree ---------------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Runs ctest, which runs the GoogleTest tests, lit and pytest, and prints how many
# passed. Usage: tools/dev/run-tests.sh BUILD [CTEST-OPTION...]
#
#===------------------------------------------------------------------------===#
set -euo pipefail
dev=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

build=$(cd "$1" && pwd)
shift
results=$build/test-results
rm -rf "$results"
mkdir -p "$results"

status=0
LIT_OPTS="${LIT_OPTS-} --output=$results/lit.json" \
  PYTEST_ADDOPTS="${PYTEST_ADDOPTS-} --junitxml='$results/pytest.xml'" \
  ctest --test-dir "$build" --output-on-failure --no-tests=error \
  --output-junit "$results/ctest.xml" -j "$(nproc)" "$@" \
  >"$results/log" 2>&1 || status=$?
# Thousands of lines of passed tests say nothing.
grep -vE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed |^ *Start +[0-9]+: ' \
  "$results/log" || true
python3 "$dev/count-tests.py" "$results"
exit $status
