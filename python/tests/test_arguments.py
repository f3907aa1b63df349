"""Arguments of a wrong type are OptionErrors that name the argument, and numbers of NumPy are numbers."""

import decimal
import math

import glint
import numpy as np
import pytest

LOCS = glint.Localizations(
    {"frame": [0, 1], "x_px": [3.5, 9.0], "y_px": [4.0, 2.0], "lpx_px": [0.1, 0.1], "lpy_px": [0.1, 0.1]},
    width=16,
    height=16,
    frames=2,
    pixel_size_nm=100,
)
PSF, CAMERA = glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
MOVIE = np.full((2, 16, 16), 110, np.uint16)
ROIS = np.full((2, 7, 7), 110, np.uint16)


def fit(**options):
    return glint.fit(ROIS, PSF, CAMERA, **options)


def localize(**options):
    return glint.localize(MOVIE, PSF, CAMERA, **options)


def simulate(**options):
    return glint.simulate(PSF, CAMERA, **{"frames": 2, "width": 16, "height": 16, **options})


def simulate_rois(**options):
    return glint.simulate_rois(options.pop("count", 2), PSF, options.pop("camera", CAMERA), **options)


def score(**options):
    return glint.score(LOCS, LOCS, **options)


def render(**options):
    return glint.render(LOCS, **options)


def of_z(**options):
    locs = LOCS[:]
    locs["z_nm"] = np.zeros(len(locs), np.float32)
    return glint.render(locs, color_z=True, **options)


def calibrate(**options):
    return glint.calibrate_astigmatism(MOVIE, CAMERA, **{"z_step_nm": 20, **options})


def lease(**options):
    return glint.gpu.lease(**{"timeout": 0, **options})


BOTH = [
    dict(threads="2"),
    dict(threads=2.5),
    dict(threads=True),
    dict(threads=2**40),
    dict(auto_timeout="5min"),
    dict(gpu_timeout=None),
    dict(batch_size="a"),
    dict(max_iterations="a"),
    dict(max_iterations=2**40),
    dict(tolerance="a"),
    dict(psf_misfit="a"),
    dict(emitters=[1]),
    dict(emitters=True),
    dict(progress=3),
    dict(on_wait=3),
    dict(log=3),
    dict(always_gpu="yes"),
    dict(gpu_worker="on"),
    dict(gpu_worker=True),
    dict(backend=3),
    dict(gpus=1.5),
]
WRONG = (
    [(fit, wrong) for wrong in BOTH]
    + [(localize, wrong) for wrong in BOTH]
    + [
        (fit, dict(variance=np.zeros(3))),
        (fit, dict(qe="a")),
        (fit, dict(position_margin_px="a")),
        (fit, dict(min_sigma_px=None)),
        (fit, dict(max_sigma_px="a")),
        (fit, dict(fitter=3)),
        (localize, dict(roi_size="7")),
        (localize, dict(roi_size=True)),
        (localize, dict(threshold="a")),
        (localize, dict(frames=3)),
        (localize, dict(frames="ab")),
        (localize, dict(frames=(0, 1.5))),
        (localize, dict(frames=(0, 1, 2))),
        (localize, dict(out=3)),
        (localize, dict(neighbor_rounds="a")),
        (localize, dict(memory="a")),
        (localize, dict(keep_failed="a")),
        (localize, dict(resume=1)),
        (simulate, dict(frames="a")),
        (simulate, dict(seed=-1)),
        (simulate, dict(photons=5)),
        (simulate, dict(photons=("a", 5))),
        (simulate, dict(structure=[])),
        (simulate, dict(spots_per_frame="a")),
        (simulate, dict(progress=3)),
        (simulate_rois, dict(count="a")),
        (simulate_rois, dict(size="a")),
        (simulate_rois, dict(camera=3)),
        (simulate_rois, dict(photons=5)),
        (simulate_rois, dict(seed=2**64)),
        (score, dict(radius_nm="a")),
        (score, dict(axial_radius_nm="a")),
        (render, dict(zoom="a")),
        (render, dict(zoom=0)),
        (render, dict(mode="histogram", blur_nm=20)),
        (render, dict(blur_nm="a")),
        (render, dict(blur_nm=-1)),
        (render, dict(zoom=True)),
        (render, dict(picture_pixel_nm="a")),
        (render, dict(z_range_nm=3)),
        (of_z, dict(z_range_nm=(-math.inf, math.inf))),
        (of_z, dict(z_range_nm=(0, math.inf))),
        (render, dict(colormap=3)),
        (render, dict(max_edge_px=1.5)),
        (render, dict(density="a")),
        (render, dict(color_frame=1)),
        (render, dict(region_px=3)),
        (render, dict(region_px=(0, 1, 0, "a"))),
        (render, dict(colors="red")),
        (render, dict(color_z=1)),
        (render, dict(out=3)),
        (render, dict(scale_bar_nm="a")),
        (calibrate, dict(z_step_nm="a")),
        (calibrate, dict(z_center_nm="a")),
        (calibrate, dict(sigma_nm="a")),
        (calibrate, dict(roi_size="a")),
        (lease, dict(timeout="a")),
        (lease, dict(gpus="a")),
        (lease, dict(bytes=[1])),
        (lease, dict(avoid="GPU-1")),
        (lease, dict(on_wait=3)),
        (glint.gpu.diagnose, dict(test="a")),
        (glint.gpu.diagnose, dict(calibrate="a")),
        (glint.offload.Session, dict(threads="a")),
        (glint.offload.Session, dict(gpu_timeout="a")),
        (glint.offload.Session, dict(log=3)),
        (glint.offload.Session, dict(gpu_memory=[1])),
        (glint.offload.Session, dict(backend="tpu")),
        (glint.offload.Session, dict(unified=1)),
        (glint.offload.decide, dict(operation="matmul", bytes="1MiB", reuse="a")),
        (glint.offload.decide, dict(operation="matmul", bytes="1MiB", resident="a")),
        (glint.detect, dict(movie=MOVIE, psf=PSF, camera=CAMERA, threshold="a")),
        (glint.detect, dict(movie=MOVIE, psf=PSF, camera=CAMERA, progress=3)),
        (glint.IdealCamera, dict(offset=1, gain=1, pixel_size_nm="a")),
        (glint.IdealCamera, dict(pixel_size_nm=100, gain=1, offset=[[1], [1, 2]])),
        (glint.SCMOSCamera, dict(pixel_size_nm=100, offset=1, gain=1, sensor_roi=3)),
        (glint.EMCCDCamera, dict(pixel_size_nm=100, offset=1, gain=1, em_gain="a")),
        (glint.GaussianXYNB, dict(sigma_nm="a")),
        (glint.GaussianXYNB, dict(sigma_px=np.ones(2))),
        (glint.AstigmaticXYZNB, dict(sy0_nm=100, gamma_nm=200, d_nm=300, sx0_nm="a")),
        (glint.cut_rois, dict(movie=MOVIE, spots=LOCS, size="a")),
        (glint.merge, dict(tables=[LOCS], consecutive="a")),
    ]
)


@pytest.mark.parametrize(
    "function, arguments",
    WRONG,
    ids=lambda x: x.__name__ if callable(x) else f"{list(x)[-1]}={list(x.values())[-1]!r:.9}",
)
def test_arguments_of_a_wrong_type_are_named(function, arguments):
    """The last of the arguments is the wrong one."""
    with pytest.raises(glint.OptionError, match=list(arguments)[-1]) as error:
        function(**arguments)
    assert "give" in str(error.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda path: glint.load(3),
        lambda path: glint.save(3, LOCS),
        lambda path: LOCS.save(3),
        lambda path: glint.load_localizations(3),
        lambda path: glint.load_truth(3),
        lambda path: glint.load_rois(3),
        lambda path: glint.load_picture(3),
        lambda path: glint.load_camera(3),
        lambda path: glint.load_calibration(3),
        lambda path: glint.save_movie(3, MOVIE),
        lambda path: glint.save_picture(3, np.ones((2, 2))),
        lambda path: glint.save_truth(3, LOCS),
        lambda path: glint.save_calibration(3, None),
        lambda path: glint.save_calibration(path, 3),
        lambda path: glint.save_truth(path, 3),
        lambda path: glint.merge(3),
        lambda path: glint.merge(LOCS),
        lambda path: glint.merge("locs.hdf5"),
        lambda path: glint.Localizations(3),
        lambda path: glint.Localizations({1: [0]}),
        lambda path: glint.Localizations.from_picasso(3, 3),
        lambda path: glint.Localizations.from_picasso(LOCS.array, 3),
        lambda path: glint.save(path / "movie.tif", MOVIE, pixel_size_nm="a"),
        lambda path: glint.load_camera(path, pixel_size_nm="a"),
        lambda path: glint.load_localizations(path, pixel_size_nm="a"),
        lambda path: glint.save_picture(path / "a.tif", np.ones((2, 2)), pixel_size_nm="a"),
        lambda path: LOCS.save(path / "locs.csv", overwrite=3),
    ],
)
def test_what_is_no_table_or_file_is_refused(call, tmp_path):
    with pytest.raises(glint.OptionError, match="give"):
        call(tmp_path)


def test_rois_are_not_cut_without_a_size():
    with pytest.raises(glint.OptionError, match=r"glint.cut_rois\(movie, spots, size=7\)"):
        glint.cut_rois(MOVIE, "locs.hdf5")


def test_numbers_of_numpy_are_numbers():
    given = fit(
        threads=np.int64(1),
        tolerance=np.float32(0.01),
        max_iterations=np.uint8(50),
        auto_timeout=np.float64(3),
        backend="cpu",
        gpus=np.int32(1),
        always_gpu=np.bool_(False),
        emitters=np.int16(1),
        variance=np.array(0),
    )
    np.testing.assert_array_equal(given.photons, fit().photons)
    assert simulate(frames=np.int64(2), seed=np.uint64(2**64 - 1), photons=np.array([500, 2000])).movie.shape == (
        2,
        16,
        16,
    )
    assert render(zoom=np.int32(2), z_range_nm=np.array([-1.0, 1.0])).shape == (32, 32, 3)
    assert render(zoom=decimal.Decimal(2)).shape == (32, 32, 3)
    assert localize(roi_size=np.int64(7), frames=np.array([0, 2])).frames == 2
    assert score(radius_nm=np.float32(50)).matched == 2
    assert glint.IdealCamera(np.float32(100), np.int16(100), np.float64(0.5)).offset == 100


@pytest.mark.parametrize("name", ["cuda", "CUDA", "GPU", "gpu"])
def test_cuda_is_a_name_of_the_gpu(name):
    session = glint.offload.Session(name)
    assert session.backend == "gpu"
    session.backend = "CPU"
    assert session.backend == "cpu"
    if not glint.gpu.is_available():
        with pytest.raises(glint.gpu.NoGpu):
            fit(backend=name)


@pytest.mark.parametrize("size", [-100, 0.5, 1e12, math.nan, math.inf])
def test_sizes_of_pixels_beyond_all_cameras_are_refused(size):
    with pytest.raises(glint.OptionError, match=f"pixel_size_nm={size}: give 1 to 100000 nm"):
        glint.Localizations(LOCS.columns, pixel_size_nm=size)


def test_masks_are_not_lost():
    """Also of a part of a table or movie that NumPy masks; a mask that masks nothing is none."""
    masked = np.ma.array(MOVIE, mask=MOVIE < 0)
    assert glint.open_movie(masked).shape == MOVIE.shape
    masked[1, 3, 3:5] = np.ma.masked
    for call in (
        glint.open_movie,
        lambda movie: glint.localize(movie, PSF, CAMERA),
        lambda movie: glint.fit(movie[:, :7, :7], PSF, CAMERA),
    ):
        with pytest.raises(glint.OptionError, match="has 2 masked values.*filled"):
            call(masked)

    class InParts:
        shape, dtype = masked.shape, masked.dtype

        def __getitem__(self, key):
            return masked[key]

    with pytest.raises(glint.InputError, match="InParts: frames 1 to 1 .*the movie has 2 masked values.*filled"):
        glint.localize(InParts(), PSF, CAMERA)
    with pytest.raises(glint.OptionError, match="column 'x_px' has 1 masked values.*filled"):
        glint.Localizations({**LOCS.columns, "x_px": np.ma.array([3.5, 9.0], mask=[True, False])})


def test_cameras_are_compared_by_their_values():
    kinds = [
        lambda **more: glint.IdealCamera(**{"pixel_size_nm": 100, "offset": 100, "gain": 0.5} | more),
        lambda **more: glint.SCMOSCamera(**{"pixel_size_nm": 100, "offset": np.ones((3, 4)), "gain": 0.5} | more),
        lambda **more: glint.EMCCDCamera(**{"pixel_size_nm": 100, "offset": "auto", "gain": 10, "em_gain": 300} | more),
    ]
    for kind in kinds:
        assert kind() == kind() and not kind() != kind()
        assert kind() != kind(gain=0.6) and kind() != kind(offset=7) and kind() != kind(pixel_size_nm=200)
        assert kind(gain="auto") == kind(gain="auto") != kind()
        assert kind() != "a camera" and [kind()].count(kind()) == 1
    assert kinds[0](gain=1) != kinds[1](gain=1)
    scmos = kinds[1]
    masked, corner = np.zeros((3, 4), bool), (1, 2)
    assert (
        scmos(masked=masked) == scmos(masked=masked.copy()) != scmos()
        and scmos(sensor_roi=corner) == scmos(sensor_roi=[1, 2]) != scmos()
    )
    other = np.ones((3, 4))
    other[2, 3] = 2
    assert scmos() != scmos(offset=other) and scmos() != scmos(offset=np.ones((4, 3)))
