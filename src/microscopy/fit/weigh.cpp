// Counts operations and bytes of fits.
// SPDX-License-Identifier: MIT
#include "fit/weigh.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "glint/camera.hpp"

namespace glint {
namespace {

constexpr double fits_by_rule = 10'000;  // larger stacks go to a GPU as long as nothing has been measured
constexpr double iterations = 8,
                 flops_of_a_pixel = 12;  // per parameter; typical values, corrected by measured run times

}  // namespace

const offload::Operation& model_operation(std::string_view what, PsfModel model, int size, bool mapped,
                                          std::string_view unit, double rule_size) {
    static std::mutex mutex;
    static std::map<std::string, std::optional<offload::Operation>> known;  // a map keeps its elements' addresses
    const std::string name = fmt::format("{} {} {} px{}", what, to_name(model), size, mapped ? " mapped" : "");
    const std::lock_guard lock(mutex);
    auto& [key, operation] = *known.try_emplace(name).first;
    if (!operation) operation.emplace(key, unit, 1, 1, rule_size);
    return *operation;
}

offload::Work fit_work(const RoiView& rois, std::int64_t first, PsfModel model, const FitOptions& options) {
    const double n = double(std::int64_t(rois.count) - first), pixels = double(rois.size) * rois.size;
    const bool maps = rois.camera && !rois.camera->uniform();
    const int parameters = parameter_count(model);
    const double planes = (rois.variance.empty() ? 0 : 4) + (rois.additive.empty() ? 0 : 4) + (rois.qe.empty() ? 0 : 4);
    offload::Work work;
    work.operation = &model_operation("fit", model, rois.size, maps || planes > 0, "fits", fits_by_rule);
    work.size = n, work.flops = n * pixels * iterations * flops_of_a_pixel * parameters;
    const double roi_bytes = double(rois.roi_bytes());
    work.bytes_to_gpu = std::uint64_t(n * ((rois.gpu < 0 ? roi_bytes : 0) + pixels * planes + (maps ? 8 : 0)));
    work.bytes_to_host = rois.gpu < 0 ? 0 : std::uint64_t(n * roi_bytes);
    work.bytes_from_gpu = std::uint64_t(n * (4 * (2 * parameters + 2) + 2));
    work.bytes = double(work.bytes_to_gpu + work.bytes_to_host + work.bytes_from_gpu);
    work.cpu_threads = options.threads, work.library = "fit kernels";
    return work;
}

}  // namespace glint
