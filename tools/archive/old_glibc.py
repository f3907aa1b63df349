#!/usr/bin/env python3
"""Writes stand-ins for glibc's shared libraries into a folder, to link against. Each symbol has its version of glibc
2.28.

A linker binds a program to the newest version of each symbol in the library, here Debian 12's glibc 2.36, so the
program does not start on older systems. With the stand-ins, it binds to versions that every glibc since 2.28 has,
including RHEL 8's. The stand-ins contain only names, no code: the system's libraries replace them when the program
starts. Symbols that 2.28 lacks are left out, so that the linker reports them. later_glibc.c defines those that glint
needs.

Usage: old_glibc.py FOLDER
"""

import pathlib
import re
import subprocess
import sys

NEWEST = (2, 28)
LIBRARIES = ["libc.so.6", "libm.so.6", "libmvec.so.1", "ld-linux-x86-64.so.2"]
# In 2.28 threads and dlopen() were in separate libraries, which are loaded too. Since 2.34 these libraries are empty.
LOADED_TOO = ["libpthread.so.0", "libdl.so.2", "librt.so.1"]


def path_of(library):
    found = subprocess.run(
        ["gcc", f"-print-file-name={library}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not pathlib.Path(found).is_absolute():
        raise SystemExit(f"old_glibc: {library} is not found: is libc6-dev installed?")
    return found


def number(version):
    return tuple(int(part) for part in version.split("."))


def symbols_of(library):
    """Returns (version, type, size) by name, for the newest version that is old enough."""
    listing = subprocess.run(
        ["readelf", "-W", "--dyn-syms", path_of(library)], check=True, capture_output=True, text=True
    ).stdout
    row = re.compile(r"\s*\d+: [0-9a-f]+\s+(\w+) (\w+)\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+(\S+) ([^@\s]+)@+GLIBC_([\d.]+)")
    best = {}
    for size, kind, section, name, version in (
        match.groups() for match in map(row.match, listing.splitlines()) if match
    ):
        if section in ("UND", "ABS") or number(version)[:2] > NEWEST:
            continue
        if name not in best or number(version) > number(best[name][0]):
            best[name] = (version, "object" if kind == "OBJECT" else "function", int(size, 0))
    return best


def write(folder, library, symbols):
    lines, versions = [], sorted({number(version) for version, _, _ in symbols.values()})
    for k, (name, (version, kind, size)) in enumerate(sorted(symbols.items())):
        room = max(size, 1) if kind == "object" else 16
        lines.append(
            f".section {'.bss' if kind == 'object' else '.text'}\n.globl stand_in_{k}\n.type stand_in_{k}, @{kind}\n"
            f".size stand_in_{k}, {room}\nstand_in_{k}: .skip {room}\n.symver stand_in_{k}, "
            f"{name}@@GLIBC_{version}, remove\n"
        )
    source, script, target = folder / "names.s", folder / "versions.map", folder / library
    source.write_text("".join(lines) + '.section .note.GNU-stack,"",@progbits\n')
    script.write_text("".join(f"GLIBC_{'.'.join(map(str, version))} {{ }};\n" for version in versions) or "NONE { };\n")
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-nostdlib",
            f"-Wl,-soname,{library}",
            f"-Wl,--version-script={script}",
            source,
            "-o",
            target,
        ],
        check=True,
    )
    link = folder / (library[: library.index(".so")] + ".so")
    link.unlink(missing_ok=True)
    link.symlink_to(library)
    source.unlink(), script.unlink()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        write(folder, library, symbols_of(library))
    for library in LOADED_TOO:
        write(folder, library, {})
    # By the names that the compiler asks for: with the loader's symbols, and those with several version numbers.
    for name, library, more in (
        ("libc.so", "libc.so.6", "ld-linux-x86-64.so.2"),
        ("libm.so", "libm.so.6", "libmvec.so.1"),
    ):
        (folder / name).unlink()
        (folder / name).write_text(f"GROUP ( {folder.resolve()}/{library} AS_NEEDED ( {folder.resolve()}/{more} ) )\n")


if __name__ == "__main__":
    main()
