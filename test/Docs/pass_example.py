# ===-- pass_example.py - Is a pass's example in a test? -----------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# The blocks of IR in a pass's description must each be lines of a file that a
# test runs: the first of the file that goes in, the second of what must come
# out. Indentation does not count.
#
# Usage: pass_example.py PASSES.td PASS BEFORE.mlir [AFTER.mlir]
#
# ===---------------------------------------------------------------------===#

import re
import sys


def lines_of(text):
    return [line.strip() for line in text.split("\n") if line.strip()]


def contains(lines, part):
    return any(
        lines[at : at + len(part)] == part for at in range(len(lines) - len(part) + 1)
    )


def main(td, name, *files):
    records = re.split(r"^(?=def )", open(td, encoding="utf-8").read(), flags=re.M)
    record = [r for r in records if re.match(r'def \w+ : Pass<"%s"' % name, r)]
    if len(record) != 1:
        sys.exit(f"{td}: expects one pass '{name}', found {len(record)}")
    blocks = re.findall(r"```mlir\n(.*?)```", record[0], flags=re.S)
    if len(blocks) != len(files):
        sys.exit(
            f"{td}: '{name}' has {len(blocks)} blocks of IR, but its test has "
            f"{len(files)} files"
        )
    for block, file in zip(blocks, files):
        if not contains(lines_of(open(file, encoding="utf-8").read()), lines_of(block)):
            sys.exit(
                f"{td}: these lines of the example of '{name}' are not in {file}:\n"
                f"{block}make the example and test/Docs/{name}.mlir agree"
            )


main(*sys.argv[1:])
