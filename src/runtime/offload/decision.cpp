// Describes a decision as text.
// SPDX-License-Identifier: MIT
#include "glint/offload/decision.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace glint::offload {
namespace {

std::string seconds(double s) {
    if (s <= 0) return "-";
    if (s >= 1) return fmt::format("{:.3g} s", s);
    if (s >= 1e-3) return fmt::format("{:.3g} ms", s * 1e3);
    return fmt::format("{:.3g} us", s * 1e6);
}

std::string size_in_words(double size, std::string_view unit) {
    return size < 1e4 ? fmt::format("{:.0f} {}", size, unit) : fmt::format("{:.3g} {}", size, unit);
}

struct Named {
    double value;
    const char* name;
};
std::array<Named, 7> named(const Terms& terms) {
    return {{{terms.wait_s, "waiting"},
             {terms.context_s, "its context"},
             {terms.library_s, "loading its library"},
             {terms.upload_s, "upload"},
             {terms.launch_s, "launch"},
             {terms.compute_s, "computing"},
             {terms.download_s, "download"}}};
}

/// Returns the terms that are more than a tenth of the total.
std::string parts(const Terms& terms) {
    std::string text;
    for (const auto& [value, name] : named(terms))
        if (value > 0.1 * terms.total()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, seconds(value));
    return text;
}

}  // namespace

double Decision::confidence() const {
    if (basis == Basis::forced) return 1;
    if (spread <= 0) return 0.5;
    return 0.5 * std::erfc(-std::log(speedup) / (M_SQRT2 * spread) * M_SQRT1_2);  // of the difference of two logarithms
}

std::string Decision::reason() const {
    const char* side = choice == Backend::gpu ? "GPU" : "CPU";
    const std::string what =
        fmt::format("{} of {}", work.operation->name, size_in_words(work.size, work.operation->unit));
    if (basis == Basis::forced) return fmt::format("{} on the {}: {}", what, side, forced_by);
    if (basis == Basis::rules)
        return fmt::format("{} on the {}, by a fixed rule: nothing was measured here yet (`doctor_calibrate`)", what,
                           side);
    std::string text = fmt::format("{} on the {}, {:.3g} times faster ({}): the CPU takes {}, the GPU {} ({})", what,
                                   side, speedup, basis == Basis::measured ? "measured" : "estimated",
                                   seconds(cpu.total()), seconds(gpu.total()), parts(gpu));
    if (flips_at > 0)
        text += fmt::format("; the other side {} {}", flips_at < work.size ? "up to" : "from",
                            size_in_words(flips_at, work.operation->unit));
    return text;
}

std::string Decision::table() const {
    std::string text = fmt::format("{:<20} {:>10} {:>10}\n", "", "CPU", "GPU");
    const auto on_cpu = named(cpu), on_gpu = named(gpu);
    for (std::size_t k = 0; k < on_gpu.size(); ++k)
        if (on_cpu[k].value > 0 || on_gpu[k].value > 0)
            text += fmt::format("{:<20} {:>10} {:>10}\n", on_gpu[k].name, seconds(on_cpu[k].value),
                                seconds(on_gpu[k].value));
    return text + fmt::format("{:<20} {:>10} {:>10}\n", "all", seconds(cpu.total()), seconds(gpu.total())) +
           fmt::format("confidence {:.2f}\n", confidence());
}

}  // namespace glint::offload
