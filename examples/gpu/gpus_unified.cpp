// Several GPUs in one process with unified memory: arrays of shape (n, gpus), of which each GPU adds one slice.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>

#include "add.hpp"

using namespace example;

namespace {

struct Worker {
    explicit Worker(int ordinal) : context(ordinal), stream(context), added(context), adder(context) {}
    gpu::Context context;
    gpu::Stream stream;
    gpu::Event added;
    Adder adder;
};

int run() {
    std::vector<Worker> workers;
    for (const int ordinal : usable_gpus()) workers.emplace_back(ordinal);
    if (workers.empty()) return 0;

    // Memory of the first GPU's context, within reach of all GPUs and of the host.
    const std::size_t n = slice_size, all = n * workers.size();
    const gpu::Context& home = workers.front().context;
    gpu::Managed<float> a(home, all), b(home, all), sum(home, all);
    fill_with_numbers(a.span(), b.span());

    float* const sums = sum.begin();
    for (std::size_t k = 0; k < workers.size(); ++k) {
        Worker& worker = workers[k];
        const std::uint64_t offset = k * n * sizeof(float);
        gpu::Buffer<float> result(worker.stream, n);
        worker.adder.add(worker.stream, result, a.read_on(worker.stream) + offset, b.read_on(worker.stream) + offset);
        // sum.write_on() would make each GPU wait for the one before: glint treats the array as one. The slices do not
        // overlap, so each is passed as a separate buffer.
        auto slice = gpu::Buffer<float>::adopt(worker.stream, reinterpret_cast<std::uint64_t>(sums + k * n), n, false);
        copy(worker.stream, slice, result);
        worker.added.record(worker.stream);
    }
    // So the host must wait for the slices itself before it reads.
    for (const Worker& worker : workers) {
        worker.added.synchronize();
        std::printf("GPU %d, %s, added its slice\n", worker.context.ordinal(), worker.context.name().c_str());
    }
    return check_sum({sums, all}, a.span(), b.span());
}

}  // namespace

int main() try { return run(); } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
