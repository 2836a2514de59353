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

# The leak check of GCC 12 can crash where it looks for pointers in the
# thread-local storage of libraries that have threads of their own; nothing of
# ours is only reachable from there. Without it, the check also takes what the
# dynamic linker keeps of open libraries for leaks, which dynamic-linker.lsan says
# are none. It can also crash where it meets a thread of OpenMP's that is being
# made, so that oneDNN gets none; nor does oneDNN look for a profiler's library,
# whose absence the C library remembers in such storage.
if grep -q '^ESPALIER_SANITIZE:.*=address$' "$build/CMakeCache.txt"; then
  export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions='$dev/dynamic-linker.lsan'"
  export OMP_NUM_THREADS=1 DNNL_JIT_PROFILE=0
fi

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
