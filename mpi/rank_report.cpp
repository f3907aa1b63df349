// Converts errors and statistics to JSON and back.
// SPDX-License-Identifier: MIT
#include "mpi/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>

#include "cli/report.hpp"
#include "fit/fit_info.hpp"
#include "glint/error.hpp"
#include "glint/gpu/error.hpp"

namespace glint::mpi {
namespace {

nlohmann::ordered_json error_json(const char* kind, const std::string& message, int code = 0) {
    return {{"kind", kind}, {"message", message}, {"code", code}};
}

}  // namespace

nlohmann::ordered_json to_json(std::exception_ptr error, int rank, const std::string& host) {
    if (!error) return nullptr;
    const auto where = [&](const char* what) { return fmt::format("rank {} ({}): {}", rank, host, what); };
    try {
        std::rethrow_exception(error);
    } catch (const OptionError& cause) {
        return error_json("options", where(cause.what()));
    } catch (const InputError& cause) {
        return error_json("input", where(cause.what()));
    } catch (const OutputError& cause) {
        return error_json("output", where(cause.what()));
    } catch (const gpu::GpuError& cause) {
        return error_json("gpu", where(cause.what()), cause.code);
    } catch (const Cancelled& cause) {
        return error_json("interrupted", where(cause.what()));
    } catch (const std::bad_alloc&) {
        return error_json("memory", where(cli::why_no_memory().c_str()));
    } catch (const std::exception& cause) {
        return error_json("internal", where(cause.what()));
    }
}

std::exception_ptr error_of(const nlohmann::ordered_json& json) {
    if (json.is_null()) return nullptr;
    const std::string kind = json.at("kind"), message = json.at("message");
    if (kind == "options") return std::make_exception_ptr(OptionError(message));
    if (kind == "input") return std::make_exception_ptr(InputError(message));
    if (kind == "output") return std::make_exception_ptr(OutputError(message));
    if (kind == "gpu") return std::make_exception_ptr(gpu::GpuError(json.at("code").get<int>(), message));
    if (kind == "memory") return std::make_exception_ptr(cli::NoMemoryElsewhere(message));
    if (kind == "interrupted") return std::make_exception_ptr(Cancelled(message));
    return std::make_exception_ptr(Error(message));
}

FitInfo sum_of(const std::vector<FitInfo>& fits) {
    FitInfo sum;
    sum.threads = 0;
    std::set<std::string> backends, devices;
    for (const FitInfo& info : fits) {
        sum.threads += info.threads;
        if (info.fits == 0) continue;
        backends.insert(info.backend);
        devices.insert(info.device);
        add(sum, info);
    }
    sum.backend = fmt::format("{}", fmt::join(backends, ", "));
    sum.device = fmt::format("{}", fmt::join(devices, ", "));
    return sum;
}

}  // namespace glint::mpi
