#!/usr/bin/env python3
"""Whether a program of the archive starts on every x86-64 Linux since glibc 2.28: which libraries it asks for, in which versions; and
whether it runs. Usage: check.py PROGRAM"""
import pathlib
import re
import subprocess
import sys
import tempfile

import old_glibc

ALLOWED = {*old_glibc.LIBRARIES, *old_glibc.LOADED_TOO}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    needed = set(re.findall(r"NEEDED.*\[(\S+)\]", output("readelf", "-d", program)))
    if needed - ALLOWED:
        faults.append(f"needs {', '.join(sorted(needed - ALLOWED))} of the system")
    for name, family, version in set(re.findall(r"UND\s+(\w+)@(\w+?)_([\d.]+)", output("readelf", "-W", "--dyn-syms", program))):
        if family != "GLIBC" or old_glibc.number(version)[:2] > old_glibc.NEWEST:
            faults.append(f"needs {name} of {family} {version}")
    with tempfile.TemporaryDirectory() as folder:
        movie, rows = f"{folder}/movie.tif", f"{folder}/rows.hdf5"
        camera = ["--pixel-size", "100nm", "--sigma", "130nm", "--offset", "100", "--gain", "1"]
        output(program, "simulate", "-o", movie, "--frames", "20", *camera)
        output(program, "localize", movie, "-o", rows, "--backend", "cpu", *camera)
        if "recall" not in output(program, "score", rows, f"{folder}/movie_truth.csv"):
            faults.append("does not score what it has simulated")
        output(program, "render", rows, "-o", f"{folder}/picture.png")
    for fault in faults:
        print(f"{program}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
