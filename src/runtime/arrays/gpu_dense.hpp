// Common parts of the operations by cuSOLVER: copies of matrices, checks, results.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "arrays/check.hpp"
#include "arrays/transfer.hpp"
#include "glint/error.hpp"

namespace glint::arrays {

template <class T>
T* at(std::uint64_t address) {
    return reinterpret_cast<T*>(address);
}

/// A copy that may be overwritten, in C order.
template <class T>
gpu::Buffer<T> copy_of(const gpu::Stream& stream, const Operand<const T>& operand) {
    const std::size_t size = std::size_t(operand.shape().count());
    gpu::Buffer<T> copy(stream, size);
    if (operand.on_device())
        gpu::copy(stream, copy, operand.device_array().buffer.view(0, size));
    else
        upload(stream, copy, operand.view(), 0, operand.shape().count());
    return copy;
}

/// Where a result is computed: in the caller's array on a GPU, or in a separate one.
template <class T>
gpu::Buffer<T> place_for(const gpu::Stream& stream, const Operand<T>& operand) {
    return operand.on_device() ? operand.device_array().buffer
                               : gpu::Buffer<T>(stream, std::size_t(operand.shape().count()));
}

template <class T>
void bring_home(const gpu::Stream& stream, const Operand<T>& operand, const gpu::Buffer<T>& buffer) {
    if (operand && !operand.on_device()) download(stream, operand.view(), buffer, 0, operand.shape().count());
}

inline int as_int(const char* what, std::int64_t n) {
    if (n > std::numeric_limits<int>::max())
        throw OptionError(fmt::format("{} of a matrix with {} rows or columns: it is too large", what, n));
    return int(n);
}

/// Throws OptionError if an element is NaN or infinite, because cuSOLVER's result would be undefined.
template <class T>
void require_finite_there(OnGpu& on_gpu, const gpu::Stream& stream, const char* what, const gpu::Buffer<T>& matrix,
                          const Shape& shape) {
    const Operand<const T> there(DeviceArray<T>{matrix, shape});
    const double rest = on_gpu.reduce<T>(Reduction::sum, compile(input(0) - input(0)), std::span(&there, 1), shape);
    if (!std::isnan(rest)) return;
    std::vector<T> values(matrix.size());
    gpu::download(stream, std::span<T>(values), matrix);
    stream.synchronize();
    require_finite(what, values, shape[0], shape[1]);
}

}  // namespace glint::arrays
