#!/usr/bin/env python3
"""Builds the documentation site: the pages, and references made from flags, docstrings and headers.

    build.py --program build/release/bin/glint --module build/release/python --output build/docs

Needs Doxygen, and the packages of docs/requirements.txt; no network. Warnings are errors. `./dev docs` calls it."""

# SPDX-License-Identifier: MIT
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import manual

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Public modules, and what their pages are about.
MODULES = {
    "glint": "movies, fits, localizations, pictures",
    "glint.plots": "plots by matplotlib",
    "glint.gpu": "GPUs: detection, leases, diagnosis",
    "glint.offload": "operations on arrays, on the CPU or a GPU",
    "glint.arrays": "the namespace of arrays",
}
# Members of a module that the page of another one describes.
ELSEWHERE = {"glint.gpu": ["GpuError", "DeviceArray"]}
KINDS = ("tutorials", "how-to", "reference", "explanation", "decisions")
DOXYFILE = """
PROJECT_NAME = glint
INPUT = {include}
RECURSIVE = YES
FILE_PATTERNS = *.hpp
STRIP_FROM_PATH = {include}
STRIP_FROM_INC_PATH = {include}
INCLUDE_PATH = {include}
OUTPUT_DIRECTORY = {output}
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
XML_PROGRAMLISTING = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
MARKDOWN_SUPPORT = YES
JAVADOC_AUTOBRIEF = YES
MACRO_EXPANSION = YES
ENABLE_PREPROCESSING = YES
EXCLUDE_SYMBOLS = *::detail *::detail::*
"""


def tracked():
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


def targets(page):
    text = re.sub(r"`[^`\n]*`", "`", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S))
    return {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)} - {""}


def copy_pages(source):
    """Copies the pages of docs and what they link to, in the same folders, and returns the names."""
    names = tracked()
    waiting = sorted(name for name in names if re.fullmatch(r"docs/.*\.(md|png|svg)", name))
    copied = []
    while waiting:
        name = waiting.pop()
        if name in copied:
            continue
        copied.append(name)
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
        if not name.endswith(".md"):
            continue
        for target in targets((ROOT / name).read_text()):
            if not re.match(r"[a-z]+:", target):
                path = os.path.normpath(os.path.join(os.path.dirname(name), target))
                if path in names:  # or else Sphinx warns
                    waiting.append(path)
    return sorted(copied)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def toctree(caption, pages):
    lines = "\n".join(pages)
    return f"```{{toctree}}\n:hidden:\n:maxdepth: 2\n:caption: {caption}\n\n{lines}\n```\n\n" if pages else ""


def write_commands(source, program):
    """Writes a page for each command, from its flags."""
    share = source.parent / "share"
    subprocess.run([program, "completion", "--install", share], check=True, stdout=subprocess.DEVNULL)
    rows, pages = [], []
    for file in sorted((share / "man/man1").glob("*.1")):
        title, about, text = manual.page(file.read_text())
        write(source / f"docs/reference/commands/{file.stem}.md", text)
        pages.append(file.stem)
        rows.append(f"| [{title}]({file.stem}.md) | {manual.markdown(about)} |\n")
    intro = "# All commands and flags\n\nMade from the program's own flags, as its help and manual pages are.\n\n"
    text = intro + "| command | |\n| --- | --- |\n" + "".join(rows) + "\n" + toctree("Commands", pages)
    write(source / "docs/index.md", text)
    formats = subprocess.run([program, "formats", "--markdown"], check=True, capture_output=True, text=True).stdout
    write(source / "docs/reference/formats_list.md", formats.replace("# Formats\n", "# List of formats\n", 1))


def write_python(source):
    """Writes a page for each module, of which Sphinx reads the docstrings."""
    pages = []
    for module, about in MODULES.items():
        text = heading(f"{module}: {about}") + f".. automodule:: {module}\n   :members:\n   :imported-members:\n"
        if module in ELSEWHERE:
            text += f"   :exclude-members: {', '.join(ELSEWHERE[module])}\n"
        write(source / f"docs/reference/python/{module}.rst", text)
        pages.append(module)
    text = "# Python API\n\nMade from the docstrings.\n\n"
    text += "".join(f"- [{module}]({module}.rst): {about}\n" for module, about in MODULES.items())
    write(source / "docs/index.md", text + "\n" + toctree("Python", pages))


def simplify(folder):
    """Leaves out initializers with names of members, which Sphinx's parser of C++ does not know."""
    for file in folder.glob("*.xml"):
        text = file.read_text()
        simple = re.sub(r"<initializer>(?:= )?\{\..*?</initializer>", "", text, flags=re.S)
        if simple != text:
            file.write_text(simple)


def name_files(folder):
    """Replaces the base names of headers in Doxygen's index by paths: some base names are not unique."""
    index = folder / "index.xml"
    text = index.read_text()
    for refid in re.findall(r'<compound refid="([^"]*)" kind="file">', text):
        path = re.findall(r'<location file="([^"]*)"/>', (folder / f"{refid}.xml").read_text())[-1]
        text = re.sub(rf'(<compound refid="{refid}" kind="file"><name>)[^<]*', rf"\g<1>{path}", text)
    index.write_text(text)


def write_cpp(source, xml_folder):
    """Writes a page for each public header, of which Doxygen reads the comments."""
    write(xml_folder / "Doxyfile", DOXYFILE.format(include=ROOT / "include", output=xml_folder))
    subprocess.run(["doxygen", "-q", xml_folder / "Doxyfile"], check=True)
    name_files(xml_folder / "xml")
    simplify(xml_folder / "xml")
    pages, rows = [], []
    for header in sorted((ROOT / "include/glint").rglob("*.hpp")):
        name = str(header.relative_to(ROOT / "include"))
        page = re.sub(r"\W", "_", name.removesuffix(".hpp").removeprefix("glint/"))
        comment = re.match(r"(?://[^\n]*\n)+", header.read_text())
        about = re.sub(r"(?m)^// ?", "", comment[0]).split("SPDX")[0].strip() if comment else ""
        sentence = " ".join(re.split(r"(?<=\.)\s", about.split("\n\n")[0])[0].split())
        text = heading(name) + manual.markdown(sentence).replace("`", "``") + "\n\n"
        write(source / f"docs/reference/cpp/{page}.rst", text + f".. doxygenfile:: {name}\n   :project: glint\n")
        pages.append(page)
        rows.append(f"| [{name}]({page}.rst) | {manual.markdown(sentence)} |\n")
    text = "# C++ API\n\nMade from the comments of the public headers.\n\n| header | |\n| --- | --- |\n" + "".join(rows)
    write(source / "docs/index.md", text + "\n" + toctree("C++", pages))


def write_index(source, pages):
    """Adds the tables of contents to the index."""
    index = source / "docs/index.md"
    text = index.read_text()
    generated = {"reference": ["commands/index", "formats_list", "python/index", "cpp/index"]}
    listed = [target.removesuffix(".md") for target in re.findall(r"\]\(([^)#\s]+\.md)", text)]
    for kind in KINDS:
        own = [page.removeprefix("docs/").removesuffix(".md") for page in pages if page.startswith(f"docs/{kind}/")]
        own = [page for page in own if page.endswith("/README") or page != kind]
        own.sort(key=lambda page: listed.index(page) if page in listed else len(listed))
        own += [f"{kind}/{page}" for page in generated.get(kind, [])]
        text += "\n" + toctree(kind.capitalize(), own)
    rest = [
        page for page in pages if page.endswith(".md") and not page.startswith(tuple(f"docs/{kind}/" for kind in KINDS))
    ]
    others = [os.path.relpath(page.removesuffix(".md"), "docs") for page in rest if page != "docs/index.md"]
    text += "\n" + toctree("Project", others)
    made = "- [All commands and flags](reference/commands/index.md), the [list of formats](reference/formats_list.md)\n"
    made += "- [Python API](reference/python/index.md)\n- [C++ API](reference/cpp/index.md)\n"
    text = text.replace("- [Features and limits]", made + "- [Features and limits]", 1)
    index.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument(
        "--module", type=pathlib.Path, required=True, help="folder that contains the Python package glint"
    )
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    output = options.output.resolve()
    for folder in ("source", "xml", "share", "html"):
        shutil.rmtree(output / folder, ignore_errors=True)
    source = output / "source"
    pages = copy_pages(source)
    write_commands(source, options.program.resolve())
    write_python(source)
    write_cpp(source, output / "xml")
    write_index(source, pages)
    shown = subprocess.run([options.program, "--version"], check=True, capture_output=True, text=True).stdout
    environment = os.environ | {
        "GLINT_DOCS_VERSION": shown.split()[1],
        "GLINT_DOCS_DOXYGEN": str(output / "xml/xml"),
        "PYTHONPATH": str(options.module.resolve()),
    }
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-j", "auto"]
    command += ["-c", str(ROOT / "tools/docs"), "-d", str(output / "doctrees"), str(source), str(output / "html")]
    done = subprocess.run(command, env=environment)
    if done.returncode == 0:
        write(
            output / "html/index.html", '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
        )
        print(f"Site: {output / 'html/index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
