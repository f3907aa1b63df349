#!/usr/bin/env python3
"""Checks that programs of the archive and files of wheels start on every x86-64 Linux since glibc 2.28: the libraries
and versions that they need, whether programs run, and whether modules export only their entry point.

Usage: check.py PROGRAM|MODULE.so|WHEEL..."""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import old_glibc

ALLOWED = {*old_glibc.LIBRARIES, *old_glibc.LOADED_TOO}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def faults_of_links(file):
    needed = set(re.findall(r"NEEDED.*\[(\S+)\]", output("readelf", "-d", file)))
    if needed - ALLOWED:
        yield f"needs {', '.join(sorted(needed - ALLOWED))} of the system"
    symbols = output("readelf", "-W", "--dyn-syms", file)
    for name, family, version in sorted(set(re.findall(r"UND\s+(\w+)@(\w+?)_([\d.]+)", symbols))):
        if family != "GLIBC" or old_glibc.number(version)[:2] > old_glibc.NEWEST:
            yield f"needs {name} of {family} {version}"
    if file.suffix == ".so":
        for name in re.findall(r"(?:GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+\d+ (\S+)", symbols):
            if not name.startswith("PyInit_") and name != "glint_mpi_calls":
                yield f"shows {name}, which another module may have too"


def faults_of_run(program):
    with tempfile.TemporaryDirectory() as folder:
        movie, rows = f"{folder}/movie.tif", f"{folder}/rows.hdf5"
        camera = ["--pixel-size", "100nm", "--sigma", "130nm", "--offset", "100", "--gain", "1"]
        output(program, "simulate", "-o", movie, "--frames", "20", *camera)
        output(program, "localize", movie, "-o", rows, "--backend", "cpu", *camera)
        if "recall" not in output(program, "score", rows, f"{folder}/movie_truth.csv"):
            yield "does not score what it has simulated"
        output(program, "render", rows, "-o", f"{folder}/picture.png")


def faults_of(file):
    yield from faults_of_links(file)
    if file.name == "glint":
        yield from faults_of_run(file)


def parts_of(wheel, folder):
    """Yields the files of a wheel that the system's loader reads."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if archive.read(name)[:4] == b"\x7fELF":
                part = pathlib.Path(archive.extract(name, folder))
                part.chmod(0o755)
                yield part


def main():
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for given in map(pathlib.Path, sys.argv[1:]):
            for part in parts_of(given, folder) if given.suffix == ".whl" else [given.resolve()]:
                for fault in faults_of(part):
                    print(f"{given}: {part.name} {fault}")
                    faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
