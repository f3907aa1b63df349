#!/usr/bin/env python3
"""Checks the comments of the public headers in include/glint, within the budgets of tools/prose_budget.toml.

comment: a function, class, struct or enum of a namespace has no `///` comment.
returns: the comment of a function that returns a value does not say `Returns`.
unit: a function takes or returns lengths, and neither the names nor the comment have their unit.

Functions that follow each other without a blank line share the comment of the first."""

# SPDX-License-Identifier: MIT
import re
import sys

import budget

SKIP = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M
)
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[.*?\]\]\s*)?(\w+)")
# Parameters and functions that are lengths, unless their type is another one.
LENGTH = re.compile(
    r"\b(?:(?:double|float)\s*&?\s*|std::vector<(?:double|float)>[&\s]*)((?:\w+_)?"
    r"(?:sigma|width|radius|distance|length|spacing|precision|drift|pixel_size|pitch|blur|[xyz]))\b"
)
UNIT = re.compile(r"(?:_|\b)(?:px|nm|um|mm|pixels?|nanomet\w+|microns?|micromet\w+)\b", re.I)


def blank(text):
    """Returns the code with comments, strings and preprocessor lines as spaces, so that positions stay."""
    return SKIP.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def declarations(text):
    """Yields (position, text) of the declarations at namespace scope; of definitions, what is before the body."""
    code = blank(text)
    start, depth = 0, 0  # depth: braces and parentheses that are no namespace's
    for position, char in enumerate(code):
        if char in "{}();" and depth == 0 or depth and char in "{}()":
            head = code[start:position]
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            elif char == "{":
                if depth == 0 and re.match(r"\s*(?:inline\s+)?namespace\b|\s*extern\b", head):
                    start = position + 1
                    continue
                depth += 1
            elif char == "}":
                if depth == 0:  # the end of a namespace
                    start = position + 1
                    continue
                depth -= 1
                rest = code[position + 1 :].lstrip()
                if depth == 0 and not rest.startswith((";", ",", ")", "{", "=")):
                    yield from declaration(code, start, position + 1)
                    start = position + 1
            elif char == ";":
                yield from declaration(code, start, position)
                start = position + 1


def declaration(code, start, end):
    text = code[start:end]
    begin = start + len(text) - len(text.lstrip())
    if text.strip():
        yield begin, text.strip()


def comment_of(lines, line, earlier):
    """Returns the `///` comment before a line or on it; that of the declaration before if no blank line is between."""
    above = []
    k = line - 1
    while k >= 0 and lines[k].lstrip().startswith("///"):
        above.insert(0, lines[k].strip().lstrip("/< "))
        k -= 1
    trailing = re.search(r"///<(.*)", lines[line])
    if above or trailing:
        return " ".join(above) + (f" {trailing[1]}" if trailing else "")
    return earlier if k >= 0 and lines[k].strip() else ""


def check(name, text):
    lines = text.split("\n")
    earlier = ""
    for position, code in declarations(text):
        line = text.count("\n", 0, position)
        head = re.split(r"\{", code, maxsplit=1)[0]
        comment = comment_of(lines, line, earlier)
        earlier = comment
        if re.match(r"(?:using|friend|static_assert|extern template|template\s+class|typedef)\b", code):
            continue
        type_name = TYPE.match(code)
        if type_name and "{" in code:
            if not comment:
                yield "comment", line, f"{type_name[1]} has no comment"
            continue
        function = re.search(r"(\boperator\s*\S+?|[\w:~]+)\s*\(", head)
        if (
            type_name
            or not function
            or "::" in function[1]
            or "=" in head[: function.start()]
            and "operator" not in function[1]
        ):
            continue
        own = " ".join(code.split())
        if not comment:
            yield "comment", line, f"{function[1]}() has no comment"
        returned = re.sub(
            r"\[\[.*?\]\]|\b(?:inline|constexpr|static|extern)\b|template\s*<.*?>", "", head[: function.start()]
        )
        if comment and returned.strip() not in ("void", "") and not re.search(r"\breturns?\b", comment, re.I):
            yield "returns", line, f"{function[1]}() returns {returned.strip()}, and its comment does not say `Returns`"
        lengths = LENGTH.findall(re.split(r"\)\s*(?:const|noexcept)?\s*\{", own, maxsplit=1)[0])
        if lengths and not UNIT.search(comment):
            yield "unit", line, f"{function[1]}(): no unit of {', '.join(lengths)}"


def main():
    found = {"comment": [], "returns": [], "unit": []}
    for name in budget.tracked("include/glint/*.hpp"):
        for kind, line, text in check(name, (budget.ROOT / name).read_text()):
            found[kind].append((1, name, line + 1, text))
    return budget.check("headers", found, __doc__)


if __name__ == "__main__":
    sys.exit(main())
