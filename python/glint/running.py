"""Runs all steps from movies to finished pictures, like `glint run`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _core
from .arguments import callback, path as path_of, shown, switch
from .errors import InputError, OptionError, warn
from .fits import fit_options, gpu_count
from .localizations import StrPath

Section = Mapping[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")  # bytes of a file name that are not valid text, which TOML cannot represent


@dataclasses.dataclass(frozen=True)
class RunResult:
    """The result of a movie in `run()`."""

    movies: list[str]  #: files of the movie
    folder: pathlib.Path  #: folder of the results
    status: str  #: "complete", "failed", or "stopped" (also for a movie that was not begun)
    error: str | None  #: why the movie failed; None: it did not
    warnings: list[str]  #: warnings of all steps
    figures: dict[str, float | None]  #: the numbers in summary.csv: "localizations", "frc_nm", ...; None: unknown


def run(
    movies: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    recipe: StrPath | None = None,
    concat: bool = False,
    movie: Section | None = None,
    camera: Section | None = None,
    psf: Section | None = None,
    localize: Section | None = None,
    filter: Section | None = None,
    drift: Section | None = None,
    link: Section | None = None,
    molecules: Section | None = None,
    resolution: Section | None = None,
    render: Section | None = None,
    figures: Section | None = None,
    backend: str = "auto",
    gpus: int | str = 1,
    gpu_memory: int | str = 1 << 30,
    auto_timeout: float = 300.0,
    gpu_timeout: float = math.inf,
    always_gpu: bool = False,
    gpu_worker: str | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
    notice: Callable[[str], object] | None = None,
) -> list[RunResult]:
    """Runs the whole analysis of one or more movies, like `glint run`: localize, filter, correct drift, measure, link,
    draw.

    Each step writes its files to the folder `out`.

    movies: one movie, several movies, or a table (.csv) with the columns movie and condition. The results of each movie
        are in a folder of its name in `out`.
    recipe: a file with the options of all steps; None: recipe.toml in `out` if it exists, else the defaults. `run()`
        writes the recipe to `out`.
    concat: the movies are one movie in several files.
    movie, camera, psf, ..., figures: sections of the recipe, as dicts of its keys. They override the recipe; a value of
        None is ignored.
    backend, gpus, ...: as in `localize()`.
    progress: called as progress("movie: localize", done, all).
    notice: called with a line of text about each step.

    Finished steps are skipped. After Ctrl-C or a failure, the same call continues. After a change of the recipe, steps
    that depend on the change run again. An error in a single movie is raised. With several movies, a warning names the
    failed movie, and its result has the status "failed".

        results = glint.run(
            "movie.tif", "results", camera={"pixel_size": "100nm", "offset": 100, "gain": 0.5}, psf={"sigma": "130nm"}
        )
        results[0].figures["localizations"]
    """
    if isinstance(movies, (str, bytes, os.PathLike)):
        movies = [movies]
    if not isinstance(movies, Iterable):
        raise OptionError(f'movies={shown(movies)}: give a movie, or several, as in movies=["a.tif", "b.tif"]')
    listed = [_name("movies", one) for one in movies]
    if not listed:
        raise OptionError("movies=[]: give at least one movie")
    sections = {
        "movie": movie,
        "camera": camera,
        "psf": psf,
        "localize": localize,
        "filter": filter,
        "drift": drift,
        "link": link,
        "molecules": molecules,
        "resolution": resolution,
        "render": render,
        "figures": figures,
    }
    options = fit_options(
        backend, auto_timeout, gpu_timeout, gpu_memory, None, threads, always_gpu, gpu_worker, 50, 0.01
    )
    options.gpus = gpu_count(gpus)
    try:
        results = _core.run(
            listed,
            _name("out", out),
            switch("concat", concat),
            None if recipe is None else _name("recipe", recipe),
            [(name, _toml(name, section)) for name, section in sections.items() if section is not None],
            options,
            callback("progress", progress),
            callback("notice", notice),
            warn,
        )
    except InputError as error:
        section = re.match(r"\[(\w+)\]:\d+:\d+: ", str(error))
        if section:  # a line number is meaningless, as the text was generated
            raise OptionError(f"{section[1]}=: {str(error)[section.end() :]}") from None
        raise
    found = [_result_of(json.loads(text), folder, files) for text, folder, files in results]
    for one in found:
        if one.status == "failed":
            warn(f"{one.movies[0]} failed: {one.error}", RuntimeWarning)
    return found


def _name(argument: str, value: Any) -> str:
    name = path_of(argument, value)
    if not name or "\0" in name:
        raise OptionError(f"{argument}={shown(value)}: give the name of a file or folder")
    return name


def _result_of(values: dict[str, Any], folder: pathlib.Path, files: list[pathlib.Path]) -> RunResult:
    own = ("movies", "folder", "status", "error", "warnings")
    return RunResult(
        [str(file) for file in files],
        folder,
        values["status"],
        values.get("error"),
        values.get("warnings", []),
        {name: value for name, value in values.items() if name not in own},
    )


def _toml(name: str, section: Section) -> str:
    """Returns a section of a recipe as TOML."""
    if not isinstance(section, Mapping):
        raise OptionError(f'{name}={shown(section)}: give a dict of keys of the recipe, as in camera={{"gain": 0.5}}')
    lines = [f"[{name}]"]
    for key, value in section.items():
        if not isinstance(key, str) or _SURROGATE.search(key):
            raise OptionError(f"{name}={{{shown(key)}: ...}}: the keys of a recipe are texts")
        if value is not None:
            lines.append(f"{json.dumps(key, ensure_ascii=False)} = {_value(f'{name}[{key!r}]', value)}")
    return "\n".join(lines) + "\n"


def _value(name: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(name, one) for one in value) + "]"
    if hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()  # a NumPy number
    if isinstance(value, os.PathLike):
        value = os.path.abspath(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if (
        isinstance(value, str)
        and not _SURROGATE.search(value)
        or isinstance(value, bool)
        or isinstance(value, float)
        and math.isfinite(value)
    ):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise OptionError(f"{name}={shown(value)}: give a text, a finite number, True or False, or a list of texts")
