"""Messages of PyTorch, CuPy and NVIDIA's libraries that carry no error code, and what they mean."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

#: Parts of messages, in lower case, that stand for an error of CUDA's table (cudaGetErrorString()'s words among them).
_CODES = {
    "out of memory": 2,
    "cublas_status_alloc_failed": 2,
    "cudnn_status_alloc_failed": 2,
    "cufft_alloc_failed": 2,
    "cusolver_status_alloc_failed": 2,
    "cuda driver version is insufficient": 35,
    "driver on your system is too old": 35,
    "no cuda-capable device is detected": 100,
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

_START = ("a forked process cannot use its parent's GPU: multiprocessing.get_context('spawn'); without a fork, `glint doctor` says what keeps the "
          "driver from starting")

_LIBRARY = ("mostly a GPU without free memory for {0}, which `glint top` shows, or an error of an earlier operation: CUDA_LAUNCH_BLOCKING=1 shows "
            "which; else {0} and the driver do not fit together, which `glint doctor` finds")

#: What no error of CUDA is, with what to do.
_REMEDIES = {
    "found no nvidia driver": _NO_GPU,
    "no cuda gpus are available": _NO_GPU,
    "driver initialization failed": _START,
    "cuda error: initialization error": _START,
    "cuda unknown error": "set CUDA_VISIBLE_DEVICES before the program starts, not in it; else `glint doctor` finds what is wrong, and a reboot helps",
    "torch not compiled with cuda enabled": "this PyTorch is built for the CPU alone: install one with CUDA, as https://pytorch.org says, or use "
                                            "device='cpu'",
    "torch.cuda.is_available() is false": "the file's tensors were on a GPU, and there is none here: torch.load(..., map_location='cpu'); "
                                          "`glint doctor` says why there is no GPU",
    "cannot re-initialize cuda in forked subprocess": "a forked process cannot use its parent's GPU: "
                                                      "multiprocessing.get_context('spawn'), also as a DataLoader's multiprocessing_context",
    "expected all tensors to be on the same device": "move one of the tensors: x.to(y.device)",
    "input type (torch.": "the model and its input must be on one device, and of one type: model.to(x.device, x.dtype)",
    "expected object of device type": "move one of the tensors: x.to(y.device)",
    "attempting to deserialize object on cuda device": "the file's tensors were on a GPU with a number that this machine lacks: "
                                                       "torch.load(..., map_location='cuda:0'), or map_location='cpu'",
    "can't convert cuda": "copy the tensor to the host first: x.cpu(); glint's functions take it where it is",
    "implicit conversion to a numpy array": "copy the array to the host first: cupy.asnumpy(x), or x.get()",
    "cudnn_status_not_initialized": "mostly a GPU without free memory for cuDNN: `glint top` shows who has it; else cuDNN and the driver do not fit "
                                    "together, which `glint doctor` finds",
    "cublas_status_not_initialized": "mostly a GPU without free memory for cuBLAS: `glint top` shows who has it",
    "cufft_internal_error": _LIBRARY.format("cuFFT"),
    "cublas_status_execution_failed": _LIBRARY.format("cuBLAS"),
    "cudnn_status_execution_failed": _LIBRARY.format("cuDNN"),
    "nccl": "set NCCL_DEBUG=INFO and run again: its first warning names the cause; `glint devices` shows whether all GPUs can be used",
    "nvrtc": "the kernel did not compile, or NVRTC is missing: pip install nvidia-cuda-nvrtc; `glint doctor --guide` says what else",
}


def cuda_code(message: str) -> int:
    """CUDA's error code that a message stands for; 0: none."""
    words = message.lower()
    return next((code for part, code in _CODES.items() if part in words), 0)


def remedy(message: str) -> str:
    """What to do, for messages that stand for no error of CUDA; empty: not known."""
    words = message.lower()
    return next((advice for part, advice in _REMEDIES.items() if part in words), "")
