// What a stand-in of one of NVIDIA's libraries has on a simulated GPU: memory that it takes when it is made, and its
// kernels, which run late, in the stream that they are given.
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
    /// In the current context; cu::success or what went wrong, and nothing is left then.
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

/// As cuBLAS and cuSOLVER do, measured: a primary context that they were used in stays until the process ends.
void hold_primary_context();

/// The fault planned for this call by SIMGPU_FAULT, or 0.
inline int planned(const char* function) { return count_call(function).result; }

}  // namespace simgpu
