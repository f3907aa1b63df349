// Shared by the three examples: the GPUs to use, numbers to add, the addition on a GPU, and the check of its sum.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu/managed.hpp"

namespace example {

namespace gpu = glint::gpu;

constexpr unsigned slice_size = 100000;  // numbers for each GPU

/// Returns CUDA's numbers of the GPUs that can be used. If there is none, prints the reason.
std::vector<int> usable_gpus();

/// The kernel, on the GPU of a context.
class Adder {
  public:
    explicit Adder(const gpu::Context& context);
    /// Enqueues sum = a + b in the stream.
    void add(const gpu::Stream& stream, gpu::Buffer<float>& sum, std::uint64_t a, std::uint64_t b) const;

  private:
    gpu::Module module_;
    gpu::Kernel kernel_;
};

/// The same from host memory to host memory; returns when the sum is complete.
void add_on_gpu(const gpu::Context& context, const gpu::Stream& stream, std::span<float> sum, std::span<const float> a,
                std::span<const float> b);

void fill_with_numbers(std::span<float> a, std::span<float> b);

/// Prints the outcome; returns the exit code of the program.
int check_sum(std::span<const float> sum, std::span<const float> a, std::span<const float> b);

}  // namespace example
