"""Describes the machine of a benchmark, and runs programs with measurements of time and memory."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def describe():
    """Machine, kernel and commit."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "load": os.getloadavg()[0],
    }


def run(command, cores):
    """Runs a program on the first `cores` cores: output, wall seconds, peak memory in bytes."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    start = time.perf_counter()
    child = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )
    out, errors = child.communicate()
    seconds = time.perf_counter() - start
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{out}{errors}")
    return out, seconds


def peak_bytes(command):
    """Peak memory of a program."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {status}")
    return usage.ru_maxrss * 1024


def write_json(path, result):
    if path:
        pathlib.Path(path).write_text(json.dumps({"machine": describe(), **result}, indent=2) + "\n")
