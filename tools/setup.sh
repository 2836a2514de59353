#!/usr/bin/env bash
#===-- setup.sh - Sets up a Debian machine, and builds --------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Installs the Debian packages that are missing, after printing their names,
# and nothing else. Can be run again at any time.
#
#===------------------------------------------------------------------------===#
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
Usage: tools/setup.sh [--list | --run | --test]

Installs the Debian packages that Espalier needs and that are missing. Then, with

  --list   nothing is installed: prints the packages, those missing with a '+'
  --run    builds the tools and runs an example: compiles a Tree-LSTM and runs it
           over the trees of docs/examples/data
  --test   builds everything and runs all tests
END
}

packages=(
  # To build.
  cmake g++ ninja-build pkg-config ccache
  # The runtime: archives of arrays, JSON, matrix products.
  libminizip-dev nlohmann-json3-dev libdnnl-dev
  # espalier-run: options.
  libcli11-dev
  # The compiler: MLIR, its generators, and lld as a library.
  libmlir-22-dev mlir-22-tools llvm-22-dev liblld-22-dev zlib1g-dev libzstd-dev
  # Tests: FileCheck and lit, GoogleTest, pytest, and the references in NumPy.
  llvm-22-tools libgtest-dev python3 python3-pytest python3-numpy
  # Checks of the sources.
  git clang-format-22 clang-tidy-22
)

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

fail() {
  echo "setup.sh: $1" >&2
  exit 1
}

list() {
  local package
  for package in "${packages[@]}"; do
    if is_installed "$package"; then echo "  $package"; else echo "+ $package"; fi
  done
}

install_packages() {
  command -v apt-get >/dev/null ||
    fail "this is not Debian: apt-get was not found. Install what 'tools/setup.sh --list' names by other means, and build with 'cmake --preset release'"
  local package missing=() unknown=() sudo=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "setup.sh: all ${#packages[@]} packages are installed"
    return
  fi
  echo "setup.sh: installing with apt-get: ${missing[*]}"
  if [[ "$(id -u)" -ne 0 ]]; then
    command -v sudo >/dev/null ||
      fail "apt-get needs root, and there is no sudo; run this script as root"
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
  done
  [[ ${#unknown[@]} -eq 0 ]] ||
    fail "apt knows no package ${unknown[*]}; LLVM 22 for Debian 12 is in bookworm-security/main: add that to the sources, or install LLVM/MLIR 22 by other means and configure with -DMLIR_DIR=PREFIX/lib/cmake/mlir"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# Debian's Python is the one that sees Debian's NumPy.
configure() {
  cmake --preset release -DPython3_EXECUTABLE=/usr/bin/python3
}

[[ $# -le 1 ]] || { usage >&2; exit 1; }
case "${1-}" in
"") install_packages ;;
--list) list ;;
--run)
  install_packages
  configure
  cmake --build build/release --target espalier-tools
  tools/dev/run-example.sh build/release
  ;;
--test)
  install_packages
  configure
  cmake --build build/release
  tools/dev/run-tests.sh build/release
  ;;
-h | --help) usage ;;
*)
  usage >&2
  fail "unknown option '$1'"
  ;;
esac
