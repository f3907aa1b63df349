"""Type checkers accept correct programs, and refuse common mistakes."""

import importlib.util
import pathlib
import subprocess
import sys

import glint
import pytest

EXAMPLE = pathlib.Path(__file__).with_name("typed_example.py")
WRONG = """import glint

camera = glint.IdealCamera(pixel_size_nm=100)
psf = glint.GaussianXYNB(sigma_nm="130")
locs = glint.load_localizations("locs.hdf5")
locs.photon = locs.photons
glint.localise("movie.tif", psf, camera)
"""


def checked(checker, folder, source):
    """Returns what the type checker prints for a program, with the installed types of glint."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"no {checker} here: pip install {checker}")
    (folder / "program.py").write_text(source)
    package = pathlib.Path(glint.__file__).parents[1]
    (folder / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{package}"], "typeCheckingMode": "strict"}}')
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nmypy_path = {package}\ncache_dir = {folder / 'cache'}\n")
    words = ["program.py"] if checker == "mypy" else ["--pythonpath", sys.executable]
    return subprocess.run([sys.executable, "-m", checker, *words], cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_program_of_all_stages_has_no_errors(checker, tmp_path):
    out = checked(checker, tmp_path, EXAMPLE.read_text())
    assert "no issues found" in out or out.startswith("0 errors"), out


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_mistakes_are_errors(checker, tmp_path):
    out = checked(checker, tmp_path, WRONG)
    for line in (3, 4, 6, 7):
        assert f"program.py:{line}:" in out, f"line {line} is accepted\n{out}"


def test_type_checkers_see_every_element_wise_function():
    from glint.arrays import _elementwise_names

    own = {"clip", "conj", "imag", "real", "round"}
    elementwise = importlib.import_module("glint.arrays._elementwise")
    assert sorted(_elementwise_names.__all__) == sorted(set(elementwise.__all__) - own)
    assert all(callable(getattr(_elementwise_names, name)) for name in _elementwise_names.__all__)
