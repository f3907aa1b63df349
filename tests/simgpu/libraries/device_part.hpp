// The part of a stand-in of NVIDIA's libraries that is on a simulated GPU: memory that it allocates when it is created,
// and its kernels, which run late in the given stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "driver_table.hpp"
#include "faults.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace simgpu {

class DevicePart {
  public:
    /// Allocates in the current context. Returns cu::success, or an error after which nothing is allocated.
    cu::Result open(std::size_t bytes);
    void close();
    cu::Result launch(const char* kernel, long long blocks, void** parameters);
    void set_stream(cu::Stream stream) { stream_ = stream; }
    cu::DevicePtr memory() const { return memory_; }

  private:
    cu::Stream own_ = nullptr, stream_ = nullptr;
    cu::MemPool pool_ = nullptr;
    cu::DevicePtr memory_ = 0;
    cu::Module module_ = nullptr;
    std::map<std::string, cu::Function> functions_;
};

/// Keeps the primary context until the process ends, as cuBLAS and cuSOLVER do (measured).
void hold_primary_context();

/// Returns the fault planned for this call by SIMGPU_FAULT, or 0.
inline int planned(const char* function) { return count_call(function).result; }

}  // namespace simgpu
