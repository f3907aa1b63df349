"""`glint formats` lists what docs/reference/formats.md describes, and its page is Markdown of the same."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLINT = os.environ["GLINT_PROGRAM"]


def formats(*flags):
    return subprocess.run([GLINT, "formats", *flags], capture_output=True, text=True, check=True).stdout


def test_each_format_is_described():
    listed, page = json.loads(formats("--json")), (ROOT / "docs/reference/formats.md").read_text()
    names = [row["name"] for rows in listed.values() for row in rows]
    assert len(names) > 30
    assert [name for name in names if name.split()[0] not in page] == []


def test_the_page_has_a_row_for_each():
    listed, page = json.loads(formats("--json")), formats("--markdown")
    assert all(f"| {row['name']} | " in page for kind in ("movies", "tables") for row in listed[kind])
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {5}
    assert len(rows) == len(listed["movies"]) + len(listed["tables"]) + 4


def test_the_text_names_each():
    text = formats()
    assert all(row["name"] in text for kind in json.loads(formats("--json")).values() for row in kind)
