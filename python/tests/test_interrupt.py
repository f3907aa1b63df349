"""Ctrl-C, and exceptions in callbacks: they stop the work, and lose nothing that is finished."""

import os
import signal
import sys
import threading
import time

import glint
import numpy as np
import pytest
from conftest import ctrl_c_after, same_table

ONE_CORE = dict(backend="cpu", threads=1)
SLOWLY = dict(**ONE_CORE, max_iterations=255, tolerance=1e-7)


@pytest.fixture(scope="session")
def many(psf, camera):
    """ROIs whose fits keep a core busy for a second, and how long they do."""
    rois, _ = glint.simulate_rois(20_000, psf, camera, size=15, seed=1)
    rois = np.round(rois).astype(np.uint16)
    while True:
        begun = time.process_time()
        glint.fit(rois, psf, camera, **SLOWLY)
        core_s = time.process_time() - begun
        if core_s > 1:
            return rois, core_s
        rois = np.concatenate([rois, rois])


def test_ctrl_c_stops_a_fit(psf, camera, many):
    rois, core_s = many
    begun = time.process_time()
    with ctrl_c_after() as progress, pytest.raises(KeyboardInterrupt):
        glint.fit(rois, psf, camera, progress=progress, **SLOWLY)
    assert time.process_time() - begun < core_s / 2
    assert len(glint.fit(rois[:10], psf, camera)) == 10  # and what comes next is not disturbed


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
        glint.fit(many[0], psf, camera, progress=progress, **SLOWLY)
    assert progress.calls == 2


def test_progress_comes_from_the_calling_thread_and_ends_with_all(psf, camera, many):
    rois, seen = many[0], []
    glint.fit(
        rois,
        psf,
        camera,
        progress=lambda *report: seen.append((*report, threading.get_ident())),
        backend="cpu",
        max_iterations=5,
    )
    done, total, threads = zip(*seen)
    assert list(done) == sorted(done) and done[-1] == len(rois)
    assert set(total) == {len(rois)} and set(threads) == {threading.get_ident()}


def test_a_callback_that_is_none_is_reported(psf, camera, counts):
    with pytest.raises(glint.OptionError, match="progress=3: give a function"):
        glint.fit(counts, psf, camera, progress=3, backend="cpu")


def test_ctrl_c_stops_localize_in_memory(psf, camera, tmp_path):
    endless = np.memmap(
        tmp_path / "endless.raw", np.uint16, "w+", shape=(10**8, 48, 64)
    )  # a file of holes: hours of work
    with ctrl_c_after() as progress, pytest.raises(KeyboardInterrupt):
        glint.localize(endless, psf, camera, memory=1 << 20, progress=progress, **ONE_CORE)


@pytest.mark.parametrize("way", ["ctrl_c", "exception"])
def test_what_is_finished_is_kept_and_continued(psf, camera, simulated, tmp_path, way):
    out = tmp_path / "locs.hdf5"
    partial, journal = tmp_path / "locs.partial.hdf5", tmp_path / "locs.hdf5.journal"

    def stop(done, total):
        if 0 < done < total:
            if way == "exception":
                raise Own
            os.kill(os.getpid(), signal.SIGINT)

    options = dict(ONE_CORE, memory=1 << 18)
    for copies in 20 * 2 ** np.arange(7):  # so many that it is not done when its progress is looked at
        movie = np.tile(simulated.movie, (copies, 1, 1))
        try:
            glint.localize(movie, psf, camera, out, progress=stop, overwrite=True, **options)
        except Own if way == "exception" else KeyboardInterrupt as error:
            stopped = error
            if journal.is_file():
                break
    if way == "ctrl_c":
        if sys.version_info >= (3, 11):  # before, exceptions have no notes
            assert "resume=True" in " ".join(stopped.__notes__)
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
