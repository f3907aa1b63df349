// Programs for the simulated driver, each run by a test in a separate process. They return an exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "driver_table.hpp"

using Arguments = std::vector<std::string>;

/// A context on a device, with a pool, a module of the test kernels, and streams. close() releases all.
struct Session {
    cu::Device device;
    cu::Context context{};
    cu::MemPool pool{};
    cu::Module module{};
    cu::Stream streams[2]{};

    explicit Session(int ordinal = 0, std::uint64_t pool_limit = 0);
    cu::Function function(const char* name) const;
    cu::DevicePtr allocate(std::size_t bytes, int stream = 0) const;
    void launch(const char* name, unsigned blocks, unsigned threads, unsigned shared, void** parameters,
                int stream = 0) const;
    void close();
};

/// Page-locked memory, registered as glint does it.
float* pin_floats(std::size_t count);
void unpin(float* floats);

/// Two streams, an event between them, and pinned slots used in turn, with one deliberate ordering bug, or "none".
int pipeline(const Arguments& arguments);

int run_program(const Arguments& arguments);
