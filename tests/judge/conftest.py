"""Shared by the reference tests: the program under test and the folder of third-party movies."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Path of the glint program: GLINT_PROGRAM, else the release build."""
    path = pathlib.Path(os.environ.get("GLINT_PROGRAM", ROOT / "build/release/bin/glint"))
    assert path.is_file(), f"{path}: no such program; run ./dev build"
    return path


@pytest.fixture(scope="session")
def glint(program):
    """Runs glint with the given arguments and returns what it printed; fails with its message on an error."""

    def run(*arguments, **keywords):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, **keywords)
        assert done.returncode == 0, f"glint {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def data():
    """The folder of third-party movies: GLINT_DATA, else ../shared/data; skips if there is none."""
    folder = pathlib.Path(os.environ.get("GLINT_DATA", ROOT / "../shared/data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no third-party movies in {folder}: GLINT_DATA names their folder")
    return folder


@pytest.fixture(scope="session")
def dump(program, tmp_path_factory):
    """Reads a movie, one in several files (`also`), or the planes of a choice (channel=1, z=4), through movie_dump:
    (facts, frames).
    """
    folder = pathlib.Path(os.environ.get("GLINT_BIN", program.parent))

    def run(path, frames_per_block=3, also=(), **choice):
        frames_path = tmp_path_factory.mktemp("frames") / "frames.bin"
        given = [f"{name}={value}" for name, value in choice.items() if value is not None] + [
            f"also={other}" for other in also
        ]
        done = subprocess.run(
            [folder / "movie_dump", path, frames_path, str(frames_per_block), *given], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", "the library must not print"
        facts = json.loads(done.stdout)
        frames = np.fromfile(frames_path, dtype=facts["type"])
        return facts, frames.reshape(facts["frames"], facts["height"], facts["width"])

    return run
