"""Precision, resolution and clusters of localizations."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from .arguments import UINT64, callback, number, shown, whole
from .errors import OptionError, warn
from .fits import Progress
from .inspecting import Estimate
from .localizations import Localizations, StrPath, localizations_of

if TYPE_CHECKING:
    from .fits import Fits


@dataclasses.dataclass(frozen=True, eq=False)
class Nena:
    """The result of `nena()`: standard deviations along an axis with standard errors; nan with fewer than 100 pairs."""

    precision_nm: Estimate  #: median over localizations, if precisions differ
    rms_nm: Estimate  #: root mean square over localizations
    single_nm: Estimate  #: by the model of the paper, with one precision for all
    stated_nm: float  #: median of lpx and lpy over the same pairs; nan without these columns
    same_molecule: float  #: share of the pairs that are the same molecule twice
    pairs: int
    lag: int  #: frames from the first to the second localization of a pair
    distance_nm: np.ndarray  #: centres of the histogram's bins
    counts: np.ndarray  #: pairs per bin
    fit: np.ndarray  #: expected pairs per bin


@dataclasses.dataclass(frozen=True, eq=False)
class Frc:
    """The result of `frc()`."""

    #: mean and standard deviation over splits; nan if a curve does not fall to 1/7, or only at a length above
    #: coarsest_nm or half of random_nm
    resolution_nm: Estimate
    frequency_per_nm: np.ndarray
    correlation: np.ndarray  #: the curve, mean over splits
    smoothed: np.ndarray  #: the smoothed curve, which is compared with 1/7
    units: int  #: blinks or blocks of frames that were divided
    splits: int
    coarsest_nm: float  #: above this length, the field has too few Fourier pixels to distinguish 1/7 from chance
    random_nm: float  #: resolution that as many random points would give, because of the field's outline; nan if none
    like_random: bool  #: the curve falls to 1/7 at more than half of random_nm: there is no resolution
    link_radius_nm: float  #: maximum distance of localizations in consecutive frames that are one blink; 0 for blocks


@dataclasses.dataclass(frozen=True, eq=False)
class Resolution:
    """The result of `resolution()`.

    Maps have one value per tile of the field, (height, width). The first tile is at the upper left corner.
    """

    nena: Nena
    later: list[Nena]  #: NeNA at longer lags, without histograms
    frc: Frc
    tile_nm: float
    density_per_um2: np.ndarray  #: localizations per um^2
    precision_map_nm: np.ndarray  #: NeNA's precision; nan if a tile has too few pairs
    precision_error_map_nm: np.ndarray
    first_tile_nm: tuple[float, float]  #: x and y at which the maps begin; 0 unless the field would have too many tiles
    caveats: list[str]  #: sentences about assumptions that do not seem to hold


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """The result of `cluster()`. `label` has one value per localization, the other arrays one value per cluster."""

    label: np.ndarray  #: number of the localization's cluster, from 0; -1: outside all clusters
    size: np.ndarray  #: number of localizations
    x_nm: np.ndarray  #: x of the centre; 0 is the outer edge of the first pixel
    y_nm: np.ndarray
    z_nm: np.ndarray | None
    rms_radius_nm: np.ndarray  #: root mean square distance from the centre in x, y
    mean_frame: np.ndarray
    std_frame: np.ndarray
    nearest_nm: float  #: median distance from a localization to the nearest other localization, in x, y
    nearest_center_nm: float  #: median distance from a centre to the nearest other centre
    nearest_random_nm: float  #: expected nearest_center_nm for as many random points in the field

    def __len__(self) -> int:
        return len(self.size)


def _nena(found):
    return Nena(**{name: Estimate(*value) if isinstance(value, tuple) else value for name, value in found.items()})


def _frc(found):
    return Frc(**found | {"resolution_nm": Estimate(*found["resolution_nm"])})


def _frc_options(split, link_radius_nm, dark_frames, block_frames, finest_nm, seed):
    if split not in ("blinks", "blocks"):
        raise OptionError(f"split={shown(split)}: give 'blinks' or 'blocks'")
    options = _core.FrcOptions()
    options.blocks = split == "blocks"
    options.link_radius_nm = number("link_radius_nm", link_radius_nm, 50, none=0.0)
    options.dark_frames = whole("dark_frames", dark_frames, 1, 0, 1000)
    options.block_frames = whole("block_frames", block_frames, 500, 1)
    options.finest_nm = number("finest_nm", finest_nm, 20, none=0.0)
    options.seed = whole("seed", seed, 1, 0, UINT64)
    return options


def nena(locs: Localizations | Fits | StrPath, *, lag: int = 1) -> Nena:
    """Estimates the precision from distances between nearest neighbours in consecutive frames.

    NeNA (Endesfelder et al., 2014), extended to precisions that differ between localizations
    (docs/explanation/theory.md, section 14).

    locs: localizations before linking, with a pixel size.
    lag: frames between the two localizations of a pair. Drift and motion increase the result for longer lags.

    >>> found = glint.nena(truth)
    >>> found.lag, len(found.counts) == len(found.fit)
    (1, True)
    """
    table = localizations_of(locs, "locs")._core()
    if warning := _core.linked_caveat(table):
        warn(warning)
    return _nena(_core.nena(table, whole("lag", lag, 1, 1)))


def frc(
    locs: Localizations | Fits | StrPath,
    *,
    split: str = "blinks",
    link_radius_nm: float | None = None,
    dark_frames: int = 1,
    block_frames: int = 500,
    finest_nm: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Frc:
    """Computes the Fourier ring correlation (Nieuwenhuizen et al., 2013) of ten splits into halves. The resolution is
    the length at which it falls below 1/7.

    split: "blinks": consecutive localizations of a molecule stay in one half; "blocks": blocks of block_frames frames.
    link_radius_nm: maximum distance within a blink in consecutive frames; None: 5 times NeNA.
    dark_frames: maximum pause within a blink, frames.
    finest_nm: finest resolution of the curve; None: from NeNA.
    seed: seed of the random splits.
    progress: called as progress(tiles, all).

    >>> found = glint.frc(locs, finest_nm=50, link_radius_nm=60)
    >>> found.splits, len(found.correlation) == len(found.frequency_per_nm)
    (10, True)
    """
    options = _frc_options(split, link_radius_nm, dark_frames, block_frames, finest_nm, seed)
    return _frc(_core.frc(localizations_of(locs, "locs")._core(), options, callback("progress", progress)))


def resolution(
    locs: Localizations | Fits | StrPath,
    *,
    tile_nm: float = 5000.0,
    split: str = "blinks",
    link_radius_nm: float | None = None,
    dark_frames: int = 1,
    block_frames: int = 500,
    finest_nm: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Resolution:
    """Measures precision and resolution, their maps over the field, and violations of their assumptions.

    tile_nm: edge of the maps' tiles. The other arguments, split, link_radius_nm, dark_frames, block_frames, finest_nm,
    seed and progress, are those of `frc()`.

    >>> found = glint.resolution(locs, tile_nm=1600)
    >>> found.density_per_um2.shape == found.precision_map_nm.shape
    True
    """
    options = _frc_options(split, link_radius_nm, dark_frames, block_frames, finest_nm, seed)
    found = _core.resolution(
        localizations_of(locs, "locs")._core(),
        options,
        number("tile_nm", tile_nm, 5000),
        callback("progress", progress),
    )
    return Resolution(
        **found
        | {"nena": _nena(found["nena"]), "later": [_nena(one) for one in found["later"]], "frc": _frc(found["frc"])}
    )


def cluster(
    locs: Localizations | Fits | StrPath,
    *,
    radius_nm: float,
    min_neighbors: int = 5,
    axial_radius_nm: float | None = None,
) -> Clusters:
    """Clusters localizations by DBSCAN, like scikit-learn with eps=radius_nm and min_samples=min_neighbors.

    radius_nm: maximum distance of neighbours.
    min_neighbors: minimum number of localizations within the radius of a core point, including itself.
    axial_radius_nm: maximum distance along z; None: z is ignored.

    >>> found = glint.cluster(locs, radius_nm=60, min_neighbors=3)
    >>> locs["group"] = found.label
    >>> len(found.label) == len(locs), int(found.label.max()) == len(found) - 1
    (True, True)
    """
    locs = localizations_of(locs, "locs")
    found = _core.cluster(
        locs._core(),
        number("radius_nm", radius_nm, 20),
        number("axial_radius_nm", axial_radius_nm, 50, none=0.0),
        whole("min_neighbors", min_neighbors, 5, 1),
    )
    return Clusters(**{"z_nm": None} | found)
