// Findings from the self-test and the calibration.
// SPDX-License-Identifier: MIT
#include "cli/commands/doctor_arrays.hpp"

#include <fmt/format.h>

#include <map>

#include "glint/arrays/calibrate.hpp"
#include "glint/error.hpp"
#include "offload/machine.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

constexpr double patience_s = 10;

offload::SessionOptions options(const StopFlag* stop) {
    offload::SessionOptions o;
    o.gpu_timeout_s = patience_s;
    o.on_wait = [stop](double, std::uint64_t, std::uint64_t) {
        if (stop && *stop) throw Cancelled("stopped while waiting for a GPU");
    };
    return o;
}

std::string time_or_none(double seconds) { return seconds > 0 ? fmt::format("{:.3g} ms", seconds * 1e3) : "not"; }

}  // namespace

Findings test_arrays(const StopFlag* stop) {
    offload::Session session(options(stop));
    const bool no_gpu = !gpu::inventory().why_none.empty();
    std::map<std::string, std::string> well;  // by backend
    Findings findings;
    for (const arrays::SelfTestRow& row : arrays::self_test(session)) {
        if (row.backend == "cuda" && no_gpu) continue;  // the check of the driver says why
        const std::string what = row.backend + ": " + row.operation;
        if (!row.why_not.empty())
            findings.push_back({Health::warning, "arrays", "", what + ": " + row.why_not, "glint doctor --guide"});
        else if (!row.ok())
            findings.push_back({Health::problem, "arrays", "",
                                fmt::format("{}: wrong by {:.2g}, where {:.2g} is allowed", what, row.error, row.bound),
                                "do not trust this device: run it again, then have its memory checked"});
        else
            well[row.backend] += (well[row.backend].empty() ? "" : ", ") + row.operation;
    }
    for (const auto& [backend, operations] : well)
        findings.push_back({Health::ok, "arrays", "", fmt::format("{} computes right: {}", backend, operations), ""});
    return findings;
}

Findings calibrate_arrays(const StopFlag* stop) {
    offload::Session session(options(stop));
    std::string why_no_gpu;
    Findings findings;
    for (const arrays::CalibrationRow& row : arrays::calibrate(session, &why_no_gpu))
        findings.push_back(
            {Health::ok, "calibration", "",
             fmt::format("{} of {:.4g} {}: CPU {}, GPU {}, operands there {}", row.operation, row.size, row.unit,
                         time_or_none(row.cpu_s), time_or_none(row.gpu_s), time_or_none(row.gpu_resident_s)),
             ""});
    if (!why_no_gpu.empty()) findings.push_back({Health::ok, "calibration", "", "the CPU alone: " + why_no_gpu, ""});
    const auto folder = offload::cache_folder();
    if (!session.save())
        findings.push_back({Health::warning, "calibration", "",
                            fmt::format("it could not be kept in {}", folder.empty() ? "a cache" : folder.string()),
                            "set XDG_CACHE_HOME or HOME to a folder that can be written"});
    else
        findings.push_back({Health::ok, "calibration", "", "kept in " + folder.string(), ""});
    return findings;
}

}  // namespace glint::cli
