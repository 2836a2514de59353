# ===-- labels.py - Is every rule of a dialect tested? -------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Operators number their constraints: (C1), or (C1-C4) for several. Each must
# have a case in the dialect's invalid*.mlir, in a function whose name has the
# label as one of its words (@f2_second_scatter), behind the operator's name if
# several operators use the label (@matmul_c1); and a file must name the label as
# messages do: [C1]. A label that code prints must be described.
#
# Usage: labels.py SOURCE-FOLDER

import glob
import os
import re
import sys


def described(td_text):
    """Yields (operator, label) for each constraint."""
    for record in re.split(r"^(?=def |class )", td_text, flags=re.M):
        head = re.match(r'def \w+ : \w+<"(\w+)"', record)
        description = re.search(r"let description = \[\{(.*?)\}\]", record, re.S)
        if not head or not description:
            continue
        for first, last in re.findall(
            r"\(([A-Z]\d)(?:-([A-Z]\d))?\)", description.group(1)
        ):
            for number in range(int(first[1]), int((last or first)[1]) + 1):
                yield head.group(1), f"{first[0]}{number}"


def check(source, dialect):
    folder = f"{source}/include/espalier/Dialect/{dialect}/IR"
    rules = set()
    for td in sorted(glob.glob(folder + "/*.td")):
        rules |= set(described(open(td, encoding="utf-8").read()))
    tests = f"{source}/test/Dialect/{dialect}/invalid*.mlir"
    text = "".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(tests)))
    names = set(re.findall(r"@(\w+)", text))
    labels = [label for _, label in rules]

    problems = []
    for operator, label in sorted(rules):
        words = label.lower()
        if labels.count(label) > 1:
            words = f"{operator}_{words}"
        if not any(f"_{words}_" in f"_{name}_" for name in names):
            problems.append(f"{tests}: no case '@{words}...' for {operator} ({label})")
        if f"[{label}]" not in text:
            problems.append(f"{tests}: no message with [{label}] of {operator}")
    code = f"{source}/lib/Dialect/{dialect}/IR/*.cpp"
    for path in sorted(glob.glob(code)):
        printed = re.findall(r'"\[([A-Z]\d)\]', open(path, encoding="utf-8").read())
        for label in sorted(set(printed) - set(labels)):
            problems.append(f"{path}: prints [{label}], which no .td file describes")
    return len(rules), problems


source = sys.argv[1]
count, problems = 0, []
for folder in sorted(glob.glob(source + "/include/espalier/Dialect/*")):
    if os.path.isdir(folder):
        rules, found = check(source, os.path.basename(folder))
        count += rules
        problems += found
if problems:
    sys.exit("\n".join(problems))
print(f"{count} rules, all tested")
