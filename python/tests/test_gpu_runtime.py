"""glint.gpu: what there is, what is wrong, leases.

On any machine, and more on a simulated server with two GPUs of 8 GiB.
"""

import json
import os
import subprocess
import sys
import threading
import time

import glint
import pytest
from conftest import ctrl_c_after
from glint import gpu

simulated_server = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)


def run_python(program, **environment):
    """What a Python process prints."""
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, text=True, capture_output=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


# ---- On any machine


def test_a_machine_tells_what_it_has():
    usable = [device for device in gpu.devices() if device.usable]
    assert gpu.is_available() == bool(usable) == (not gpu.why_none())


def test_a_diagnosis_can_be_printed_and_read_by_programs():
    report = gpu.diagnose()
    assert report.ok == (report.health != "problem") == all(f.health != "problem" for f in report.findings)
    assert report.text().endswith(f"overall: {report.overall}") and str(report) == report.text()
    assert len(report.text(verbose=True)) >= len(report.text())
    for finding, read in zip(report.findings, json.loads(report.to_json())["findings"], strict=True):
        assert read["check"] == finding.check and finding.found and (finding.health == "ok" or finding.remedy)
    assert {"driver", "kernels", "lease directory"} <= {finding.check for finding in report.findings}


def test_the_guide_names_the_system():
    assert len(gpu.installation_guide().splitlines()) > 1


def test_a_session_that_was_asked_for_a_gpu_raises_without_one():
    out = run_python(
        """
import os, warnings
import numpy as np
from glint import gpu, offload
warnings.simplefilter("error")
a = np.ones((4, 4))
calls = {"sum": lambda s: offload.sum(a, session=s), "matmul": lambda s: offload.matmul(a, a, session=s),
         "svd": lambda s: offload.svd(a, session=s), "map": lambda s: offload.map(lambda x: 2 * x, a, session=s),
         "fft": lambda s: offload.fft(a, session=s), "random": lambda s: offload.random.uniform(3, seed=1, session=s),
         "accelerate": lambda s: offload.accelerate(np.matmul, session=s)(a, a),
         "pair": lambda s: offload.accelerate(lambda x: x, lambda x: x, session=s)(a)}
def refused(session):
    for name, call in calls.items():
        try:
            call(session)
        except gpu.NoGpu as error:
            assert "GLINT_GPU_ENABLED" in str(error), error
        else:
            raise AssertionError(f"{name} used the CPU silently")
    assert session.statistics()["fallbacks"] == 0
    decision = offload.explain("matmul", 10, session=session)
    assert decision.choice == "gpu" and "GLINT_GPU_ENABLED" in decision.reason, decision.reason
for backend in ("gpu", "cuda"):
    refused(offload.Session(backend))
refused(offload.Session("gpu", device=0))
later = offload.Session()
for backend in ("auto", "cpu", "prefer-gpu"):
    later.backend = backend
    for call in calls.values():
        call(later)
later.backend = "gpu"
refused(later)
os.environ["GLINT_BACKEND"] = "gpu"
refused(offload.Session())
refused(offload.default_session())
print("refused")
""",
        GLINT_GPU_ENABLED="0",
    )
    assert out == "refused"


@pytest.mark.parametrize("backend", ["cpu", "auto"])
def test_the_namespace_of_a_session_without_a_gpu_takes_the_session_as_device(backend):
    out = run_python(
        f"""
import numpy as np
from glint import offload
with offload.Session({backend!r}) as session:
    xp = session.xp
    made = [xp.zeros((2,), device=session), xp.ones(2, device=session), xp.full(2, 3.0, device=session),
            xp.asarray([1.0, 2.0], device=session), xp.arange(2, device=session), xp.linspace(0, 1, 2, device=session),
            xp.eye(2, device=session), xp.zeros_like(np.ones(2), device=session), xp.empty(2, device=session),
            xp.fft.fftfreq(4, device=session), xp.fft.rfftfreq(4, device=session), xp.ones(2)]
print(all(type(x) is np.ndarray for x in made), made[2], xp.zeros.__name__)
""",
        GLINT_GPU_ENABLED="0",
    )
    assert out == "True [3. 3.] zeros"


def test_without_a_gpu_errors_say_why_and_work_goes_on():
    out = run_python(
        """
import glint
from glint import gpu, offload
assert not gpu.is_available() and "GLINT_GPU_ENABLED" in gpu.why_none()
for call in (lambda: gpu.lease(timeout=0), lambda: gpu.to_device([1.0]), lambda: offload.Session("gpu").open()):
    try:
        call()
    except gpu.NoGpu as error:
        assert "GLINT_GPU_ENABLED" in str(error) and gpu.explain_error(error).suggestion
    else:
        raise AssertionError("no error")
with gpu.lease_or_none() as lease:
    assert lease is None
assert gpu.memory() == [] and gpu.stats()["memory"] == []
gpu.clean_up()
decision = offload.explain("matmul", 5000)
assert decision.choice == "cpu" and "GLINT_GPU_ENABLED" in decision.reason, decision.reason
print(offload.sum([1.0, 2.0]))
""",
        GLINT_GPU_ENABLED="0",
    )
    assert out == "3.0"


@pytest.mark.parametrize(
    "wrong",
    [
        dict(bytes=0),
        dict(bytes="1 GB of it"),
        dict(bytes="50%"),
        dict(timeout=-1),
        dict(gpus=0),
        dict(timeout=float("nan")),
    ],
)
def test_a_lease_of_nonsense_is_refused(wrong):
    with pytest.raises(glint.OptionError):
        gpu.lease(**{"timeout": 0, **wrong})


# ---- On the simulated server


@simulated_server
def test_devices():
    devices = gpu.devices()
    assert [(d.ordinal, d.usable, d.total_bytes) for d in devices] == [(0, True, 8 << 30), (1, True, 8 << 30)]
    assert devices[0].uuid.startswith("GPU-") and devices[0].compute_capability == "9.0"
    assert "cuda" == glint.offload.best_backend().name and len(glint.offload.best_backend().devices) == 2


@simulated_server
def test_a_lease_is_seen_and_given_back():
    with gpu.lease("1GiB", timeout=60) as lease:
        (device,) = lease.devices
        assert lease.held and lease.visible and lease.bytes == 1 << 30 and not lease.others_wait
        assert gpu.devices()[device.ordinal].uuid == device.uuid and device.uuid in repr(lease)
        (holder,) = [h for g in gpu.leases().gpus if g.uuid == device.uuid for h in g.holders]
        assert holder.pid == os.getpid() and holder.reserved_bytes == (1 << 30) + device.context_bytes
        with lease.turn_to_create():
            pass
        lease.publish_held(1 << 20)
        lease.shrink("512MiB")
        assert lease.bytes == 1 << 29
    assert not lease.held and "given back" in repr(lease)
    assert not any(g.holders for g in gpu.leases().gpus)
    with pytest.raises(glint.OptionError, match="given back"):
        lease.devices


@simulated_server
def test_a_turn_that_does_not_come():
    with (
        gpu.lease("64MiB", timeout=60, avoid=(gpu.devices()[0].uuid,)) as lease,
        gpu.lease("64MiB", timeout=60, avoid=(gpu.devices()[0].uuid,)) as other,
    ):
        with other.turn_to_create():
            with pytest.raises(gpu.LeaseTimeout, match="contexts are created one at a time"):
                with lease.turn_to_create(timeout=0.1):
                    pass
        with other.turn_to_create(), ctrl_c_after() as waits, pytest.raises(KeyboardInterrupt):
            with lease.turn_to_create(on_wait=waits):
                pass
        with lease.turn_to_create(timeout=0):
            pass


@simulated_server
def test_several_gpus_at_once_and_none_of_those_to_avoid():
    with gpu.lease("64MiB", gpus=2, timeout=60) as lease:
        assert sorted(d.ordinal for d in lease.devices) == [0, 1]
    with gpu.lease("64MiB", timeout=60, avoid=(gpu.devices()[0].uuid,)) as lease:
        assert lease.devices[0].ordinal == 1


@pytest.fixture
def taken():
    """Both GPUs are."""
    with gpu.lease("7000MiB", gpus=2, timeout=60) as lease:
        yield lease


@simulated_server
def test_a_lease_that_does_not_come(taken):
    with pytest.raises(TimeoutError) as error:
        gpu.lease("4GiB", timeout=0.2)
    assert error.value.required_bytes > error.value.available_bytes and isinstance(error.value, gpu.LeaseTimeout)
    assert "4." in gpu.explain_error(error.value).suggestion
    with gpu.lease_or_none("4GiB", timeout=0) as lease:
        assert lease is None
    with pytest.raises(MemoryError):
        gpu.lease("100GiB", timeout=0)


@simulated_server
def test_waiting_is_reported_and_can_be_stopped(taken):
    class Enough(Exception):
        pass

    told = []

    def on_wait(elapsed_s, available_bytes, required_bytes):
        assert threading.current_thread() is threading.main_thread() and available_bytes < required_bytes
        raise Enough

    with pytest.raises(Enough):
        gpu.lease("4GiB", on_wait=on_wait, log=told.append)
    assert told and all(isinstance(words, str) for words in told)
    with ctrl_c_after() as waits, pytest.raises(KeyboardInterrupt):
        gpu.lease("4GiB", on_wait=waits)
    assert gpu.leases().waiters == ()


@simulated_server
def test_another_process_waits_its_turn(taken):
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from glint import gpu\nwith gpu.lease('4GiB', timeout=120) as lease:"
            " print('came after', lease.waited_s > 0)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    while not gpu.leases().waiters:
        assert other.poll() is None
    assert gpu.leases().waiters[0].bytes == 4 << 30
    taken.give_back()
    assert other.communicate(timeout=300)[0].strip() == "came after True" and other.returncode == 0


@simulated_server
def test_the_diagnosis_tries_the_gpus():
    report = gpu.diagnose(test=True)
    tried = [finding for finding in report.findings if finding.check == "test"]
    assert len(tried) == 2 and all(finding.health == "ok" for finding in tried)


# ---- Leases of this process beside others


@simulated_server
def test_what_an_array_takes_is_not_counted_twice():
    numpy = pytest.importorskip("numpy")
    from glint import offload

    with offload.Session("gpu", gpu_memory="2GiB", gpu_timeout=60) as session:
        array = gpu.to_device(numpy.ones(1 << 28, numpy.uint8).view(numpy.float32), session=session)
        deadline = time.monotonic() + 60
        while True:  # until the heartbeat has reported it
            seen = next(one for one in gpu.leases().gpus if any(h.pid == os.getpid() for h in one.holders))
            mine = next(h for h in seen.holders if h.pid == os.getpid())
            if mine.held_bytes >= array.nbytes or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        assert mine.held_bytes >= array.nbytes
        assert seen.available_bytes == seen.free_bytes - (mine.reserved_bytes - mine.held_bytes)


def waits_for_most_of_a_gpu(seconds):
    """Another program; its exit code says whether it had the memory in time."""
    return subprocess.run(
        [sys.executable, "-c", f"from glint import gpu\ngpu.lease('6GiB', timeout={seconds}).give_back()"],
        capture_output=True,
        text=True,
        timeout=300,
    )


@simulated_server
def test_an_idle_session_gives_its_gpu_back_and_goes_on_later():
    numpy = pytest.importorskip("numpy")
    from glint import offload

    ones = numpy.ones((64, 64), numpy.float32)
    sessions = [offload.Session("gpu", gpu_memory="3GiB", gpu_timeout=60) for _ in gpu.devices()]
    for session in sessions:
        offload.matmul(ones, ones, session=session)
    held = gpu.to_device(ones, session=sessions[0])
    asked = waits_for_most_of_a_gpu(60)
    assert asked.returncode == 0, asked.stderr
    assert held.to_numpy()[0, 0] == 1, "what lives on a GPU keeps it"
    assert (offload.matmul(ones, ones, session=sessions[-1]) == 64).all()
    for session in sessions:
        session.close()


@simulated_server
def test_a_kept_fitter_gives_its_gpu_back_and_goes_on_later():
    numpy = pytest.importorskip("numpy")
    rois = numpy.random.default_rng(1).poisson(20, (3000, 7, 7)).astype(numpy.float32)
    fitter = glint.Fitter()
    options = {"backend": "gpu", "gpus": len(gpu.devices()), "gpu_memory": "3GiB"}
    first = fitter.fit(rois, glint.GaussianXYNB(sigma_px=1.3), **options)
    asked = waits_for_most_of_a_gpu(60)
    assert asked.returncode == 0, asked.stderr
    second = fitter.fit(rois, glint.GaussianXYNB(sigma_px=1.3), **options)
    assert (first.x_px == second.x_px).all()


@simulated_server
def test_a_fitter_that_had_to_do_without_a_gpu_asks_again():
    numpy = pytest.importorskip("numpy")
    rois = numpy.random.default_rng(1).poisson(20, (3000, 7, 7)).astype(numpy.float32)
    fitter, psf = glint.Fitter(), glint.GaussianXYNB(sigma_px=1.3)
    options = {"backend": "auto", "always_gpu": True, "auto_timeout": 0.5}
    with gpu.lease("7GiB", gpus=len([d for d in gpu.devices() if d.usable]), timeout=60):
        assert fitter.fit(rois, psf, **options).info.backend == "cpu"
        with pytest.raises(gpu.LeaseTimeout):
            fitter.fit(rois, psf, backend="gpu", gpu_timeout=0.5)
    assert fitter.fit(rois, psf, backend="gpu", gpu_timeout=60).info.backend == "gpu"
    another = glint.Fitter()
    with gpu.lease("7GiB", gpus=len([d for d in gpu.devices() if d.usable]), timeout=60):
        assert another.fit(rois, psf, **options).info.backend == "cpu"
    time.sleep(1.2)
    assert another.fit(rois, psf, **options).info.backend == "gpu"
