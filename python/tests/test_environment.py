"""A process whose stderr is gone, and one that may start few threads."""

import os
import subprocess
import sys

import pytest

FIT = """
import glint
psf, camera = glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
rois, _ = glint.simulate_rois(10000, psf, camera, size=7, seed=1)
print(len(glint.fit(rois, psf, camera, backend="cpu", threads=6)))
"""


def python(code, **variables):
    return subprocess.run([sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True)


@pytest.mark.parametrize(
    "how", ["sys.stderr = None", "sys.stderr.close()", "os.close(2)", "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)"]
)
def test_nobody_has_to_listen_to_warnings(how, tmp_path):
    (tmp_path / "nan.csv").write_text('"frame","x [nm]","y [nm]"\n1,nan,20\n2,10,20\n')
    ended = python(f"""
import os, sys, warnings
import glint
warnings.simplefilter("always")
{how}
print(len(glint.load_localizations({str(tmp_path / "nan.csv")!r}, pixel_size_nm=100)))
""")
    assert ended.stdout == "1\n", ended.stderr


@pytest.mark.skipif("GLINT_FEW_THREADS" not in os.environ, reason="the library that refuses threads was not built")
@pytest.mark.parametrize("threads", [1, 2, 4, 100])
def test_fits_with_as_many_threads_as_can_be_started(threads):
    ended = python(FIT, LD_PRELOAD=os.environ["GLINT_FEW_THREADS"], FEW_THREADS=str(threads), OPENBLAS_NUM_THREADS="1")
    assert ended.stdout == "10000\n", ended.stderr


@pytest.mark.skipif("GLINT_FEW_THREADS" not in os.environ, reason="the library that refuses threads was not built")
def test_without_any_thread_says_what_to_do():
    ended = python(FIT, LD_PRELOAD=os.environ["GLINT_FEW_THREADS"], FEW_THREADS="0", OPENBLAS_NUM_THREADS="1")
    assert ended.returncode == 1
    assert "glint.errors.Error" in ended.stderr and "ulimit -u" in ended.stderr
