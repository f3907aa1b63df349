"""glint fits single molecules in microscope movies by maximum likelihood, on CPUs and shared GPUs.

    rois ──fit──▶ Fits ──▶ Localizations ──render──▶ picture        movie ──localize──▶ Localizations

Positions are in camera pixels, the centre of the first pixel at 0.0, x along columns and y along rows; frames count
from 0; z is in nanometres in Localizations and in micrometres in Fits.
"""
# SPDX-License-Identifier: MIT
from . import errors, gpu  # first: the compiled module raises what errors.py defines
from ._core import active_isa, available_isas, has_gpu_kernels, version
from .camera import EMCCDCamera, IdealCamera, SCMOSCamera
from .errors import Error, GpuError, InputError, OptionError, OutputError
from .fits import FitInfo, Fits, FitStatus, Fitter, fit
from .psf import AstigmaticXYZNB, GaussianXYNB, GaussianXYNBS, GaussianXYNBSXSY

__version__ = version()
