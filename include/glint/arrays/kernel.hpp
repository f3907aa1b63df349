// User-defined kernels: CUDA C++ that NVIDIA's NVRTC compiles at run time, launched on a session's GPU.
//
//     const glint::arrays::KernelSource twice{
//         .source = "extern \"C\" __global__ void twice(float* x, int n) {"
//                   "    const int k = blockIdx.x * blockDim.x + threadIdx.x;"
//                   "    if (k < n) x[k] *= 2;"
//                   "}",
//         .name = "twice"};
//     const auto x = glint::arrays::to_device<float>(session, view);
//     const int n = int(x.shape.count());
//     glint::arrays::launch(session, twice, unsigned(n + 255) / 256, 256, {x, n});
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "glint/arrays/array.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

/// CUDA C++ with a kernel declared as extern "C" __global__ void NAME(...).
struct KernelSource {
    std::string source, name;
    std::vector<std::string> options = {};  ///< for NVRTC: "--use_fast_math", "-I/opt/include"
};

/// An argument of a kernel: the elements of an array, which the kernel may read and write, or a number. The number must
/// have exactly the parameter's type. Shares the memory of an array.
class KernelArgument {
  public:
    template <class T>
    KernelArgument(const DeviceArray<T>& array)
        : bytes(sizeof(std::uint64_t)), address_([buffer = array.buffer](const gpu::Stream& stream) mutable {
              return buffer.size() > 0 ? buffer.write_on(stream) : 0;
          }) {}
    template <class T>
    requires std::is_trivially_copyable_v<T> KernelArgument(const T& number) : bytes(sizeof number) {
        std::memcpy(bytes.data(), &number, sizeof number);
    }
    explicit KernelArgument(std::vector<std::byte> number) : bytes(std::move(number)) {}

    bool is_array() const { return bool(address_); }
    /// Writes the address for a launch on `stream` into `bytes`; no effect for numbers.
    void bind(const gpu::Stream& stream) {
        if (!address_) return;
        const std::uint64_t address = address_(stream);
        std::memcpy(bytes.data(), &address, sizeof address);
    }
    std::vector<std::byte> bytes;

  private:
    std::function<std::uint64_t(const gpu::Stream&)> address_;
};

/// Returns machine code for GPUs of a compute capability (90: 9.0). Throws OptionError with the compiler's messages if
/// the source does not compile, and LibraryMissing if NVRTC is not installed.
std::vector<unsigned char> compile(const KernelSource& kernel, int capability);

/// Enqueues the kernel on the session's stream, in a grid of `blocks` blocks of `threads` threads, with `shared_bytes`
/// of dynamic shared memory per block. Compiles it at the first launch on a GPU.
///
/// A later wait throws errors of the kernel itself. After an illegal access the process has lost the GPU (DeviceLost).
/// Does not fall back to the CPU: for that, use the kernel in one of the two functions of offload::accelerate().
///
/// Throws LibraryMissing, what Session::stream() and gpu::launch() throw, and OptionError for
/// - a source that does not compile, or a name that is no kernel,
/// - 0 blocks or threads, or
/// - arguments whose number or sizes differ from the parameters, if the driver reports these (12.4 or newer).
void launch(offload::Session& session, const KernelSource& kernel, unsigned blocks, unsigned threads,
            std::vector<KernelArgument> arguments, unsigned shared_bytes = 0);

/// Returns the bytes of each parameter; empty if the driver does not report them. Compiles the kernel and throws as
/// launch().
std::vector<std::size_t> parameter_bytes(offload::Session& session, const KernelSource& kernel);

}  // namespace glint::arrays
