"""The recipes of packaging/ fit what they install: linters check them if installed, and what runs without a container
engine, Slurm or conda is run."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"


def run(*command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def found(program):
    path = shutil.which(program)
    if not path:
        pytest.skip(f"no {program} here")
    return path


def test_every_recipe_is_in_the_list():
    page = (PACKAGING / "README.md").read_text()
    for file in PACKAGING.rglob("*.*"):
        if file.name not in ("README.md", "Dockerfile.dockerignore"):
            assert file.name in page or f"`{file.parent.name}/`" in page, file


@pytest.mark.parametrize("script", sorted(PACKAGING.glob("slurm/*.sh")), ids=lambda path: path.name)
def test_shellcheck_finds_nothing_in_job_scripts(script):
    run(found("shellcheck"), script)


def test_the_page_for_facilities_shows_the_job_script():
    script = (
        (PACKAGING / "slurm/localize.sh")
        .read_text()
        .replace("# One movie on several nodes: sbatch localize.sh movie.tif locs.hdf5\n", "")
    )
    assert script in (ROOT / "docs/how-to/facilities.md").read_text()


@pytest.mark.parametrize(
    "script, arguments, number",
    [
        ("localize.sh", ["movie.tif", "results/movie.hdf5"], None),
        ("movies.sh", ["results", "none.tif", "movie.tif"], "2"),
    ],
)
def test_job_scripts_localize(program, glint, tmp_path, script, arguments, number):
    """With an srun that starts one process, and glint instead of glint-mpi."""
    glint("simulate", "-o", "movie.tif", "--frames", 20, cwd=tmp_path)
    (tmp_path / "camera.toml").write_text('pixel_size = "100nm"\noffset = 100\ngain = 1\n')
    (tmp_path / "results").mkdir()
    stub = tmp_path / "srun"
    stub.write_text(
        '#!/bin/sh\nwhile case $1 in -*) ;; *) false ;; esac; do shift; done\nshift\nexec "$GLINT_PROGRAM" "$@"\n'
    )
    stub.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GLINT_PROGRAM": str(program),
        "SLURM_CPUS_PER_TASK": "1",
    }
    if number:
        environment["SLURM_ARRAY_TASK_ID"] = number
    text = (PACKAGING / "slurm" / script).read_text().replace("export GLINT_ISA=avx2", "export GLINT_ISA=sse2")
    (tmp_path / script).write_text(text)
    run("bash", "-eu", script, *arguments, cwd=tmp_path, env=environment)
    assert (tmp_path / "results/movie.hdf5").is_file()


def test_systemd_takes_the_units(tmp_path):
    for unit in PACKAGING.glob("systemd/glint-doctor.*"):
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/glint/bin/glint doctor", "/bin/true"))
    done = subprocess.run([found("systemd-analyze"), "verify", *tmp_path.iterdir()], capture_output=True, text=True)
    if "Failed to" in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr}")
    assert done.returncode == 0 and "glint-doctor" not in done.stderr, done.stderr


def test_systemd_makes_the_directory_of_leases(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("the directory would not be root's")
    run(found("systemd-tmpfiles"), "--create", f"--root={tmp_path}", PACKAGING / "systemd/glint-lease.conf")
    made = tmp_path / "run/glint-lease"
    assert made.is_dir() and made.stat().st_mode & 0o7777 == 0o1777
    assert "GLINT_LEASE_DIR=/run/glint-lease" in (PACKAGING / "README.md").read_text()


def test_containers_take_the_name_of_the_archive():
    name = re.search(r"^    name=(\S+)$", (ROOT / "dev").read_text(), re.M)[1].replace("$version", "*")
    for recipe in ("Dockerfile", "apptainer.def"):
        assert f"{name}.tar.xz" in (PACKAGING / recipe).read_text(), recipe


def test_the_conda_recipe_has_what_cmake_looks_for():
    recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text())
    version = re.search(r"project\(glint VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert recipe["context"]["version"] == version
    assert (PACKAGING / "conda" / recipe["source"]["path"] / "pyproject.toml").is_file()
    named = {line.split()[0] for line in recipe["requirements"]["host"]}
    packages = {
        "tiff": "libtiff",
        "png": "libpng",
        "tbb": "tbb-devel",
        "tomlplusplus": "tomlplusplus",
        "boost": "libboost-headers",
        "cblas.h": "openblas",
        "xxhash.h": "xxhash",
        "zstd.h": "zstd",
        "blosc.h": "blosc",
        "lz4.h": "lz4-c",
        "threads": None,
    }
    looked_for = re.findall(
        r"^find_(?:package\(|path\(\w+ )([\w.-]+)", (ROOT / "cmake/dependencies.cmake").read_text(), re.M
    )
    assert len(looked_for) > 10
    for name in map(str.lower, looked_for):
        package = packages.get(name, name)
        assert package is None or package in named, name
    project = (ROOT / "pyproject.toml").read_text()
    for requirement in re.findall(r'"((?:scikit-build-core|nanobind|numpy)[^"]*)"', project):
        wanted = re.sub(r"(?<=[a-z])(?=[<>=])", " ", requirement, count=1)
        assert wanted in recipe["requirements"]["host"] + recipe["requirements"]["run"], wanted
