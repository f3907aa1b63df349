// Calibrates the cost model: runs each operation at a few sizes on CPU and GPU.
// SPDX-License-Identifier: MIT
#include "glint/arrays/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "arrays/samples.hpp"
#include "base/clock.hpp"
#include "glint/error.hpp"
#include "offload/forced.hpp"

namespace glint::arrays {
namespace {

using offload::Forced;

constexpr int repeats = 2;               // after one warm-up that loads libraries and makes plans
constexpr double long_enough_s = 0.005;  // longer runs are repeated only once

struct Sizes {
    Kind kind;
    std::vector<std::int64_t> n;
};
const std::vector<Sizes>& sizes() {
    static const std::vector<Sizes> all{{Kind::matmul, {64, 256, 1024}},
                                        {Kind::fft, {1 << 10, 1 << 15, 1 << 20}},
                                        {Kind::svd, {32, 96, 256}},
                                        {Kind::map, {1 << 10, 1 << 16, 1 << 20}},
                                        {Kind::reduce, {1 << 10, 1 << 16, 1 << 20}}};
    return all;
}

double best_seconds(const Sample& sample) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= repeats; ++k) {
        const Clock::time_point began = Clock::now();
        sample.run();
        const double seconds = seconds_since(began);
        if (k > 0 || seconds > long_enough_s) best = std::min(best, seconds);
        if (k > 0 && seconds > long_enough_s) break;
    }
    return best;
}

template <class T>
void calibrate_kind(Session& session, const Sizes& of, std::int64_t max_numbers, bool with_gpu, Forced& forced,
                    std::vector<CalibrationRow>& rows) {
    for (const std::int64_t n : of.n) {
        if (numbers_of(of.kind, n) > max_numbers) continue;
        CalibrationRow row;
        forced.to(Backend::cpu);
        const Sample on_host = sample<T>(session, of.kind, n, false);
        row.operation = on_host.work.operation->name, row.unit = on_host.work.operation->unit;
        row.size = on_host.work.size;
        try {
            row.cpu_s = best_seconds(on_host);
        } catch (const Error&) {  // a library is missing: the doctor's guide shows which
        }
        if (with_gpu) try {
                forced.to(Backend::gpu);
                row.gpu_resident_s = best_seconds(sample<T>(session, of.kind, n, true));
                row.gpu_s = best_seconds(on_host);
            } catch (const Error&) {  // a library is missing, or does not have enough memory
            }
        rows.push_back(row);
    }
}

}  // namespace

std::vector<CalibrationRow> calibrate(Session& session, std::string* why_no_gpu, std::int64_t max_numbers) {
    Forced forced(session);
    bool with_gpu = true;
    try {
        session.context();
    } catch (const gpu::GpuError& error) {
        with_gpu = false;
        if (why_no_gpu) *why_no_gpu = error.what();
    }
    std::vector<CalibrationRow> rows;
    for (const Sizes& of : sizes()) {
        calibrate_kind<float>(session, of, max_numbers, with_gpu, forced, rows);
        calibrate_kind<double>(session, of, max_numbers, with_gpu, forced, rows);
    }
    session.save();
    return rows;
}

}  // namespace glint::arrays
