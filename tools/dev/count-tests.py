#!/usr/bin/env python3
# ===-- count-tests.py - How many tests passed ---------------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Sums the tests of folders that run-tests.sh filled: ctest.xml and, if ctest
# ran lit or pytest, lit.json and pytest.xml, whose tests count in place of ctest's
# one. Prints
# "N passed, N failed" and fails if any failed, or none ran. A folder without
# ctest.xml is one failed test; N steps that failed for other reasons are N.
#
# Usage: count-tests.py [--failed-steps N] FOLDER...
#
# ===---------------------------------------------------------------------===#

import argparse
import json
import os
import sys
import xml.etree.ElementTree as ET


def count_ctest(path):
    passed = failed = skipped = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.get("name") in SUITES:
            continue
        status = case.get("status")
        if status == "run":
            passed += 1
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def count_lit(path):
    passed = failed = skipped = 0
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    for test in tests:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def count_pytest(path):
    passed = failed = skipped = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


# What ctest counts as one test: the file that says how many it is.
SUITES = {"lit": ("lit.json", count_lit), "python": ("pytest.xml", count_pytest)}


def suites_of(path):
    names = [c.get("name") for c in ET.parse(path).getroot().iter("testcase")]
    return [SUITES[name] for name in names if name in SUITES]


def count(folder):
    xml = os.path.join(folder, "ctest.xml")
    if not os.path.exists(xml):
        return [(0, 1, 0)]
    counts = [count_ctest(xml)]
    for file, count_suite in suites_of(xml):
        path = os.path.join(folder, file)
        # A suite that broke down before any test is one failed test.
        counts.append(count_suite(path) if os.path.exists(path) else (0, 1, 0))
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed-steps", type=int, default=0)
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    counts = [(0, arguments.failed_steps, 0)]
    for folder in arguments.folders:
        counts += count(folder)
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
