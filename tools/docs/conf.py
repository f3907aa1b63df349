"""Settings of Sphinx for the documentation site; `./dev docs` calls it by tools/docs/build.py."""

# SPDX-License-Identifier: MIT
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import docstrings

project = "glint"
author = "The glint developers"
version = release = os.environ["GLINT_DOCS_VERSION"]
copyright = author

root_doc = "docs/index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

html_theme = "furo"
html_title = f"glint {version}"
html_show_sourcelink = False
html_copy_source = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 6

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures have them
autodoc_preserve_defaults = True
autodoc_warningiserror = True

breathe_projects = {"glint": os.environ["GLINT_DOCS_DOXYGEN"]}
breathe_default_project = "glint"
breathe_show_include = False
primary_domain = "py"
highlight_language = "none"
# Overloads, and names that Doxygen describes with several headers, are not errors of a page.
suppress_warnings = ["cpp.duplicate_declaration", "duplicate_declaration.cpp", "misc.highlighting_failure"]
smartquotes = False  # they would turn the hyphens of flags into dashes


def setup(app):
    app.connect("autodoc-process-docstring", docstrings.process)
