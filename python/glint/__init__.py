"""glint fits single molecules in microscope movies by maximum likelihood, on CPUs and shared GPUs.

    movie ──detect──▶ Spots ──cut_rois──▶ Rois ──fit──▶ Fits ──▶ Localizations ──render──▶ picture
      └───────────────────────────── localize ────────────────────────▶┘

Positions are in camera pixels: x along columns, y along rows, the centre of the first pixel at 0.0. Frames count from
0. z and all lengths that you give are in nanometres.
"""

# SPDX-License-Identifier: MIT
from . import arrays, gpu, offload
from ._core import active_isa, available_isas, has_gpu_kernels, version
from .analysis import (
    Calibration,
    NeighborBin,
    Score,
    calibrate_astigmatism,
    load_calibration,
    load_camera,
    save_calibration,
    score,
)
from .calibrating import CameraCalibration, DarkChange, LightLevel, calibrate_camera
from .camera import EMCCDCamera, IdealCamera, SCMOSCamera
from .drifting import Drift, DriftBead, DriftJump, apply_drift, drift, load_drift, save_drift
from .errors import Error, GpuError, InputError, OptionError, OutputError
from .estimating import Estimate
from .files import load, save
from .fits import FitInfo, Fits, FitStatus, Fitter, Rois, fit
from .inspecting import Inspection, inspect
from .lenses import (
    EstimatedPsf,
    MeasuredPsf,
    PsfCalibration,
    PupilPsf,
    RefinedPsf,
    calibrate_psf,
    estimate_psf,
    refine_psf,
)
from .linking import InTrackVariance, LinkInfo, link
from .localizations import Localizations, filter, load_localizations, load_truth, merge, save_truth
from .localizing import LocalizeInfo, Spots, detect, localize
from .movies import Movie, cut_rois, load_rois, open_movie, save_movie
from .pictures import load_picture, render, save_picture
from .presets import CameraPreset, camera_preset, camera_presets
from .psf import AstigmaticXYZNB, GaussianXYNB, GaussianXYNBS, GaussianXYNBSXSY, models as _models
from .reporting import ReportInfo, report
from .resolving import Clusters, Frc, Nena, Resolution, cluster, frc, nena, resolution
from .running import RunResult, run
from .simulation import RoiTruth, SimulatedMovie, SimulatedRois, simulate, simulate_rois
from .submitting import Job, jobs, submit
from .table import Table

globals().update(_models)  # including models without a class in psf.py

__version__ = version()

__all__ = [
    "AstigmaticXYZNB",
    "Calibration",
    "CameraCalibration",
    "CameraPreset",
    "Clusters",
    "DarkChange",
    "Drift",
    "DriftBead",
    "DriftJump",
    "EMCCDCamera",
    "Error",
    "Estimate",
    "EstimatedPsf",
    "FitInfo",
    "FitStatus",
    "Fits",
    "Fitter",
    "Frc",
    "GaussianXYNB",
    "GaussianXYNBS",
    "GaussianXYNBSXSY",
    "GpuError",
    "IdealCamera",
    "InTrackVariance",
    "InputError",
    "Inspection",
    "Job",
    "LightLevel",
    "LinkInfo",
    "Localizations",
    "LocalizeInfo",
    "MeasuredPsf",
    "Movie",
    "NeighborBin",
    "Nena",
    "OptionError",
    "OutputError",
    "PsfCalibration",
    "PupilPsf",
    "RefinedPsf",
    "ReportInfo",
    "Resolution",
    "RoiTruth",
    "Rois",
    "RunResult",
    "SCMOSCamera",
    "Score",
    "SimulatedMovie",
    "SimulatedRois",
    "Spots",
    "Table",
    "active_isa",
    "apply_drift",
    "arrays",
    "available_isas",
    "calibrate_astigmatism",
    "calibrate_camera",
    "calibrate_psf",
    "camera_preset",
    "camera_presets",
    "cluster",
    "cut_rois",
    "detect",
    "drift",
    "estimate_psf",
    "filter",
    "fit",
    "frc",
    "gpu",
    "has_gpu_kernels",
    "inspect",
    "jobs",
    "link",
    "load",
    "load_calibration",
    "load_camera",
    "load_drift",
    "load_localizations",
    "load_picture",
    "load_rois",
    "load_truth",
    "localize",
    "merge",
    "nena",
    "offload",
    "open_movie",
    "refine_psf",
    "render",
    "report",
    "resolution",
    "run",
    "save",
    "save_calibration",
    "save_drift",
    "save_movie",
    "save_picture",
    "save_truth",
    "score",
    "simulate",
    "simulate_rois",
    "submit",
    "version",
]
__all__ += [name for name in _models if name not in __all__]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
