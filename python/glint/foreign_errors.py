"""The meaning of messages without an error code, from PyTorch, CuPy, JAX, Numba, TensorFlow and NVIDIA's libraries."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

#: Parts of messages, in lower case, that mean an error of CUDA's table; includes the texts of cudaGetErrorString().
_CODES = {
    "out of memory": 2,
    "cublas_status_alloc_failed": 2,
    "cudnn_status_alloc_failed": 2,
    "cufft_alloc_failed": 2,
    "cusolver_status_alloc_failed": 2,
    "cuda driver version is insufficient": 35,
    "driver on your system is too old": 35,
    "no cuda-capable device is detected": 100,
    "cuda_error_no_device": 100,
    "cuda_error_not_initialized": 3,
    "cuda_error_system_driver_mismatch": 803,
    "unsupported display driver / cuda driver combination": 803,
    "forward compatibility was attempted": 804,
    "unsupported toolchain": 222,
    "invalid device ordinal": 101,
    "no kernel image is available": 209,
    "uncorrectable ecc error": 214,
    "illegal memory access": 700,
    "too many resources requested for launch": 701,
    "launch timed out": 702,
    "device-side assert triggered": 710,
    "misaligned address": 716,
    "unspecified launch failure": 719,
    "busy or unavailable": 46,
    "device is unavailable": 46,
    "system not yet initialized": 802,
    "peer access is not supported": 217,
    "operation not permitted when stream is capturing": 900,
    "cuda error: unknown error": 999,
}

_NO_GPU = "`glint doctor` says what is wrong, and `glint doctor --guide` what to install; meanwhile use device='cpu'"

_DRIVER = (
    "the NVIDIA driver is not installed, or not visible here. In a container: start it with --gpus all "
    "(Docker, Podman) or --nv (Apptainer). "
    "In WSL2: install the driver in Windows, not in Linux. Else `glint doctor --guide` prints the "
    "commands; meanwhile use the CPU"
)

_VERSIONS = (
    "the driver was updated while its kernel module is still the old one, or a container brings another "
    "driver's libraries: reboot, or "
    "restart the container; `glint doctor` says which version each has"
)

_CONTAINER = (
    "Docker has no access to GPUs: install the NVIDIA Container Toolkit on the host (in WSL2: in the "
    "distribution that runs Docker), "
    "run `sudo nvidia-ctk runtime configure --runtime=docker` and restart Docker; `nvidia-smi` must work "
    "on the host first"
)

_CPU_BUILD = (
    "the installed {0} computes on the CPU only: {1}; `glint doctor` says whether this machine "
    "has a GPU that it could use"
)

_TENSORFLOW = (
    "TensorFlow finds no GPU, or not its CUDA libraries: pip install 'tensorflow[and-cuda]'; `glint "
    "doctor` says whether driver and GPU "
    "are all right; meanwhile use tf.device('/CPU:0')"
)

_TOOLKIT = "a part of the CUDA toolkit is missing: pip install {0}, or set CUDA_HOME to an installed toolkit"

#: How to install a package that `import` does not find.
_PACKAGES = {
    "cupy": (
        "pip install cupy-cuda13x, or cupy-cuda12x for a driver older than 580 (`glint doctor` shows "
        "the driver); without a GPU use NumPy"
    ),
    "cupy_backends": (
        "the parts of CuPy are of different versions: pip uninstall all cupy packages, then pip install cupy-cuda13x"
    ),
    "cupyx": "pip install cupy-cuda13x, or cupy-cuda12x for a driver older than 580",
    "torch": "pip install torch; https://pytorch.org has the command for this driver",
    "jax": "pip install 'jax[cuda13]', or 'jax[cuda12]' for a driver older than 580; without a GPU pip install jax",
    "jaxlib": "pip install 'jax[cuda13]', or 'jax[cuda12]' for a driver older than 580; without a GPU pip install jax",
    "numba": "pip install numba numba-cuda",
    "numba_cuda": "pip install numba-cuda",
    "tensorflow": "pip install 'tensorflow[and-cuda]'; without a GPU pip install tensorflow",
    "pynvml": "pip install nvidia-ml-py",
    "cuda": "pip install cuda-python",
    "pycuda": "pip install pycuda, which needs the CUDA toolkit",
    "cudf": "pip install cudf-cu13, or cudf-cu12 for a driver older than 580",
    "mpi4py": "pip install mpi4py",
}

_START = (
    "a forked process cannot use its parent's GPU: multiprocessing.get_context('spawn'); without a fork, "
    "`glint doctor` says what keeps the "
    "driver from starting"
)

_LIBRARY = (
    "mostly a GPU without free memory for {0}, which `glint top` shows, or an error of an earlier "
    "operation: CUDA_LAUNCH_BLOCKING=1 shows "
    "which; else {0} and the driver do not fit together, which `glint doctor` finds"
)

#: Messages that do not mean a CUDA error, with a remedy.
_REMEDIES = {
    "found no nvidia driver": _DRIVER,
    "cuda driver library cannot be found": _DRIVER,
    "could not find cuda drivers": _DRIVER,
    "nvml shared library not found": _DRIVER,
    "failed call to cuinit": _DRIVER,
    "nvidia-smi has failed because it couldn't": _DRIVER,
    "driver not loaded": _DRIVER,
    "might not have a cuda gpu": _DRIVER,
    "driver/library version mismatch": _VERSIONS,
    "nvml/rm version mismatch": _VERSIONS,
    "gpu access blocked by the operating system": "in WSL2 the driver of Windows is too old or not "
    "active: install a current NVIDIA driver in "
    "Windows, then run `wsl --update` and `wsl --shutdown` there",
    "with capabilities: [[gpu]]": _CONTAINER,
    "unknown or invalid runtime name: nvidia": _CONTAINER,
    "nvidia-container-cli: requirement error": (
        "the container needs a newer driver than the host has: update the host's driver, or use an older image"
    ),
    "nvidia-container-cli": _CONTAINER,
    "failed to import cupy": "the installed CuPy does not fit to this machine's CUDA: pip uninstall all "
    "cupy packages, then pip install cupy-cuda13x, or "
    "cupy-cuda12x for a driver older than 580; the message's last lines name what did not load",
    "cupy is not correctly installed": (
        "pip uninstall all cupy packages, then pip install cupy-cuda13x, or cupy-cuda12x for a driver older than 580"
    ),
    "multiple cupy packages": "pip uninstall all cupy packages, then install one of them",
    "failed to find cuda headers": _TOOLKIT.format("'cupy-cuda13x[ctk]'"),
    "unknown backend: 'gpu'": _CPU_BUILD.format(
        "JAX", "pip install 'jax[cuda13]', or 'jax[cuda12]' for a driver older than 580"
    ),
    "unknown backend cuda": _CPU_BUILD.format(
        "JAX", "pip install 'jax[cuda13]', or 'jax[cuda12]' for a driver older than 580"
    ),
    "cuda-enabled jaxlib is not installed": _CPU_BUILD.format(
        "JAX", "pip install 'jax[cuda13]', or 'jax[cuda12]' for a driver older than 580"
    ),
    "unable to initialize backend 'cuda'": (
        "JAX found its CUDA plugin and no GPU that it can use: `glint doctor` says why; JAX_PLATFORMS=cpu uses the CPU"
    ),
    "no visible gpu devices": _NO_GPU,
    "no supported devices found for platform cuda": _NO_GPU,
    "unable to load cudnn": (
        "JAX's cuDNN is missing, or of another version: pip install --upgrade "
        "'jax[cuda13]', and no LD_LIBRARY_PATH to other versions"
    ),
    "jax was built against": "JAX and an installed CUDA are of different versions: pip install --upgrade "
    "'jax[cuda13]', and no LD_LIBRARY_PATH to other "
    "versions",
    "cuda is disabled due to setting numba_disable_cuda": "unset NUMBA_DISABLE_CUDA, or continue with the CPU",
    "libnvvm cannot be found": _TOOLKIT.format("'numba-cuda[cu13]'"),
    "missing libdevice file": _TOOLKIT.format("'numba-cuda[cu13]'"),
    "libdevice not found": _TOOLKIT.format("'tensorflow[and-cuda]'"),
    "cannot dlopen some gpu libraries": _TENSORFLOW,
    "cannot assign a device for operation": _TENSORFLOW,
    "could not satisfy device specification": _TENSORFLOW,
    "dnn library is not found": _TENSORFLOW,
    "unsupported display driver": _VERSIONS,
    "the gpu program failed to execute": _NO_GPU,
    "no cuda gpus are available": _NO_GPU,
    "driver initialization failed": _START,
    "cuda error: initialization error": _START,
    "cuda unknown error": (
        "set CUDA_VISIBLE_DEVICES before the program starts, not in it; else `glint "
        "doctor` finds what is wrong, and a reboot helps"
    ),
    "torch not compiled with cuda enabled": "this PyTorch is built for the CPU alone: install one with "
    "CUDA, as https://pytorch.org says, or use "
    "device='cpu'",
    "torch.cuda.is_available() is false": "the file's tensors were on a GPU, and there is none here: "
    "torch.load(..., map_location='cpu'); "
    "`glint doctor` says why there is no GPU",
    "cannot re-initialize cuda in forked subprocess": "a forked process cannot use its parent's GPU: "
    "multiprocessing.get_context('spawn'), also as a DataLoader's multiprocessing_context",
    "expected all tensors to be on the same device": "move one of the tensors: x.to(y.device)",
    "input type (torch.": "the model and its input must be on one device, and of one type: model.to(x.device, x.dtype)",
    "expected object of device type": "move one of the tensors: x.to(y.device)",
    "attempting to deserialize object on cuda device": "the file's tensors were on a GPU with a number "
    "that this machine lacks: "
    "torch.load(..., map_location='cuda:0'), or map_location='cpu'",
    "can't convert cuda": "copy the tensor to the host first: x.cpu(); glint's functions also accept it on the GPU",
    "implicit conversion to a numpy array": "copy the array to the host first: cupy.asnumpy(x), or x.get()",
    "cudnn_status_not_initialized": "mostly a GPU without free memory for cuDNN: `glint top` shows who "
    "has it; else cuDNN and the driver do not fit "
    "together, which `glint doctor` finds",
    "cublas_status_not_initialized": "mostly a GPU without free memory for cuBLAS: `glint top` shows who has it",
    "cufft_internal_error": _LIBRARY.format("cuFFT"),
    "cublas_status_execution_failed": _LIBRARY.format("cuBLAS"),
    "cudnn_status_execution_failed": _LIBRARY.format("cuDNN"),
    "nccl error": (
        "set NCCL_DEBUG=INFO and run again: its first warning names the cause; `glint devices` "
        "shows whether all GPUs can be used"
    ),
    "nccl_error": (
        "set NCCL_DEBUG=INFO and run again: its first warning names the cause; `glint devices` "
        "shows whether all GPUs can be used"
    ),
    "ncclsystemerror": (
        "set NCCL_DEBUG=INFO and run again: its first warning names the cause; `glint "
        "devices` shows whether all GPUs can be used"
    ),
    "nvrtc": (
        "the kernel did not compile, or NVRTC is missing: pip install nvidia-cuda-nvrtc; `glint "
        "doctor --guide` says what else"
    ),
}


def cuda_code(message: str) -> int:
    """Returns the CUDA error code that a message means; 0: none."""
    words = message.lower()
    return next((code for part, code in _CODES.items() if part in words), 0)


def remedy(message: str) -> str:
    """Returns the remedy for a message that does not mean a CUDA error; empty: unknown."""
    words = message.lower()
    if module := re.search(r"no module named '?([\w]+)", words):
        return _PACKAGES.get(module[1], "")
    return next((advice for part, advice in _REMEDIES.items() if part in words), "")
