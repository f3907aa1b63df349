"""Renders localizations; reads and writes pictures."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .arguments import INT32, number, pair, path as path_of, shown, switch, whole
from .arrays_in import on_host
from .errors import OptionError, warn
from .localizations import Localizations, StrPath, localizations_of

if TYPE_CHECKING:
    from .fits import Fits


def render(
    locs: Localizations | Fits | StrPath | Sequence[Localizations | Fits | StrPath],
    out: StrPath | None = None,
    *,
    mode: str = "gaussian",
    zoom: float | None = None,
    picture_pixel_nm: float | None = None,
    density: bool = False,
    min_blur_px: float | None = None,
    blur_nm: float | None = None,
    region_px: tuple[float, float, float, float] | None = None,
    colors: Sequence[str] | None = None,
    color_frame: bool = False,
    color_z: bool = False,
    z_range_nm: tuple[float, float] | None = None,
    colormap: str | None = None,
    saturate_percent: float = 0.5,
    scale_bar_nm: float | None = None,
    max_edge_px: int = 20000,
    overwrite: bool = False,
) -> np.ndarray:
    """Renders localizations. Returns colours for display, (height, width, 3) uint8; or with `density`, localizations
    per picture pixel, (height, width) float32.

    locs: a table or a file, or a list of them; each element of a list gets its own colour.
    out: also write the picture to this file: `.png` for colours, `.tif` for the density.
    mode: "gaussian", each localization with its own precision, or "histogram".
    zoom: picture pixels per camera pixel; None: 10, or more, so that the longer edge has at least 1,000 picture pixels.
    picture_pixel_nm: edge of a picture pixel, instead of zoom.
    density: return the density instead of colours.
    min_blur_px: minimum standard deviation of a Gaussian, picture pixels; None: 0.5.
    blur_nm: one standard deviation for all localizations; None: the precision of each.
    region_px: (x begin, x end, y begin, y end) to draw, in coordinates of the table. Warns if it contains no row.
    colors: colours of several tables: "magenta", "green", "cyan", "yellow", "red", "blue", "gray"; None: in this order.
    color_frame: show the frame as colour.
    color_z: show z as colour, within z_range_nm (None: 1st to 99th percentile).
    colormap: "inferno", "viridis", "magma", "cividis", "gray", "turbo".
    saturate_percent: share of the non-empty pixels that are shown at full brightness.
    scale_bar_nm: length of the scale bar; 0: no scale bar; None: automatic.
    max_edge_px: maximum edge of the picture; a larger picture raises OptionError.
    overwrite: replace an existing file.

    >>> glint.render(locs, zoom=8).shape
    (384, 512, 3)
    """
    options = _core.RenderOptions()
    if mode not in ("gaussian", "histogram"):
        raise OptionError(f"mode={shown(mode)} is none: give 'gaussian' or 'histogram'")
    out = None if out is None else path_of("out", out)
    suffix = None if out is None else pathlib.Path(out).suffix.lower()
    if suffix not in (None, ".png", ".tif", ".tiff"):
        raise OptionError(f"out={out!r}: a picture ends in .png (for the eye) or .tif (32-bit float density)")
    density = switch("density", density) or suffix in (".tif", ".tiff")
    color_z, color_frame = switch("color_z", color_z), switch("color_frame", color_frame)
    channels = list(locs) if isinstance(locs, (list, tuple)) else None
    if density and (color_z or color_frame or channels is not None or suffix == ".png"):
        raise OptionError("a density is one number a pixel: one table, no color_z, no color_frame, and out=PICTURE.tif")
    if color_z and color_frame:
        raise OptionError("color_z=True, color_frame=True: give one of them")
    if colors is not None and (
        isinstance(colors, str)
        or not isinstance(colors, Sequence)
        or not all(isinstance(color, str) for color in colors)
    ):
        raise OptionError(f"colors={shown(colors)}: give a list of names, as in colors=['magenta', 'green'], or None")
    if not isinstance(colormap, (str, type(None))):
        raise OptionError(f"colormap={shown(colormap)}: give the name of one, as in colormap='viridis', or None")
    options.mode, options.zoom = getattr(_core.RenderMode, mode), number("zoom", zoom, 10, none=0.0)
    options.picture_pixel_nm = number("picture_pixel_nm", picture_pixel_nm, 10, none=0.0)
    options.min_blur_px = number("min_blur_px", min_blur_px, 0.5, none=0.0)
    options.blur_nm = number("blur_nm", blur_nm, 15, 0.0, 1e6, none=0.0)
    if zoom is not None and not options.zoom > 0:
        raise OptionError(f"zoom={shown(zoom)}: give more than 0, as in zoom=10, or None")
    for name, value in (("min_blur_px", options.min_blur_px), ("blur_nm", options.blur_nm)):
        if mode == "histogram" and value:
            raise OptionError(f"{name}={value:g} changes nothing in a histogram: leave it out, or give mode='gaussian'")
    options.colormap, options.channel_colors = colormap or "", list(colors or ())
    options.color = (
        _core.RenderColor.z if color_z else _core.RenderColor.frame if color_frame else _core.RenderColor.density
    )
    if region_px is not None:
        if not isinstance(region_px, Sequence) or len(region_px) != 4:
            raise OptionError(f"region_px={shown(region_px)}: give four numbers, as in region_px=(10, 20, 5, 15)")
        options.region_px = [number("region_px", end, 10) for end in region_px]
    options.saturate_percent = number("saturate_percent", saturate_percent, 0.5)
    options.z_min_nm, options.z_max_nm = (0, 0) if z_range_nm is None else pair("z_range_nm", z_range_nm, (-300, 300))
    options.scale_bar_nm = number("scale_bar_nm", scale_bar_nm, 1000, none=-1.0)
    options.max_edge_px = whole("max_edge_px", max_edge_px, 20000, -INT32)
    tables = (
        [localizations_of(locs, "locs")]
        if channels is None
        else [localizations_of(table, "each of locs") for table in channels]
    )
    given = [table._core() for table in tables]
    if channels is None:
        picture, pixel_size_nm = _core.render(given[0], options, density)
    else:
        picture, pixel_size_nm = _core.render_channels(given, options)
    if not any(map(len, tables)):
        warn("there are no localizations to draw: the picture is empty")
    elif region_px is not None and not any(_is_within(table, *options.region_px) for table in tables):
        warn(f"no localization lies in region_px={shown(region_px)}")
    if out is not None:
        save_picture(out, picture, pixel_size_nm=pixel_size_nm, overwrite=overwrite)
    return picture


def _is_within(table: Localizations, x_begin: float, x_end: float, y_begin: float, y_end: float) -> bool:
    """Whether a row lies in the region, whose ends are excluded."""
    x, y = table.x_px, table.y_px
    return bool(((x >= x_begin) & (x < x_end) & (y >= y_begin) & (y < y_end)).any())


def save_picture(path: StrPath, picture: Any, *, pixel_size_nm: float = 0.0, overwrite: bool = False) -> None:
    """Writes (height, width, 3) uint8 as PNG, or (height, width) as 32-bit float TIFF. The file contains the size of a
    picture pixel if it is known."""
    array, path, overwrite = on_host(picture), path_of("path", path), switch("overwrite", overwrite)
    pixel_size_nm = number("pixel_size_nm", pixel_size_nm, 10)
    if array.ndim == 3 and array.shape[2] == 3 and array.dtype == np.uint8:
        _core.write_png(path, np.ascontiguousarray(array), pixel_size_nm, overwrite)
    elif array.ndim == 2 and array.dtype.kind in "uif":
        _core.write_float_tiff(path, np.ascontiguousarray(array, np.float32), pixel_size_nm, overwrite)
    else:
        raise OptionError(
            f"an array of shape {array.shape} of {array.dtype} is no picture: give uint8 (height, width, 3), or "
            "floats (height, width)"
        )


def load_picture(path: StrPath) -> np.ndarray:
    """Reads a PNG. Returns (height, width, 3) uint8."""
    return _core.read_png(path_of("path", path))[0]
