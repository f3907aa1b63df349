"""Messages of PyTorch, CuPy and NVIDIA's libraries that carry no error code, and what they mean."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

#: Parts of messages, in lower case, that stand for an error of CUDA's table (cudaGetErrorString()'s words among them).
_CODES = {
    "out of memory": 2,
    "cublas_status_alloc_failed": 2,
    "cudnn_status_alloc_failed": 2,
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
    "devices are busy or unavailable": 46,
    "device is unavailable": 46,
    "system not yet initialized": 802,
    "peer access is not supported": 217,
}

_NO_GPU = "`glint doctor` says what is wrong, and `glint doctor --guide` what to install; meanwhile use device='cpu'"

#: What no error of CUDA is, with what to do.
_REMEDIES = {
    "found no nvidia driver": _NO_GPU,
    "no cuda gpus are available": _NO_GPU,
    "torch not compiled with cuda enabled": "this PyTorch is built for the CPU alone: install one with CUDA, as https://pytorch.org says, or use "
                                            "device='cpu'",
    "torch.cuda.is_available() is false": "the file's tensors were on a GPU, and there is none here: torch.load(..., map_location='cpu'); "
                                          "`glint doctor` says why there is no GPU",
    "cannot re-initialize cuda in forked subprocess": "a forked process cannot use its parent's GPU: "
                                                      "multiprocessing.get_context('spawn'), also as a DataLoader's multiprocessing_context",
    "expected all tensors to be on the same device": "move one of the tensors: x.to(y.device)",
    "input type (torch.cuda": "move the model or its input to the same device: model.to(x.device)",
    "can't convert cuda": "copy the tensor to the host first: x.cpu(); glint's functions take it where it is",
    "implicit conversion to a numpy array": "copy the array to the host first: cupy.asnumpy(x), or x.get()",
    "cudnn_status_not_initialized": "mostly a GPU without free memory for cuDNN: `glint top` shows who has it; else cuDNN and the driver do not fit "
                                    "together, which `glint doctor` finds",
    "cublas_status_not_initialized": "mostly a GPU without free memory for cuBLAS: `glint top` shows who has it",
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
