// What the three examples share: the GPUs to use, numbers to add, the addition on a GPU, and the check of its sum.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu/managed.hpp"

namespace example {

namespace gpu = glint::gpu;

constexpr unsigned slice_size = 100000;  // numbers for each GPU

/// CUDA's numbers of the GPUs that can be used. Where there is none it prints why.
std::vector<int> usable_gpus();

/// The kernel, on the GPU of a context.
class Adder {
  public:
    explicit Adder(const gpu::Context& context);
    /// Puts sum = a + b into the stream.
    void add(const gpu::Stream& stream, gpu::Buffer<float>& sum, std::uint64_t a, std::uint64_t b) const;

  private:
    gpu::Module module_;
    gpu::Kernel kernel_;
};

/// The same from host memory to host memory; returns when the sum is there.
void add_on_gpu(const gpu::Context& context, const gpu::Stream& stream, std::span<float> sum, std::span<const float> a,
                std::span<const float> b);

void fill_with_numbers(std::span<float> a, std::span<float> b);

/// Prints the outcome; the exit code of the program.
int check_sum(std::span<const float> sum, std::span<const float> a, std::span<const float> b);

}  // namespace example
