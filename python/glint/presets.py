"""Typical values of common cameras, as starting values for a camera that was not calibrated."""

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
    """Typical values of a camera model in one of its modes. Values of single cameras differ by several percent."""

    name: str
    model: str  #: camera model with its mode
    kind: str  #: "SCMOSCamera" or "EMCCDCamera"
    offset: float  #: ADU
    gain: float  #: photoelectrons per ADU
    readnoise: float  #: photoelectrons rms
    qe: float | None  #: at the wavelength given in `source`, for information: glint counts photoelectrons
    pixel_pitch_nm: float | None  #: edge of a pixel on the chip, for information
    source: str  #: publication or data sheet of the values
    note: str  #: states that these are starting values, and how to measure better ones


def camera_presets() -> list[CameraPreset]:
    """Returns all presets. They are those of the option `--camera-preset`."""
    return [CameraPreset(**preset) for preset in _core.camera_presets()]


@renamed
def camera_preset(name: str, *, pixel_size_nm: float, em_gain: float | None = None) -> Camera:
    """Returns a camera with the typical values of its model.

    A warning, and the history of tables localized with this camera, state that these are starting values.
    `calibrate_camera()` and `inspect()` give better values.

    pixel_size_nm: edge of a camera pixel in the sample.
    em_gain: EM gain, required for an EMCCD; 1 if the gain was off.

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
