"""Runs the commands of the tutorials and how-to pages, in order, and compares their output with what the pages show.

A page's blocks `sh` and `python` run in one shell session, in an empty folder. Each line of the `text` block after a
block must occur in its output, in this order. The page may leave lines out, and shorten a line by ` ...` at its end.
Numbers may differ by 3 %, and times by any amount. Comments in the page, which readers do not see, control its run:

    <!-- data: NAME -->         copy docs/tutorials/data/NAME into the folder
    <!-- server: 2x8GiB -->     run on a simulated GPU server with these GPUs (tests/simgpu); with the name of a library
                                of kernels behind them, load that library
    <!-- setup: COMMANDS -->    run these commands at this place
    <!-- file: NAME -->         write the next block into this file
    <!-- needs: WHAT -->        skip the next block or picture, with a message, without this program or variable
    <!-- skip: REASON -->       never run the next block, or never compare the next output
    <!-- exit: CODE -->         the exit code of the last command of the next block
    <!-- numbers: vary -->      compare the words of the next output only
    <!-- picture: PATH -->      the commands draw the next picture into this file; with GLINT_UPDATE_PICTURES=1
                                the test copies it to the page

Each page prints the CPU time of its commands. With GLINT_UPDATE_PAGES=1 the test replaces lines of output in the pages
by the most similar lines that the program prints; check the result with `git diff`.
"""

import difflib
import getpass
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import ROOT

# Other tests run python_gpu.md and the tutorials without a number. The other pages need a cluster, other users, or a
# movie of the reader.
NOT_RUN = {"README", "administrators", "facilities", "python_gpu", "run", "troubleshooting", "your_movie"}
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("[0-9]*.md"))
PAGES = TUTORIALS + sorted(page for page in (ROOT / "docs/how-to").glob("*.md") if page.stem not in NOT_RUN)
PIECE = re.compile(
    r"^<!-- (?P<key>\w+): (?P<value>.*?) -->$"
    r"|^```(?P<language>\w+)\n(?P<code>.*?)^```$"
    r"|^!\[[^]]*\]\((?P<picture>[^)]+)\)",
    re.M | re.S,
)
NUMBER = re.compile(r"(\d[\d,]*\.?\d*(?:e[+-]?\d+)?)")
MAX_PICTURE_BYTES = 200_000
MAX_SECONDS = 400  # of a page, on a machine that other tests use too


def words_and_numbers(line):
    line = re.sub(r"\b(avx512|avx2|sse2|neon)\b", "ISA", line.replace(getpass.getuser(), "USER").replace("ana", "USER"))
    pieces = NUMBER.split(line)
    words = [re.sub(r"\s+", " ", piece).strip() for piece in pieces[::2]]
    return words, [float(piece.rstrip(",").replace(",", "")) for piece in pieces[1::2]]


def agree(shown, line, numbers_vary):
    """Whether a line of the page stands for this line of output."""
    if shown.endswith(" ..."):
        shown = shown.removesuffix(" ...")
        line = line[: len(shown) + 20]
        (shown_words, shown_numbers), (words, numbers) = words_and_numbers(shown), words_and_numbers(line)
        n = len(shown_words) - 1
        if len(words) <= n or not words[n].startswith(shown_words[n]):
            return False
        words, numbers = words[:n], numbers[: len(shown_numbers)]
        shown_words = shown_words[:n]
    else:
        (shown_words, shown_numbers), (words, numbers) = words_and_numbers(shown), words_and_numbers(line)
    if words != shown_words:
        return False
    if numbers_vary or line.startswith("time "):
        return True
    return all(abs(a - b) <= 0.03 * abs(b) + 1e-12 for a, b in zip(numbers, shown_numbers, strict=True))


def differences(shown, output, numbers_vary=False):
    """The lines of the page that the output lacks behind those before them, each with the line most like it."""
    lines = [line.rstrip() for line in output.replace("\r", "\n").splitlines()]
    found = []
    for wanted in shown.splitlines():
        if not wanted.strip():
            continue
        at = next((k for k, line in enumerate(lines) if agree(wanted.rstrip(), line, numbers_vary)), None)
        if at is None:
            like = difflib.get_close_matches(wanted.removesuffix(" ..."), lines, n=1, cutoff=0.4)
            found.append((wanted, like[0] if like else None))
            at = lines.index(like[0]) if like else -1
        lines = lines[at + 1 :]
    return found


def update(page, shown, found):
    """Replaces lines of the page by those of the output; shortened ones stay as short."""
    new = shown
    for wanted, line in found:
        if line and wanted.endswith(" ..."):
            line = " ".join(line.split(" ")[: len(wanted.split(" ")) - 1]) + " ..."
        if line:
            new = new.replace(wanted, line, 1)
    page.write_text(page.read_text().replace(shown, new, 1))


def test_the_comparison_notices_differences():
    output = "frames  10 of 128x128 px\ntime    0.1 s, 2 threads, avx512\nspots   1,234 in all places\n"
    assert differences("frames  10 of 128x128 px\nspots   1,230 in all places\n", output) == []
    assert differences("time  3 s, 16 threads, sse2\nspots   1,234 in ...\n", output) == []
    assert differences("spots   1,234 in all places\nframes  10 of 128x128 px\n", output) == [
        ("frames  10 of 128x128 px", None)
    ]
    wrong = [("spots   1,100 in all places", "spots   1,234 in all places")]
    assert differences("spots   1,100 in all places\n", output) == wrong
    assert differences("spots   1,100 in all places\n", output, numbers_vary=True) == []
    assert differences("spots   1,234 of all ...\n", output) == [
        ("spots   1,234 of all ...", "spots   1,234 in all places")
    ]


def absent(need):
    """Why a block that needs a program or an environment variable cannot run; empty if it can."""
    if need.isupper():
        return "" if os.environ.get(need) else f"{need} is not set"
    if need == "gpu":
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True) if shutil.which("nvidia-smi") else None
        return "" if done and done.returncode == 0 else "no GPU here"
    return "" if shutil.which(need, path=command_path()) else f"no {need} here"


def command_path():
    return os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"])


class Session:
    """The shell script of a page, with a file for the output of each block."""

    def __init__(self, page, folder, logs):
        self.page, self.folder, self.logs = page, folder, logs
        self.lines = ["set -eo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
        self.server = None
        self.outputs = []  # (number of the block, what the page shows, whether numbers vary)
        self.pictures = []  # (picture of the page, file that the commands draw)
        self.blocks = 0
        self.background = []  # numbers of blocks that start programs in the background
        notes = {}
        for piece in PIECE.finditer(page.read_text()):
            if piece["key"]:
                self.note(piece["key"], piece["value"], notes)
            elif piece["picture"]:
                if reason := absent(notes["needs"]) if "needs" in notes else "":
                    print(f"{page.name}: skipped, {reason}: {piece['picture']}")
                elif "picture" in notes:
                    self.pictures.append((page.parent / piece["picture"], folder / notes["picture"]))
                notes = {}
            elif piece["language"] == "text":
                if self.blocks and not self.skipped and "skip" not in notes:
                    self.outputs.append((self.blocks, piece["code"], "numbers" in notes))
                notes = {}
            else:
                self.block(piece["language"], piece["code"], notes)
                notes = {}

    def note(self, key, value, notes):
        if key == "data":
            shutil.copy(ROOT / "docs/tutorials/data" / value, self.folder)
            (self.folder / value).chmod(0o644)
        elif key == "server":
            self.server = value.split()
        elif key == "setup":
            self.add(value, "setup")
        else:
            assert key in ("file", "needs", "skip", "exit", "numbers", "picture"), f"{self.page.name}: {key}?"
            notes[key] = value

    def block(self, language, code, notes):
        reason = notes.get("skip") or absent(notes["needs"]) if "skip" in notes or "needs" in notes else ""
        self.skipped = bool(reason) or language not in ("sh", "python")
        if reason:
            print(f"{self.page.name}: skipped, {reason}: {code.splitlines()[0]}")
        elif "file" in notes:
            self.skipped = True
            name = notes["file"]
            self.lines += [f"mkdir -p {shlex.quote(str(pathlib.Path(name).parent))}"]
            self.lines += [f"cat > {shlex.quote(name)} <<'END_OF_FILE'\n{code}END_OF_FILE"]
        elif language == "python":
            script = self.logs / f"block{self.blocks + 1}.py"
            script.write_text(code)
            self.add(f"python {shlex.quote(str(script))}", language)
        elif language == "sh":
            self.add(code, language, notes.get("exit"))

    def add(self, code, language, exit_code=None):
        self.blocks += 1
        self.background += [self.blocks] if re.search(r" &$", code, re.M) else []
        log = shlex.quote(str(self.logs / f"{self.blocks}.{language}"))
        self.lines += ["set +e"] if exit_code else []
        self.lines += [f"{{\n{code.rstrip()}\n}} > {log} 2>&1"]
        if exit_code:
            self.lines += [f"[ $? = {exit_code} ] || {{ echo 'exit code: not {exit_code}' >> {log}; exit 1; }}; set -e"]

    def output(self, number):
        """What the block printed, then what programs in the background of earlier blocks printed."""
        earlier = [k for k in self.background if k < number]
        logs = [log for k in [number, *earlier] for log in self.logs.glob(f"{k}.*")]
        return "".join(log.read_text(errors="replace") for log in logs)

    def run(self, program):
        python = [program.parent.parent / "python", os.environ.get("PYTHONPATH", "")]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("GLINT_", "SIMGPU_"))}
        home = self.logs / "home"
        home.mkdir()
        environment |= {
            "PATH": os.pathsep.join([str(program.parent), str(pathlib.Path(sys.executable).parent), command_path()]),
            "PYTHONPATH": os.pathsep.join(str(part) for part in python if str(part)),
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "GLINT_BUILD": str(program.parent.parent),
            "GLINT_SOURCE": str(ROOT),
            "GLINT_LEASE_DIR": str(self.logs / "leases"),
        }
        if "GLINT_DATA" in os.environ:
            environment["GLINT_DATA"] = os.environ["GLINT_DATA"]
        script = self.logs / "page.sh"
        script.write_text("\n".join(self.lines) + "\n")
        command = ["bash", script]
        if self.server:
            simulated = program.parent.parent / "simgpu"
            if not (simulated / "libcuda.so.1").exists():
                pytest.skip(f"no simulated GPU server in {simulated}")
            environment["SIMGPU_DEVICES"] = self.server[0]
            for library in self.server[1:]:
                environment["SIMGPU_KERNELS"] = str(simulated / library)
            command = [ROOT / "tests/simgpu/run", simulated, *command]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                return running.communicate(timeout=MAX_SECONDS)[0], running.returncode
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return f"stopped after {MAX_SECONDS} s", 1


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, program, tmp_path):
    folder, logs = tmp_path / "folder", tmp_path / "logs"
    folder.mkdir()
    logs.mkdir()
    if "import glint" in page.read_text() and not (program.parent.parent / "python/glint").is_dir():
        pytest.skip("the Python module is not built beside the program")
    session = Session(page, folder, logs)
    if not session.blocks:
        pytest.skip(f"{page.name} has no commands that run here")
    before = cpu_seconds()
    printed, status = session.run(program)
    print(f"{page.name}: {session.blocks} blocks, {cpu_seconds() - before:.1f} s of CPU time")
    last = max(int(log.stem) for log in logs.glob("*.*") if log.stem.isdigit())
    assert status == 0, f"{page.name}: block {last} failed\n{session.output(last)}{printed}"
    assert last == session.blocks
    problems = []
    for number, shown, vary in session.outputs:
        found = differences(shown, session.output(number), vary)
        problems += [f"block {number}: {wanted}\n  the output: {line}" for wanted, line in found]
        if found and os.environ.get("GLINT_UPDATE_PAGES") == "1":
            update(page, shown, found)
    assert not problems, f"{page.name} shows lines that the output does not contain\n" + "\n".join(problems)
    for picture, drawn in session.pictures:
        assert drawn.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", drawn
        if os.environ.get("GLINT_UPDATE_PICTURES") == "1":
            picture.parent.mkdir(exist_ok=True)
            shutil.copy(drawn, picture)
        assert picture.stat().st_size < MAX_PICTURE_BYTES, f"{picture}: {picture.stat().st_size} bytes"
        assert picture.read_bytes()[16:24] == drawn.read_bytes()[16:24], f"{picture}: not of the size of {drawn}"


def test_each_tutorial_shows_a_picture_of_its_own():
    pages = TUTORIALS
    assert len(pages) == 6
    for page in pages:
        assert re.search(r"^!\[[^]]+\]\([^)]+\)", page.read_text(), re.M), page.name
