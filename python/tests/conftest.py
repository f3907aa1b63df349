"""Shared by the tests of the Python module."""

import contextlib
import importlib.util
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import threading

import glint
import numpy as np
import pytest
from glint import gpu, offload

ROOT = pathlib.Path(__file__).resolve().parents[2]

needs_gpu = pytest.mark.skipif(not gpu.is_available(), reason="needs a GPU, or tests/simgpu/run")
needs_two = pytest.mark.skipif(len(gpu.devices()) < 2, reason="needs two GPUs, or tests/simgpu/run")
simulated_server = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="needs the simulated server: tests/simgpu/run"
)


def session_on(device=None, **options):
    """A session on a GPU, with a small lease."""
    return offload.Session("gpu", **{"gpu_memory": "64MiB", "gpu_timeout": 60, "device": device, **options})


def python(program, **environment):
    """Runs a Python program in a separate process, which must succeed. Returns its standard output and error."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def on_server(program, **variables):
    """The same on a new simulated server, which variables SIMGPU_* configure."""
    folder = os.environ["LD_LIBRARY_PATH"].split(":")[0]
    done = subprocess.run(
        [ROOT / "tests/simgpu/run", folder, sys.executable, "-c", program],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def this_user():
    """Returns the user's name as in errors: from the password database if possible. $USER and $LOGNAME may differ."""
    try:
        return f"user {os.getuid()} ({pwd.getpwuid(os.getuid()).pw_name})"
    except KeyError:
        return f"user {os.getuid()}"


def mpirun(program, processes=1):
    """A Python program in processes of MPI, which must succeed: their standard output. An MPI that cannot start ends
    the process that asks for it, so that is tried in one of its own."""
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }

    def run(text):
        command = ["mpirun", "-n", str(processes), sys.executable, "-c", text]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)

    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    try:
        tried = run("from mpi4py import MPI")
    except subprocess.TimeoutExpired as error:
        pytest.skip(f"MPI does not start here: {error}")
    if tried.returncode:
        pytest.skip("mpi4py cannot start MPI here: " + " ".join(tried.stderr.split())[:1000])
    done = run(program)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def psf():
    return glint.GaussianXYNB(sigma_nm=130)


@pytest.fixture(scope="session")
def camera():
    return glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)


@pytest.fixture(scope="session")
def simulated(psf, camera):
    """A movie of 60 frames of 64x48 px, and its truth."""
    return glint.simulate(psf, camera, frames=60, width=64, height=48, spots_per_frame=4, seed=7)


@pytest.fixture(scope="session")
def counts(psf, camera):
    """Returns 500 ROIs of 9x9 px as counts of a camera: uint16."""
    rois, _ = glint.simulate_rois(500, psf, camera, size=9, seed=2)
    return np.round(rois).astype(np.uint16)


@pytest.fixture(scope="session")
def judge():
    """Returns the module tests/judge/test_fit.py, with its models and its fit by SciPy."""
    spec = importlib.util.spec_from_file_location("judge_test_fit", ROOT / "tests/judge/test_fit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def command():
    """Runs the program glint of the same build (or GLINT_PROGRAM): what it printed."""
    beside = pathlib.Path(glint.__file__).parents[2] / "bin/glint"
    program = pathlib.Path(os.environ.get("GLINT_PROGRAM", beside))
    if not program.is_file():
        pytest.skip(f"no program {program}: GLINT_PROGRAM names it")

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def same_table(a, b):
    """Expects tables that are equal bit for bit."""
    assert a.columns.keys() == b.columns.keys()
    for name in a.columns:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@contextlib.contextmanager
def ctrl_c_after():
    """Returns a callback. After its first call, another thread sends Ctrl-C once, like a terminal."""
    called, left = threading.Event(), threading.Event()

    def send():
        called.wait()
        if not left.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield lambda *report: called.set()
    finally:
        left.set(), called.set()
        sender.join()
