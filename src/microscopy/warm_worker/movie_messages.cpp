// Packs the parts of a movie's jobs, and validates unpacked data.
// SPDX-License-Identifier: MIT
#include "warm_worker/movie_messages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "pipeline/found_spots.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/fit_job.hpp"
#include "warm_worker/packed.hpp"

namespace glint::warm_worker {
namespace {

/// Calls visit(column) for all columns of rows; a model's own columns are visited in the order of their names.
template <class Rows, class Visit>
void for_all_columns(Rows& rows, const Visit& visit) {
    visit(rows.frame), visit(rows.iterations), visit(rows.status);
    for (const LocalizationColumn& column : localization_columns()) visit(rows.*column.values);
    for (auto& [name, column] : rows.extra) visit(column.values);
}

/// Returns true if these are rows of those frames with the columns of the job.
bool are_sound(const Localizations& rows, const LocalizeJob& job, std::int64_t first, int frames) {
    std::vector<bool> wanted;
    for_all_columns(job.like, [&](const auto& column) { wanted.push_back(!column.empty()); });
    bool whole = true;
    std::size_t k = 0;
    for_all_columns(rows,
                    [&](const auto& column) { whole = whole && column.size() == (wanted[k++] ? rows.size() : 0); });
    return whole && std::all_of(rows.frame.begin(), rows.frame.end(),
                                [&](std::int64_t frame) { return frame >= first && frame < first + frames; });
}

}  // namespace

LargeParts large_parts(const LocalizeJob& job) { return {job.camera.maps(), job.options.psf.table}; }

MovieSetup setup_of(const LocalizeJob& job, PixelType type) {
    MovieSetup setup;
    setup.fit = setup_of(job.options.psf, job.options.pixel_size_nm, job.options.fit);
    setup.camera = setup_of(job.camera), setup.type = type;
    setup.roi_size = job.options.roi_size, setup.threshold = job.options.threshold;
    setup.joint = job.options.fit.emitters == any_emitters;
    setup.psf_misfit = job.options.fit.psf_misfit, setup.satellites = job.lone.satellites;
    setup.min_width_nm = job.lone.min_width_nm, setup.max_width_nm = job.lone.max_width_nm;
    setup.pair_excess = job.lone.pair_excess;
    setup.pixel_size_nm = job.options.pixel_size_nm;
    setup.neighbor_rounds = job.options.neighbor_rounds, setup.keep_failed = job.options.keep_failed;
    setup.keep_defective = job.options.keep_defective, setup.saturation_adu = job.pixels.saturation_adu;
    return setup;
}

std::optional<LocalizeJob> job_of(const MovieSetup& setup, std::span<const std::byte> memory) try {
    const std::optional<LargeParts> parts = unpack(setup.camera, setup.fit, memory);
    if (!parts || !is_sound(setup.fit, *parts) || !is_type(setup.type) || !is_sound(setup.camera)) return {};
    LocalizeJob job{.camera = make_camera(setup.camera, parts->maps)};
    job.threads = environment::usable_threads();
    job.options.psf = psf_of(setup.fit, *parts), job.options.fit = settings_of(setup.fit);
    job.options.roi_size = setup.roi_size, job.options.threshold = setup.threshold;
    job.options.fit.emitters = setup.joint ? any_emitters : 1;
    job.options.fit.psf_misfit = setup.psf_misfit, job.lone.satellites = setup.satellites;
    job.lone.min_width_nm = setup.min_width_nm, job.lone.max_width_nm = setup.max_width_nm;
    job.lone.pair_excess = setup.pair_excess;
    job.options.pixel_size_nm = setup.pixel_size_nm;
    job.options.neighbor_rounds = setup.neighbor_rounds, job.options.keep_failed = setup.keep_failed != 0;
    job.options.keep_defective = setup.keep_defective != 0;
    set_saturation(job, setup.saturation_adu);
    if (setup.pixel_size_nm != setup.fit.pixel_size_nm || job.options.neighbor_rounds < 0 ||
        job.options.neighbor_rounds > max_neighbor_rounds)
        return {};
    set_reach(job);
    check(view(FoundSpots(job).rois), job.options.psf, job.options.pixel_size_nm, single_fits(job));
    Detector(job.camera, detect_options(job));
    return job;
} catch (const Error&) {
    return {};
}

bool pack(const BlockResult& result, std::span<std::byte> to) {
    Packer packer(to);
    packer.add(std::vector{result.counts});
    packer.add(result.noise_checks);
    packer.add(std::vector{std::uint64_t(result.rows.size())});
    if (result.rows.size() > 0) for_all_columns(result.rows, [&](const auto& column) { packer.add(column); });
    return packer.all_in();
}

bool unpack(std::span<const std::byte> from, const LocalizeJob& job, std::int64_t first, int frames,
            BlockResult& result) {
    Unpacker unpacker(from);
    std::vector<BlockCounts> counts;
    std::vector<float> noise_checks;
    std::vector<std::uint64_t> count;
    unpacker.take(counts), unpacker.take(noise_checks), unpacker.take(count);
    if (!unpacker.good() || counts.size() != 1 || noise_checks.size() != std::size_t(frames) || count.size() != 1)
        return false;
    Localizations rows;
    if (count[0] > 0) {
        rows.pixel_size_nm = job.options.pixel_size_nm;
        for (const auto& [name, column] : job.like.extra) rows.extra[name].is_integer = column.is_integer;
        for_all_columns(rows, [&](auto& column) { unpacker.take(column); });
        if (!unpacker.good() || rows.size() != count[0] || !are_sound(rows, job, first, frames)) return false;
    }
    result.counts.add(counts[0]);
    result.noise_checks.insert(result.noise_checks.end(), noise_checks.begin(), noise_checks.end());
    result.rows.size() == 0 ? std::swap(result.rows, rows) : append(result.rows, rows);
    return true;
}

}  // namespace glint::warm_worker
