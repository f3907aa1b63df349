"""The documents agree with the files: links and anchors lead somewhere, and dependencies, folders and layers are all
named.
"""

import importlib.util
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)


def files(*patterns):
    """What git has of the checkout."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [name for name in done.stdout.split("\0") if name]


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *$", CODE_BLOCK.sub("", page), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {f"{anchor}-{k}" if k else anchor for anchor, last in found.items() for k in range(last + 1)}


def links(page):
    """The targets of a page's links and pictures, without those of its code."""
    text = re.sub(r"`[^`\n]*`", "`", CODE_BLOCK.sub("", page))
    return re.findall(r"\]\(([^)\s]+)\)", text)


def broken_links(name):
    page = (ROOT / name).read_text()
    # The archive has this page in its own root.
    folder = ROOT if name == "tools/archive/README.md" else (ROOT / name).parent
    for target in links(page):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = folder / path if path else ROOT / name
        if not file.exists():
            yield f"{name}: {target}: no such file"
        elif anchor and anchor not in anchors(file.read_text()):
            yield f"{name}: {target}: no such heading"


def test_anchors_are_those_of_github():
    assert anchors("# Are `a_b` and C++ (one)?\n## Same\n## Same\n```\n# no heading\n```\n") == {
        "are-a_b-and-c-one",
        "same",
        "same-1",
    }


def test_a_broken_link_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("# Here\n[good](#here) [file](b.md) [other](a.md#there) `[code](c.md)`\n")
    assert list(broken_links("a.md")) == ["a.md: b.md: no such file", "a.md: a.md#there: no such heading"]


def test_links_lead_somewhere():
    pages = files("*.md")
    assert len(pages) > 15
    assert [problem for name in pages for problem in broken_links(name)] == []


def test_the_index_lists_every_page():
    listed = {target.partition("#")[0] for target in links((ROOT / "docs/index.md").read_text())}
    pages = files("docs/*.md")
    missing = [page for page in pages if page.count("/") == 2 and page.removeprefix("docs/") not in listed]
    assert [page for page in missing if not page.startswith(("docs/decisions/", "docs/pictures/"))] == []


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def named_dependencies():
    page = (ROOT / "docs/reference/dependencies.md").read_text()
    return {normal(word) for word in re.findall(r"[\w.+-]*\w\+*", page)}


def without_named(names):
    named = named_dependencies()
    return [name for name in names if normal(name) not in named]


def test_python_packages_are_listed():
    lists = ("tests/judge/requirements.txt", "docs/requirements.txt")
    lines = [line for name in lists for line in (ROOT / name).read_text().splitlines()]
    names = [line.split("==")[0] for line in lines if "==" in line]
    project = (ROOT / "pyproject.toml").read_text()
    names += re.findall(r'"([\w-]+)>=', project)
    assert len(names) > 50
    assert without_named(names) == []


def test_debian_packages_are_listed():
    script = (ROOT / "dev").read_text()
    names = re.findall(r"^(?:build|archive|test|format|docs) +([\w.+-]+) ", script, re.M)
    assert len(names) > 35
    assert without_named(names) == []


def test_libraries_that_cmake_looks_for_are_listed():
    packages = {
        "tiff": "libtiff-dev",
        "png": "libpng-dev",
        "hdf5": "libhdf5-dev",
        "fmt": "libfmt-dev",
        "tbb": "libtbb-dev",
        "yaml-cpp": "libyaml-cpp-dev",
        "nlohmann_json": "nlohmann-json3-dev",
        "tomlplusplus": "libtomlplusplus-dev",
        "pugixml": "libpugixml-dev",
        "cli11": "libcli11-dev",
        "xxhash.h": "libxxhash-dev",
        "zstd.h": "libzstd-dev",
        "blosc.h": "libblosc-dev",
        "lz4.h": "liblz4-dev",
        "boost": "libboost-dev",
        "cblas.h": "libopenblas-dev",
        "threads": "g++",
    }
    script = (ROOT / "cmake/dependencies.cmake").read_text()
    looked_for = re.findall(r"^find_(?:package\(|path\(\w+ )([\w.-]+)", script, re.M)
    assert len(looked_for) > 10
    assert without_named(packages.get(name.lower(), name) for name in looked_for) == []


def architecture():
    return (ROOT / "ARCHITECTURE.md").read_text()


def test_the_map_names_every_folder():
    names = files()
    folders = {name.split("/")[0] for name in names if "/" in name}
    folders |= {found[0] for name in names if (found := re.match(r"src/(?:(?:runtime|microscopy)/)?[^/]+(?=/)", name))}
    assert "src/microscopy/fit" in folders and "tools" in folders
    missing = [folder for folder in sorted(folders) if not re.search(rf"`{re.escape(folder)}[/`]", architecture())]
    assert missing == []


def test_the_map_and_the_check_of_layers_agree():
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools/check_layers.py")
    check_layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_layers)
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\|[^|]*\|([^|]*)\|$", architecture(), re.M)
    said = {}
    for folder, below in rows:
        layer = {"src/main.cpp": "program"}.get(folder, folder.split("/")[-1])
        above = [row.split("/")[-1] for row, _ in rows[: rows.index((folder, below))]]
        said[layer] = (
            set(above) if below.strip() == "all of the above" else {name.strip() for name in below.split(",")} - {""}
        )
    assert said.pop("python") == {"all"}
    assert said == {layer: set(below) for layer, below in check_layers.BELOW.items()}
