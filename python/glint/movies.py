"""Movies and stacks of ROIs, from files and arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _core
from .arguments import path as path_of, shown, switch, whole
from .arrays_in import frames_of, refuse_mask
from .camera import Camera, EMCCDCamera, IdealCamera, _check_pixel_size
from .errors import OptionError, warn
from .fits import Rois
from .localizations import StrPath, load_localizations
from .old_names import renamed
from .table import Table


MovieLike: TypeAlias = (
    "Movie | StrPath | Sequence[StrPath] | np.ndarray | Iterator[Any] | Any"  #: a movie as accepted by `open_movie()`
)


@renamed
class Movie:
    """An open movie: frames are read on access, as `movie[k]`, `movie[100:200]`.

    `shape` is (frames, height, width), `dtype` uint8, uint16 or float32. The camera's values in the file's metadata
    are `pixel_size_nm`, `offset` (ADU), `gain` (photoelectrons per ADU), `em_gain` and `exposure_ms`; None if missing,
    or if the files of one movie contain different values. `camera_name` is the camera's name in the metadata. `planes`
    is the chosen part of a file with several channels or planes ("channel 1 (GFP), z 3"); else "".
    """

    name: str
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    pixel_size_nm: float | None
    offset: float | None
    gain: float | None
    em_gain: float | None
    exposure_ms: float | None
    camera_name: str
    planes: str

    def __init__(self, core: Any) -> None:
        self._movie = core
        self.name, self.shape, self.dtype = core.name, core.shape, np.dtype(core.dtype)
        self.pixel_size_nm = core.pixel_size_nm
        self.offset, self.gain, self.em_gain = core.offset, core.gain, core.em_gain
        self.exposure_ms, self.camera_name, self.planes = core.exposure_ms, core.camera, core.planes

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: int | slice) -> np.ndarray:
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            if step != 1:
                raise OptionError(f"movie[{key}]: frames are read in steps of 1; take movie[begin:end][::{step}]")
            return self._movie.read(begin, max(0, end - begin))
        k = range(len(self))[key]  # raises IndexError; negative numbers count from the end
        return self._movie.read(k, 1)[0]

    def _require_agreement(self, what_to_give, *names):
        for name in names:
            if clause := self._movie.contradictions.get(name):
                raise OptionError(
                    f"{self.name}: {name}: {clause}: open these apart, or give what is true of all, as in "
                    f"{what_to_give}"
                )

    def _missing(self):
        return [name for name in ("pixel_size_nm", "offset", "gain") if getattr(self, name) is None]

    def camera(self) -> Camera:
        """The camera described by the metadata. Raises OptionError, which names the missing values."""
        facts = {"pixel_size_nm": self.pixel_size_nm, "offset": self.offset, "gain": self.gain}
        self._require_agreement(
            "camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)",
            "pixel size",
            "offset",
            "gain",
            "EM gain",
        )
        if missing := self._missing():
            raise OptionError(
                f"{self.name}: {', '.join(missing)} not known: the movie's metadata do not say. Give what is "
                "true of your camera, as in camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)"
            )
        if self.em_gain and self.em_gain != 1:
            return EMCCDCamera(**facts, em_gain=self.em_gain)
        return IdealCamera(**facts)

    def __repr__(self) -> str:
        frames, height, width = self.shape
        return f"<Movie {self.name}: {frames:,} frames of {width}x{height} px, {self.dtype}>"


def camera_for(call: str, psf: Any, camera: Any, movie: Movie) -> Camera:
    """Returns the given camera, else the movie's. Without a PSF, raises OptionError that names everything `call`
    needs."""
    if psf is None:
        missing = movie._missing() if camera is None else []
        needs = "a psf" + (
            f" and a camera ({', '.join(missing)} not in the metadata of {movie.name})" if missing else ""
        )
        given = f"glint.{call}, glint.GaussianXYNB(sigma_nm=130)"
        given += (
            ", glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5))"
            if missing
            else ", camera)"
            if camera
            else ")"
        )
        raise OptionError(f"{call.partition('(')[0]}() needs {needs}. With what is true of your microscope: {given}")
    return movie.camera() if camera is None else camera


def open_movie(
    movie: MovieLike, *, channel: int | str | None = None, z: int | None = None, position: int | str | None = None
) -> Movie:
    """Opens a movie: a file or folder (docs/reference/formats.md lists the formats), a list of files that form one
    movie, or an array of shape (frames, height, width).

    uint8, uint16 and float32 arrays of NumPy in C order, also np.memmap, are used without a copy. Other array-likes
    with `shape`, `dtype` and slices (Zarr, Dask, h5py, `nd2`, ...) are read in blocks when needed. An iterator or
    generator of frames is first copied to a temporary file.

    channel, position: number from 0, or name, in a file with several channels or positions.
    z: number of the z plane, from 0, in a file with several planes.

    Raises InputError if the file or array is not a movie, and OptionError if a choice is missing. A truncated file
    gives its complete frames and a warning.

    >>> opened = glint.open_movie(movie)
    >>> opened.shape
    (20, 48, 64)

    For an ND2 with several channels and planes:

    >>> opened = glint.open_movie("cells.nd2", channel="GFP", z=3)  # doctest: +SKIP
    """
    chosen = {"channel": channel, "z": z, "position": position}
    given = [name for name, value in chosen.items() if value is not None]
    if isinstance(movie, (str, bytes, os.PathLike)):
        movie = [movie]
    if isinstance(movie, (list, tuple)) and movie and all(isinstance(m, (str, bytes, os.PathLike)) for m in movie):
        channel, position = (
            value if value is None or isinstance(value, str) else str(whole(name, value, 0))
            for name, value in (("channel", channel), ("position", position))
        )
        z = None if z is None else whole("z", z, 0)
        opened = Movie(_core.Movie.open([os.fsdecode(path) for path in movie], channel, z, position))
        for text in opened._movie.warnings:
            warn(text)
        return opened
    if given:
        raise OptionError(f"{given[0]}={chosen[given[0]]} chooses of a file; this movie is {shown(movie)}")
    if isinstance(movie, Movie):
        return movie
    return _movie_of_array(movie)


def _movie_of_array(movie: Any) -> Movie:
    if isinstance(movie, Iterator):
        movie = _spooled(movie)
    if _is_lazy(movie):
        return _lazy(movie)
    return Movie(_core.Movie.of_array(frames_of(movie), "array"))


def _is_lazy(movie: Any) -> bool:
    """Whether the movie is an array in parts or in a file, not an array in memory."""
    in_memory = isinstance(movie, np.ndarray) or hasattr(movie, "__dlpack__") or hasattr(movie, "__array_interface__")
    return (
        not in_memory
        and all(hasattr(movie, name) for name in ("shape", "dtype", "__getitem__"))
        and len(movie.shape) == 3
    )


def _lazy(array: Any) -> Movie:
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "uif":
        raise OptionError(f"an array of {dtype} is no movie: give numbers of shape (frames, height, width)")
    name = dtype.name if dtype.name in ("uint8", "uint16") else "float32"
    frames, height, width = (int(n) for n in array.shape)

    def fetch(first: int, count: int) -> np.ndarray:
        part = np.asanyarray(array[first : first + count])
        refuse_mask("the movie", part)
        # As for whole arrays: any number becomes float32, and no other conversion may lose information.
        if part.dtype.kind not in "uif" or not (name == "float32" or np.can_cast(part.dtype, name, "safe")):
            raise OptionError(
                f"they are of {part.dtype}, and the array declares {dtype}, which would change their "
                f"values: correct its "
                f"dtype (Dask: meta=, or array.map_blocks(..., dtype={part.dtype.name!r}))"
            )
        return np.ascontiguousarray(np.asarray(part), name)

    return Movie(_core.Movie.fetched(fetch, type(array).__name__, frames, height, width, name))


def _spooled(frames: Iterator[Any]) -> np.ndarray:
    """Copies the frames to an unnamed file, which is deleted with the array."""
    shape, dtype, count = None, None, 0
    with tempfile.TemporaryFile() as file:
        for frame in frames:
            frame = frames_of(frame)
            if len(frame) != 1:
                raise OptionError(f"frame {count} of the iterator has the shape {frame.shape}: give (height, width)")
            shape, dtype = shape or frame.shape[1:], dtype or frame.dtype
            if frame.shape[1:] != shape or frame.dtype != dtype:
                raise OptionError(
                    f"frame {count} of the iterator is {frame.shape[1:]} of {frame.dtype}, the first "
                    f"{shape} of {dtype}: "
                    "all frames of a movie must have one shape and type"
                )
            file.write(frame.tobytes())
            count += 1
        if shape is None:
            raise OptionError("the iterator has no frames")
        file.flush()
        return np.memmap(file, dtype, "r", shape=(count, *shape))


@renamed
def save_movie(path: StrPath, frames: Any, *, pixel_size_nm: float | None = None, overwrite: bool = False) -> None:
    """Writes a movie (frames, height, width) as TIFF, readable by ImageJ, or as BigTIFF if it is too large for TIFF.

    frames: uint8, uint16 or float32.
    """
    path = path_of("path", path)
    if not path.lower().endswith((".tif", ".tiff")):
        raise OptionError(f"{path}: a movie is written as TIFF, to a name that ends in .tif")
    inputs = frames._movie.files if isinstance(frames, Movie) else []  # never overwritten
    if pixel_size_nm is not None:
        _check_pixel_size("save_movie", pixel_size_nm)
        pixel_size_nm = float(pixel_size_nm)
    _core.write_movie(path, frames_of(frames), pixel_size_nm, switch("overwrite", overwrite), inputs)


def load_rois(path: StrPath) -> Rois:
    """Reads a stack of ROIs: `.npy` or TIFF (n, S, S), or HDF5 (`rois` or `data`, with `x_corner`, `y_corner`,
    `frame`).
    """
    pixels, columns = _core.read_rois(path_of("path", path))
    corners = np.stack([columns["x_corner"], columns["y_corner"]], axis=1) if "x_corner" in columns else None
    return Rois(pixels, corners, columns.get("frame"))


def cut_rois(movie: MovieLike, spots: Table | StrPath, size: int | None = None) -> Rois:
    """Cuts ROIs of `size` x `size` px out of a movie, as raw counts, around the spots of `detect()` or around
    localizations (a table or a file). ROIs are shifted to lie inside the frame. Fits start at the spots.

    >>> rois = glint.cut_rois(movie, glint.detect(movie, psf, camera), 7)
    >>> fits = glint.fit(rois, psf, camera)
    """
    movie = open_movie(movie)
    _, height, width = movie.shape
    if size is None:
        raise OptionError(
            "cut_rois() needs the ROIs' size, an edge of 3 to 31 px: glint.cut_rois(movie, spots, size=7)"
        )
    size = whole("size", size, 7, -(2**31))
    if not 3 <= size <= min(31, height, width):
        raise OptionError(f"ROIs of {size} px: give 3 to 31, and no more than the frames' {width}x{height}")
    if isinstance(spots, (str, os.PathLike)):
        spots = load_localizations(spots)
    if not isinstance(spots, Table) or not {"frame", "x_px", "y_px"} <= spots.columns.keys():
        raise OptionError(f"spots is {shown(spots)}: give the result of glint.detect(), or Localizations")
    if len(spots) and int(spots.frame.max()) >= len(movie):
        raise OptionError(
            f"spots are in frames up to {spots.frame.max()}, and {movie.name} has {len(movie)}: of another movie?"
        )
    corners = np.stack(
        [
            np.clip(np.rint(spots.x_px).astype(int) - size // 2, 0, width - size),
            np.clip(np.rint(spots.y_px).astype(int) - size // 2, 0, height - size),
        ],
        axis=1,
    )
    pixels = np.empty((len(spots), size, size), movie.dtype)
    row, column = np.mgrid[:size, :size]
    for frame in np.unique(spots.frame):
        these = np.flatnonzero(spots.frame == frame)
        x, y = corners[these].T[..., None, None]
        pixels[these] = movie[int(frame)][y + row, x + column]
    found = np.stack([spots.x_px, spots.y_px], axis=1)
    return Rois(pixels, corners, spots.frame, (found - corners).astype(np.float32), (height, width))
