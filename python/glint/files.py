"""`load()` and `save()` for all kinds of files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from . import _core
from .analysis import Calibration, load_calibration, load_camera, save_calibration
from .arguments import path as path_of
from .calibrating import CameraCalibration
from .drifting import Drift, load_drift, save_drift
from .errors import InputError, OptionError
from .fits import Fits
from .localizations import Localizations, StrPath, load_localizations
from .movies import Movie, load_rois, open_movie, save_movie
from .pictures import load_picture, save_picture
from .psf import AstigmaticXYZNB


def load(path: StrPath, **options: Any) -> Any:
    """Reads a file. The extension selects the kind:

    - localizations: `.hdf5`, `.h5`, `.csv` and the extensions of other tables (docs/reference/formats.md)
    - movie: any folder, `.tif`, `.stk`, `.nd2`, `.czi`, `.lif`, `.sif`, `.dcimg`, `.dax`, ...
    - ROIs: `.npy`
    - picture: `.png`
    - camera or calibration: `.toml`; camera of Picasso: `.yaml`
    - drift: `.txt`

    `options` are passed to the specific function, e.g. `load_localizations()`. Call that function directly if the
    extension is ambiguous, as for ROIs in `.h5`. Raises OptionError for an unknown extension.
    """
    path = pathlib.Path(path_of("path", path))
    if path.is_dir():
        return open_movie(path, **options)
    match path.suffix.lower():
        case ".npy":
            return load_rois(path, **options)
        case ".png":
            return load_picture(path, **options)
        case ".txt":
            return load_drift(path, **options)
        case ".toml":
            return (load_calibration if _is_calibration(path) else load_camera)(path, **options)
        case ".yaml" | ".yml":
            return load_camera(path, **options)
    tables = [ending for _, endings, _ in _core.localization_formats() for ending in endings]
    movies = [*(ending for ending in _core.movie_endings() if ending not in (*tables, ".npy", ".png")), ".zarr"]
    if path.name.lower().endswith(tuple(tables)):  # before movies: SMAP's tables end in _sml.mat
        return load_localizations(path, **options)
    if path.name.lower().endswith(tuple(movies)):
        return open_movie(path, **options)
    raise OptionError(
        f"{path}: the name does not determine the kind of file: {', '.join(tables)} are localizations; "
        f"{', '.join(movies)} "
        "and folders movies; .npy ROIs, .png pictures, .toml and .yaml cameras, .toml calibrations, .txt drifts"
    )


def _is_calibration(path):
    try:
        return "[astigmatism]" in path.read_text(errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def save(path: StrPath, what: Any, **options: Any) -> None:
    """Writes localizations or fits, a movie (3-D array), a picture (2-D array, or 3-D uint8 with `.png`), a calibration
    (of a lens or a camera), or a drift.

    `overwrite=True` replaces existing files. Other `options` are passed to the specific function. Raises OptionError
    if `what` cannot be written to a file with this extension.
    """
    path = path_of("path", path)
    suffix = pathlib.Path(path).suffix.lower()
    if isinstance(what, (Localizations, Fits, CameraCalibration)):
        return what.save(path, **options)
    if isinstance(what, (AstigmaticXYZNB, Calibration)):
        return save_calibration(path, what, **options)
    if isinstance(what, Drift):
        return save_drift(path, what, **options)
    if isinstance(what, Movie):
        what = what[:]
    if isinstance(what, np.ndarray) and (suffix == ".png" or what.ndim == 2):
        return save_picture(path, what, **options)
    if isinstance(what, np.ndarray) and suffix in (".tif", ".tiff"):
        return save_movie(path, what, **options)
    tables = ", ".join(endings[0] for _, endings, is_written in _core.localization_formats() if is_written)
    raise OptionError(
        f"{type(what).__name__} cannot be written to {path}: localizations go to {tables}; "
        "movies to .tif; pictures to .png and .tif; calibrations to .toml; drifts to .txt"
    )
