#!/usr/bin/env python3
"""What sharing costs: how long a request waits for the GPU of an idle session, and what the heartbeat of 100 leases
takes of a core. One line of JSON. Needs glint's Python module:

    SIMGPU_DEVICES=1x80GiB SIMGPU_TIME_SCALE=1 tests/simgpu/run build/release/simgpu ./dev python
    tests/load/sharing_costs.py
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/glint"
HOLDER = """
import sys
from glint import gpu
leases = [gpu.lease("16MiB", timeout=60) for _ in range(int(sys.argv[1]))]
print("has them", flush=True)
sys.stdin.read()
"""
WORKER = """
import sys
import numpy as np
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=600) as session:
    held = gpu.to_device(np.ones(1000, dtype=np.float32), session=session)  # else it would give its GPU back
    print("has it", flush=True)
    sys.stdin.read()
"""
SESSION = """
import sys
import numpy as np
from glint import offload
x = np.ones(1000, dtype=np.float32)
with offload.Session("gpu", gpu_memory=sys.argv[1]) as session:
    for line in sys.stdin:
        offload.sum(x, session=session)
        print("done", flush=True)
"""


def python(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def lease(memory, *command, timeout="600s"):
    return [PROGRAM, "lease", "--memory", memory, "-q", "--timeout", timeout, "--", *command]


def seconds_of(command):
    began = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - began


def waits(count, memory):
    """The session was used 1 to 2 s before each."""
    draw = random.Random(1)
    free = statistics.median(seconds_of(lease(memory, "true")) for _ in range(5))
    session = python(SESSION, memory)
    taken = []
    for _ in range(count):
        session.stdin.write("go on\n")
        session.stdin.flush()
        session.stdout.readline()
        time.sleep(1 + draw.random())
        taken.append(seconds_of(lease(memory, "true")))
    session.stdin.close()
    session.wait()
    return {
        "waits": count,
        "median_s": round(statistics.median(taken), 3),
        "longest_s": round(max(taken), 3),
        "of_a_free_gpu_s": round(free, 3),
    }


def cpu_s(process):
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def percent_of_a_core(processes, seconds):
    before, began = sum(map(cpu_s, processes)), time.monotonic()
    time.sleep(seconds)
    return round(100 * (sum(map(cpu_s, processes)) - before) / (time.monotonic() - began), 3)


def come_and_go(memory, until):
    """Two requests at a time that wait for 1.5 s and give up, at different moments."""
    waiting = []
    while time.monotonic() < until:
        for _ in range(2):
            waiting.append(subprocess.Popen(lease(memory, "true", timeout="1.5s"), stderr=subprocess.DEVNULL))
            time.sleep(0.5)
        waiting = [one for one in waiting if one.poll() is None]
    for one in waiting:
        one.wait()


def heartbeats(program, processes, leases, memory, seconds):
    """Of so many processes with so many leases or sessions each: while others come and wait, while one waits, while
    none does.
    """
    holders = [python(program, leases) for _ in range(processes)]
    for holder in holders:
        holder.stdout.readline()
    other = subprocess.Popen(lease(memory, "true"), stderr=subprocess.DEVNULL)
    time.sleep(2)
    wanted = percent_of_a_core(holders, 20)  # after 60 s leases that nobody uses would give way
    if other.poll() is not None:
        sys.exit("sharing_costs: there was room for the request that should wait")
    guests = threading.Thread(target=come_and_go, args=(memory, time.monotonic() + 20))
    guests.start()
    visited = percent_of_a_core(holders, 20)
    guests.join()
    other.terminate()
    other.wait()
    time.sleep(10)  # for 6 s they look whether it still waits
    alone = percent_of_a_core(holders, seconds)
    for holder in holders:
        holder.stdin.close()
        holder.wait()
    return {
        "processes": processes,
        "leases_each": leases,
        "sessions": program == WORKER,
        "percent": alone,
        "percent_while_another_waits": wanted,
        "percent_while_others_come_and_go": visited,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waits", type=int, default=30)
    parser.add_argument(
        "--seconds", type=float, default=60, help="of heartbeats while nobody waits: all slots are read every 30 s"
    )
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = "/dev/null"
    gpu = json.loads(subprocess.run([PROGRAM, "devices", "--json"], capture_output=True, check=True).stdout)["devices"][
        0
    ]
    most = f"{int(0.9 * gpu['total_bytes']) >> 20}MiB"
    print(
        json.dumps(
            {
                "gpu": gpu["name"],
                "cores": len(os.sched_getaffinity(0)),
                "load": os.getloadavg()[0],
                "idle_session": waits(options.waits, most),
                "heartbeats": [
                    heartbeats(HOLDER, 1, 100, most, options.seconds),
                    heartbeats(HOLDER, 100, 1, most, options.seconds),
                    heartbeats(WORKER, 100, 1, most, options.seconds),
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
