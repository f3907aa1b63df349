// A session on a shared GPU, for load tests: session_worker MIB ROUNDS ELEMENTS PAUSE_MS. It leases MIB, holds half of
// it as an array, runs ROUNDS operations on arrays, and drops the array. Then it pauses, and gives the GPU to waiting
// processes. Then it runs as many operations again. Prints a checksum of all results, which are exact on either side.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "glint/arrays/operations.hpp"

namespace {

namespace arrays = glint::arrays;
using arrays::View;
using Values = std::vector<float>;

constexpr std::uint64_t mib = std::uint64_t(1) << 20;

/// FNV-1a.
class Checksum {
  public:
    template <class T>
    void add(const T* values, std::size_t count) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(values);
        for (std::size_t k = 0; k < count * sizeof(T); ++k) hash_ = (hash_ ^ bytes[k]) * 1099511628211u;
    }
    std::uint64_t value() const { return hash_; }

  private:
    std::uint64_t hash_ = 14695981039346656037u;
};

class SessionWorker {
  public:
    explicit SessionWorker(std::uint64_t bytes) : session_(options(bytes)) {}
    ~SessionWorker() {
        const std::lock_guard lock(used_);  // after this, the heartbeat has no array to close
        held_.reset();
        session_.close_gpu();
    }

    /// Holds an array. Continues without one if an unmanaged process has the memory.
    void hold(std::uint64_t bytes) {
        const std::lock_guard lock(used_);
        try {
            held_ = arrays::empty_on_device<float>(session_, {std::int64_t(bytes / sizeof(float))});
        } catch (const glint::gpu::OutOfMemory& error) {
            std::fprintf(stderr, "holds nothing: %s\n", error.what());
        }
    }
    void let_go() {
        const std::lock_guard lock(used_);
        held_.reset();
    }
    /// Uses integers below 2^24, so that sums do not depend on the order.
    void operate(int round, std::int64_t elements) {
        Values x(static_cast<std::size_t>(elements)), y(x.size());
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = float((k * 31 + std::size_t(round)) % 1021);
        const View<float> in(x.data(), {elements}), out(y.data(), {elements});
        const std::lock_guard lock(used_);
        const auto a = arrays::input(0);
        arrays::map<float>(session_, a * a + 3.0, {View<const float>(in)}, out);
        const double sum = arrays::reduce<float>(session_, arrays::Reduction::sum, a, {View<const float>(in)});
        checksum_.add(y.data(), y.size());
        checksum_.add(&sum, 1);
    }
    std::uint64_t checksum() const { return checksum_.value(); }

  private:
    glint::offload::SessionOptions options(std::uint64_t bytes) {
        glint::offload::SessionOptions all;
        all.choice = glint::Backend::gpu, all.gpu_memory_bytes = bytes;
        all.on_wanted = [this] {
            if (const std::unique_lock lock(used_, std::try_to_lock); lock) session_.make_way();
        };
        all.warn = [](const std::string& words) { std::fprintf(stderr, "%s\n", words.c_str()); };
        return all;
    }

    std::mutex used_;
    Checksum checksum_;
    glint::offload::Session session_;
    std::optional<arrays::DeviceArray<float>> held_;
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 5) return std::fputs("session_worker MIB ROUNDS ELEMENTS PAUSE_MS\n", stderr), 2;
    const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10) * mib;
    const int rounds = std::atoi(argv[2]);
    const std::int64_t elements = std::atoll(argv[3]);
    SessionWorker worker(bytes);
    worker.hold(bytes / 2);
    for (int k = 0; k < rounds; ++k) worker.operate(k, elements);
    worker.let_go();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[4])));
    for (int k = 0; k < rounds; ++k) worker.operate(rounds + k, elements);
    std::printf("%016llx\n", static_cast<unsigned long long>(worker.checksum()));
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    return 1;
}
