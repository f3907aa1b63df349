"""Scores against ground truth, calibrations, and camera files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from .arguments import INT32, number, path as path_of, shown, switch, whole
from .camera import Camera, EMCCDCamera, IdealCamera, SCMOSCamera, camera_of_movie, warn_of_pixel_size
from .errors import OptionError, warn
from .localizations import Localizations, StrPath, localizations_of
from .movies import MovieLike, open_movie
from .old_names import renamed
from .psf import AstigmaticXYZNB

if TYPE_CHECKING:
    from .fits import Fits


@dataclasses.dataclass(frozen=True)
class NeighborBin:
    """Recall of the true molecules whose nearest neighbour in the frame is at a distance in [from_px, to_px).

    Distances are in x and y, in pixels of the localizations. Molecules alone in their frame are in the last bin, whose
    `to_px` is infinity.
    """

    from_px: float
    to_px: float
    truths: int
    matched: int
    recall: float  #: nan if there are no truths


@dataclasses.dataclass(frozen=True)
class Score:
    """The result of `score()`. Lengths are in nm; z values are None unless both tables have z.

    A statistic without data is nan: a recall without truths, an error without matches, a pull without precisions.
    The equations are in docs/explanation/theory.md, section 8.
    """

    radius_nm: float  #: maximum lateral distance of a matched pair
    truths: int
    localizations: int
    matched: int
    recall: float
    precision: float
    jaccard: float
    rmse_nm: float  #: lateral root mean square error of the matched pairs
    rmse_x_nm: float
    rmse_y_nm: float
    bias_x_nm: float
    bias_y_nm: float
    efficiency_lateral: float  #: efficiency of the SMLM challenge, which used radius_nm=250; 100 is best
    rmsmd_nm: float  #: root mean square minimum distance within frames, in both directions
    rmsmd_truths_nm: float  #: the same distance, from truths to their nearest localization only
    rmsmd_localizations_nm: float  #: the same distance, from localizations to their nearest truth only
    emitters: int  #: number of distinct true positions
    rmsmd_map_nm: float  #: as rmsmd_nm, between emitters and all localizations, without regard to frames
    rmsmd_map_emitters_nm: float
    rmsmd_map_localizations_nm: float
    std_over_crlb_x: float  #: standard deviation of error / stated precision; 1 if the precisions are correct
    std_over_crlb_y: float
    mad_over_crlb_x: float  #: 1.4826 times the median absolute deviation of the same ratio; ignores the tails
    mad_over_crlb_y: float
    recall_by_neighbor: list[NeighborBin]
    axial_radius_nm: float | None = None  #: maximum axial distance of a matched pair; 0: no limit
    rmse_z_nm: float | None = None
    bias_z_nm: float | None = None
    efficiency_axial: float | None = None
    efficiency_3d: float | None = None  #: mean of the lateral and the axial efficiency
    std_over_crlb_z: float | None = None
    mad_over_crlb_z: float | None = None


def score(
    locs: Localizations | Fits | StrPath,
    truth: Localizations | StrPath,
    *,
    radius_nm: float = 100.0,
    axial_radius_nm: float | None = None,
) -> Score:
    """Scores localizations against ground truth by one-to-one matching per frame.

    The matching has the maximum number of pairs within the radius and, among such matchings, the minimum total
    distance.

    locs, truth: tables or file names. Both need the same pixel size.
    radius_nm: maximum lateral distance of a pair. The SMLM challenge used 250.
    axial_radius_nm: maximum distance in z; None: no limit.

    >>> score = glint.score(locs, truth)
    >>> score.recall > 0.8 and score.precision > 0.8
    True
    """
    radius_nm, axial_nm = number("radius_nm", radius_nm, 100), number("axial_radius_nm", axial_radius_nm, 500, none=0.0)
    names = [
        str(table) if isinstance(table, (str, os.PathLike)) else name
        for table, name in ((locs, "locs"), (truth, "truth"))
    ]
    locs = localizations_of(locs, "locs")
    truth = localizations_of(truth, "truth", truth=True, pixel_size_nm=locs.pixel_size_nm)
    if warning := _core.order_warning(locs._core(), truth._core()):
        warn(f"{warning}: glint.score(locs, truth)")
    figures = _core.score(locs._core(), truth._core(), radius_nm, axial_nm, *names)
    if warning := figures.pop("warning"):
        warn(warning)
    bins = [NeighborBin(**bin) for bin in figures.pop("recall_by_neighbor")]
    return Score(**figures, recall_by_neighbor=bins)


@renamed
@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """The widths of beads over z, and the curve fitted to them."""

    psf: AstigmaticXYZNB
    z_nm: np.ndarray  #: z of each slice, also outside the range; 0 is midway between the foci
    sigma_x_nm: np.ndarray  #: median width over the beads
    sigma_y_nm: np.ndarray
    sigma_x_unc_nm: np.ndarray  #: standard error of the median width
    sigma_y_unc_nm: np.ndarray
    z_middle_nm: float  #: stage position of the curve's z = 0
    beads: int
    rms_residual_nm: float  #: rms distance of the widths from the curve, within its range
    max_z_bias_nm: float  #: maximum shift of z by that misfit (running median of five slices)
    rms_z_bias_nm: float
    range_note: str  #: why the range [psf.z_min_nm, psf.z_max_nm] is smaller than the stack; else empty
    plot: np.ndarray  #: (height, width, 3) uint8: plot of data and curve

    def __repr__(self) -> str:
        return (
            f"<Calibration of {self.beads} beads in {len(self.z_nm)} slices: misses by "
            f"{self.rms_residual_nm:.1f} nm rms>"
        )


@renamed
def calibrate_astigmatism(
    stack: MovieLike,
    camera: Camera | None = None,
    *,
    z_step_nm: float,
    z_center_nm: float = 0.0,
    sigma_nm: float | None = None,
    roi_size: int | None = None,
) -> Calibration:
    """Calibrates the astigmatic PSF with a z-stack of beads, one slice per frame.

    z_step_nm: distance between slices; negative if z decreases.
    z_center_nm: stage position of the middle slice.
    sigma_nm: approximate PSF width, used to detect the beads.

    Raises InputError if the stack does not determine z.
    """
    stack = open_movie(stack)
    camera = stack.camera() if camera is None else camera
    core = camera_of_movie(camera, stack)
    warn_of_pixel_size(camera, stack)
    options = _core.CalibrateOptions()
    options.pixel_size_nm, options.z_step_nm = float(camera.pixel_size_nm), number("z_step_nm", z_step_nm, 20)
    options.z_center_nm = number("z_center_nm", z_center_nm, 0)
    options.sigma_nm = number("sigma_nm", sigma_nm, 130, none=0.0)
    options.roi_size = whole("roi_size", roi_size, 13, -INT32, none=0)
    result = _core.calibrate_astigmatism(stack._movie, core, options)
    columns, curve = result.pop("columns"), result.pop("curve")
    for warning in (_core.depth_warning(curve), result.pop("misfit_warning")):
        if warning:
            warn(warning)
    return Calibration(psf=AstigmaticXYZNB._of_curve(curve), **columns, **result)


def load_calibration(path: StrPath) -> AstigmaticXYZNB:
    """Reads a calibration written by `save_calibration()` or `glint calibrate astigmatism` (TOML)."""
    return AstigmaticXYZNB._of_curve(_core.read_astigmatic_curve(path_of("path", path)))


def save_calibration(path: StrPath, psf: AstigmaticXYZNB | Calibration, *, overwrite: bool = False) -> None:
    """Writes a calibration (TOML)."""
    path, curve = path_of("path", path), getattr(psf, "psf", psf)
    if not isinstance(curve, AstigmaticXYZNB):
        raise OptionError(
            f"psf={shown(psf)} is no calibration: give the result of glint.calibrate_astigmatism(), or an "
            f"AstigmaticXYZNB"
        )
    _core.write_astigmatic_curve(path, curve._curve(), switch("overwrite", overwrite), getattr(psf, "range_note", ""))


@renamed
def load_camera(
    path: StrPath,
    *,
    pixel_size_nm: float | None = None,
    gain_unit: str | None = None,
    name: str | None = None,
    settings: Sequence[str] = (),
    em_gain: float | None = None,
    exposure_ms: float | None = None,
) -> Camera:
    """Reads a camera from a file or folder.

    Formats: camera.toml with its maps, maps in HDF5 or MATLAB's .mat, ACCeNT's folder, or Picasso's config.yaml.

    pixel_size_nm: edge of a camera pixel in the sample, if the file lacks it.
    gain_unit: unit of a gain map, "e-/ADU" or "ADU/e-", if the file lacks it.
    name: the camera to use from a config.yaml with several cameras.
    settings: settings of that camera that determine its sensitivity.
    em_gain: EM gain, for an EMCCD in config.yaml; 1 if the gain was off.
    exposure_ms: exposure of a frame, for ACCeNT's maps.

    Raises OptionError if the offset, the gain or the pixel size is missing, or if a choice is required. Raises
    InputError if the maps are invalid.
    """
    path = path_of("path", path)
    for argument, value in [("gain_unit", gain_unit), ("name", name)]:
        if value is not None and not isinstance(value, str):
            raise OptionError(f"{argument}={shown(value)} is no text")
    if isinstance(settings, str) or not all(isinstance(setting, str) for setting in settings):
        raise OptionError(f'settings={shown(settings)} is no list of texts, as in settings=["540 MHz"]')
    if pixel_size_nm is not None:
        pixel_size_nm = number("pixel_size_nm", pixel_size_nm, 100)
    exposure_ms = None if exposure_ms is None else number("exposure_ms", exposure_ms, 30, 0)
    said = _core.read_camera(path, gain_unit or "", name or "", list(settings), exposure_ms)
    if pixel_size_nm is None and said["pixel_size_nm"] is not None:
        pixel_size_nm = said["pixel_size_nm"]
    if em_gain is not None and not said["has_em_register"]:
        raise OptionError(
            f"em_gain={shown(em_gain)} applies only to a camera of a config.yaml with an EM register: leave it out"
        )
    em_known = em_gain if said["has_em_register"] else said["em_gain"]
    missing = [
        name
        for name, value in [
            ("pixel_size", pixel_size_nm),
            ("offset", said["offset"]),
            ("gain", said["gain"]),
            ("em_gain", em_known),
        ]
        if value is None
    ]
    if missing:
        raise OptionError(f"{path} lacks {', '.join(missing)}: add the values of your camera")
    values = {"pixel_size_nm": pixel_size_nm, "offset": said["offset"], "gain": said["gain"]}
    values["qe"] = said["qe"]
    if said["has_em_register"] and number("em_gain", em_gain, 300) != 1:
        return EMCCDCamera(**values, em_gain=em_gain)
    if said["kind"] == "IdealCamera":
        return IdealCamera(**values)
    values |= {"readnoise": said["readnoise"], "sensor_roi": said["sensor_roi"], "masked": said["masked"]}
    if said["kind"] == "EMCCDCamera":
        return EMCCDCamera(**values, em_gain=said["em_gain"])
    return SCMOSCamera(**values)
