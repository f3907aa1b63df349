#!/usr/bin/env python3
"""Runs fits, localizations and sessions on arrays simultaneously on the GPUs of one machine, real or simulated.

A quarter of the jobs is killed and started again, a tenth is stopped for a while, and foreign processes without leases
come and go. No job may fail, all results must equal those of a run alone, and nothing may remain. Prints one line of
JSON; the exit code is 0 if all that held.

    mixed_load.py --jobs 128                                          # on a real GPU; in the bundle: load/mixed_load.py
    SIMGPU_DEVICES=4x8GiB tests/simgpu/run build/release/simgpu tests/load/mixed_load.py --jobs 16 --seed 3

Needs only Python's standard library. Sessions from Python take part if `import glint` works.

  wall_s          from the start of the first job to the end of the last
  work_s          sum over all jobs of what a job of its kind takes alone on the machine (median of three), begun once
  wall_over_work  wall_s / (work_s / GPUs): 1 is one job after the other on each GPU. Runs cut short by a kill,
                  stops and foreign processes are in wall_s, not in work_s
"""

import argparse
import collections
import hashlib
import json
import math
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CAMERA = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "100", "--gain", "1"]
ON_GPU = ["--backend", "gpu", "-q"]


def programs_folder():
    return next(
        (f for f in (HERE.parent / "bin", HERE.parents[1] / "build/release/bin") if (f / "glint").exists()), None
    )


def write_rois(path, count, seed):
    """An .npy stack of spots of 7x7 pixels with noise, of which every thousandth is new."""
    draw = random.Random(seed)
    rois = []
    for _ in range(min(count, 1000)):
        x, y, photons = draw.uniform(2.5, 3.5), draw.uniform(2.5, 3.5), draw.uniform(500, 3000)
        means = [
            10 + photons / (2 * math.pi * 1.69) * math.exp(-((c - x) ** 2 + (r - y) ** 2) / 3.38)
            for r in range(7)
            for c in range(7)
        ]
        rois.append(struct.pack("<49H", *(100 + max(0, round(draw.gauss(m, math.sqrt(m)))) for m in means)))
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({count}, 7, 7), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for k in range(count):
            file.write(rois[k % len(rois)])


class Server:
    """The programs, the GPUs, the input, and where all is written."""

    def __init__(self, options, folder):
        self.bin, self.folder, self.options = pathlib.Path(options.bin), pathlib.Path(folder), options
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.environment.pop("GLINT_GPU_MEMORY_LIMIT", None)
        devices = [d for d in json.loads(self.output("glint", "devices", "--json"))["devices"] if d["usable"]]
        self.devices = devices[: options.gpus or None]
        if not self.devices:
            sys.exit("mixed_load: no GPU can be used (glint devices)")
        if len(self.devices) < options.gpus:
            sys.exit(f"mixed_load: {len(self.devices)} GPUs, not {options.gpus}")
        self.environment["CUDA_VISIBLE_DEVICES"] = ",".join(d["uuid"] for d in self.devices)
        self.mib = min(d["total_bytes"] for d in self.devices) >> 20
        self.python = self.can_import_glint()
        write_rois(self.folder / "rois.npy", options.rois, 1)
        self.output(
            "glint",
            "simulate",
            "-o",
            self.folder / "movie.tif",
            "--size",
            "64",
            "--frames",
            str(options.frames),
            "--spots",
            "4",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--seed",
            "3",
            "-q",
        )

    def output(self, program, *arguments):
        done = subprocess.run([self.bin / program, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"mixed_load: {program} {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def can_import_glint(self):
        command = [self.options.python, "-c", "import glint"]
        return subprocess.run(command, env=self.environment, capture_output=True).returncode == 0

    def left(self):
        """Numbers of holders and of waiting requests, and MiB free on all GPUs."""
        words = self.output("lease_worker").split()
        return int(words[0]), int(words[2]), int(words[4])

    def kinds(self):
        return ["fit", "localize", "session"] + ["python"] * self.python

    def command(self, kind, mib, out):
        o = self.options
        if kind == "fit":
            return [
                self.bin / "glint",
                "fit",
                self.folder / "rois.npy",
                "-o",
                out,
                *CAMERA,
                *ON_GPU,
                "--gpu-memory",
                f"{mib}MiB",
                "--overwrite",
                "--batch-size",
                str(max(1, o.rois // 8)),
            ]
        if kind == "localize":
            return [
                self.bin / "glint",
                "localize",
                self.folder / "movie.tif",
                "-o",
                out,
                *CAMERA,
                *ON_GPU,
                "--gpu-memory",
                f"{mib}MiB",
                "--threads",
                "1",
                "--resume",
            ]
        program = [self.bin / "session_worker"] if kind == "session" else [o.python, HERE / "python_session.py"]
        return [*program, str(mib), str(o.rounds), str(o.elements), str(o.pause_ms)]


class Job:
    """A job that is started again after each kill."""

    def __init__(self, server, name, kind, mib):
        self.server, self.kind, self.mib = server, kind, mib
        self.stem = server.folder / name
        self.lives, self.kill_at, self.stop_at, self.continue_at = 0, None, None, None
        self.was_killed = self.was_stopped = False

    def begin(self):
        self.lives += 1
        with open(f"{self.stem}.out", "wb") as out, open(f"{self.stem}.err", "wb") as err:
            command = self.server.command(self.kind, self.mib, f"{self.stem}.csv")
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.server.environment
            )
        return self

    def result(self):
        """Returns the checksum of a file, or the output of a session."""
        path = pathlib.Path(f"{self.stem}.{'csv' if self.kind in ('fit', 'localize') else 'out'}")
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else "nothing"

    def last_words(self):
        return pathlib.Path(f"{self.stem}.err").read_text(errors="replace").strip()[-400:]


def run_alone(server):
    """For each kind the median of three times and the result, of runs with nobody beside; one more warms up."""
    alone = {}
    for kind in server.kinds():
        times, results = [], set()
        for k in range(4):
            job = Job(server, f"alone-{kind}-{k}", kind, server.mib // 10)
            began = time.monotonic()
            code = job.begin().process.wait()
            times.append(time.monotonic() - began)
            results.add(job.result())
            if code or len(results) > 1:
                sys.exit(f"mixed_load: {kind} alone: exit code {code}, {len(results)} results: {job.last_words()}")
        alone[kind] = (statistics.median(times[1:]), results.pop())
    return alone


class Stranger:
    """Comes, fills a tenth of a GPU without a lease, and goes; again and again. Not one of those that must not fail."""

    def __init__(self, server, draw):
        self.server, self.draw, self.process, self.came, self.next_s = server, draw, None, 0, 0

    def step(self):
        """Never waits: a process that blocks it may be stopped, and continues by this loop."""
        if time.monotonic() < self.next_s:
            return
        if self.process:
            self.process.stdin.close()  # that ends it
            if self.process.poll() is not None:
                self.process = None
                self.next_s = time.monotonic() + self.draw.uniform(0, 2)
            return
        where = {**self.server.environment, "CUDA_VISIBLE_DEVICES": self.draw.choice(self.server.devices)["uuid"]}
        mib = max(96, int(self.server.mib * self.draw.uniform(0.05, 0.15)))
        self.process = subprocess.Popen(
            [self.server.bin / "lease_worker", str(mib), "1", "alone", "hold"],
            env=where,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        self.came += 1
        self.next_s = time.monotonic() + self.draw.uniform(1, 6)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()


class Load:
    def __init__(self, server, alone, options):
        self.server, self.alone, self.options, self.draw = server, alone, options, random.Random(options.seed)
        kinds = server.kinds()
        self.jobs = []
        for k in range(options.jobs):
            kind = kinds[k % len(kinds)]
            share = self.draw.uniform(0.05, 0.5) if kind in ("fit", "localize") else self.draw.uniform(0.02, 0.25)
            self.jobs.append(Job(server, f"job-{k}", kind, max(128, int(share * server.mib))))
        self.draw.shuffle(self.jobs)
        self.work_s = sum(alone[job.kind][0] for job in self.jobs)
        self.strangers = [Stranger(server, random.Random(options.seed * 1000 + k)) for k in range(options.strangers)]
        self.counts, self.errors = collections.Counter(), []

    def choose(self, count, among, attribute, within_s):
        """Returns a time for some jobs: with equal probability in the first hundredths of a second, when leases are
        requested, or later."""
        for job in self.draw.sample(among, min(count, len(among))):
            setattr(job, attribute, time.monotonic() + math.exp(self.draw.uniform(math.log(0.02), math.log(within_s))))

    def hand_on(self, job):
        """What was to be done to one that was quicker is done to another."""
        within_s = max(0.1, (time.monotonic() - self.began) / 2)
        if job.kill_at:
            self.choose(
                1, [other for other in self.left if not other.was_killed and not other.kill_at], "kill_at", within_s
            )
        if job.stop_at:
            self.choose(
                1, [other for other in self.left if not other.was_stopped and not other.stop_at], "stop_at", within_s
            )

    def run(self):
        self.began = time.monotonic()
        self.left = [job.begin() for job in self.jobs]
        longest_s = max(s for s, _ in self.alone.values())
        self.choose(int(self.options.jobs * self.options.kills), self.left, "kill_at", 4 * longest_s)
        self.choose(int(self.options.jobs * self.options.stops), self.left, "stop_at", 4 * longest_s)
        try:
            while self.left and time.monotonic() - self.began < self.options.timeout_s:
                for stranger in self.strangers:
                    stranger.step()
                for job in list(self.left):
                    self.step(job)
                time.sleep(0.005)
            self.wall_s = time.monotonic() - self.began
        finally:
            self.end()

    def end(self):
        for stranger in self.strangers:
            stranger.end()
        for job in self.left:
            self.errors.append(f"{job.stem.name} {job.kind} {job.mib} MiB: did not end: {job.last_words()}")
            job.process.kill()
            job.process.wait()

    def step(self, job):
        now = time.monotonic()
        if job.continue_at and now > job.continue_at:
            job.continue_at = None
            job.process.send_signal(signal.SIGCONT)
        if job.stop_at and now > job.stop_at and job.process.poll() is None:
            job.process.send_signal(signal.SIGSTOP)
            job.stop_at, job.continue_at, job.was_stopped = None, now + self.draw.uniform(0.5, 8), True
            self.counts["stopped"] += 1
        if job.kill_at and now > job.kill_at and job.process.poll() is None:
            job.process.kill()
            job.kill_at, job.continue_at, job.was_killed = None, None, True
        code = job.process.poll()
        if code is None:
            return
        if code == -signal.SIGKILL and job.was_killed and job.lives == 1:
            self.counts["killed"] += 1
            job.begin()
            return
        self.left.remove(job)
        self.judge(job, code)
        self.hand_on(job)

    def judge(self, job, code):
        if code:
            self.errors.append(f"{job.stem.name} {job.kind} {job.mib} MiB: exit code {code}: {job.last_words()}")
        elif job.result() != self.alone[job.kind][1]:
            self.errors.append(f"{job.stem.name} {job.kind} {job.mib} MiB: another result: {job.last_words()}")
        else:
            self.counts["right"] += 1
        said = job.last_words()
        self.counts["held nothing"] += "holds nothing" in said
        self.counts["on the CPU"] += job.kind in ("session", "python") and "CPU" in said

    def wait_for_nothing_left(self, before):
        """Waits, because the memory of a killed process comes back some time after its end."""
        until = time.monotonic() + 60
        while True:
            holders, waiters, free = self.server.left()
            if holders == waiters == 0 and free >= before[2] - 32 * len(self.server.devices):
                return
            if time.monotonic() > until:
                self.errors.append(f"left behind: {holders} holders, {waiters} waiters, {free} of {before[2]} MiB free")
                return
            time.sleep(0.2)


def parse():
    simulated = "SIMGPU_STATE" in os.environ
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=128, help="at once (128)")
    parser.add_argument(
        "--seed", type=int, default=int(os.environ.get("TEST_TURN", 1)), help="of sizes, kills, stops, strangers"
    )
    parser.add_argument("--gpus", type=int, default=0, help="so many of the GPUs; 0: all")
    parser.add_argument("--strangers", type=int, default=3, help="processes without leases (3)")
    parser.add_argument(
        "--kills", type=float, default=0.25, help="the part of the jobs that is killed, and begun again (0.25)"
    )
    parser.add_argument("--stops", type=float, default=0.1, help="the part that is stopped for 0.5 to 8 s (0.1)")
    parser.add_argument("--rois", type=int, default=2000 if simulated else 200000, help="of a fit")
    parser.add_argument("--frames", type=int, default=60 if simulated else 2000, help="of a localization")
    parser.add_argument(
        "--rounds", type=int, default=20 if simulated else 200, help="of operations of a session, twice"
    )
    parser.add_argument("--elements", type=int, default=2000 if simulated else 200000, help="of a session's arrays")
    parser.add_argument("--pause-ms", type=int, default=1500, help="of a session, between its two halves")
    parser.add_argument("--timeout-s", type=float, default=540, help="then those that have not ended count as failed")
    parser.add_argument("--bin", default=programs_folder(), help="folder of glint, lease_worker, session_worker")
    parser.add_argument("--python", default=sys.executable, help="the Python of sessions")
    options = parser.parse_args()
    if not options.bin:
        parser.error("no programs found: --bin FOLDER, or ./dev build")
    return options


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options, folder)
        alone = run_alone(server)
        before = server.left()
        load = Load(server, alone, options)
        load.run()
        load.wait_for_nothing_left(before)
        gpus = len(server.devices)
        print(
            json.dumps(
                {
                    "good": not load.errors and load.counts["right"] == options.jobs,
                    "jobs": options.jobs,
                    "seed": options.seed,
                    "gpus": gpus,
                    "gpu": server.devices[0]["name"],
                    "cores": len(os.sched_getaffinity(0)),
                    "strangers": options.strangers,
                    "strangers_came": sum(s.came for s in load.strangers),
                    "right": load.counts["right"],
                    "killed": load.counts["killed"],
                    "stopped": load.counts["stopped"],
                    "held_nothing": load.counts["held nothing"],
                    "sessions_that_used_the_cpu": load.counts["on the CPU"],
                    "python": "sessions too" if server.python else f"no sessions: {options.python} cannot import glint",
                    "alone_s": {kind: round(s, 3) for kind, (s, _) in alone.items()},
                    "wall_s": round(load.wall_s, 2),
                    "work_s": round(load.work_s, 2),
                    "wall_over_work": round(load.wall_s / (load.work_s / gpus), 3),
                    "wall_over_work_is": "wall_s / (sum over the jobs of alone_s of their kind / gpus)",
                    "errors": load.errors[:10],
                }
            )
        )
    return 0 if not load.errors and load.counts["right"] == options.jobs else 1


if __name__ == "__main__":
    sys.exit(main())
