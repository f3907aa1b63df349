"""Pages of the documentation site that are made from the program and from docstrings. `./dev docs` builds the site."""

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/docs"))
docstrings, manual = (importlib.import_module(name) for name in ("docstrings", "manual"))


def test_a_manual_page_as_markdown():
    roff = (
        '.TH "X" 1\n.SH NAME\nx\\-y \\- Does it: a_b\n.SH SYNOPSIS\n\\fBglint y\\fR [\\fIFILE\\fR]\n.SH OPTIONS\n.TP\n'
        "\\fB\\-o\\fR, \\fB\\-\\-out\\fR \\fIFILE\\fR\nUse \\(gaa_b\\(ga, <c>\n"
        '.SH EXAMPLES\n.nf\n  glint y *\n.fi\n.SH "SEE ALSO"\n\\fBz\\fR\n'
    )
    title, about, page = manual.page(roff)
    assert (title, about) == ("glint y", "Does it: a_b")
    assert "# glint y\n\nDoes it: a\\_b.\n" in page
    assert "`-o`, `--out` *FILE*\n: Use `a_b`, \\<c\\>\n" in page
    assert "```text\n  glint y *\n```" in page and "z" not in page


def test_the_program_s_manual_pages_have_all_flags(glint):
    title, _, page = manual.page(glint("help", "--man", "localize"))
    assert title == "glint localize"
    for flag in ("--sigma", "--backend", "--resume", "--pixel-size"):
        assert f"`{flag}`" in page
    assert "```text\n  glint localize movie.tif" in page


def test_a_docstring_as_restructured_text():
    lines = ["Returns `a`s of x_px*2,", "`b`.", "", ">>> f(`x`)", "1", "", "    a   b", ""]
    docstrings.process(None, "function", "f", None, None, lines)
    assert lines == [
        "Returns ``a``\\ s of x\\_px\\*2, ``b``.",
        "",
        ".. code-block:: pycon",
        "",
        "    >>> f(`x`)",
        "    1",
        "",
        "::",
        "",
        "        a   b",
        "",
    ]
