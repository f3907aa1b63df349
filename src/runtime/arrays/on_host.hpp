// Downloads operands from a GPU for operations on the CPU, and uploads the results.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <vector>

#include "arrays/gpu.hpp"
#include "glint/arrays/operations.hpp"

namespace glint::arrays {

/// An input as a View on the host; owns a copy if the input is on a GPU.
template <class T>
class InputOnHost {
  public:
    InputOnHost(Session& session, const Operand<const T>& operand) : view_(operand.view()) {
        if (!operand.on_device()) return;
        copy_.resize(std::size_t(operand.shape().count()));
        gpu::download(session.stream(), std::span<T>(copy_), operand.device_array().buffer);
        view_ = View<const T>(copy_.data(), operand.shape());
    }
    const View<const T>& view() const { return view_; }

  private:
    std::vector<T> copy_;
    View<const T> view_;
};

/// Memory for a result; finish() copies it to its destination.
template <class T>
class ResultOnHost {
  public:
    ResultOnHost(Session& session, const Operand<T>& operand)
        : session_(session), operand_(operand), view_(operand.view()) {
        if (!operand.on_device()) return;
        copy_.resize(std::size_t(operand.shape().count()));
        view_ = View<T>(copy_.data(), operand.shape());
    }
    const View<T>& view() const { return view_; }
    void finish() {
        if (!operand_.on_device()) return;
        gpu::Buffer<T> buffer = operand_.device_array().buffer;
        gpu::upload(session_.stream(), buffer, std::span<const T>(copy_));
    }

  private:
    Session& session_;
    const Operand<T>& operand_;
    std::vector<T> copy_;
    View<T> view_;
};

/// The session's GPU with its array objects.
inline OnGpu& on_gpu(Session& session) {
    return session.keep<OnGpu>(
        [](const gpu::Context& context, const gpu::Stream& stream) { return OnGpu(context, stream); });
}

}  // namespace glint::arrays
