"""Sessions and leases among threads, Ctrl-C, garbage and failures: on a simulated server with two GPUs of 8 GiB."""

import contextlib
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import glint
import numpy as np
import pytest
from glint import gpu, offload
from test_gpu_arrays import Foreign
from test_gpu_runtime import run_python

pytestmark = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)
ONES = np.ones((50, 50), np.float32)
LONG = 300  # s; what must come comes sooner


@pytest.fixture
def taken():
    """Both GPUs are."""
    with gpu.lease("7000MiB", gpus=2, timeout=60) as lease:
        yield lease


@contextlib.contextmanager
def once_it_waits(act):
    """Calls act() in another thread as soon as a request of this machine waits for a GPU."""

    def watch():
        while not gpu.leases().waiters and not left.is_set():
            time.sleep(0.01)
        act()

    left = threading.Event()
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def no_collection():
    """Python collects no garbage by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ---- Threads


def test_a_lease_is_given_back_while_others_use_it():
    """In a process of its own, which a fault in C++ would end."""
    assert (
        run_python("""
import sys, threading
import glint
from glint import gpu
sys.setswitchinterval(1e-6)
def use(lease, go):
    go.wait()
    try:
        for _ in range(50):
            lease.publish_held(1000), lease.others_wait
    except glint.OptionError as error:
        assert "given back" in str(error)
def give_back(lease, go):
    go.wait()
    lease.give_back()
for _ in range(500):
    lease, go = gpu.lease("10MiB", timeout=60), threading.Barrier(4)
    threads = [threading.Thread(target=f, args=(lease, go)) for f in (use, give_back, give_back, use)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert not lease.held
assert not any(of.holders for of in gpu.leases().gpus)
print("done")
""")
        == "done"
    )


def test_a_lease_that_is_given_back_during_a_call_ends_with_the_call():
    def holders():
        return sum(len(of.holders) for of in gpu.leases().gpus)

    def lock_files():
        """How often this process has one open."""
        return sum(
            "/create." in os.readlink(entry) for entry in pathlib.Path("/proc/self/fd").iterdir() if entry.is_symlink()
        )

    def take_turn():
        with pytest.raises(glint.OptionError, match="given back"), second.turn_to_create():
            pass

    first, second = (gpu.lease("1GiB", timeout=60, avoid=(gpu.devices()[1].uuid,)) for _ in range(2))
    with first.turn_to_create():
        open_before = lock_files()
        waits = threading.Thread(target=take_turn)
        waits.start()
        while lock_files() == open_before:
            time.sleep(0.01)
        second.give_back()
        assert not second.held and holders() == 2
    waits.join()
    assert holders() == 1
    first.give_back()
    assert holders() == 0


def test_arrays_are_dropped_while_another_thread_closes_their_session():
    """In a process of its own, which a fault in C++ would end."""
    assert (
        run_python("""
import sys, threading
import numpy as np
from glint import gpu, offload
sys.setswitchinterval(1e-6)
session = offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60)
for _ in range(8):
    arrays, go = [gpu.to_device(np.ones(100), session=session) for _ in range(50)], threading.Barrier(2)
    def drop():
        go.wait()
        arrays.clear()
    thread = threading.Thread(target=drop)
    thread.start()
    go.wait()
    session.close()
    thread.join()
assert gpu.memory() == []
print("done")
""")
        == "done"
    )


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_an_array_is_dropped_while_the_session_is_in_use():
    """Without a wait, and it does not stay."""
    inside, go_on = threading.Event(), threading.Event()

    def log(words):  # called by a thread that has the session
        inside.set()
        go_on.wait(LONG)

    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, log=log) as session:

        @offload.oom_safe(on_cpu=lambda: None, session=session)
        def full():
            raise gpu.OutOfMemory("no room")

        array = gpu.to_device(ONES, session=session)
        live = gpu.memory()[0].live_bytes
        holder = threading.Thread(target=full)
        holder.start()
        assert inside.wait(LONG)
        del array
        assert gpu.memory()[0].live_bytes == live > 0
        go_on.set()
        holder.join()
        assert gpu.memory()[0].live_bytes == 0


def test_the_gpu_stays_leased_while_a_function_uses_it():
    """It is the function's, which may use another library, though its threads may use the session."""

    def on_gpu(x):
        sums = [None, None]

        def part(k, values):
            sums[k] = offload.sum(values, session=session)

        threads = [
            threading.Thread(target=part, args=k_and_values, daemon=True)
            for k_and_values in enumerate(np.array_split(x, 2))
        ]
        [thread.start() for thread in threads], [thread.join(LONG) for thread in threads]
        other = subprocess.run(
            [sys.executable, "-c", "from glint import gpu\ngpu.lease('7GiB', timeout=4)"],
            capture_output=True,
            text=True,
            timeout=LONG,
        )
        assert "LeaseTimeout" in other.stderr
        return sum(sums)

    with offload.Session("gpu", gpu_memory="3GiB", gpu_timeout=60) as session, gpu.lease("3GiB", timeout=60) as lease:
        session.open()
        assert len(gpu.memory()) == 1 and len([of for of in gpu.leases().gpus if of.holders]) == 2
        assert offload.accelerate(lambda x: None, on_gpu, operation="threads", session=session)(np.ones(10)) == 10
        assert session.gpu_open and lease.held


def test_a_function_may_close_the_session_that_runs_it():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        function = offload.accelerate(
            lambda n: "cpu", lambda n: session.close(), work=lambda n: {"bytes_from_gpu": 0}, session=session
        )
        assert function(1) is None and not session.gpu_open


# ---- Waits


def test_sessions_wait_by_default(taken):
    with once_it_waits(taken.give_back), offload.Session("gpu", gpu_memory="4GiB") as session:
        np.testing.assert_array_equal(offload.matmul(ONES, ONES, session=session), 50)


def test_what_is_explained_is_what_is_done(taken):
    """Without patience no GPU is waited for, and none is said to be."""
    with offload.Session("auto", gpu_memory="4GiB", gpu_timeout=0) as session:
        decision = offload.explain("matmul", 20000, session=session)
        assert decision.choice == "cpu" and "gpu_timeout" in decision.reason


@pytest.mark.parametrize(
    "wait",
    [
        lambda session: session.open(),
        lambda session: offload.matmul(ONES, ONES, session=session),
        lambda session: gpu.to_device(ONES, session=session),
    ],
)
def test_ctrl_c_ends_a_sessions_wait(taken, wait):
    with offload.Session("gpu", gpu_memory="4GiB", gpu_timeout=LONG) as session:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), once_it_waits(ctrl_c):
            wait(session)
        assert time.monotonic() - began < LONG and not session.gpu_open
    assert gpu.leases().waiters == ()


def test_ctrl_c_ends_the_wait_for_another_thread_of_the_session(taken):
    with offload.Session("gpu", gpu_memory="4GiB", gpu_timeout=LONG) as session:
        waiter = threading.Thread(target=session.open)
        waiter.start()
        while not gpu.leases().waiters:
            time.sleep(0.01)
        with pytest.raises(KeyboardInterrupt), once_it_waits(lambda: (time.sleep(0.5), ctrl_c())):
            session.synchronize()
        assert gpu.leases().waiters, "it waits still"
        taken.give_back()
        waiter.join()
        assert session.gpu_open


def test_ctrl_c_ends_a_diagnosis(taken):
    with pytest.raises(KeyboardInterrupt), once_it_waits(ctrl_c):
        gpu.diagnose(test=True)
    assert gpu.leases().waiters == ()


# ---- Garbage


def test_a_session_whose_log_is_its_owners_is_collected():
    class Owner:
        def __init__(self):
            self.session = offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, log=self.say)
            self.session.open()
            self.said = []

        def say(self, words):
            self.said.append(words)

    owner = Owner()
    assert len(gpu.memory()) == 1
    del owner
    gc.collect()
    assert gpu.memory() == [] and not any(of.holders for of in gpu.leases().gpus)


def test_an_array_of_an_array_that_refers_to_it_is_collected():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        foreign = Foreign(gpu.to_device(ONES, session=session))
        foreign.adopted = gpu.to_device(foreign, session=session)
        assert foreign.adopted.adopted
        gone = weakref.ref(foreign)
        del foreign
        gc.collect()
        assert gone() is None and gpu.memory()[0].live_bytes == 0


def test_who_keeps_the_error_of_a_callback_is_collected(psf, camera, simulated):
    class Owner:
        def localize(self):
            try:
                glint.localize(simulated.movie, psf, camera, progress=self.stop, backend="cpu")
            except RuntimeError as error:
                self.error = error

        def stop(self, *report):
            raise RuntimeError("enough")

    owner = Owner()
    owner.localize()
    assert owner.error
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_arguments_of_a_failed_function_are_not_kept(no_collection):
    class Argument:
        pass

    def full(x):
        raise gpu.OutOfMemory("no room")

    with (
        offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session,
        pytest.warns(RuntimeWarning, match="no room"),
    ):
        argument = Argument()
        gone = weakref.ref(argument)
        assert offload.accelerate(lambda x: 1, full, session=session)(argument) == 1
        del argument
        assert gone() is None


def test_garbage_is_collected_before_memory_runs_out(no_collection):
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        for _ in range(10):
            cycle = [gpu.to_device(np.ones(3 << 20), session=session)]  # 24 MiB
            cycle.append(cycle)
        with offload.set_oom_safe(False, session):
            np.testing.assert_array_equal(
                offload.map(lambda x: x + 1, ONES, on="device", session=session).to_numpy(), 2
            )
        assert session.statistics()["fallbacks"] == 0


@pytest.mark.parametrize("who", ["lease", "session", "fit"])
def test_garbage_is_collected_before_a_lease_is_refused(no_collection, who):
    cycle = [gpu.lease("7000MiB", gpus=2, timeout=60)]
    cycle.append(cycle)
    del cycle
    if who == "lease":
        gpu.lease("4GiB", timeout=0).give_back()
    elif who == "session":
        with offload.Session("gpu", gpu_memory="4GiB", gpu_timeout=0) as session:
            session.open()
    else:
        rois = np.full((10, 7, 7), 9, np.float32)
        assert (
            glint.fit(
                rois, glint.GaussianXYNB(sigma_px=1.3), backend="gpu", gpu_memory="4GiB", gpu_timeout=0
            ).info.backend
            == "gpu"
        )


# ---- Failures


def test_a_failure_that_leaves_the_cpu_is_warned_of_once():
    def full(x):
        raise gpu.OutOfMemory(f"no room for {x}")

    def fails(x):
        raise gpu.GpuError("something else")

    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        function = offload.accelerate(lambda x: -x, full, operation="mine", session=session)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [function(x) for x in range(3)] == [0, -1, -2]
        (warning,) = caught
        assert issubclass(warning.category, RuntimeWarning) and warning.filename == __file__
        assert (
            "mine" in str(warning.message)
            and "no room for 0" in str(warning.message)
            and "less data per call" in str(warning.message)
        )
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        limited = gpu.OutOfMemory("no room")
        limited.beyond_limit = True

        @offload.oom_safe(on_cpu=lambda: 1, session=session)
        def beyond():
            raise limited

        with pytest.warns(RuntimeWarning, match="GLINT_GPU_MEMORY_LIMIT"):
            assert beyond() == 1
        with pytest.raises(gpu.GpuError, match="something else"):
            offload.accelerate(lambda x: x, fails, session=session)(1)


def test_a_warning_may_be_an_error():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="no room"):
            offload.accelerate(
                lambda x: x, lambda x: (_ for _ in ()).throw(gpu.OutOfMemory("no room")), session=session
            )(1)
        assert session.gpu_open


BROKEN = """
import warnings
import glint, numpy as np
from glint import offload
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
"""


def test_a_gpu_that_cannot_be_opened_is_warned_of():
    out = run_python(
        BROKEN
        + """
    with offload.Session("auto") as session:
        twice = offload.accelerate(lambda x: 2 * x, lambda x: 3 * x, work=lambda x: {"flops": 1e15}, operation="twice",
                                   session=session)
        for _ in range(2):
            assert twice(np.ones(4 << 20))[0] == 2
print(*[f"{w.category.__name__}: {w.message}" for w in caught], sep=" AND ")
""",
        SIMGPU_FAULT="cuCtxCreate:1+:999",
    )
    assert out.startswith("RuntimeWarning: twice: the GPU failed") and " AND " not in out


@pytest.mark.parametrize("call", ["fit = glint.Fitter().fit", "fit = glint.fit"])
def test_a_gpu_that_fails_in_a_fit_is_warned_of(call):
    out = run_python(
        BROKEN
        + f"""
    {call}
    rois = np.random.default_rng(1).poisson(20, (3000, 7, 7)).astype(np.float32)
    psf = glint.GaussianXYNB(sigma_px=1.3)
    fits = [fit(rois, psf, backend="auto", always_gpu=True, auto_timeout=1) for _ in range(2)]
    assert all(of.info.backend == "cpu" for of in fits) and fits[0].info.gpu_failed
print(*[f"{{w.category.__name__}}: {{w.message}}" for w in caught], sep=" AND ")
""",
        SIMGPU_FAULT="cuLaunchKernel:1+~:700",
    )
    assert out.startswith("RuntimeWarning: a GPU failed") and "glint doctor" in out
    assert " AND " not in out, "after that there is no GPU that could fail"


def test_what_is_no_failure_is_not_warned_of(taken):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with offload.Session("auto", gpu_timeout=0) as session:
            assert offload.sum(ONES, session=session) == 2500
            twice = offload.accelerate(
                lambda x: 2 * x, lambda x: 3 * x, work=lambda x: {"flops": 1e15}, session=session
            )
            assert twice(np.ones(4 << 20))[0] == 2
    with pytest.warns(RuntimeWarning, match="no GPU had room"):  # the time that the user gave is over
        fits = glint.fit(
            np.full((100, 7, 7), 9, np.float32),
            glint.GaussianXYNB(sigma_px=1.3),
            backend="auto",
            always_gpu=True,
            auto_timeout=0,
        )
    assert fits.info.backend == "cpu" and fits.info.timed_out and not fits.info.gpu_failed
