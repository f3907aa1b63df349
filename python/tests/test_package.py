"""The sdist has all that is needed to build, and what pip installs from it works."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import numpy
import pytest
from conftest import ROOT


def run(*command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    run(
        sys.executable,
        "-c",
        "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])",
        folder,
        cwd=ROOT,
    )
    (archive,) = folder.glob("*.tar.gz")
    return archive


def test_the_sdist_is_small_and_complete(sdist):
    with tarfile.open(sdist) as archive:
        names = {
            pathlib.PurePosixPath(name).relative_to(pathlib.PurePosixPath(name).parts[0]).as_posix()
            for name in archive.getnames()
        }
    assert {
        "LICENSE",
        "README.md",
        "CMakeLists.txt",
        "src/microscopy/fit/kernel.hpp",
        "python/src/module.cpp",
        "include/glint/fit.hpp",
    } <= names
    assert not any(name.split("/")[0] in ("build", ".venv", ".nvcc", "demo") for name in names)
    assert sdist.stat().st_size < 5e6


def settings_of_this_build():
    """With the same settings and compiler names, ccache finds the files that this build has compiled."""
    cache = ROOT / "build/release/CMakeCache.txt"
    text = cache.read_text() if cache.is_file() else ""
    names = "GLINT_UNITY_BATCH|GLINT_WARNINGS_ARE_ERRORS|CMAKE_C(?:XX)?_COMPILER"
    found = re.findall(rf"^({names}):\w+=(.+)$", text, re.M)
    return [f"-Ccmake.define.{name}={value}" for name, value in found]


def test_pip_installs_it(sdist, tmp_path):
    """Without network: the packages that it needs are those of this Python. Laid out as this checkout is, so that
    ccache knows what it has compiled here."""
    work = ROOT / "build/sdist"
    shutil.rmtree(work, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(work, filter="data")
    (source,) = work.iterdir()
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    packages = next((tmp_path / "venv/lib").glob("python3*")) / "site-packages"
    not_for_pip = ("PYTHONPATH", "XDG_CACHE_HOME")  # the latter is where ccache keeps what it compiled
    environment = {name: value for name, value in os.environ.items() if name not in not_for_pip}
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        packages,
        source,
        "-Cbuild-dir=build/release",
        "-Ccmake.define.GLINT_CUDA=OFF",
        *settings_of_this_build(),
        env=environment,
    )
    (packages / "numpy.pth").write_text(str(pathlib.Path(numpy.__file__).parents[1]))
    assert (packages / "glint/py.typed").is_file() and (packages / "glint/_core.pyi").is_file()
    assert (packages / "LICENSE").is_file() or list(packages.glob("glint-*/licenses/LICENSE"))
    script = """if True:
        import glint, importlib.metadata
        psf, camera = glint.GaussianXYNB(130), glint.IdealCamera(100, 0, 1)
        rois, _ = glint.simulate_rois(100, psf, camera)
        same_version = glint.__version__ == importlib.metadata.version("glint")
        print(glint.__file__, same_version, len(glint.fit(rois, psf, camera)))"""
    out = run(tmp_path / "venv/bin/python", "-c", script, env=environment, cwd=tmp_path).split()
    assert out[0].startswith(str(packages)) and out[1:] == ["True", "100"]
    shutil.rmtree(work)


def test_import_loads_no_part_of_numpy_that_is_slow_and_not_used():
    """numpy.f2py and numpy.testing took a third of the time: NumPy loads them when it is asked for their names."""
    code = "import sys, glint; sys.exit(bool({'numpy.f2py', 'numpy.testing', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
