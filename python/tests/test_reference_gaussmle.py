"""GaussMLE.jl, "GPU support": one test for each statement, in the order of the text.

runtime-promises.md lists the statements. Missing numbers are held by tests in C++. Most tests need the simulated
server (tests/simgpu/run).
"""

import inspect
import json
import math
import os
import subprocess
import sys
import warnings

import glint
import numpy as np
import pytest
from conftest import needs_gpu, on_server, python, same_table, session_on, simulated_server, this_user
from glint import gpu, offload

pytestmark = pytest.mark.skipif(
    gpu.is_available() and not glint.has_gpu_kernels(), reason="built without kernels for GPUs"
)
GPU = dict(backend="gpu", gpu_memory="64MiB", gpu_timeout=60)
MIB = 2**20
STACK = """
import glint
from glint import gpu
psf, camera = glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
rois, _ = glint.simulate_rois(2000, psf, camera, size=9, seed=2)
"""
FAULTY = (
    STACK
    + """
import warnings
from glint import offload
free = [device.free_bytes for device in gpu.devices()]
warnings.simplefilter("ignore")
try:
    fits = glint.fit(rois, psf, camera, batch_size=100, gpu_memory="64MiB", **OPTIONS)
    print(fits.info.backend, fits.info.retries, len(fits.info.gpus), fits.x_px.tobytes().hex())
except gpu.GpuError as error:
    print(type(error).__name__)
print(gpu.memory(), [device.free_bytes for device in gpu.devices()] == free)
"""
)


def fit_with(fault="", **options):
    """The words that a fit with a fault of the driver prints."""
    told, _ = python(
        FAULTY.replace("OPTIONS", repr({"backend": "gpu", "gpu_timeout": 60, **options})),
        SIMGPU_LEAKS="0",
        **({"SIMGPU_FAULT": fault} if fault else {}),
    )
    return told.split()


@pytest.fixture
def taken():
    """Both GPUs are, by leases."""
    with gpu.lease("7000MiB", timeout=60) as one, gpu.lease("7000MiB", timeout=60) as other:
        yield one, other


# ---- The beginning, "Quick start", and "Backend selection"


@simulated_server
def test_01_programs_that_run_at_once_share_a_gpu(psf, camera):
    code = (
        STACK
        + """
fits = glint.fit(rois, psf, camera, backend="gpu", gpu_memory="3GiB", batch_size=200, gpu_timeout=100)
print(fits.info.backend, fits.x_px.tobytes().hex())
"""
    )
    programs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(5)]
    told = [program.communicate(timeout=200)[0].split() for program in programs]
    assert [words[0] for words in told] == ["gpu"] * 5 and len({words[1] for words in told}) == 1


def test_02_a_configuration_is_made_once_for_several_stacks(psf, camera, counts):
    with glint.Fitter(psf, camera, backend="cpu", batch_size=100, threads=2) as fitter:
        fits = fitter.fit(counts)
        same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))
        assert (fits.info.batches, fits.info.batch_size) == (5, 100)
        assert fitter.fit(counts, batch_size=250).info.batches == 2  # for one call
        assert fitter.fit(counts).info.batches == 5
        assert "batch_size=100" in repr(fitter)


@pytest.mark.parametrize(
    "options, error",
    [
        (dict(batchsize=5000), TypeError),
        (dict(corners=None), TypeError),
        (dict(backend="tpu"), glint.OptionError),
        (dict(batch_size=0), glint.OptionError),
        (dict(auto_timeout=-1), glint.OptionError),
    ],
)
def test_02_a_configuration_is_checked_when_it_is_made(options, error):
    with pytest.raises(error, match=next(iter(options))):
        glint.Fitter(**options)


def test_03_the_gpu_is_used_if_there_is_one_else_the_cpu(psf, camera, counts, command, tmp_path, monkeypatch):
    monkeypatch.setenv("GLINT_BACKEND", "prefer-gpu")
    on_gpu = gpu.is_available() and glint.has_gpu_kernels()
    expected = "gpu" if on_gpu else "cpu"
    fits = glint.fit(counts, psf, camera, gpu_memory="64MiB")
    assert fits.info.backend == expected
    assert glint.fit(counts, psf, camera, backend="cpu").info.backend == "cpu"
    with offload.Session(gpu_memory="64MiB") as session:
        assert session.backend == "prefer-gpu"
        decision = offload.decide("matmul", 10, session=session)
        assert decision.choice == ("gpu" if gpu.is_available() else "cpu") and decision.basis == "forced"
    assert offload.environment()["GLINT_BACKEND"].value == "prefer-gpu"
    assert offload.best_backend().name == ("cuda" if gpu.is_available() else "cpu")
    np.save(tmp_path / "rois.npy", counts)
    flags = (
        "--sigma",
        "130nm",
        "--pixel-size",
        "100nm",
        "--offset",
        100,
        "--gain",
        0.5,
        "--gpu-memory",
        "64MiB",
        "--json",
    )
    assert json.loads(command("fit", tmp_path / "rois.npy", "-o", tmp_path / "a.csv", *flags))["backend"] == expected
    monkeypatch.delenv("GLINT_BACKEND")
    assert (
        json.loads(command("fit", tmp_path / "rois.npy", "-o", tmp_path / "b.csv", "--backend", "prefer-gpu", *flags))[
            "backend"
        ]
        == expected
    )
    assert glint.fit(counts, psf, camera, backend="prefer-gpu", gpu_memory="64MiB").info.backend == expected


def test_04_the_cpu_can_be_required_and_no_gpu_is_touched():
    python(
        STACK
        + """
assert glint.fit(rois, psf, camera, backend="cpu").info.backend == "cpu"
libraries = open("/proc/self/maps").read()
assert "libcuda" not in libraries and "libnvidia-ml" not in libraries
"""
    )


def test_05_a_gpu_can_be_required(psf, camera, counts):
    if gpu.is_available():
        assert glint.fit(counts, psf, camera, **GPU).info.backend == "gpu"
    python(
        STACK
        + """
try:
    glint.fit(rois, psf, camera, backend="gpu")
except gpu.NoGpu:
    pass
else:
    raise AssertionError("fitted")
""",
        GLINT_GPU_ENABLED="false",
    )


@simulated_server
def test_06_auto_warns_after_its_timeout_and_uses_the_cpu(psf, camera, counts, taken):
    options = dict(gpu_memory="4GiB", auto_timeout=0.3, always_gpu=True)
    with pytest.warns(RuntimeWarning) as warned:
        fits = glint.fit(counts, psf, camera, backend="auto", **options)
    assert fits.info.timed_out and not fits.info.gpu_failed and fits.info.backend == "cpu"
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))
    (words,) = [str(one.message) for one in warned]
    assert "no GPU had room within 0." in words and "auto_timeout=" in words
    for device in gpu.devices():  # of all GPUs, who has them
        assert f"{device.uuid}: leases on it: process {os.getpid()} of {this_user()}" in words
    with pytest.warns(RuntimeWarning), glint.Fitter(psf, camera, **options) as fitter:
        fitter.fit(counts)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitter.fit(counts)  # the same reason is reported once


@simulated_server
def test_06_so_it_does_for_a_movie(psf, camera, simulated, taken):
    with pytest.warns(RuntimeWarning, match="no GPU had room within"):
        locs = glint.localize(simulated.movie, psf, camera, gpu_memory="4GiB", auto_timeout=0.3, always_gpu=True)
    assert locs.info.fit.timed_out


@simulated_server
def test_06_so_does_a_session_that_prefers_the_gpu(taken):
    with pytest.warns(RuntimeWarning, match="no GPU was free in time.*no GPU had room within 0"):
        with offload.Session("prefer-gpu", gpu_memory="4GiB", gpu_timeout=0.3) as session:
            np.testing.assert_allclose(offload.matmul(np.eye(3), np.eye(3), session=session), np.eye(3))
            assert session.statistics()["fallbacks"] == 1


@simulated_server
def test_07_a_required_gpu_that_does_not_come_is_an_error(psf, camera, counts, taken):
    with pytest.raises(TimeoutError) as error:
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="4GiB", gpu_timeout=0.2)
    assert isinstance(error.value, gpu.LeaseTimeout) and error.value.required_bytes > error.value.available_bytes


# ---- "Timeout configuration"


def test_08_auto_waits_five_minutes_and_gpu_for_ever_by_default():
    default = {name: parameter.default for name, parameter in inspect.signature(glint.fit).parameters.items()}
    assert (default["auto_timeout"], default["gpu_timeout"], default["on_wait"]) == (300, math.inf, None)


@simulated_server
def test_09_a_callback_reports_the_wait(psf, camera, counts, taken):
    calls = []
    with glint.Fitter(
        psf,
        camera,
        backend="auto",
        always_gpu=True,
        gpu_memory="4GiB",
        auto_timeout=1.5,
        on_wait=lambda elapsed, available, required: calls.append((elapsed, available, required)),
    ) as fitter:
        with pytest.warns(RuntimeWarning):
            assert fitter.fit(counts).info.backend == "cpu"
    assert calls and all(
        0 <= elapsed < 100 and available < 2 << 30 and required > 4 << 30 for elapsed, available, required in calls
    )


@simulated_server
def test_09_a_session_reports_its_wait():
    calls = []
    with gpu.lease("7000MiB", timeout=60), gpu.lease("7000MiB", timeout=60):  # both GPUs
        with session_on(gpu_memory="4GiB", gpu_timeout=1.2, on_wait=lambda *call: calls.append(call)) as session:
            with pytest.raises(gpu.LeaseTimeout):
                session.open()
        assert len(calls) >= 2 and all(
            0 <= elapsed < 5 and available < 2 << 30 and required >= 4 << 30 for elapsed, available, required in calls
        )

        def stop(*_):
            raise KeyError("enough")

        with session_on(gpu_memory="4GiB", on_wait=stop) as session, pytest.raises(KeyError, match="enough"):
            gpu.to_device(np.ones(3), session=session)
    with pytest.raises(glint.OptionError, match="on_wait"):
        offload.Session(on_wait=3)


# ---- "GPU scheduling system"


@simulated_server
def test_10_who_waits_has_no_context_on_any_gpu(psf, camera, counts, taken):
    class Seen(Exception):
        pass

    def on_wait(*_):
        assert gpu.memory() == [] and not any(
            pid == os.getpid() for device in gpu.devices() for pid, _ in device.processes
        )
        raise Seen

    with pytest.raises(Seen):
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="4GiB", on_wait=on_wait)


@simulated_server
def test_11_after_a_failure_another_gpu_does_the_rest():
    backend, retries, gpus, table, *_ = fit_with("cuLaunchKernel:12~:700")
    assert (backend, retries, gpus) == ("gpu", "1", "2") and table == fit_with()[3]


@simulated_server
@pytest.mark.parametrize("fault", ["cuLaunchKernel:3+:999", "cuDevicePrimaryCtxRetain:1+:2"])
def test_12_gpus_that_keep_failing_leave_auto_the_cpu_and_gpu_an_error(fault):
    assert fit_with(fault, gpu_timeout=0.5)[0] in ("GpuError", "OutOfMemory")
    backend, retries, _, table, *_ = fit_with(fault, backend="auto", always_gpu=True, auto_timeout=0.5)
    assert backend == "cpu" and int(retries) >= 1
    assert table == fit_with(backend="cpu")[3]


@simulated_server
def test_13_waits_are_looked_at_about_twice_a_second(psf, camera, counts, taken):
    calls = []
    with pytest.raises(TimeoutError):
        glint.fit(
            counts,
            psf,
            camera,
            backend="gpu",
            gpu_memory="4GiB",
            gpu_timeout=1.6,
            on_wait=lambda *call: calls.append(call[0]),
        )
    assert 2 <= len(calls) <= 8 and calls == sorted(calls)


@simulated_server
@pytest.mark.parametrize("first", [0, 1])
def test_14_the_gpu_that_is_free_first_is_used(psf, camera, counts, taken, first):
    device = taken[first].devices[0].uuid
    with glint.Fitter(psf, camera) as fitter:
        fits = fitter.fit(counts, backend="gpu", gpu_memory="4GiB", on_wait=lambda *_: taken[first].give_back())
    assert [uuid for _, uuid, *_ in fits.info.gpus] == [device] and fits.info.waited_seconds > 0


@simulated_server
def test_15_a_context_that_another_process_made_impossible_is_tried_again():
    backend, retries, _, table, *_ = fit_with("cuDevicePrimaryCtxRetain:1:2")
    assert (backend, retries) == ("gpu", "1") and table == fit_with()[3]


@simulated_server
@pytest.mark.parametrize(
    "fault",
    ["cuMemAllocFromPoolAsync:1:2,cuMemAllocFromPoolAsync:2:2,cuMemAllocFromPoolAsync:3:2", "cuLaunchKernel:12:2"],
)
def test_16_a_batch_that_runs_out_of_memory_is_repeated(fault):
    backend, _, _, table, *_ = fit_with(fault)
    assert backend == "gpu" and table == fit_with()[3]


RESTART = (
    STACK
    + """
fits = glint.fit(rois, psf, camera, backend="gpu", batch_size=100, gpu_timeout=60, restart_batches=RESTART)
print(fits.info.batches, fits.info.retries, fits.x_px.tobytes().hex())
"""
)


@simulated_server
def test_17_all_batches_are_restarted_if_asked():
    batches, tables = [], set()
    for restart in (False, True):
        told, _ = python(RESTART.replace("RESTART", str(restart)), SIMGPU_FAULT="cuLaunchKernel:12:999")
        count, retries, table = told.split()
        assert retries == "1"
        batches.append(int(count)), tables.add(table)
    assert batches[1] > batches[0] + 5 and len(tables) == 1, batches
    with pytest.raises(glint.OptionError, match="restart_batches"):
        glint.fit(np.ones((2, 7, 7), "f4"), glint.GaussianXYNB(sigma_px=1.3), restart_batches="yes")


# ---- "NVML contention detection"


@needs_gpu
def test_18_queries_make_no_context_and_processes_make_them_at_once():
    code = """
import os
from glint import gpu
for _ in range(20):
    devices, leases = gpu.devices(), gpu.leases()
assert gpu.memory() == [] and not any(pid == os.getpid() for device in devices for pid, _ in device.processes)
print(len(devices), len(leases.gpus))
"""
    programs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = {program.communicate(timeout=100)[0] for program in programs}
    assert told == {f"{len(gpu.devices())} {len(gpu.leases().gpus)}\n"}


def chosen(strangers, *sizes, devices="1x8GiB"):
    """Which GPU each request gets, beside processes without a lease; -1: none."""
    told, _ = on_server(
        f"""
from glint import gpu
for size in {sizes}:
    with gpu.lease_or_none(size, timeout=0) as lease:
        print(-1 if lease is None else lease.devices[0].ordinal)
""",
        SIMGPU_DEVICES=devices,
        SIMGPU_STRANGERS=strangers,
    )
    return [int(word) for word in told.split()]


@simulated_server
def test_19_beside_others_one_and_a_half_times_the_need_must_be_free():
    # Of 8 GiB 4 are free; a context takes about half a GiB.
    assert chosen("0:4GiB:10:4711", "1500MiB", "3GiB") == [0, -1]
    assert chosen("0:4GiB:10:4711", "3GiB", devices="2x8GiB") == [1], "it is passed over for another one"
    assert chosen("", "7GiB") == [0], "alone, the need is enough"


@simulated_server
def test_20_beside_others_a_gpu_that_is_busy_to_90_percent_is_passed_over():
    assert chosen("0:1GiB:95:4711", "1GiB") == [-1]
    assert chosen("0:1GiB:95:4711", "1GiB", devices="2x8GiB") == [1]


@simulated_server
def test_21_beside_others_that_leave_room_a_gpu_is_used():
    assert chosen("0:1GiB:80:4711", "1GiB") == [0] and chosen(
        "0:1GiB:0:4711,1:7GiB:0:4712", "3GiB", devices="2x8GiB"
    ) == [0]


@simulated_server
def test_22_the_process_itself_is_no_other():
    told, _ = on_server(
        """
import numpy as np
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="1GiB", gpu_timeout=60) as session:
    x = gpu.to_device(np.ones(2**20), session=session)
    with gpu.lease_or_none("5GiB", timeout=0) as lease:
        print(lease is not None)
""",
        SIMGPU_DEVICES="1x8GiB",
    )
    assert told.split() == ["True"]


# ---- "Context lifecycle", "Multi-GPU support"


@simulated_server
def test_23_a_failure_leaves_neither_context_nor_memory():
    for fault in ("cuLaunchKernel:3+:999", "cuMemAllocFromPoolAsync:1+:2"):
        assert fit_with(fault, gpu_timeout=0.3)[1:] == ["[]", "True"]


@simulated_server
def test_24_after_a_fit_all_memory_is_free_for_others(psf, camera, counts):
    free = [device.free_bytes for device in gpu.devices()]
    glint.fit(counts, psf, camera, **GPU)
    assert gpu.memory() == [] and [device.free_bytes for device in gpu.devices()] == free
    with gpu.lease("7000MiB", timeout=0), gpu.lease("7000MiB", timeout=0):
        pass


@simulated_server
def test_25_fits_are_spread_over_the_gpus(psf, camera, counts):
    with glint.Fitter(psf, camera, **GPU) as one, glint.Fitter(psf, camera, **GPU) as other:
        used = {fitter.fit(counts).info.gpus[0][1] for fitter in (one, other)}
    assert used == {device.uuid for device in gpu.devices()}


# ---- "Batch processing"


@simulated_server
def test_26_more_than_the_memory_of_a_gpu_is_divided_into_batches(psf, camera):
    rois, _ = glint.simulate_rois(5000, psf, camera, size=15, seed=2)
    fits = glint.fit(rois, psf, camera, backend="gpu", gpu_memory="2MiB", gpu_timeout=60)
    assert rois.nbytes > 2 * MIB and fits.info.batches > 2
    same_table(fits, glint.fit(rois, psf, camera, **GPU))


@simulated_server
def test_27_batches_have_the_size_asked_for(psf, camera, counts):
    with glint.Fitter(psf, camera, batch_size=100, **GPU) as fitter:
        info = fitter.fit(counts).info
    assert (info.backend, info.n_batches, info.batch_size) == ("gpu", 5, 100)


@pytest.mark.parametrize("size, batches", [(100, 5), (5000, 1), (499, 2), (1, 500)])
def test_27_so_they_have_on_the_cpu(psf, camera, counts, size, batches):
    fits = glint.fit(counts, psf, camera, backend="cpu", batch_size=size)
    assert (fits.info.batches, fits.info.batch_size) == (batches, min(size, 500))
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))


def test_27_a_large_batch_is_divided_among_threads(psf, camera):
    rois, _ = glint.simulate_rois(10_000, psf, camera, size=7, seed=3)
    fits = glint.fit(rois, psf, camera, backend="cpu", batch_size=10_000, threads=2)
    assert (fits.info.batches, fits.info.threads) == (1, min(2, len(os.sched_getaffinity(0))))
    same_table(fits, glint.fit(rois, psf, camera, backend="cpu", threads=1, batch_size=777))


def test_28_the_number_and_the_size_of_batches_are_reported(psf, camera, counts):
    info = glint.fit(counts, psf, camera, backend="cpu", batch_size=200).info
    assert f"Processed in {info.n_batches} batches of {info.batch_size}" == "Processed in 3 batches of 200"


def test_28_the_summary_shows_them(psf, camera, counts, command, tmp_path):
    fits = glint.fit(counts, psf, camera, backend="cpu", batch_size=200)
    assert "in 3 batches" in repr(fits)
    np.save(tmp_path / "rois.npy", counts)
    said = command(
        "fit",
        tmp_path / "rois.npy",
        "-o",
        tmp_path / "locs.csv",
        "--sigma",
        "130nm",
        "--pixel-size",
        "100nm",
        "--offset",
        100,
        "--gain",
        0.5,
        "--backend",
        "cpu",
        "--batch-size",
        200,
    )
    assert "3 of at most 200 fits" in said


@simulated_server
def test_29_batches_grow_with_memory_and_shrink_with_rois_and_parameters(psf, camera):
    def batch_size(memory, size, model=glint.GaussianXYNB):
        rois, _ = glint.simulate_rois(20_000, psf, camera, size=size, seed=2)
        return glint.fit(
            rois, model(sigma_nm=130), camera, backend="gpu", gpu_memory=memory, gpu_timeout=60
        ).info.batch_size

    assert batch_size("5MiB", 5) > batch_size("2MiB", 5) > batch_size("2MiB", 9)
    assert (
        batch_size("5MiB", 3)
        > batch_size("5MiB", 3, glint.GaussianXYNBS)
        > batch_size("5MiB", 3, glint.GaussianXYNBSXSY)
    )


# ---- "Performance"


def test_30_a_benchmark_reports_speed_and_optimality_of_each_model_and_camera(command):
    rows = json.loads(
        command("bench", "fit", "--count", 1000, "--repeats", 1, "--roi", 9, "--backend", "cpu", "--json", "--quiet")
    )
    assert {(row["model"], row["camera"]) for row in rows} == {
        (model, camera)
        for model in (
            "GaussianXYNB",
            "GaussianXYNBS",
            "GaussianXYNBSXSY",
            "AstigmaticXYZNB",
            "SplineXYZNB",
            "SplineXYNB",
        )
        for camera in ("ideal", "sCMOS", "EMCCD")
    }
    for row in rows:
        assert row["fits_per_s"] > 0 and row["device"]
        assert abs(row["std_over_crlb"]["x"] - 1) < 0.15  # 6 standard deviations of 1,000 fits


# 31 is not tested: it is the speed of a GPU.


def test_32_few_fits_are_for_the_cpu(psf, camera, counts):
    info = glint.fit(counts[:300], psf, camera, backend="auto").info
    assert info.backend == "cpu"
    if gpu.is_available():
        assert "on the CPU" in info.decision


def test_33_float32_is_sufficient(psf, camera, counts):
    fits = glint.fit(counts, psf, camera, backend="cpu")
    assert all(fits[name].dtype == np.float32 for name in ("x_px", "y_px", "photons", "bg", "x_unc_px"))
    same_table(fits, glint.fit(counts.astype("f8"), psf, camera, backend="cpu"))
    x, y = (np.float32(v) for v in (fits.x_px.max(), np.nextafter(fits.x_px.max(), np.float32(np.inf))))
    assert y - x < 1e-4 * fits.x_unc_px.min(), "the next number is no further than a small part of the precision"


def test_34_a_fixed_width_is_less_work(psf, camera):
    rois, _ = glint.simulate_rois(2000, psf, camera, size=9, seed=2)
    fixed, free = (
        glint.fit(rois, model(sigma_nm=130), camera, backend="cpu")
        for model in (glint.GaussianXYNB, glint.GaussianXYNBS)
    )
    # The cost of an iteration is at least that of its derivatives: one for each parameter.
    assert 4 * fixed.iterations.mean() < 0.8 * 5 * free.iterations.mean()


@simulated_server
def test_35_only_the_first_call_opens_the_gpu_and_loads_kernels(tmp_path):
    python(
        STACK
        + """
with glint.Fitter(psf, camera, backend="gpu", gpu_memory="64MiB", gpu_timeout=60) as fitter:
    for _ in range(4):
        fitter.fit(rois)
""",
        SIMGPU_REPORT=str(tmp_path / "calls"),
    )
    calls = (tmp_path / "calls").read_text()
    assert int(calls.split("cuDevicePrimaryCtxRetain")[1].split()[0]) == 1, calls
    assert int(calls.split("cuModuleLoadData")[1].split()[0]) == 1, calls


# ---- "Result consistency", "Troubleshooting", "Architecture"


@needs_gpu
def test_36_results_of_gpu_and_cpu_agree_to_a_millionth_of_a_micrometre(psf, camera, counts):
    on_gpu, on_cpu = (
        glint.fit(counts, psf, camera, tolerance=1e-4, **options) for options in (GPU, dict(backend="cpu"))
    )
    both = on_gpu.converged & on_cpu.converged
    assert both.mean() > 0.99 and on_gpu.info.backend == "gpu"
    for name in ("x_px", "y_px"):
        assert np.abs(on_gpu[name] - on_cpu[name])[both].max() * 0.1 < 1e-6


def test_37_whether_a_gpu_works_is_said_with_the_reason():
    report = gpu.diagnose()
    assert gpu.is_available() == (gpu.why_none() == "") and "driver" in {finding.check for finding in report.findings}
    assert all(finding.remedy for finding in report.findings if finding.health == "problem")
    told, _ = python("from glint import gpu; print(gpu.is_available(), gpu.why_none())", GLINT_GPU_ENABLED="false")
    assert told.startswith("False ") and "GLINT_GPU_ENABLED" in told


@simulated_server
def test_38_smaller_batches_need_less_memory(psf, camera):
    rois, _ = glint.simulate_rois(20_000, psf, camera, size=9, seed=2)
    peaks = []
    for batch_size in (5000, 500):
        with glint.Fitter(psf, camera, batch_size=batch_size, **GPU) as fitter:
            fitter.fit(rois)
            peaks.append(gpu.memory()[0].peak_bytes)
    assert peaks[1] < peaks[0] / 4


@simulated_server
def test_39_auto_falls_back_to_the_cpu_when_memory_runs_out(psf, camera, counts, monkeypatch):
    monkeypatch.setenv("GLINT_GPU_MEMORY_LIMIT", "1KiB")  # less than any batch needs
    with pytest.warns(RuntimeWarning, match="GPU"):
        fits = glint.fit(counts, psf, camera, backend="auto", always_gpu=True, auto_timeout=5)
    assert fits.info.backend == "cpu" and fits.info.gpu_failed
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))


@simulated_server
def test_40_programs_with_auto_do_not_wait_for_each_other_for_ever(taken):
    code = (
        STACK
        + """
import warnings
warnings.simplefilter("ignore")
fits = glint.fit(rois, psf, camera, backend="auto", always_gpu=True, gpu_memory="5GiB", auto_timeout=0.3)
print(fits.info.backend, fits.info.timed_out)
"""
    )
    programs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [program.communicate(timeout=100)[0] for program in programs] == ["cpu True\n"] * 3


def test_41_processes_that_hold_the_memory_of_a_gpu_are_named():
    if "SIMGPU_STATE" not in os.environ:
        pytest.skip("not on the simulated server: tests/simgpu/run")
    folder = os.environ["LD_LIBRARY_PATH"].split(":")[0]
    code = """
import glint
try:
    glint.gpu.lease("4GiB", timeout=0.2)
except glint.gpu.LeaseTimeout as error:
    print(error)
"""
    done = subprocess.run(
        [os.path.join(os.path.dirname(__file__), "../../tests/simgpu/run"), folder, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"SIMGPU_DEVICES": "2x8GiB", "SIMGPU_STRANGERS": f"0:7GiB:95:{os.getpid()},1:7GiB:95:4000000"},
    )
    assert done.returncode == 0, done.stderr
    assert f"processes without a lease: process {os.getpid()} (python" in done.stdout, done.stdout
    assert f"of {this_user()} (7.0 GiB)" in done.stdout
    assert "process 4000000 (7.0 GiB)" in done.stdout  # of another GPU; it has ended, or is hidden


@needs_gpu
def test_42_pixels_go_from_the_host_to_the_gpu_and_results_come_back(psf, camera, counts, tmp_path):
    fits = glint.fit(counts, psf, camera, batch_size=100, **GPU)
    assert counts.nbytes <= fits.info.bytes_up < 1.01 * counts.nbytes and fits.info.bytes_down >= 500 * 8 * 4
    assert isinstance(fits.x_px, np.ndarray) and len(fits) == 500
    with pytest.warns(UserWarning, match="has no place for the columns"):
        fits.to_localizations().save(tmp_path / "table.smlm.h5")
    assert len(glint.load(tmp_path / "table.smlm.h5")) == fits.converged.sum()
