"""Budgets of the checks of prose: for each kind of violation, how many the tree may contain. A budget can only fall."""

# SPDX-License-Identifier: MIT
import argparse
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = "tools/prose_budget.toml"
HEADER = """\
# How many violations of each kind the tree may contain. `python3 tools/check_prose.py --lower` and
# `python3 tools/check_headers.py --lower` write lower numbers; higher ones are an error.
"""


def tracked(*patterns):
    """Returns the files that git tracks, and new ones that it does not ignore."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run([*command, "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


def read(text):
    return {section: dict(numbers) for section, numbers in tomllib.loads(text).items()}


def write(budgets):
    lines = [HEADER]
    for section in sorted(budgets):
        lines += [f"[{section}]", *(f"{kind} = {number}" for kind, number in budgets[section].items()), ""]
    (ROOT / FILE).write_text("\n".join(lines).rstrip("\n") + "\n")


def earlier(commit):
    """Returns the budgets of a commit; empty if it has none."""
    command = ["git", "-c", f"safe.directory={ROOT}", "show", f"{commit}:{FILE}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return read(shown.stdout) if shown.returncode == 0 else {}


def check(section, found, description, argv=None):
    """Compares the violations with the budgets of a section, and returns the exit code.

    found: for each kind, a list of (weight, file, line, text). description: the module's docstring.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--lower", action="store_true", help="write the numbers found where they are below the budget")
    parser.add_argument("--since", metavar="COMMIT", help="fail if a budget is higher than in this commit")
    parser.add_argument("--list", nargs="*", metavar="PATH", help="print all violations, or those in these paths")
    options = parser.parse_args(argv)

    if options.list is not None:
        for kind, violations in found.items():
            for _, file, line, text in violations:
                if not options.list or any(file.startswith(path.rstrip("/")) for path in options.list):
                    print(f"{file}:{line}: {kind}: {text}")
        return 0

    budgets = read((ROOT / FILE).read_text()) if (ROOT / FILE).exists() else {}
    budget = budgets.setdefault(section, {})
    counts = {kind: len(violations) for kind, violations in found.items()}
    if options.lower:
        budgets[section] = {kind: min(count, budget.get(kind, count)) for kind, count in counts.items()}
        write(budgets)
        budget = budgets[section]

    problems = []
    before = earlier(options.since).get(section, {}) if options.since else {}
    for kind, count in counts.items():
        allowed = budget.get(kind, 0)
        if allowed > before.get(kind, allowed):
            problems.append(f"{FILE}: {section}.{kind} was {before[kind]} and is now {allowed}: a budget can only fall")
        if count > allowed:
            problems.append(f"{kind}: {count}, the budget is {allowed}. {worst(found[kind])}")
        elif count < allowed:
            print(f"{kind}: {count}, the budget is {allowed}: lower it with --lower")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{section}: " + ", ".join(f"{kind} {count}" for kind, count in counts.items()))
    return 1 if problems else 0


def worst(violations):
    """Returns the heaviest violation, and the file with the most."""
    files = {}
    for _, file, _, _ in violations:
        files[file] = files.get(file, 0) + 1
    most = max(files, key=files.get)
    _, file, line, text = max(violations, key=lambda violation: violation[0])
    return f"Most are in {most} ({files[most]}). The worst is {file}:{line}: {text}"
