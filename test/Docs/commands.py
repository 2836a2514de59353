# ===-- commands.py - Runs the commands of the documentation -------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Runs the fenced ```sh blocks of README.md and docs/*.md. A document's blocks
# run in order, in one shell, in a folder that holds a copy of docs/ and python/; a
# command that fails ends it. HTML comments on the line before a fence change what is
# done with the block:
#
#   <!-- not run -->     a command for another machine, such as an installation
#   <!-- file: NAME -->  the block, of any language, is written to NAME
#   <!-- output -->      the block is what the sh block before it prints;
#                        a line `...` stands for any number of lines, and
#                        fractions may differ in the last of their digits
#
# Blocks may use $PREFIX, a folder with include/ and lib/ as an installation has.
#
# Usage: commands.py SOURCE-FOLDER BUILD-FOLDER SCRATCH-FOLDER
#
# ===---------------------------------------------------------------------===#

import glob
import os
import re
import shutil
import subprocess
import sys


def read_blocks(path):
    """Yields (line, comment, language, text) for each fenced block."""
    comment, previous = "", ""
    lines = open(path, encoding="utf-8").read().split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"^```(\S*)", lines[at])
        if not fence:
            previous = lines[at]
            at += 1
            continue
        first = at + 1
        at = first
        while not lines[at].startswith("```"):
            at += 1
        note = re.match(r"^<!-- (.*) -->$", previous)
        comment = note.group(1) if note else ""
        text = "".join(line + "\n" for line in lines[first:at])
        yield first, comment, fence.group(1), text
        previous = ""
        at += 1


class Document:
    def __init__(self, path):
        self.path = path
        self.script = []
        self.outputs = []  # (line, file of what was printed, what is expected)
        self.commands = 0
        for line, comment, language, text in read_blocks(path):
            self.add(line, comment, language, text)

    def add(self, line, comment, language, text):
        if comment.startswith("file: "):
            name = comment[len("file: ") :]
            self.script.append(f"cat > '{name}' <<'END-OF-FILE'\n{text}END-OF-FILE")
        elif comment == "output":
            if not self.commands:
                sys.exit(f"{self.path}:{line}: no command before this output")
            self.outputs.append((line, str(self.commands), text))
        elif language == "sh" and comment != "not run":
            self.commands += 1
            # A group, not a subshell: `cd` and variables last.
            self.script.append(f"echo '{self.path}:{line}' > \"$printed/at\"")
            self.script.append(f'{{\n{text}}} > "$printed/{self.commands}"')
        elif comment not in ("", "not run"):
            sys.exit(f"{self.path}:{line}: unknown comment '{comment}'")

    def run(self, scratch, environment):
        """Returns what went wrong, or nothing."""
        printed = scratch + ".printed"
        os.makedirs(printed)
        setup = f"set -euo pipefail\nprinted='{printed}'\n"
        result = subprocess.run(
            ["bash", "-c", setup + "\n".join(self.script)],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if result.returncode:
            at = open(os.path.join(printed, "at")).read().strip()
            return f"{at}: exit code {result.returncode}\n{result.stderr}"
        for line, file, expected in self.outputs:
            found = open(os.path.join(printed, file)).read()
            if not matches(expected.split("\n"), found.split("\n")):
                return f"{self.path}:{line}: expected\n{expected}found\n{found}"
        return ""


def same_line(expected, found):
    a, b = expected.split(), found.split()
    return len(a) == len(b) and all(same_word(x, y) for x, y in zip(a, b))


def same_word(a, b):
    if a == b:
        return True
    fraction = re.compile(r"^\W*-?\d+\.\d+(e-?\d+)?\W*$")
    if not (fraction.match(a) and fraction.match(b)):
        return False
    x, y = (float(w.strip("[](),")) for w in (a, b))
    return abs(x - y) <= 1e-4 * max(abs(x), abs(y)) + 1e-6


def matches(expected, found):
    if not expected:
        return not found
    if expected[0].strip() == "...":
        return any(matches(expected[1:], found[i:]) for i in range(len(found) + 1))
    return (
        bool(found)
        and same_line(expected[0], found[0])
        and matches(expected[1:], found[1:])
    )


def main(source, build, scratch_root):
    documents = [os.path.join(source, "README.md")]
    documents += sorted(glob.glob(os.path.join(source, "docs", "*.md")))
    shutil.rmtree(scratch_root, ignore_errors=True)
    tools = os.path.join(scratch_root, "bin")
    os.makedirs(tools)
    # The Python that the tests use, which has NumPy.
    python = os.path.join(tools, "python3")
    with open(python, "w") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    os.chmod(python, 0o755)
    prefix = os.path.join(scratch_root, "prefix")
    os.makedirs(prefix)
    os.symlink(
        os.path.join(source, "runtime", "include"), os.path.join(prefix, "include")
    )
    os.symlink(os.path.join(build, "lib"), os.path.join(prefix, "lib"))

    environment = dict(os.environ)
    environment["PREFIX"] = prefix
    environment["PATH"] = tools + os.pathsep + environment["PATH"]

    commands = 0
    failures = []
    for path in documents:
        document = Document(path)
        name = os.path.splitext(os.path.basename(path))[0]
        scratch = os.path.join(scratch_root, name)
        for folder in ("docs", "python"):
            shutil.copytree(os.path.join(source, folder), os.path.join(scratch, folder))
        failures.append(document.run(scratch, environment))
        commands += document.commands
    failures = [failure for failure in failures if failure]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{commands} blocks of commands in {len(documents)} documents")
    return 1 if failures or not commands else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
