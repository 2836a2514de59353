# ===-- include_rules.py - Who may include whom --------------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
#   runtime/             nothing of the compiler, and no LLVM
#   Planning             of the runtime's inside, PLANNING_SHARES; and no LLVM
#   Dialect              of the compiler, Dialect and Planning only
#   Analysis             Dialect and Analysis
#   Conversion           what is above, and Conversion
#   Reference            what is above, without Conversion; and Reference
#   Target               everything but Pipelines and Reference
#   Pipelines            everything but Target and Reference
#
# Compiler and runtime share one header, espalier/abi.h. And the three trees
# mirror each other: lib/X has include/espalier/X.
#
# Usage: include_rules.py SOURCE-FOLDER

import os
import re
import sys

MAY_INCLUDE = {
    "Planning": {"Planning"},
    "Dialect": {"Dialect", "Planning"},
    "Analysis": {"Dialect", "Analysis", "Planning"},
    "Conversion": {"Dialect", "Analysis", "Conversion"},
    "Reference": {"Dialect", "Analysis", "Reference"},
    "Target": {"Dialect", "Analysis", "Conversion", "Target"},
    "Pipelines": {"Dialect", "Analysis", "Conversion", "Pipelines", "InitAll"},
    "InitAll": {"Pipelines"},
}
SHARED = "espalier/abi.h"
# What both read alike, in headers that need nothing else.
PLANNING_SHARES = {"device/sim/MachineLimits.h", "support/ByteSize.h"}


def sources(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".h", ".hpp", ".inc", ".cpp", ".c")):
                yield os.path.join(folder, name)


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if match:
                yield number, match.group(1)


def part_of(path):
    """The part of the compiler that a path under espalier/ or lib/ is in."""
    return os.path.splitext(path.split("/")[0])[0]


def check_runtime(root, problems):
    headers = set(os.listdir(f"{root}/runtime/include/espalier"))
    for path in sources(f"{root}/runtime"):
        for number, header in includes(path):
            if header.startswith(("llvm/", "mlir/", "llvm-c/", "mlir-c/")):
                problems.append(f"{path}:{number}: the runtime includes <{header}>")
            if (
                header.startswith("espalier/")
                and header.split("/")[1] not in headers
                and not os.path.exists(f"{root}/runtime/src/{header}")
            ):
                problems.append(
                    f"{path}:{number}: the runtime includes {header} of the compiler"
                )


def check_compiler(root, problems):
    public = f"{root}/include/espalier"
    for tree in (public, f"{root}/lib"):
        for path in sources(tree):
            part = part_of(os.path.relpath(path, tree))
            allowed = MAY_INCLUDE.get(part)
            if allowed is None:
                problems.append(f"{path}: '{part}' has no rule in {__file__}")
                continue
            for number, header in includes(path):
                if part == "Planning" and header.startswith(("llvm/", "mlir/")):
                    problems.append(f"{path}:{number}: Planning includes <{header}>")
                if os.path.isfile(f"{root}/runtime/src/{header}") and not (
                    part == "Planning" and header in PLANNING_SHARES
                ):
                    problems.append(
                        f"{path}:{number}: includes {header} of the runtime's inside"
                    )
                if not header.startswith("espalier/") or header == SHARED:
                    continue
                other = part_of(header[len("espalier/") :])
                if os.path.exists(f"{root}/runtime/include/{header}"):
                    problems.append(
                        f"{path}:{number}: includes {header} of the runtime; only "
                        f"{SHARED} is shared"
                    )
                elif other not in allowed:
                    problems.append(
                        f"{path}:{number}: {part} includes {header} of {other}; it "
                        f"may include {', '.join(sorted(allowed))}"
                    )


def check_mirror(root, problems):
    for folder, names, _ in os.walk(f"{root}/lib"):
        relative = os.path.relpath(folder, f"{root}/lib")
        depth = 0 if relative == "." else relative.count("/") + 1
        # Below this, folders split the implementation of one header.
        if depth >= (3 if relative.startswith("Dialect") else 1):
            names.clear()
        if not os.path.isdir(f"{root}/include/espalier/{relative}"):
            problems.append(f"{folder}: include/espalier has no {relative}")


root = os.path.abspath(sys.argv[1])
problems = []
check_runtime(root, problems)
check_compiler(root, problems)
check_mirror(root, problems)
if problems:
    sys.exit("\n".join(problems))
