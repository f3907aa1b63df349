// One GPU per process: workers share two arrays with their parent, and each adds a slice of them on another GPU.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "add.hpp"

using namespace example;

namespace {

/// n elements in memory that a process shares with its later children.
template <class T>
std::span<T> shared_array(std::size_t n) {
    void* memory = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
    return {static_cast<T*>(memory), n};
}

/// Starts a process that does `work` and ends. CUDA does not survive a fork, so the parent never uses a GPU.
template <class Work>
pid_t start(Work work) {
    std::fflush(stdout);  // or the child would print it again
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process could be started");
    if (child > 0) return child;
    try {
        work();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", int(getpid()), error.what());
        std::exit(1);
    }
    std::exit(0);
}

bool succeeded(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run() {
    // Even counting GPUs uses CUDA, so a child counts them.
    constexpr std::size_t most = 256;
    const auto ordinals = shared_array<int>(most);
    const auto count = shared_array<std::size_t>(1);
    const bool counted = succeeded(start([&] {
        for (const int ordinal : usable_gpus())
            if (count[0] < most) ordinals[count[0]++] = ordinal;
    }));
    if (!counted) return 1;
    if (count[0] == 0) return 0;

    const std::size_t n = count[0] * slice_size;
    const auto a = shared_array<float>(n), b = shared_array<float>(n), sum = shared_array<float>(n);
    fill_with_numbers(a, b);
    std::vector<pid_t> workers;
    for (std::size_t k = 0; k < count[0]; ++k)
        workers.push_back(start([&] {
            const std::size_t first = k * slice_size;
            const gpu::Context context(ordinals[k]);
            add_on_gpu(context, gpu::Stream(context), sum.subspan(first, slice_size), a.subspan(first, slice_size),
                       b.subspan(first, slice_size));
            std::printf("process %d added slice %zu on GPU %d, %s\n", int(getpid()), k, ordinals[k],
                        context.name().c_str());
        }));
    bool all = true;
    for (const pid_t worker : workers) all &= succeeded(worker);
    return all ? check_sum(sum, a, b) : 1;
}

}  // namespace

int main() try { return run(); } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
