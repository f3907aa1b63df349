"""Checks the documentation: examples in docstrings, types, the tutorial and the notebook."""

import ast
import doctest
import importlib
import inspect
import json
import os
import pathlib
import pkgutil
import re

import glint
import numpy as np
import pytest
from conftest import ROOT

MODULES = [info.name for info in pkgutil.walk_packages(glint.__path__, "glint.")]
EXAMPLES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name, psf, camera, simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    module = importlib.import_module(name)
    movie = simulated.movie[:20]
    names = dict(
        glint=glint,
        np=np,
        psf=psf,
        camera=camera,
        movie=movie,
        truth=simulated.truth[simulated.truth.frame < 20],
        locs=glint.localize(movie, psf, camera),
        stacks=[glint.simulate_rois(10, psf, camera)[0] for _ in range(2)],
    )
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=names):
        # A function that is imported from elsewhere is tested there.
        result = doctest.DocTestRunner(optionflags=EXAMPLES).run(test)
        assert result.failed == 0, f"{test.name}: {result}"


def public():
    """Returns (name, object) of all public names of glint."""
    return [
        (name, value) for name, value in vars(glint).items() if not name.startswith("_") and not inspect.ismodule(value)
    ]


def test_everything_public_is_documented():
    for name, value in public():
        assert inspect.getdoc(value), f"glint.{name} has no docstring"
        if inspect.isclass(value):
            for member, method in vars(value).items():
                if inspect.isfunction(method) and not member.startswith("_"):
                    assert inspect.getdoc(method), f"glint.{name}.{member} has no docstring"


def test_every_argument_is_documented():
    """The names of long functions' arguments stand in their docstrings."""
    for function in (glint.fit, glint.localize, glint.detect, glint.render, glint.simulate, glint.simulate_rois):
        text = inspect.getdoc(function) + (inspect.getdoc(glint.fit) if function is glint.localize else "")
        for argument in inspect.signature(function).parameters:
            assert re.search(rf"\b{argument}\b", text), f"{function.__name__}: {argument}"


def test_the_compiled_module_has_types():
    folder = pathlib.Path(glint.__file__).parent
    assert (folder / "py.typed").is_file()
    body = ast.parse((folder / "_core.pyi").read_text()).body
    known = {node.target.id if isinstance(node, ast.AnnAssign) else getattr(node, "name", "") for node in body}
    assert {name for name in dir(glint._core) if not name.startswith("_")} <= known


def blocks(text):
    """(commands, output) of the pages' ```python blocks, each with the ```text block that follows it, or None."""
    found = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.S)
    assert found
    return found


NUMBER = re.compile(r"(\d[\d,]*\.?\d*)")


def parts(text):
    """Returns words without their spacing, and numbers. Leaves out times and devices."""
    pieces = NUMBER.split(re.sub(r"[\d.e-]+ s on [^>]*", "TIME", text))
    words = [re.sub(r"\s+", "", piece) for piece in pieces[::2]]
    return words, np.array([float(piece.replace(",", "")) for piece in pieces[1::2]])


def assert_alike(shown, expected):
    """Expects the same words, and nearly equal numbers, which other instruction sets may change slightly."""
    (words, numbers), (expected_words, expected_numbers) = parts(shown), parts(expected)
    assert words == expected_words
    np.testing.assert_allclose(numbers, expected_numbers, rtol=0.02)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/python.md", "docs/how-to/python_gpu.md"])
def test_pages(page, simulated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # of jobs
    names = {}
    if page == "README.md":  # which speaks of the reader's own
        glint.save("movie.tif", simulated.movie)
    for code, output in blocks((ROOT / page).read_text()):
        exec(compile(code, page, "exec"), names)
        shown = capsys.readouterr().out
        if output:
            assert_alike(shown, output)


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks(notebook, tmp_path, monkeypatch):
    """Runs their code cells in order. Figures of matplotlib are not shown."""
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    data = pathlib.Path(os.environ.get("GLINT_DATA", ROOT.parent / "shared/data"))
    if any("GLINT_DATA" in "".join(cell["source"]) for cell in cells) and not data.is_dir():
        pytest.skip(f"{notebook.name} is of a real movie: GLINT_DATA names no folder with movies")
    monkeypatch.setenv("GLINT_DATA", str(data))
    names = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_have_their_outputs_and_no_path_of_a_machine(notebook):
    text = notebook.read_text()
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        shows = any(word in "".join(cell["source"]) for word in ("plt.show()", "print("))
        assert not shows or cell["outputs"], "".join(cell["source"])
    assert not re.findall(r"/(?:tmp|home|root|work|Users)/", text)


def test_the_page_for_cpp_shows_the_example_that_is_compiled():
    page, program = ((ROOT / name).read_text() for name in ("docs/tutorials/cpp.md", "examples/cpp/from_memory.cpp"))
    (shown,) = re.findall(r"```cpp\n(.*?)```", page, re.S)
    for part in shown.partition("\n\n")[::2]:
        assert part.strip() in program


def test_the_page_of_formats_lists_all_presets():
    rows = []
    for one in glint.camera_presets():
        numbers = [
            "" if value is None else f"{value:.4g}"
            for value in (one.offset, one.gain, one.readnoise, one.qe, one.pixel_pitch_nm and one.pixel_pitch_nm / 1000)
        ]
        rows.append(
            "|" + "".join(f" {cell} |" if cell else " |" for cell in (f"`{one.name}`", one.model, *numbers, one.source))
        )
    page = (ROOT / "docs/reference/formats.md").read_text()
    section = page.partition("### Presets of cameras")[2].partition("\n### ")[0]
    assert rows == [line for line in section.splitlines() if line.startswith("| `")]
