"""Ctrl-C, and exceptions in callbacks: they stop the work, and lose nothing that is finished."""
import os
import signal
import threading
import time

import glint
import numpy as np
import pytest
from conftest import same_table

PATIENCE_S = 5  # from Ctrl-C to the end; looked for every 0.05 s, and the work would take far longer
ENDLESS = dict(backend="cpu", threads=1, max_iterations=255, tolerance=1e-7)


@pytest.fixture(scope="session")
def many(psf, camera):
    """ROIs that keep one core busy for half a minute where no fit may converge."""
    rois, _ = glint.simulate_rois(1000, psf, camera, size=15, seed=1)
    return np.tile(np.round(rois).astype(np.uint16), (300, 1, 1))


def ctrl_c_after(seconds):
    """When the signal was sent: the element of a list that is empty before."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(seconds, send).start()
    return sent


def test_ctrl_c_stops_a_fit(psf, camera, many):
    sent = ctrl_c_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        glint.fit(many, psf, camera, **ENDLESS)
    assert time.monotonic() - sent[0] < PATIENCE_S
    assert len(glint.fit(many[:10], psf, camera)) == 10  # and what comes next is not disturbed


class Own(Exception):
    pass


def fail_after(calls):
    """A callback that raises at its n-th call, and counts them."""

    def callback(*arguments):
        callback.calls += 1
        if callback.calls == calls:
            raise Own("mine")

    callback.calls = 0
    return callback


def test_an_exception_in_a_callback_stops_a_fit(psf, camera, many):
    progress = fail_after(2)
    with pytest.raises(Own, match="mine"):
        glint.fit(many, psf, camera, progress=progress, **ENDLESS)
    assert progress.calls == 2


def test_progress_comes_from_the_calling_thread_and_ends_with_all(psf, camera, many):
    seen = []
    glint.fit(many, psf, camera, progress=lambda *report: seen.append((*report, threading.get_ident())), backend="cpu",
              max_iterations=5)
    done, total, threads = zip(*seen)
    assert list(done) == sorted(done) and done[-1] == len(many)
    assert set(total) == {len(many)} and set(threads) == {threading.get_ident()}


def test_a_callback_that_is_none_is_told(psf, camera, counts):
    with pytest.raises(TypeError):
        glint.fit(counts, psf, camera, progress=3, backend="cpu")


@pytest.fixture
def long_movie(psf, camera, simulated):
    """The same frames over and over: more than half a minute of one core where no fit may converge."""
    return np.tile(simulated.movie, (1000, 1, 1))


def test_ctrl_c_stops_localize_in_memory(psf, camera, long_movie):
    sent = ctrl_c_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        glint.localize(long_movie, psf, camera, memory=1 << 20, **ENDLESS)
    assert time.monotonic() - sent[0] < PATIENCE_S


@pytest.mark.parametrize("way", ["ctrl_c", "exception"])
def test_what_is_finished_is_kept_and_continued(psf, camera, simulated, tmp_path, way):
    movie = np.tile(simulated.movie, (20, 1, 1))
    out = tmp_path / "locs.hdf5"
    partial, journal = tmp_path / "locs.partial.hdf5", tmp_path / "locs.hdf5.journal"

    def stop(done, total):
        if 0 < done < total:
            if way == "exception":
                raise Own
            os.kill(os.getpid(), signal.SIGINT)

    options = dict(threads=1, backend="cpu", memory=1 << 18)
    with pytest.raises(Own if way == "exception" else KeyboardInterrupt) as stopped:
        for _ in range(100):  # the run is short: it may be done before progress is looked at
            glint.localize(movie, psf, camera, out, progress=stop, overwrite=True, **options)
    if way == "ctrl_c":
        assert "resume=True" in " ".join(stopped.value.__notes__)
    assert journal.is_file() and not out.exists()
    assert 0 < len(glint.load_localizations(partial))
    with pytest.raises(glint.OptionError, match="journal"):
        glint.localize(movie, psf, camera, out, **options)
    resumed = glint.localize(movie, psf, camera, out, resume=True, **options)
    assert resumed.info.resumed_frames > 0 and not journal.exists() and not partial.exists()
    whole = tmp_path / "whole.hdf5"
    glint.localize(movie, psf, camera, whole, **options)
    assert out.read_bytes() == whole.read_bytes()
    same_table(resumed, glint.load_localizations(whole))
