"""Deprecated public names of glint 0.1 and the names that replace them.

Most old names are lengths in micrometres; the new names are in nanometres. This file, its table and the decorators
`@renamed` are removed in glint 0.2.0.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from .errors import warn

Named = TypeVar("Named", bound=Callable[..., Any])

GONE_IN = "0.2.0"

#: Function, method or class; old name; new name; factor from old to new values (1: same value and unit).
#: A name in a class is an argument, an attribute, a column or a method, also of the classes derived from it.
TABLE: list[tuple[str, str, str, int]] = [
    ("AstigmaticXYZNB", "sx0_um", "sx0_nm", 1000),
    ("AstigmaticXYZNB", "sy0_um", "sy0_nm", 1000),
    ("AstigmaticXYZNB", "gamma_um", "gamma_nm", 1000),
    ("AstigmaticXYZNB", "d_um", "d_nm", 1000),
    ("AstigmaticXYZNB", "z_min_um", "z_min_nm", 1000),
    ("AstigmaticXYZNB", "z_max_um", "z_max_nm", 1000),
    ("AstigmaticXYZNB", "pixel_size_um", "pixel_size_nm", 1000),
    ("AstigmaticXYZNB", "sigma_x_um", "sigma_x_nm", 1000),
    ("AstigmaticXYZNB", "sigma_y_um", "sigma_y_nm", 1000),
    ("AstigmaticXYZNB.sigma_x_nm", "z_um", "z_nm", 1000),
    ("AstigmaticXYZNB.sigma_y_nm", "z_um", "z_nm", 1000),
    ("Calibration", "z_um", "z_nm", 1000),
    ("Calibration", "sigma_x_um", "sigma_x_nm", 1000),
    ("Calibration", "sigma_y_um", "sigma_y_nm", 1000),
    ("Calibration", "sigma_x_unc_um", "sigma_x_unc_nm", 1000),
    ("Calibration", "sigma_y_unc_um", "sigma_y_unc_nm", 1000),
    ("Calibration", "z_middle_um", "z_middle_nm", 1000),
    ("Calibration", "rms_residual_um", "rms_residual_nm", 1000),
    ("Calibration", "max_z_bias_um", "max_z_bias_nm", 1000),
    ("Calibration", "rms_z_bias_um", "rms_z_bias_nm", 1000),
    ("CameraCalibration", "pixel_size_um", "pixel_size_nm", 1000),
    ("CameraPreset", "pixel_pitch_um", "pixel_pitch_nm", 1000),
    ("EMCCDCamera", "pixel_size_um", "pixel_size_nm", 1000),
    ("Fits", "pixel_size_um", "pixel_size_nm", 1000),
    ("Fits", "z_um", "z_nm", 1000),
    ("Fits", "z_unc_um", "z_unc_nm", 1000),
    ("IdealCamera", "pixel_size_um", "pixel_size_nm", 1000),
    ("Inspection", "least_adu", "min_adu", 1),
    ("Inspection", "most_adu", "max_adu", 1),
    ("Inspection.camera", "pixel_size_um", "pixel_size_nm", 1000),
    ("LeaseGpu", "strangers", "unmanaged_count", 1),
    ("LeaseGpu", "stranger_processes", "unmanaged_processes", 1),
    ("LocalizeInfo", "lone_spot_width_um", "lone_spot_width_nm", 1000),
    ("LocalizeInfo", "width_bounds_um", "width_bounds_nm", 1000),
    ("Movie", "pixel_size_um", "pixel_size_nm", 1000),
    ("RoiTruth", "z_um", "z_nm", 1000),
    ("SCMOSCamera", "pixel_size_um", "pixel_size_nm", 1000),
    ("Session", "least_bytes", "min_bytes", 1),
    ("_Sigma", "sigma_um", "sigma_nm", 1000),
    ("calibrate_astigmatism", "sigma_um", "sigma_nm", 1000),
    ("calibrate_astigmatism", "z_center_um", "z_center_nm", 1000),
    ("calibrate_astigmatism", "z_step_um", "z_step_nm", 1000),
    ("calibrate_camera", "pixel_size_um", "pixel_size_nm", 1000),
    ("camera_preset", "pixel_size_um", "pixel_size_nm", 1000),
    ("load_camera", "pixel_size_um", "pixel_size_nm", 1000),
    ("load_localizations", "pixel_size_um", "pixel_size_nm", 1000),
    ("load_truth", "pixel_size_um", "pixel_size_nm", 1000),
    ("save_movie", "pixel_size_um", "pixel_size_nm", 1000),
    ("simulate", "z_range_um", "z_range_nm", 1000),
    ("simulate_rois", "z_range_um", "z_range_nm", 1000),
]


def rows_of(named: Any) -> list[tuple[str, str, int]]:
    """Returns (old name, new name, factor) of each row for a function, method or class."""
    names = [kind.__name__ for kind in named.__mro__] if isinstance(named, type) else [named.__qualname__]
    return [(old, new, factor) for name, old, new, factor in TABLE if name in names]


def renamed(named: Named) -> Named:
    """Decorator: adds the old names to a function, method or class. Each use issues a DeprecationWarning."""
    rows = rows_of(named)
    if not rows:
        raise LookupError(f"{named.__qualname__} has no row in {__file__}")
    if not isinstance(named, type):
        return _with_old_arguments(named, named.__name__, rows)  # type: ignore[return-value]
    arguments = [row for row in rows if row[1] in inspect.signature(named).parameters]
    if arguments:
        named.__init__ = _with_old_arguments(named.__init__, named.__name__, arguments)  # type: ignore[misc]
    for old, new, factor in rows:
        made = _old_method if inspect.isfunction(getattr(named, new, None)) else _old_attribute
        setattr(named, old, made(named.__name__, old, new, factor))
    if hasattr(named, "columns") or "columns" in inspect.signature(named).parameters:
        _add_old_columns(named, rows)
    return named


def _warn(old, new, factor, value, what):
    shown = f"={value:.10g}" if isinstance(value, (int, float)) else f"={value!r}" if isinstance(value, str) else ""
    if factor == 1:
        message = f"{what}: {old} is removed in glint {GONE_IN}: use {new}{shown}"
    else:
        message = (
            f"{what}: {old}, in micrometres, is removed in glint {GONE_IN}: use {new}, in nanometres, here {new}{shown}"
        )
    warn(message, DeprecationWarning)


def scaled(value: Any, factor: Decimal) -> Any:
    """Returns a number times `factor`, exact in decimals: 0.1333 becomes 133.3. Other values are unchanged."""
    if factor == 1 or isinstance(value, bool):
        return value
    if isinstance(value, (numbers.Real, Decimal)):
        return float(Decimal(repr(float(value))) * factor)
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return value * float(factor)
    return value


def _with_old_arguments(call, name, rows):
    signature = inspect.signature(call)

    @functools.wraps(call)
    def with_old(*values, **named):
        for old, new, factor in rows:
            if old not in named:
                continue
            given = list(signature.parameters)[: len(values)]
            if new in named or new in given:
                raise TypeError(f"{name}() got both {old} and {new}, which mean the same: give only {new}")
            value = scaled(named.pop(old), Decimal(factor))
            _warn(old, new, factor, value, f"{name}()")
            named[new] = value
        return call(*values, **named)

    return with_old


def _old_attribute(name, old, new, factor):
    def get(self):
        value = getattr(self, new)
        _warn(old, new, factor, value, name)
        return scaled(value, 1 / Decimal(factor))

    def put(self, value):
        value = scaled(value, Decimal(factor))
        _warn(old, new, factor, value, name)
        setattr(self, new, value)

    return property(get, put, doc=_doc(new, factor))


def _doc(new, factor):
    return f"Deprecated name of `{new}`{'' if factor == 1 else ', in micrometres'}."


def _old_method(name, old, new, factor):
    def call(self, *values, **named):
        _warn(old, new, factor, None, name)
        found = getattr(self, new)(*(scaled(value, Decimal(factor)) for value in values), **named)
        return scaled(found, 1 / Decimal(factor))

    call.__name__, call.__doc__ = old, _doc(new, factor)
    return call


def _add_old_columns(table, rows):
    columns = {old: (new, factor) for old, new, factor in rows}
    item = table.__getitem__

    @functools.wraps(item)
    def get(self, key):
        if isinstance(key, str) and key not in self.columns and key in columns and columns[key][0] in self.columns:
            return getattr(self, key)
        return item(self, key)

    table.__getitem__ = get
