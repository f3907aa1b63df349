"""runtime-promises.md: each statement has a test that exists, and each test of a reference text is on the page."""

import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
PAGE = (ROOT / "docs/explanation/runtime-promises.md").read_text()
SECTIONS = re.split(r"^## .*$", PAGE, flags=re.M)[1:]
STATEMENTS = 152


def rows_of(section):
    """Number, promise, test."""
    return [
        (int(number), promise, test)
        for number, promise, test in re.findall(r"^\| (\d+) \| (.*?) \| (.*) \|$", section, re.M)
    ]


def test_all_statements_are_on_the_page():
    rows = [rows_of(section) for section in SECTIONS]
    for section in rows:
        assert [number for number, *_ in section] == list(range(1, len(section) + 1))
    assert sum(map(len, rows)) == STATEMENTS
    assert sum("not tested: " in test or "not tested on " in test for section in rows for *_, test in section) == 5


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: re.search(r"`(test_\w+)\.py`", section)[1])
def test_each_statement_has_a_test_and_each_test_a_statement(section):
    source = (FOLDER / re.search(r"`(test_\w+\.py)`", section)[1]).read_text()
    tests = re.findall(r"^def (test_\w+)\(", source, re.M)
    assert len(tests) == len(set(tests)) and tests == sorted(tests, key=lambda name: name[:7]), (
        "in the order of the text"
    )
    named = []
    for number, promise, test in rows_of(section):
        own = [name for name in re.findall(r"`(test_\w+)`", test)]
        assert promise and ("`" in test or "not tested" in test), number
        assert all(name.startswith(f"test_{number:02}_") for name in own), number
        named += own
    assert sorted(named) == sorted(tests)


def test_the_tests_in_cpp_exist():
    sources = [path for folder in ("src", "tests", "mpi", "include") for path in (ROOT / folder).rglob("*.cpp")]
    there = {
        pair for path in sources for pair in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)", path.read_text(), re.M)
    }
    suite, named = "", []
    for words in re.findall(r"`([A-Z]\w*\.[\w*]+|\.[a-z]\w+)`", PAGE):
        first, _, name = words.partition(".")
        suite = first or suite
        named.append((suite, name))
    assert len(named) > 30
    assert [
        pair
        for pair in named
        if pair not in there and not (pair[1] == "*" and any(suite == pair[0] for suite, _ in there))
    ] == []
