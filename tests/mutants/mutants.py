#!/usr/bin/env python3
"""Checks that the tests notice errors in the sources. Changes one place in the sharing of GPUs at a time
(sharing.toml), builds, runs the tests that should fail, and restores the source.

    tests/mutants/mutants.py                # all, in build/release, which must be built: some minutes
    tests/mutants/mutants.py quantum turn   # those whose name has one of these words
    tests/mutants/mutants.py --check        # only whether each place is still there, once

If a mutant survives (all tests pass), a test is missing, and the exit code is 1. Do not edit or build these sources
meanwhile.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def mutants(words):
    every = tomllib.loads((HERE / "sharing.toml").read_text())["mutant"]
    return [m for m in every if not words or any(word in m["name"] for word in words)]


def problem(mutant):
    """Returns why it cannot be applied; empty if it can."""
    count = (ROOT / mutant["file"]).read_text().count(mutant["from"])
    return "" if count == 1 else f"{mutant['name']}: {mutant['file']} has {count} times: {mutant['from']}"


def build(folder, program):
    return subprocess.run(["ninja", "-C", folder, program, "lease_worker"], capture_output=True, text=True)


def failures(folder, mutant):
    """Names of the tests that failed, or what else happened; empty: all passed."""
    program = mutant.get("program", "glint_tests")
    command = [
        ROOT / "tests/simgpu/run",
        folder / "simgpu",
        folder / "bin" / program,
        f"--gtest_filter={mutant['tests']}",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": "/dev/null", "SIMGPU_LEAKS": "1"}
    tests = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        out, _ = tests.communicate(timeout=mutant.get("timeout_s", 300))
    except subprocess.TimeoutExpired:
        os.killpg(tests.pid, signal.SIGKILL)
        tests.communicate()
        return ["no end"]
    names = {
        line.split()[3].rstrip(",") for line in out.splitlines() if line.startswith("[  FAILED  ]") and "." in line
    }
    if not names and tests.returncode:
        return [f"exit code {tests.returncode}"]
    if "[  PASSED  ] 0 tests" in out and not names:
        sys.exit(f"{mutant['name']}: no test ran: {mutant['tests']}")
    return sorted(names)


def attempt(folder, mutant):
    """Prints a line; whether a test failed."""
    source = ROOT / mutant["file"]
    text = source.read_text()
    began = time.monotonic()
    try:
        source.write_text(text.replace(mutant["from"], mutant["to"]))
        built = build(folder, mutant.get("program", "glint_tests"))
        failed = ["does not compile"] if built.returncode else failures(folder, mutant)
    finally:
        source.write_text(text)
    word = "SURVIVES" if not failed else "does not compile" if failed == ["does not compile"] else "killed"
    print(f"{word:9} {mutant['name']} ({time.monotonic() - began:.0f} s): {', '.join(failed)}", flush=True)
    return word == "killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--check", action="store_true", help="only whether each place is there")
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path, help="build folder")
    options = parser.parse_args()
    chosen = mutants(options.words)
    if wrong := [p for m in chosen if (p := problem(m))]:
        sys.exit("\n".join(wrong))
    if options.check:
        return print(f"{len(chosen)} mutants can be applied")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, which tests send
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # by an exception, so that the source is put back
    folder = options.build.resolve()
    programs = {m.get("program", "glint_tests") for m in chosen}
    for program in programs:
        if (built := build(folder, program)).returncode:
            sys.exit(built.stdout)
    survivors = [m["name"] for m in chosen if not attempt(folder, m)]
    for program in programs:
        build(folder, program)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed"
        + "".join(f"\nnot killed: {name}" for name in survivors)
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
