"""Precision, resolution and clusters of tables."""

import glint
import numpy as np
import pytest


@pytest.fixture(scope="module")
def blinking():
    """300 molecules with a precision of 12 nm, that shine eight times for five frames."""
    rng = np.random.default_rng(2)
    at = np.repeat(rng.uniform(0, 6000, (300, 2)), 40, axis=0)
    frame = (np.repeat(rng.integers(0, 3990, 2400), 5).reshape(-1, 5) + np.arange(5)).ravel()
    at += rng.normal(0, 12, at.shape)
    return glint.Localizations(
        {
            "frame": frame,
            "x_px": at[:, 0] / 100 - 0.5,
            "y_px": at[:, 1] / 100 - 0.5,
            "lpx_px": np.full(len(at), 0.12),
            "lpy_px": np.full(len(at), 0.12),
        },
        width=60,
        height=60,
        frames=4000,
        pixel_size_nm=100,
    )


def test_nena_is_the_precision(blinking):
    found = glint.nena(blinking)
    assert found.precision_nm.value == pytest.approx(12, abs=4 * found.precision_nm.error)
    assert found.stated_nm == pytest.approx(12, abs=1e-3) and 0.9 < found.same_molecule <= 1
    assert found.pairs > 9000 and len(found.distance_nm) == len(found.counts) == len(found.fit)


def test_nena_of_linked_blinks_is_warned_of(blinking):
    linked, _ = glint.link(blinking)
    with pytest.warns(UserWarning, match="blinks were linked to one row each"):
        glint.nena(linked)


def test_all_figures_at_once(blinking):
    calls = []
    found = glint.resolution(blinking, tile_nm=3000, finest_nm=25, progress=lambda *done: calls.append(done))
    assert found.caveats == [] and [one.lag for one in found.later] == [2, 3]
    assert found.precision_map_nm.shape == found.density_per_um2.shape == found.precision_error_map_nm.shape == (2, 2)
    assert found.density_per_um2.sum() * 9 == pytest.approx(len(blinking), rel=1e-3)
    alone = glint.frc(blinking, finest_nm=25)
    assert (
        found.frc.resolution_nm == alone.resolution_nm and found.nena.precision_nm == glint.nena(blinking).precision_nm
    )
    np.testing.assert_array_equal(found.frc.correlation, alone.correlation)
    assert calls and calls[-1][0] == calls[-1][1]


def test_halves_of_blocks(blinking):
    found = glint.frc(blinking, split="blocks", block_frames=200, finest_nm=40)
    assert found.units == 20 and found.link_radius_nm == 0 and found.splits == 10


def test_clusters_have_labels_and_centres(blinking):
    found = glint.cluster(blinking, radius_nm=15, min_neighbors=10)
    blinking["group"] = found.label
    assert blinking["group"].dtype.kind == "i" and found.label.dtype == np.int32
    assert len(found) == found.label.max() + 1 == len(found.x_nm) and found.z_nm is None
    np.testing.assert_array_equal(found.size, np.bincount(found.label[found.label >= 0]))
    assert found.nearest_nm < found.nearest_center_nm


def test_z_without_its_precision_is_not_linked_by(blinking):
    flat, of_flat = glint.link(blinking)
    deep = glint.Localizations(
        blinking.columns | {"z_nm": np.arange(len(blinking)) % 7}, pixel_size_nm=100, frames=4000
    )
    linked, info = glint.link(deep)
    assert not info.uses_z and not of_flat.uses_z and info.tracks == of_flat.tracks
    np.testing.assert_array_equal(linked.x_px, flat.x_px)
    assert "lpz_nm" not in linked.columns and 0 <= linked.z_nm.min() <= linked.z_nm.max() <= 6
    assert glint.link(
        glint.Localizations(deep.columns | {"lpz_nm": np.full(len(deep), 30.0)}, pixel_size_nm=100, frames=4000)
    )[1].uses_z


@pytest.mark.parametrize(
    "call",
    [
        lambda locs: glint.cluster(locs, radius_nm=0),
        lambda locs: glint.cluster(locs, radius_nm=20, min_neighbors=0),
        lambda locs: glint.cluster(locs, radius_nm=20, axial_radius_nm=30),
        lambda locs: glint.frc(locs, split="rows"),
        lambda locs: glint.nena(locs, lag=0),
        lambda locs: glint.resolution(locs, tile_nm=-1),
        lambda locs: glint.frc(locs, block_frames=0),
        lambda locs: glint.nena(3),
        lambda locs: glint.resolution(glint.Localizations(locs.columns)),
    ],
)
def test_wrong_arguments_are_named(blinking, call):
    with pytest.raises(glint.OptionError):
        call(blinking)
