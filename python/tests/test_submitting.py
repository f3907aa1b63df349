"""Background jobs: their entries in the program's list, and the effects of their commands."""

import json
import os
import sys
import time

import glint
import pytest


@pytest.fixture(autouse=True)
def jobs_of_the_test(tmp_path, monkeypatch, command):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GLINT_GPU_ENABLED", "false")
    monkeypatch.chdir(tmp_path)
    yield
    for job in reversed(glint.jobs()):
        job.cancel()


def test_a_job_runs_here_and_is_listed(tmp_path, monkeypatch, command):
    monkeypatch.setenv("WORD", "of now")
    assert glint.jobs() == []
    first = glint.submit(["sh", "-c", 'echo "$WORD" "$1" > told; echo error >&2; exit 3', "sh", "with space"])
    assert first.number == 1 and first.state in ("queued", "running", "failed") and first.folder == str(tmp_path)
    ended = first.wait()
    assert (ended.state, ended.exit_code) == ("failed", 3) and ended == first.wait()
    assert (tmp_path / "told").read_text() == "of now with space\n" and ended.log() == "error\n"
    assert first.submitted_s == ended.submitted_s <= time.time() and 0 <= ended.took_s < 60
    second = glint.submit([sys.executable, "-c", "pass"], at_once=2).wait()
    assert (second.number, second.state, second.exit_code) == (2, "done", 0)
    listed = json.loads(command("jobs", "--json"))
    assert [
        dict(
            job=job.number,
            state=job.state,
            short=job.short,
            exit_code=job.exit_code,
            submitted_s=job.submitted_s,
            took_s=job.took_s,
            command=list(job.command),
            supervisor_pid=job.supervisor_pid,
            folder=job.folder,
            log=job.log_file,
        )
        for job in glint.jobs()
    ] == listed
    assert open(ended.log_file).read() == "error\n"


def test_jobs_wait_for_each_other_and_can_be_cancelled():
    running = glint.submit(["sleep", "600"], at_once=1)
    queued = glint.submit(["sh", "-c", "echo never"], at_once=1)
    assert (running.short, queued.short) == (False, False)
    short = glint.submit(["true"], short=True, at_once=1).wait()
    assert (short.short, short.state) == (True, "done"), "it waits for neither"
    assert queued.state == "queued" and queued.exit_code is None and queued.took_s is None
    assert (queued.cancel().state, queued.log()) == ("cancelled", "")
    deadline = time.monotonic() + 60
    while glint.jobs()[0].state != "running":
        assert time.monotonic() < deadline
    ended = running.cancel()
    assert (ended.state, ended.exit_code) == ("cancelled", 143)
    assert running.cancel() == ended and [job.state for job in glint.jobs()] == ["cancelled", "cancelled", "done"]


@pytest.mark.parametrize(
    "words, error, message",
    [
        (
            "glint localize movie.tif",
            glint.OptionError,
            "command='glint localize movie.tif': give its words.*shlex.split",
        ),
        ([], glint.OptionError, "command has no words"),
        (["sh", 3], glint.OptionError, "command has 3: give words"),
        (["sh", "a\0b"], glint.OptionError, "zero byte"),
        (["no-such-program"], glint.OptionError, "^no-such-program: no such command"),
    ],
)
def test_what_is_no_command_is_refused(words, error, message):
    with pytest.raises(error, match=message):
        glint.submit(words)
    assert glint.jobs() == []


def test_errors_of_the_program_are_exceptions(tmp_path, monkeypatch):
    with pytest.raises(glint.OptionError, match="at_once=0"):
        glint.submit(["true"], at_once=0)
    with pytest.raises(glint.OptionError, match="short='no'"):
        glint.submit(["true"], short="no")
    job = glint.submit(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; import glint; glint.jobs()[0].wait()"]
    ).wait()
    assert job.state == "failed" and "OptionError: job 1 cannot wait for itself" in job.log()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(glint.InputError, match="there is no job 1"):
        job.wait()
    (tmp_path / "told").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "told"))
    with pytest.raises(glint.OutputError, match="told"):
        glint.submit(["true"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(glint.submitting, "program", lambda: str(tmp_path / "none"))
    with pytest.raises(glint.InputError, match="none, which came with this package.*No such file"):
        glint.jobs()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # for what comes after the test
