#!/usr/bin/env python3
"""Reads names of changed files and prints a regular expression for ctest: the quick tests of their layers, and of the
layers above. With --slow also slow tests and those of the whole program: all tests that a change can break. With
--tenth N also every tenth suite, beginning with suite N % 10."""

import argparse
import pathlib
import re
import sys

import check_layers

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALWAYS = {"CommandLine"}
# Many processes or many runs: `./dev test` has them.
SLOW = {
    "BenchOfRuntime",
    "BenchOnGpu",
    "FaultyGpu",
    "HostileLeaseDir",
    "IoFaults",
    "LeaseProcesses",
    "NoiseCheck",
    "SeveralGpus",
    "SharedServer",
    "ProcessEnvironment",
}
SUITE = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,", re.M)


def layer_of(name):
    """Returns the layer of a file; None for a file without a layer, as a test."""
    parts = pathlib.PurePosixPath(name).parts
    if parts[0] == "include":
        return check_layers.layer_of_include("/".join(parts[1:]))
    if parts[0] == "src":
        layer = check_layers.layer_of_source(name)
        return layer if layer in check_layers.BELOW else "base"
    if parts[0] in ("CMakeLists.txt", "CMakePresets.json", "cmake"):
        return "base"
    return parts[0] if parts[0] in ("bench", "mpi") else None


def above(layers):
    return {layer for layer, below in check_layers.BELOW.items() if layer in layers or layers & set(below)}


def suites(file):
    return set(SUITE.findall(file.read_text()))


def files_of_tests():
    return [f for folder in ("src", "bench", "tests") for f in (ROOT / folder).rglob("*_test.cpp")]


def tests_that_name(names):
    """Test files that name one of these helpers (a test's header, a program of tests/tools), or a header that does."""
    wanted = {
        pathlib.PurePosixPath(name).name if name.endswith(".hpp") else pathlib.PurePosixPath(name).stem
        for name in names
    }
    headers = [*(ROOT / "tests").glob("*.hpp"), *(ROOT / "src").rglob("*.hpp")] if wanted else []
    before = None
    while wanted != before:
        before = set(wanted)
        wanted |= {
            h.name
            for h in headers
            if is_helper(h.relative_to(ROOT).as_posix()) and any(n in h.read_text() for n in before)
        }
    return [f for f in files_of_tests() if any(n in f.read_text() for n in wanted)]


def is_helper(name):
    return re.fullmatch(
        r"tests/[^/]+\.(hpp|cpp)|tests/(tools|io_faults)/.*|src/.*_(test|fixture)\.hpp", name
    ) and not name.endswith("_test.cpp")


def chosen(names, slow=False, tenth=None):
    changed = {layer_of(name) for name in names if not name.endswith("_test.cpp")} - {None}
    affected = above(changed)
    files = [*(ROOT / "bench").rglob("*_test.cpp")] if "bench" in affected else []
    files += [
        f for f in (ROOT / "src").rglob("*_test.cpp") if check_layers.layer_of_source(f.relative_to(ROOT)) in affected
    ]
    if slow or changed & {"warm_worker", "cli", "program"}:
        files += [*(ROOT / "tests").glob("*_test.cpp"), *(ROOT / "tests/io_faults").glob("*_test.cpp")]
    names_of_suites = ALWAYS | set().union(*map(suites, files)) - (set() if slow else SLOW)
    edited = [ROOT / name for name in names if name.endswith("_test.cpp")]  # slow or not
    edited += tests_that_name([name for name in names if is_helper(name)])
    names_of_suites |= set().union(*(suites(f) for f in edited if f.exists()))
    if tenth is not None:
        names_of_suites |= set(sorted(set().union(*map(suites, files_of_tests())))[tenth % 10 :: 10])
    tests = [rf"(^|/)({'|'.join(sorted(names_of_suites))})(\.|/)"]
    simulated = any(name.startswith("tests/simgpu/") for name in names)
    if simulated or changed & {"base", "gpu", "offload", "arrays"}:
        tests.append(r"^simgpu\.arrays_tests" if slow else r"^simgpu\.arrays_tests\.1")
    if simulated or changed & {"base", "gpu", "detect", "fit", "warm_worker"}:
        tests.append(r"^simgpu\.glint_tests" if slow else r"^simgpu\.glint_tests\.1")
    if slow and affected & {"fit"}:
        tests.append(r"^(simgpu\.)?more_models")
    if slow and affected & {"pipeline", "warm_worker", "run"}:
        tests.append(r"^simgpu\.movies")
    if simulated:
        tests.append(r"^simgpu\.[A-Z]")
    for name in names:
        if found := re.fullmatch(r"(python/tests|tests/judge)/test_(\w+)\.py", name):
            tests.append(f"^{'python' if found[1] == 'python/tests' else 'judge'}_{found[2]}$")
        elif name.startswith("python/"):
            tests.append("^python_(fit|files|localize|offload)$")
        elif name.startswith("tests/tools/"):
            program = pathlib.PurePosixPath(name).stem
            tests += [
                f"^judge_{f.stem[5:]}$"
                for f in sorted((ROOT / "tests/judge").glob("test_*.py"))
                if program in f.read_text()
            ]
    return "|".join(dict.fromkeys(tests))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--tenth", type=int)
    options = parser.parse_args()
    print(chosen(sys.stdin.read().split(), options.slow, options.tenth))
