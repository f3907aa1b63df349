"""The array namespace of glint.gpu.DeviceArray: functions of arrays on a GPU, as in the array API standard 2023.12.

    >>> import glint.arrays as xp                               # or xp = array.__array_namespace__()
    >>> def standardized(x):
    ...     xp = x.__array_namespace__()
    ...     return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)

Names, arguments and results follow the standard. Types of results and special cases are those of NumPy. Some functions
compute on the GPU; the remaining functions copy to the host, where NumPy computes. `where_computed(name)` returns where
a function computes, and docs/how-to/python_gpu.md lists all functions.

Arrays are on the GPU of a session: the session given as `device`, or the default session
(`glint.offload.default_session()`). The default session leases a GPU when the first array is created, and keeps it
until `glint.offload.close()`. Without a GPU that can be used, creating an array raises `glint.gpu.NoGpu` with the
reason. Use `glint.gpu.is_available()` to check beforehand. The functions of `glint.offload` accept NumPy arrays and
then compute on the CPU.
"""

# SPDX-License-Identifier: MIT
from typing import TYPE_CHECKING

from . import fft, linalg
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ._dtypes import (
    astype,
    bool,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._elementwise import __all__ as _elementwise
from ._elementwise import clip, conj, imag, real, round
from ._info import __array_namespace_info__, where_computed
from ._manipulation import (
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from ._searching import (
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from ._statistics import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .linalg import matmul, matrix_transpose, tensordot, vecdot

if TYPE_CHECKING:
    from ._elementwise_names import *
else:
    from ._elementwise import *

__array_api_version__: str = "2023.12"
e: float = 2.718281828459045
pi: float = 3.141592653589793
inf: float = float("inf")
nan: float = float("nan")
newaxis: None = None

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "astype",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "complex128",
    "complex64",
    "concat",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "fft",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "inf",
    "int16",
    "int32",
    "int64",
    "isin",
    "int8",
    "isdtype",
    "linalg",
    "linspace",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "meshgrid",
    "min",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "prod",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "searchsorted",
    "sort",
    "squeeze",
    "stack",
    "std",
    "sum",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "where_computed",
    "zeros",
    "zeros_like",
    *_elementwise,
]


def __dir__() -> list[str]:
    return __all__
