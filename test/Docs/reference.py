# ===-- reference.py - Is docs/reference what the build generates? -------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Usage: reference.py SOURCE-FOLDER BUILD-FOLDER

import os
import sys


def pages(root):
    return {
        os.path.relpath(os.path.join(folder, name), root): open(
            os.path.join(folder, name), encoding="utf-8"
        ).read()
        for folder, _, names in os.walk(root)
        for name in names
    }


source, build = sys.argv[1:]
found = pages(os.path.join(source, "docs/reference"))
expected = pages(os.path.join(build, "docs/reference"))
if not expected:
    sys.exit(f"{build}/docs/reference is empty; build the target espalier-docs")
stale = [
    name
    for name in sorted(found.keys() | expected.keys())
    if found.get(name) != expected.get(name)
]
if stale:
    sys.exit(
        f"docs/reference is not what the .td files say: {', '.join(stale)}\n"
        f"update it: tools/dev/update-reference-docs.sh {build}"
    )
