#!/usr/bin/env python3
"""Checks comments, messages and pages against docs/style.md, within the budgets of tools/prose_budget.toml.

Counts words to avoid, long sentences of Markdown, and lines over 120 columns. README.md has limits of its own."""

# SPDX-License-Identifier: MIT
import ast
import io
import re
import sys
import tokenize

import budget

COLUMNS = 120
LONG, VERY_LONG = 25, 35  # words of a sentence
README_LINES, README_PARAGRAPH, README_AVERAGE = 90, 60, 15

# (what to avoid, what to write). Matched within a line, without regard to case unless the pattern says otherwise.
WORDS = [
    (r"\b(?:nothing|none|empty|null|nullopt|0) where\b", "if, when"),
    (r"\bwhere (?:it|there|they|that|a|the|no|none|nothing|anything) (?:is|are|was|were|has|have|cannot|does)\b", "if"),
    (r"\b(?:tells?|told|telling)\b", "prints, reports, shows"),
    (r"\banew\b", "again"),
    (r"\bin vain\b", "without success"),
    (r"\bshall\b", "must, or the present tense"),
    (r"\bat once\b", "immediately, or simultaneously"),
    (r"\b(?:go|goes|going|gone) on\b", "continue"),
    (r"\btak(?:e|es|en|ing) up\b", "resume"),
    (r"\busual\b", "default, normal"),
    (r"\blikewise\b", "also"),
    (r"\bso (?:is|are|does|do) ", "a sentence of its own"),
    (r"\bin place of\b", "instead of"),
    (r"\bwhose (?:it|the) \w+ is\b", "a sentence of its own"),
    (r"\bhand(?:s|ed)? on\b", "pass"),
    (r"\bas (?:it|they) (?:lies?|stands?|are|is)\b", "unchanged"),
    (r"\bbef(?:ell|alls?|allen)\b", "an event, an error"),
    (r"\bstrangers?\b", "unmanaged process"),
    (r"\bof (?:the user's|somebody else's) own\b", "user-defined"),
    (r"\ball the same\b", "nevertheless"),
    (r"\balike\b", "equally, both"),
    (r"\bheed(?:s|ed|ing)?\b", "use, obey"),
    (r"\bthe like\b", "name the cases"),
    (r"\bnot worth\b|\bof no use\b", "say what it costs; unusable"),
    (r"\bby and by\b|\bever since\b|\bhitherto\b|\bthereof\b|\bthereby\b|\bwherein\b", "plain words"),
    (
        r"(?-i:(?:^|[.!?] )Of (?:the|a|an|all|those|these|its|such|what|which|both|each|one|two|several)\b)",
        "verb first",
    ),
]
FIND_WORDS = [(re.compile(pattern, re.I), instead) for pattern, instead in WORDS]

CPP_TEXT = re.compile(
    r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<string>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\''
    r"|//[/!]?<?(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/",
    re.S,
)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|al|Fig|eq|eqs|cf|etc|approx|no|resp)\.$")


def is_test(name):
    return name.startswith(("tests/", "bench/", "tools/", "examples/")) or "_test." in name or "/tests/" in name


def lines_of(text, first):
    return [(first + k, line.strip()) for k, line in enumerate(text.split("\n"))]


def cpp_prose(name, text):
    """Yields (line, text) of comments, and of the strings of the product."""
    for found in CPP_TEXT.finditer(text):
        first = text.count("\n", 0, found.start()) + 1
        comment = found["line"] if found["line"] is not None else found["block"]
        if comment is not None:
            yield from lines_of(comment, first)
        elif not is_test(name):
            for line, part in lines_of(found["raw"] or found["string"] or "", first):
                if len(part.split()) > 2:
                    yield line, part


def python_prose(name, text):
    """Yields (line, text) of comments and docstrings, and of the strings of the product."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#! ")
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and node.body
                  and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings or (not is_test(name) and len(node.value.split()) > 2):
                yield from lines_of(node.value, node.lineno)


def plain(text):
    """Returns Markdown text without its markup: code is one word, links are their text."""
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"`+[^`]+`+", "CODE", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{2,}|<[^>]+>", "", text)


def markdown_prose(text):
    """Yields (line, text) without code."""
    fenced = False
    for number, line in lines_of(text, 1):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "CODE", line)


def paragraphs(text):
    """Yields (line, text) of the paragraphs and list items of a page, without code, tables and headings."""
    block, first, fenced, after_blank = [], 0, False, True
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
            starts, ends = False, True
        else:
            stripped = line.strip()
            item = re.match(r"([-*+]|\d+\.) ", stripped)
            indented = after_blank and line.startswith("    ") and not block and not item
            ends = fenced or not stripped or stripped.startswith(("|", "#", "![", "<!--", "---", "$$")) or indented
            starts = bool(item)
            after_blank = not stripped or indented
        if block and (ends or starts):
            yield first, plain(" ".join(block))
            block = []
        if not ends:
            if not block:
                first = number
            block.append(re.sub(r"^([-*+>]|\d+\.) ", "", line.strip()))


def sentences(text):
    """Splits a paragraph after full stops, question marks and exclamation marks that a new sentence follows."""
    start = 0
    for found in re.finditer(r"[.!?][)\"']?(?= +[A-Z0-9(\"'])", text):
        if not ABBREVIATION.search(text[: found.end()]):
            yield text[start : found.end()].strip()
            start = found.end()
    yield text[start:].strip()


def words(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def shortened(text, length=90):
    return text if len(text) <= length else text[: length - 3].rstrip() + "..."


def odd_words(name, prose):
    for line, text in prose:
        for pattern, instead in FIND_WORDS:
            for found in pattern.finditer(text):
                yield 1, name, line, f'"{found[0].strip()}": write {instead}'


def check_readme(text):
    """Yields what breaks the limits of README.md."""
    count = text.count("\n")
    if count > README_LINES:
        yield 1, "README.md", count, f"{count} lines; at most {README_LINES}"
    lengths = []
    for line, paragraph in paragraphs(text):
        if words(paragraph) > README_PARAGRAPH:
            yield 1, "README.md", line, f"a paragraph of {words(paragraph)} words; at most {README_PARAGRAPH}"
        for sentence in sentences(paragraph):
            lengths.append(words(sentence))
            if words(sentence) > LONG:
                yield 1, "README.md", line, f"a sentence of {words(sentence)} words: {shortened(sentence)}"
    average = sum(lengths) / max(1, len(lengths))
    if average > README_AVERAGE:
        yield 1, "README.md", 1, f"{average:.1f} words a sentence; at most {README_AVERAGE}"


def main():
    found = {
        kind: []
        for kind in (
            "words_cpp",
            "words_python",
            "words_markdown",
            "sentences_over_25",
            "sentences_over_35",
            "columns_cpp",
            "columns_python",
            "columns_markdown",
            "readme",
        )
    }
    endings = {"cpp": ("cpp", "hpp", "cu", "cuh", "inc", "h"), "python": ("py", "pyi"), "markdown": ("md",)}
    language = {ending: name for name, names in endings.items() for ending in names}
    for name in budget.tracked(*(f"*.{ending}" for ending in language)):
        if "corpus" in name:
            continue
        kind = language[name.rsplit(".", 1)[1]]
        text = (budget.ROOT / name).read_text(errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > COLUMNS and not (kind == "markdown" and line.startswith("|")):
                found[f"columns_{kind}"].append((len(line), name, number, f"{len(line)} columns"))
        if name == "tools/check_prose.py" or name == "docs/style.md":
            continue  # they name what to avoid
        if kind == "markdown":
            prose = markdown_prose(text)
            for line, paragraph in paragraphs(text):
                for sentence in sentences(paragraph):
                    count = words(sentence)
                    for limit in (LONG, VERY_LONG):
                        if count > limit:
                            entry = (count, name, line, f"{count} words: {shortened(sentence)}")
                            found[f"sentences_over_{limit}"].append(entry)
        else:
            try:
                prose = list((cpp_prose if kind == "cpp" else python_prose)(name, text))
            except (SyntaxError, tokenize.TokenError) as error:
                raise SystemExit(f"{name}: no Python: {error}") from error
        found[f"words_{kind}"] += odd_words(name, prose)
    found["readme"] += check_readme((budget.ROOT / "README.md").read_text())
    return budget.check("prose", found, __doc__)


if __name__ == "__main__":
    sys.exit(main())
