"""Runs commands later in the background, by the programs `glint submit` and `glint jobs`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Iterable
from typing import Any

from .arguments import program, shown, switch, whole
from .errors import Error, InputError, OptionError, OutputError

_error_of = {2: OptionError, 3: InputError, 4: OutputError, 126: OptionError, 127: OptionError}  # by exit code


def _run(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the program. Returns its result, even if the program failed."""
    path = program()
    try:
        return subprocess.run([path, *words], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise InputError(
            f"{path}, which came with this package and looks after jobs, cannot be run: {error.strerror}"
        ) from error


def _failure(done: subprocess.CompletedProcess[bytes]) -> Error:
    """Returns the exception for the program's message on stderr."""
    return _error_of.get(done.returncode, Error)(
        os.fsdecode(done.stderr).strip().removeprefix("glint: ") or f"glint ended with {done.returncode}"
    )


def _answer(*words: str) -> bytes:
    """Returns the program's output. Raises its errors as exceptions."""
    done = _run(*words)
    if done.returncode != 0:
        raise _failure(done)
    return done.stdout


@dataclasses.dataclass(frozen=True)
class Job:
    """A command that was given to `submit()`, as of the creation of this object. `jobs()` returns the current state."""

    number: int
    #: "queued", "running", "done" (exit code 0), "failed", "cancelled", "lost" (the end is unknown) or "damaged" (the
    #: record is)
    state: str
    short: bool | None  #: whether the job waits for short jobs only; None: damaged
    exit_code: int | None  #: exit code of the command, 128 + signal if killed; None: not ended, never begun, or lost
    submitted_s: float | None  #: time.time() of the submission; None: damaged
    took_s: float | None  #: run time of the command until now or its end; None: not begun, or lost
    command: tuple[str, ...]
    supervisor_pid: int | None  #: pid of the process that supervises the job; None: damaged
    folder: str  #: folder in which the command runs
    log_file: str

    def wait(self) -> Job:
        """Waits until the job has ended, and returns it. Raises OptionError within the job itself, which would wait
        forever."""
        done = _run("jobs", "wait", str(self.number))  # the exit code is that of the command
        if not done.stdout:
            raise _failure(done)
        return _named(self.number)

    def cancel(self) -> Job:
        """Removes the job from the queue, or ends its processes. Returns the job when they have ended.

        Sends SIGTERM, on which glint saves finished work. Sends SIGKILL 30 s later, or if cancelled again. A job that
        had ended is not changed.
        """
        _answer("jobs", "cancel", str(self.number))
        return _named(self.number)

    def log(self) -> str:
        """Returns what the command has written to stdout and stderr so far. Replaces bytes that are not UTF-8."""
        return _answer("jobs", "log", str(self.number)).decode("utf-8", "replace")


def _named(number: int) -> Job:
    for job in jobs():
        if job.number == number:
            return job
    raise InputError(f"there is no job {number}: glint.jobs() lists them")


def submit(command: Iterable[str | os.PathLike[str]], *, short: bool = False, at_once: int | None = None) -> Job:
    """Queues a command to run in the background; returns immediately.

    The job runs even after this program has ended and the user has logged out. It runs in the current folder, with the
    current environment (os.environ). Your jobs on this machine start in the order of their numbers. A job does not
    reserve a GPU: `glint localize` in a job waits for a GPU as elsewhere.

    command: the words of the command: ["glint", "localize", "movie.tif", "-o", "locs.hdf5", "--sigma", "130nm"]. For
        shell syntax ["sh", "-c", "..."].
    short: wait only for your earlier short jobs. Short jobs run beside the other jobs. For commands of up to half a
        minute that need no result of a queued job.
    at_once: start when fewer than this number of your earlier jobs are running; for a short job, only short jobs count.
        None: the number of GPUs, or 1.

    Raises OptionError if the program does not exist or is not executable, OutputError if the job cannot be written.
    """
    if isinstance(command, (str, bytes)) or not isinstance(command, Iterable):
        raise OptionError(
            f"command={shown(command)}: give its words, as in ['glint', 'localize', 'movie.tif']; "
            f"shlex.split() makes them of a line"
        )
    words = [_word(word) for word in command]
    if not words:
        raise OptionError("command has no words: give them, as in ['glint', 'localize', 'movie.tif']")
    options = ["--short"] if switch("short", short) else []
    if at_once is not None:
        options += ["--at-once", str(whole("at_once", at_once, 2, 1, 1024))]
    return _named(int(_answer("submit", *options, "--", *words)))


def _word(word: Any) -> str:
    try:
        text = os.fsdecode(word)
        os.fsencode(text)
    except (TypeError, UnicodeError):
        raise OptionError(f"command has {shown(word)}: give words, as in ['sh', '-c', 'exit 3']") from None
    if "\0" in text:
        raise OptionError(f"command has {shown(word)}: a word cannot have a zero byte")
    return text


def jobs() -> list[Job]:
    """Returns your jobs on this machine, in the order of their numbers: queued and running jobs, and up to 1,000 jobs
    that ended in the last 30 days."""
    return [
        Job(
            number=one["job"],
            state=one["state"],
            short=one["short"],
            exit_code=one["exit_code"],
            submitted_s=one["submitted_s"],
            took_s=one["took_s"],
            command=tuple(one["command"]),
            supervisor_pid=one["supervisor_pid"],
            folder=one["folder"],
            log_file=one["log"],
        )
        for one in json.loads(_answer("jobs", "--json"))
    ]
