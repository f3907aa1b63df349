"""The manual pages of the program, which are made from its flags, as Markdown."""

# SPDX-License-Identifier: MIT
import re

LETTERS = {"e": "\\", "-": "-", "(aq": "'", "(ga": "`", "(ha": "^", "(ti": "~", "&": ""}


def spans(line):
    """Returns (font, text) of the parts of a line of roff."""
    found, font, text, k = [], "R", "", 0
    while k < len(line):
        if line[k] != "\\":
            text += line[k]
            k += 1
        elif line[k + 1] == "f":
            found.append((font, text))
            font, text = line[k + 2], ""
            k += 3
        else:
            name = line[k + 1 : k + 4] if line[k + 1] == "(" else line[k + 1]
            text += LETTERS[name]
            k += 1 + len(name)
    return [(font, text) for font, text in [*found, (font, text)] if text]


def plain(line):
    return "".join(text for _, text in spans(line))


def markdown(text):
    """Returns text in which only `code` is markup."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if k % 2 else re.sub(r"([\\*_<>|\[\]#$])", r"\\\1", part) for k, part in enumerate(parts))


def flags(line):
    """Returns the names of a flag as code, and what it takes as emphasis."""
    parts = [
        f"`{text}`" if font == "B" else f"*{markdown(text)}*" if font == "I" else text for font, text in spans(line)
    ]
    return "".join(parts)


def page(roff):
    """Returns (name of the command, what it does, its page)."""
    out, lines, k = [], roff.split("\n"), 0
    section = name = about = ""
    while k < len(lines):
        line = lines[k]
        k += 1
        if line.startswith(".SH"):
            section = plain(line[4:]).strip('"')
            if section not in ("NAME", "SEE ALSO"):
                out += [f"## {section.capitalize()}", ""]
        elif line.startswith(".SS"):
            out += [f"### {plain(line[4:])}".replace('"', ""), ""]
        elif line.startswith(".TP"):
            out += [flags(lines[k]), f": {markdown(plain(lines[k + 1]))}", ""]
            k += 2
        elif line.startswith(".nf"):
            end = lines.index(".fi", k)
            out += ["```text", *map(plain, lines[k:end]), "```", ""]
            k = end + 1
        elif line.startswith((".TH", ".PP")) or not line or section == "SEE ALSO":
            out += [""]
        elif section == "NAME":
            name, _, about = plain(line).partition(" - ")
        elif section == "SYNOPSIS":
            out += [f"`{plain(line)}`", ""]
        else:
            out.append(markdown(plain(line)))
    title = next(plain(line) for line in lines if line.startswith("\\fB") and plain(line).startswith("glint"))
    title = re.split(r" (?:[A-Z\[]|--)", title)[0]
    return title, about, "\n".join([f"# {title}", "", f"{markdown(about)}.", "", *out]) + "\n"
