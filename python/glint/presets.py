"""Typical values of common cameras: a beginning for who has measured none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses

from . import _core
from .arguments import number, shown
from .camera import Camera, EMCCDCamera, SCMOSCamera
from .errors import OptionError, warn
from .old_names import renamed


@renamed
@dataclasses.dataclass(frozen=True)
class CameraPreset:
    """What is typical of a model in one of its modes. Values of single cameras differ by several percent."""

    name: str
    model: str  #: with the mode
    kind: str  #: "SCMOSCamera" or "EMCCDCamera"
    offset: float  #: ADU
    gain: float  #: photoelectrons per ADU
    readnoise: float  #: photoelectrons rms
    qe: float | None  #: at the wavelength given in `source`, for information: glint counts photoelectrons
    pixel_pitch_nm: float | None  #: on the chip, for information
    source: str  #: where the values were read
    note: str  #: that these are starting values, and how better ones are had


def camera_presets() -> list[CameraPreset]:
    """All presets, as `--camera-preset` of the command has them."""
    return [CameraPreset(**preset) for preset in _core.camera_presets()]


@renamed
def camera_preset(name: str, *, pixel_size_nm: float, em_gain: float | None = None) -> Camera:
    """Returns a camera with the typical values of its model.

    A warning, and the history of tables localized with this camera, state that these are starting values.
    `calibrate_camera()` and `inspect()` give better values.

    pixel_size_nm: edge of a camera pixel in the sample.
    em_gain: EM gain of an EMCCD, required for it; 1 if it was off.

    Raises OptionError for an unknown name, with the list of presets.

    >>> [preset.name for preset in glint.camera_presets()][:2]
    ['andor-zyla', 'andor-zyla-12bit']
    """
    presets = {preset.name: preset for preset in camera_presets()}
    if name not in presets:
        raise OptionError(f"camera_preset({shown(name)}): there is no such preset; there are {', '.join(presets)}")
    preset = presets[name]
    is_emccd = preset.kind == "EMCCDCamera"
    if is_emccd != (em_gain is not None):
        raise OptionError(
            f"camera_preset({name!r}): "
            + (
                "give em_gain=, as shown by the camera's software; 1 if it was off"
                if is_emccd
                else "it is no EMCCD: leave em_gain out"
            )
        )
    camera: Camera
    if em_gain is not None and number("em_gain", em_gain, 300) != 1:
        camera = EMCCDCamera(pixel_size_nm, preset.offset, preset.gain, em_gain, readnoise=preset.readnoise)
    else:
        camera = SCMOSCamera(pixel_size_nm, preset.offset, preset.gain, readnoise=preset.readnoise)
    camera._starting_values = preset.note
    warn(f"the camera's values are {preset.note}")
    return camera
