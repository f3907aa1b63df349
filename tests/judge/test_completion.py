"""Shells and man accept the scripts and pages that glint writes for them."""

import os
import pathlib
import shutil
import subprocess

import pytest

GLINT = os.environ["GLINT_PROGRAM"]
COMMANDS = {
    "run",
    "localize",
    "inspect",
    "fit",
    "calibrate",
    "simulate",
    "render",
    "drift",
    "filter",
    "link",
    "score",
    "report",
    "resolution",
    "cluster",
    "convert",
    "devices",
    "lease",
    "submit",
    "jobs",
    "top",
    "doctor",
    "formats",
    "bench",
    "completion",
}


def run(*command, **keywords):
    return subprocess.run(command, capture_output=True, text=True, check=True, **keywords).stdout


def needs(program):
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    run(GLINT, "completion", "--install", str(folder))
    return folder


@pytest.fixture
def files(tmp_path):
    for name in ("movie.tif", "MOVIE2.TIF", "a b.tif", "stack.raw", "camera.toml", "locs.hdf5", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "day1").mkdir()
    return tmp_path


def bash(share, words, folder, library=""):
    """What bash offers for the last of the words, split as readline splits them."""
    script = share / "bash-completion/completions/glint"
    line = f"""{library}
        source {script}
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}
        _glint; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return set(run("bash", "-u", "-c", line, "bash", *words, cwd=folder).split("\n")) - {""}


def test_bash_offers_commands(share, files):
    assert bash(share, ["glint", ""], files) == COMMANDS | {"help"}
    assert bash(share, ["glint", "re"], files) == {"render", "report", "resolution"}
    assert bash(share, ["glint", "calibrate", ""], files) == {"astigmatism", "camera", "psf", "psf-2d", "psf-in-situ"}
    assert bash(share, ["glint", "bench", "lo"], files) == {"localize"}
    assert bash(share, ["glint", "help", "lo"], files) == {"localize"}
    assert bash(share, ["glint", "--ver"], files) == {"--version"}


def test_bash_offers_flags_of_the_command(share, files):
    assert bash(share, ["glint", "localize", "--ps"], files) >= {"--psf", "--psf-misfit"}
    assert bash(share, ["glint", "bench", "fit", "--gpus-"], files) == {"--gpus-bytes"}
    assert "--psf" not in bash(share, ["glint", "render", "--"], files)
    assert bash(share, ["glint", "calibrate", "astigmatism", "--z-s"], files) == {"--z-step"}


def test_bash_offers_values(share, files):
    assert bash(share, ["glint", "localize", "--psf", "Gau"], files) >= {
        "GaussianXYNB",
        "GaussianXYNBS",
        "GaussianXYNBSXSY",
    }
    for words in (["--backend", ""], ["--backend", "="]):  # --backend=
        assert bash(share, ["glint", "localize", *words], files) == {"auto", "cpu", "gpu", "prefer-gpu"}
    assert bash(share, ["glint", "localize", "--backend", "=", "c"], files) == {"cpu"}
    assert bash(share, ["glint", "render", "l.hdf5", "--mode", "h"], files) == {"histogram"}
    assert bash(share, ["glint", "localize", "--sigma", ""], files) == set(), "nobody can know"


def test_bash_offers_files_of_the_right_kind(share, files):
    assert bash(share, ["glint", "localize", ""], files) == {"movie.tif", "MOVIE2.TIF", "a b.tif", "stack.raw", "day1"}
    assert bash(share, ["glint", "localize", "a"], files) == {"a b.tif"}
    assert bash(share, ["glint", "localize", "--camera", ""], files) == {"camera.toml", "locs.hdf5", "day1"}
    assert bash(share, ["glint", "render", ""], files) == {"locs.hdf5", "notes.txt", "day1"}, "tables may be .txt"
    assert bash(share, ["glint", "fit", str(files) + "/mo"], files) == {str(files) + "/movie.tif"}


def test_bash_completes_the_program_under_a_lease(share, files):
    assert "--memory" in bash(share, ["glint", "lease", "--m"], files)
    assert "bash" in bash(share, ["glint", "lease", "--", "bas"], files)
    assert bash(share, ["glint", "lease", "--", "cat", "no"], files) == {"notes.txt"}
    asked = bash(
        share, ["glint", "lease", "--gpus", "1", "--", "cat", "no"], files, "_command_offset() { COMPREPLY=(from $1); }"
    )
    assert asked == {"from", "5"}, "bash-completion's own, if loaded"


@pytest.mark.parametrize(
    "shell, name",
    [
        ("bash", "bash-completion/completions/glint"),
        ("zsh", "zsh/site-functions/_glint"),
        ("fish", "fish/vendor_completions.d/glint.fish"),
    ],
)
def test_shells_understand_their_scripts(share, shell, name):
    needs(shell)
    assert run(shell, "-n", str(share / name)) == ""
    assert run(GLINT, "completion", shell) == (share / name).read_text()


def test_zsh_finds_every_function(share, files):
    needs("zsh")
    run(
        "zsh",
        "-f",
        "-c",
        f"fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -d {files}/dump; "
        "[[ $_comps[glint] == _glint ]]",
    )


def test_fish_offers_commands_values_and_files(share, files):
    needs("fish")

    def fish(line):
        out = run(
            "fish",
            "--no-config",
            "-c",
            f"source {share}/fish/vendor_completions.d/glint.fish; complete -C '{line}'",
            cwd=files,
            env=os.environ | {"HOME": str(files)},
        )
        return {found.split("\t")[0] for found in out.splitlines()}

    assert fish("glint ") == COMMANDS | {"help"}
    assert fish("glint calibrate ") == {"astigmatism", "camera", "psf", "psf-2d", "psf-in-situ"}
    assert {"--psf", "--psf-misfit"} <= fish("glint localize --ps")
    assert fish("glint localize --backend ") == {"auto", "cpu", "gpu", "prefer-gpu"}
    assert {"--gpus-bytes"} == fish("glint bench fit --gpus-")
    assert "--psf" not in fish("glint render --ps")
    assert "movie.tif" in fish("glint localize mo")
    assert "camera.toml" in fish("glint localize --camera c")


def test_there_is_a_page_for_every_command(share):
    names = {page.name for page in (share / "man/man1").iterdir()}
    assert {f"glint-{command}.1" for command in COMMANDS} | {
        "glint.1",
        "glint-calibrate-astigmatism.1",
        "glint-bench-fit.1",
    } <= names
    assert run(GLINT, "help", "--man", "bench", "fit") == (share / "man/man1/glint-bench-fit.1").read_text()
    assert run(GLINT, "help", "--man") == (share / "man/man1/glint.1").read_text()


def test_pages_have_no_warnings(share):
    needs("groff")
    for page in sorted((share / "man/man1").iterdir()):
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", page], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), page


def test_pages_say_what_the_help_says(share):
    needs("man")
    text = run(
        "man",
        "--warnings",
        "-l",
        str(share / "man/man1/glint-localize.1"),
        env=os.environ | {"MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
    )
    help_text = run(GLINT, "localize", "--help")
    for words in (
        "--psf",
        "--pixel-size",
        "glint localize movie.tif -o locs.hdf5 --sigma 130nm",
        "SEE ALSO",
        "EXAMPLES",
    ):
        assert words in text
    flags = {word for word in help_text.replace(",", " ").split() if word.startswith("--") and word[2:3].isalpha()}
    assert all(flag.strip(".;:)`=") in text for flag in flags)
    assert all(ord(letter) < 128 for letter in pathlib.Path(share / "man/man1/glint-localize.1").read_text())
