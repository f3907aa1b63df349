// Errors and figures to JSON and back.
// SPDX-License-Identifier: MIT
#include "mpi/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>

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
        return error_json("internal", where("out of memory"));
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
    if (kind == "interrupted") return std::make_exception_ptr(Cancelled(message));
    return std::make_exception_ptr(Error(message));
}

FitInfo fit_of(const nlohmann::ordered_json& json) {
    const nlohmann::ordered_json& gpu = json.at("gpu");
    FitInfo info;
    info.backend = json.at("backend");
    info.device = json.at("device");
    info.note = json.at("note");
    info.threads = json.at("threads");
    info.fits = json.at("fits");
    info.batches = json.at("batches");
    info.batch_size = json.at("batch_size");
    info.seconds = json.at("thread_seconds");
    info.bytes_up = gpu.at("bytes_up");
    info.bytes_down = gpu.at("bytes_down");
    info.transfer_seconds = gpu.at("transfer_s");
    info.kernel_seconds = gpu.at("kernel_s");
    info.waited_seconds = gpu.at("waited_s");
    info.retries = gpu.at("retries");
    return info;
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
        if (sum.note.empty()) sum.note = info.note;
        sum.fits += info.fits;
        sum.batches += info.batches;
        sum.batch_size = std::max(sum.batch_size, info.batch_size);
        sum.seconds += info.seconds;
        sum.bytes_up += info.bytes_up;
        sum.bytes_down += info.bytes_down;
        sum.transfer_seconds += info.transfer_seconds;
        sum.kernel_seconds += info.kernel_seconds;
        sum.waited_seconds += info.waited_seconds;
        sum.retries += info.retries;
    }
    sum.backend = fmt::format("{}", fmt::join(backends, ", "));
    sum.device = fmt::format("{}", fmt::join(devices, ", "));
    return sum;
}

}  // namespace glint::mpi
