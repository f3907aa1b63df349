// One GPU per thread: each thread adds a slice of two arrays on another GPU and stream.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <thread>

#include "add.hpp"

using namespace example;

int main() try {
    const std::vector<int> ordinals = usable_gpus();
    if (ordinals.empty()) return 0;
    const std::size_t n = ordinals.size() * slice_size;
    std::vector<float> a(n), b(n), sum(n);
    fill_with_numbers(a, b);

    std::vector<std::exception_ptr> errors(ordinals.size());
    const auto add_slice = [&](std::size_t k) {
        try {
            const std::size_t first = k * slice_size;
            const gpu::Context context(ordinals[k]);
            add_on_gpu(context, gpu::Stream::of_thread(context), std::span(sum).subspan(first, slice_size),
                       std::span(a).subspan(first, slice_size), std::span(b).subspan(first, slice_size));
            std::printf("thread %zu added slice %zu on GPU %d, %s\n", k, k, ordinals[k], context.name().c_str());
        } catch (...) {
            errors[k] = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < ordinals.size(); ++k) threads.emplace_back(add_slice, k);
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
    return check_sum(sum, a, b);
} catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
