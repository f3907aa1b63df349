"""Docstrings as reStructuredText: paragraphs, `name` as code, columns and examples unchanged."""

# SPDX-License-Identifier: MIT
import re


def escape(text):
    """Returns text in which only `code` is markup, with the separators that reStructuredText needs around code."""
    out = ""
    for k, part in enumerate(re.split(r"(`[^`]+`)", text)):
        if k % 2 and part[1:-1].strip() == part[1:-1]:
            before = "\\ " if out and not re.search(r"[\s(\[{<\-/'\":]$", out) else ""
            out += f"{before}``{part[1:-1]}``"
        else:
            after = "\\ " if out and part and not re.match(r"[\s)\]}>\-/'\":.,;!?]", part) else ""
            out += after + re.sub(r"([\\*_|`])", r"\\\1", part)
    return out


def blocks(lines):
    block = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def process(app, what, name, obj, options, lines):
    out = []
    for block in blocks(lines):
        indented = all(line.startswith(" ") for line in block)
        if block[0].lstrip().startswith(">>>"):
            out += [".. code-block:: pycon", "", *("    " + line for line in block)]
        elif indented or any(re.search(r"\S {3,}\S", line) for line in block):
            out += ["::", "", *("    " + line for line in block)]
        else:
            out.append(escape(" ".join(line.strip() for line in block)))
        out.append("")
    lines[:] = out
