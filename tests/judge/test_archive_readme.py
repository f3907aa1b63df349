"""The commands of the archive's README work in the unpacked archive."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "tools/archive/README.md"


def test_commands_of_the_readme(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/glint").symlink_to(os.environ["GLINT_PROGRAM"])
    commands = [line.strip() for line in README.read_text().splitlines() if line.startswith("    ")]
    assert len(commands) == 6 and not any("./dev" in command for command in commands)
    subprocess.run(
        ["sh", "-eu", "-c", "\n".join(commands)],
        cwd=tmp_path,
        check=True,
        env=os.environ | {"HOME": str(tmp_path / "home")},
    )
    for file in ("picture.png", "locs.hdf5", "home/.local/bin/glint", "home/.local/share/man/man1/glint-localize.1"):
        assert (tmp_path / file).exists(), file


def test_files_that_the_readme_names_are_packed():
    packed = (ROOT / "dev").read_text()
    for name in ("LICENSE", "licences", "docs", "examples", "share"):
        assert name in README.read_text() and name in packed
    for word in README.read_text().split("`")[1::2]:
        if word.startswith("docs/"):
            assert (ROOT / word).is_file(), word
