"""The checks of prose find what docs/style.md forbids, and their budgets only fall."""

import importlib
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
budget, check_headers, check_prose = (
    importlib.import_module(name) for name in ("budget", "check_headers", "check_prose")
)

PAGE = """# A heading that has no end

One sentence with `some code` here. Another, e.g. this one,
goes over two lines! Is it so?

| a | table. Of words |
- First item. With two.
- Second item

    indented code. It is none

```
fenced. Code
```
"""


def test_sentences_of_a_page():
    found = [(line, list(check_prose.sentences(text))) for line, text in check_prose.paragraphs(PAGE)]
    assert found == [
        (3, ["One sentence with CODE here.", "Another, e.g. this one, goes over two lines!", "Is it so?"]),
        (7, ["First item.", "With two."]),
        (8, ["Second item"]),
    ]


def test_words_of_comments_and_messages_but_not_of_code():
    text = 'int tell;  // it tells more\nauto a = f("nothing was told here");\n/// Of the two, one.\n'
    text += 'auto b = R"x(\nset anew now)x";\n'
    found = list(check_prose.odd_words("src/a.cpp", check_prose.cpp_prose("src/a.cpp", text)))
    assert [line for _, _, line, _ in found] == [1, 2, 3, 5]
    assert [line for line, _ in check_prose.cpp_prose("src/a_test.cpp", text)] == [1, 3]
    python = '"""It tells."""\nx = "tell"  # told\ny = f"nothing was {x} told"\n'
    found = check_prose.odd_words("python/glint/a.py", check_prose.python_prose("python/glint/a.py", python))
    assert sorted(line for _, _, line, _ in found) == [1, 2]


def test_limits_of_the_readme():
    long = "word " * 30 + "end. " + "Word " * 30 + "end.\n"
    assert len(list(check_prose.check_readme("Short.\n\n" * 45))) == 0
    assert len(list(check_prose.check_readme(long))) == 4  # a paragraph, two sentences, the average


HEADER = """
namespace glint {
struct Forward;
struct Bare { int member(); };
/// A comment.
struct Good { double x; };
/// Returns the width.
double find_width(double sigma);
int uncommented(int a);

/// The width, px.
double same_width(double sigma, const char* text = "a;{");
inline int next(int a) { return a; }

namespace detail { void hidden(); }
}
"""


def test_comments_of_headers():
    found = [(kind, line + 1, text.split(" ")[0]) for kind, line, text in check_headers.check("a.hpp", HEADER)]
    assert found == [
        ("comment", 4, "Bare"),
        ("unit", 8, "find_width():"),
        ("returns", 12, "same_width()"),
        ("returns", 13, "next()"),
        ("comment", 15, "hidden()"),
    ]


@pytest.fixture
def found(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "ROOT", tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / budget.FILE).write_text("[prose]\nwords = 2\n\n[headers]\nunit = 3\n")
    return {"words": [(1, "a.md", 7, "first"), (5, "b.md", 8, "second"), (1, "a.md", 9, "third")]}


def test_a_count_above_its_budget_fails_and_names_the_worst(found, capsys):
    assert budget.check("prose", found, "", []) == 1
    shown = capsys.readouterr().err
    assert "words: 3, the budget is 2" in shown and "a.md (2)" in shown and "b.md:8: second" in shown


def test_budgets_only_fall(found, monkeypatch, capsys):
    assert budget.check("prose", found, "", ["--lower"]) == 1
    found["words"].pop()
    assert budget.check("prose", found, "", []) == 0
    found["words"].pop()
    assert budget.check("prose", found, "", ["--lower"]) == 0
    assert budget.read((budget.ROOT / budget.FILE).read_text()) == {"headers": {"unit": 3}, "prose": {"words": 1}}
    monkeypatch.setattr(budget, "earlier", lambda commit: {"prose": {"words": 0}})
    assert budget.check("prose", found, "", ["--since", "before"]) == 1
    assert "a budget can only fall" in capsys.readouterr().err
