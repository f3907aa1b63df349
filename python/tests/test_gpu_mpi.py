"""Arrays of a GPU as buffers of mpi4py, between two processes; with mpi4py and mpirun, on a simulated server. An MPI
with CUDA, which takes device memory, is not tested here."""

from conftest import mpirun, simulated_server

pytestmark = simulated_server

PROGRAM = """
import numpy as np
from mpi4py import MPI
from glint import gpu, offload
import glint.arrays as xp
comm = MPI.COMM_WORLD
rank, other = comm.rank, 1 - comm.rank
assert comm.size == 2
of = lambda r, dtype="f8": (np.arange(12).reshape(3, 4) + 100 * r).astype(dtype)
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, device=rank, unified=True) as session:
    for dtype in ("f4", "f8", "c8", "c16", "i1", "i4", "i8", "u1", "u8", "?"):
        x = gpu.to_device(of(rank, dtype), session=session)
        x, y = x + x.dtype.type(0), xp.zeros_like(x)  # written by a kernel: complete when MPI reads
        comm.Sendrecv(x, dest=other, recvbuf=y, source=other)
        np.testing.assert_array_equal((y + y.dtype.type(0)).to_numpy(), of(other, dtype))  # read by a kernel
    x = gpu.to_device(of(rank), session=session)
    total = xp.zeros_like(x)
    comm.Allreduce(x, total)
    np.testing.assert_array_equal(total.to_numpy(), of(0) + of(1))
    host = np.zeros((3, 4))
    comm.Sendrecv(x[1], dest=other, recvbuf=host[2], source=other)  # a view of one row, into NumPy's
    np.testing.assert_array_equal(host[2], of(other)[1])
    y = xp.zeros((12,), device=session)
    comm.Sendrecv(x.T, dest=other, recvbuf=y, source=other)  # in the order of memory, as NumPy's
    np.testing.assert_array_equal(y.to_numpy(), of(other).ravel())
    comm.Bcast(x, root=1)
    np.testing.assert_array_equal(x.to_numpy(), of(1))
    try:
        comm.Send(x[:, ::2], dest=other)
    except BufferError as error:
        assert "not contiguous" in str(error)
    else:
        raise AssertionError("an array with gaps was sent")
    exported = gpu.export_array(of(rank), session=session)
    handle = comm.sendrecv(exported.ipc_handle, dest=other, source=other)
    imported = gpu.import_array(handle, session=session)
    np.testing.assert_array_equal(imported.to_numpy(), of(other))
    del imported
    comm.Barrier()
    try:
        comm.isend(x, dest=other)
    except TypeError as error:
        assert "ipc_handle" in str(error) and "comm.Send" in str(error), error
    else:
        raise AssertionError("a DeviceArray was pickled")
    comm.Barrier()
print("exchanged")
"""


def test_two_processes_exchange_arrays_of_unified_memory():
    assert mpirun(PROGRAM, processes=2).count("exchanged") == 2  # whose lines may be mixed
