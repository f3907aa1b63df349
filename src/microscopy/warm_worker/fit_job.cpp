// From a fit's arguments to a message, and back.
// SPDX-License-Identifier: MIT
#include "warm_worker/fit_job.hpp"

#include <utility>

#include "glint/error.hpp"
#include "psf/psf_text.hpp"
#include "warm_worker/camera_setup.hpp"

namespace glint::warm_worker {
namespace {

constexpr std::int64_t max_rows = std::int64_t(1) << 24;
constexpr int largest_roi = 31;

/// Returns the model of a valid setup.
PsfModel model_of(const FitSetup& setup) {
    const std::string text = setup.psf.str();
    return parse_psf_model(std::string_view(text).substr(0, text.find(' ')));
}

}  // namespace

bool is_type(PixelType type) {
    return type == PixelType::uint8 || type == PixelType::uint16 || type == PixelType::float32;
}

FitSetup setup_of(const Psf& psf, double pixel_size_nm, const FitSettings& settings) {
    FitSetup setup;
    setup.psf = to_text(psf), setup.has_table = psf.table != nullptr;
    setup.pixel_size_nm = pixel_size_nm;
    setup.max_iterations = settings.max_iterations, setup.tolerance = settings.tolerance;
    setup.position_margin_px = settings.position_margin_px;
    setup.min_width_px = settings.min_sigma_px, setup.max_width_px = settings.max_sigma_px;
    return setup;
}

bool is_sound(const FitSetup& setup, const LargeParts& parts) try {
    psf_of(setup, parts);
    return true;
} catch (const InputError&) {
    return false;
}

Psf psf_of(const FitSetup& setup, const LargeParts& parts) {
    return parse_psf(setup.psf.str(), setup.has_table ? parts.table : nullptr);
}

FitSettings settings_of(const FitSetup& setup) {
    FitSettings settings;
    settings.max_iterations = setup.max_iterations, settings.tolerance = setup.tolerance;
    settings.position_margin_px = setup.position_margin_px;
    settings.min_sigma_px = setup.min_width_px, settings.max_sigma_px = setup.max_width_px;
    return settings;
}

FitJob job_of(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options) {
    FitJob job;
    job.size = rois.size, job.type = rois.type;
    job.columns = (rois.variance.empty() ? 0u : has_variance) | (rois.qe.empty() ? 0u : has_qe) |
                  (rois.additive.empty() ? 0u : has_additive) | (rois.camera ? has_camera : 0u) |
                  (psf.has_field() ? has_corners : 0u);
    if (rois.camera) job.camera = setup_of(*rois.camera);
    job.known_starts = starts_of(rois, options).known;
    job.setup = setup_of(psf, pixel_size_nm, options);
    job.variance_scalar = rois.variance_scalar, job.qe_scalar = rois.qe_scalar, job.excess_noise = rois.excess_noise;
    return job;
}

// Checks bounds before any multiplication: 2^24 rows of 31 x 31 px and four planes are 2^38 bytes.
bool is_sound(const FitJob& job, std::size_t memory_bytes, const LargeParts& parts) {
    if (!is_sound(job.setup, parts) || !is_type(job.type) || job.rows < 1 || job.rows > max_rows || job.size < 1 ||
        job.size > largest_roi || job.columns > (has_variance | has_qe | has_additive | has_camera | has_corners) ||
        (job.columns & (has_variance | has_qe)) == has_qe || ((job.columns & has_camera) && !is_sound(job.camera)))
        return false;
    const int parameters = parameter_count(model_of(job.setup));
    if (job.known_starts != 0 && job.known_starts != 2 && job.known_starts != parameters) return false;
    return job.at <= memory_bytes && job.at % 256 == 0 && end_of(layout_of(job)) <= memory_bytes - job.at;
}

bool has_maps(const FitJob& job) { return (job.columns & has_camera) && job.camera.has_maps; }

BatchLayout layout_of(const FitJob& job) {
    return glint::layout_of({.size = job.size,
                             .type = job.type,
                             .corners = has_maps(job) || (job.columns & has_corners) != 0,
                             .variance = (job.columns & has_variance) != 0,
                             .qe = (job.columns & has_qe) != 0,
                             .additive = (job.columns & has_additive) != 0,
                             .maps = has_maps(job),
                             .known_starts = job.known_starts,
                             .parameters = parameter_count(model_of(job.setup))},
                            job.rows);
}

JobView::JobView(const FitJob& job, std::byte* memory, const LargeParts& parts) : psf(psf_of(job.setup, parts)) {
    static_cast<FitSettings&>(options) = settings_of(job.setup);
    if (job.columns & has_camera)
        rois.camera = &camera_.emplace(make_camera(job.camera, job.camera.has_maps ? parts.maps : nullptr));
    const BatchLayout layout = layout_of(job);
    const BatchKind& kind = layout.kind;
    const std::size_t rows = std::size_t(job.rows), pixels = rows * kind.pixels();
    const auto column = [&](std::size_t at) { return reinterpret_cast<float*>(memory + at); };
    rois.size = job.size, rois.count = rows, rois.type = job.type, rois.pixels = memory + layout.pixels;
    if (kind.corners) {
        const auto* corners = reinterpret_cast<const std::int32_t*>(memory + layout.corners);
        rois.x_corner = {corners, rows}, rois.y_corner = {corners + rows, rows};
    }
    if (kind.variance) rois.variance = {column(layout.variance), pixels};
    if (kind.qe) rois.qe = {column(layout.variance) + pixels, pixels};
    if (kind.additive) rois.additive = {column(layout.additive), pixels};
    rois.variance_scalar = job.variance_scalar, rois.qe_scalar = job.qe_scalar, rois.excess_noise = job.excess_noise;
    const auto start = [&](std::size_t k) { return std::span<const float>(column(layout.start) + k * rows, rows); };
    if (job.known_starts == 2)
        rois.x_start = start(0), rois.y_start = start(1);
    else
        for (std::size_t k = 0; k < std::size_t(job.known_starts); ++k) options.start[k] = start(k);
    std::byte* results = memory + results_at(layout);
    float* next = reinterpret_cast<float*>(results + layout.columns);
    const auto take = [&] { return std::exchange(next, next + rows); };
    out.model = psf.model;
    for (std::size_t k = 0; k < std::size_t(kind.parameters); ++k) out.theta[k] = take();
    for (std::size_t k = 0; k < std::size_t(kind.parameters); ++k) out.crlb[k] = take();
    out.log_likelihood_ratio = take(), out.p_value = take();
    out.iterations = reinterpret_cast<std::uint8_t*>(results + layout.bytes);
    out.status = reinterpret_cast<FitStatus*>(out.iterations + rows);
}

}  // namespace glint::warm_worker
