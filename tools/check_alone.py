#!/usr/bin/env python3
"""Compiles files alone by clang, without generating code; warnings are errors. Other checks compile files together,
where a missing #include may come from another file, and where shadowed names are not checked.

Reads names of changed files: these are checked, every file except tests that includes one of them, and a tenth of all
others, a different one for each N of --tenth. Without names: all files."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/alone"
FOLDERS = ("src", "src/runtime", "src/microscopy", "include", ".", "tests", "bench", "mpi", "python/src")
CONFIGURE = [
    "cmake", "--preset", "release", "-B", BUILD, "--log-level=ERROR", "-DCMAKE_CXX_COMPILER=clang++", "-DGLINT_CCACHE=",
    "-DGLINT_CUDA=SIMULATED", "-DGLINT_UNITY_BATCH=1", "-DGLINT_WARNINGS_ARE_ERRORS=ON",
    "-DCMAKE_CXX_FLAGS_RELEASE=-fsyntax-only",
]  # fmt: skip
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def included(file):
    """The repository's files that a file includes."""
    folders = [file.parent, *(ROOT / folder for folder in FOLDERS)]
    found = ((folder / name).resolve() for name in INCLUDE.findall(file.read_text()) for folder in folders)
    return {path for path in found if path.is_file()}


def affected(files, changed):
    """Returns the files that changed, or that include a changed file, directly or indirectly."""
    users = {}
    waiting, seen = list(files), set(files)
    while waiting:
        file = waiting.pop()
        for header in included(file):
            users.setdefault(header, set()).add(file)
            if header not in seen:
                seen.add(header)
                waiting.append(header)
    waiting, found = list(changed), set(changed)
    while waiting:
        new = users.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found & set(files)


def chosen(files, names, tenth):
    changed = {ROOT / name for name in names}
    tests = {file for file in files if file.name.endswith("_test.cpp")}  # which every build compiles alone
    result = affected([file for file in files if file not in tests], changed) | (tests & changed)
    return result | set(sorted(set(files) - result)[tenth % 10 :: 10])


def commands():
    """Returns the command that compiles each file, changed to write nothing."""
    database = json.loads(subprocess.check_output(["ninja", "-C", BUILD, "-t", "compdb"], text=True))
    result = {}
    for entry in database:
        file = (BUILD / entry["file"]).resolve()
        # Not *.isa.cpp, which use extensions of GCC.
        if file.suffix == ".cpp" and BUILD not in file.parents and not file.name.endswith(".isa.cpp"):
            result.setdefault(file, re.sub(r" -(MD|M[TF] \S+|o \S+)(?= )", "", entry["command"]))
    return result


def compiles(command):
    run = subprocess.run(command, shell=True, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(run.stdout, end="", flush=True)
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenth", type=int, default=0)
    tenth = parser.parse_args().tenth
    names = sys.stdin.read().split()
    subprocess.run(CONFIGURE, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    known = commands()
    files = chosen(list(known), names, tenth) if names else set(known)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(compiles, (known[file] for file in sorted(files)))).count(False)
    print(f"alone: {len(files)} of {len(known)} files compiled alone, {failed} with errors")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
