#!/usr/bin/env python3
"""Fails if a message of the library names a flag of the command line, or an option that no front end spells.

Messages name options as `roi_size=7` (src/base/option.hpp); the command line, recipes and Python each spell them in one
table."""

# SPDX-License-Identifier: MIT
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
# Flags of other programs that have the same names as ours, and command lines that the library itself starts.
OTHERS = {
    "src/runtime/gpu/advice.cpp": {"--gpus"},  # docker
    "src/runtime/gpu/explain_error.cpp": {"--gpus"},
    "src/runtime/gpu/doctor/check_driver.cpp": {"--gpus"},
    "src/runtime/gpu/doctor/guide_table.cpp": {"--gpus"},
    "src/microscopy/warm_worker/start.cpp": {"--gpu-memory", "--batch-size", "--idle"},  # glint gpu-worker
}
# What messages have between backquotes besides options: programs, words of conditions, data sets.
WORDS = {"dmesg", "and", "or", "within", "of", "backquotes", "Pixelsize", "rois", "data", "x_corner", "y_corner"}


def literals(path):
    """The text of each string, joined with those that follow it with nothing between, and its line."""
    text = "\n".join(
        "" if line.lstrip().startswith(("//", "#include")) else line for line in path.read_text().split("\n")
    )
    joined, line, end = "", 0, None
    for found in LITERAL.finditer(text):
        if end is not None and text[end : found.start()].strip():
            yield joined, line
            joined = ""
        if not joined:
            line = text.count("\n", 0, found.start()) + 1
        joined, end = joined + found[0][1:-1], found.end()
    if joined:
        yield joined, line


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if not path.name.endswith("_test.cpp"):
                yield path


def main():
    ours = {
        flag
        for path in sources("src/cli")
        for text, _ in literals(path)
        for names in [text.split(",")]
        if all(re.fullmatch(r"-[a-z]|--[a-z][a-z0-9-]*(?:\{[^}]*\})?", name) for name in names)
        for flag in FLAG.findall(text)
    }
    options = set(re.findall(r"\boption\((\w+)\)", (ROOT / "src/base/option.hpp").read_text()))
    if len(ours) < 100 or len(options) < 40:
        sys.exit(f"check_options.py: found {len(ours)} flags and {len(options)} options: where are the others?")
    faults = []
    for path in sources("src/base", "src/runtime", "src/microscopy", "include", "python/src"):
        name = str(path.relative_to(ROOT))
        for text, line in literals(path):
            where = f"{name}:{line}"
            faults += [
                (
                    f"{where}: {flag} is a flag of the command line: write its option, as `roi_size=7` "
                    f"(src/base/option.hpp)"
                )
                for flag in FLAG.findall(text)
                if flag in ours
                and flag not in OTHERS.get(name, ())
                and not (name == "python/src/spelling.cpp" and "glint " in text)
            ]
            faults += [
                f"{where}: `{word}` is no option of src/base/option.hpp, nor a word that this check knows"
                for word in re.findall(r"`(\w+)(?:=[^`]*)?`", text)
                if word not in options | WORDS
            ]
    for fault in faults:
        print(fault)
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
