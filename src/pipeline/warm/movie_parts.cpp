// Packs the parts of a movie's jobs, and checks what comes out.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/movie_parts.hpp"

#include <algorithm>
#include <limits>

#include "fit/fit_setup.hpp"
#include "fit/worker/camera_setup.hpp"
#include "fit/worker/job.hpp"
#include "glint/error.hpp"
#include "pipeline/columns.hpp"

namespace glint::worker {
namespace {

constexpr int corners_of_window = 4;  // x and y of what is fitted, and of where molecules are looked for

struct FitNumbers {
    double bg;
    std::array<double, 2> bg_tilt;
    double half_deviance, p_value;
    int iterations;
    std::uint32_t converged, singular;  // a bool of another process may be none
};

void add_fit(const JointFit& fit, Packer& to) {
    to.add(std::vector{
        FitNumbers{fit.bg, fit.bg_tilt, fit.half_deviance, fit.p_value, fit.iterations, fit.converged, fit.singular}});
    to.add(fit.emitters), to.add(fit.at_bound), to.add(fit.settled);
}

bool take_fit(Unpacker& from, JointFit& fit) {
    std::vector<FitNumbers> numbers;
    from.take(numbers), from.take(fit.emitters), from.take(fit.at_bound), from.take(fit.settled);
    if (!from.good() || numbers.size() != 1) return false;
    const FitNumbers& n = numbers[0];
    fit.bg = n.bg, fit.bg_tilt = n.bg_tilt, fit.half_deviance = n.half_deviance, fit.p_value = n.p_value;
    fit.iterations = n.iterations, fit.converged = n.converged != 0, fit.singular = n.singular != 0;
    return fit.emitters.size() <= std::size_t(most_joint_emitters);
}

/// The values of some windows, one after the other.
std::vector<float> part_of(const std::vector<float>& plane, std::span<const std::size_t> windows, std::size_t area) {
    std::vector<float> part;
    if (plane.empty()) return part;
    for (const std::size_t k : windows)
        part.insert(part.end(), plane.begin() + std::ptrdiff_t(k * area),
                    plane.begin() + std::ptrdiff_t((k + 1) * area));
    return part;
}

/// Whether all columns are those of one number of spots.
bool is_whole(const FoundSpots& found, const Job& job) {
    const std::size_t n = found.rois.frame.size();
    const auto columns_of = [&](const Rois& rois) {
        const std::size_t area = n * std::size_t(rois.size) * std::size_t(rois.size);
        return rois.frame.size() == n && rois.x_corner.size() == n && rois.y_corner.size() == n &&
               rois.pixels.size() == area && rois.additive.empty() &&
               rois.variance.size() == (job.camera.variance_map().empty() ? 0 : area) &&
               rois.qe.size() == (job.camera.qe_map().empty() ? 0 : area);
    };
    const Fits& fits = found.fits;
    bool whole = columns_of(found.rois) && found.rois.x_start.size() == n && found.rois.y_start.size() == n &&
                 found.scores.size() == n && (found.wide.size == 0 || columns_of(found.wide)) &&
                 fits.log_likelihood_ratio.size() == n && fits.p_value.size() == n && fits.iterations.size() == n &&
                 fits.status.size() == n && fits.window.empty();
    for (std::size_t k = 0; k < std::size_t(parameter_count(fits.model)); ++k)
        whole = whole && fits.theta[k].size() == n && fits.crlb[k].size() == n;
    return whole;
}

/// Calls visit(column) for all columns of a block.
template <class Found, class Visit>
void for_all_columns(Found& found, const Visit& visit) {
    const auto one = [&](auto& column, const auto&) { visit(column); };
    for_columns(found.rois, found.rois, one), for_columns(found.wide, found.wide, one);
    for_columns(found.fits, found.fits, one);
    visit(found.scores);
}

}  // namespace

MovieSetup setup_of(const Job& job, PixelType type) {
    MovieSetup setup;
    setup.fit = setup_of(job.options.psf, job.pixel_size_um, job.options.fit);
    setup.camera = setup_of(job.camera), setup.type = type;
    setup.roi_size = job.options.roi_size, setup.threshold = job.options.threshold;
    setup.joint = job.options.emitters == any_emitters;
    setup.psf_misfit = job.options.psf_misfit;
    setup.least_width_um = job.lone.least_width_um, setup.most_width_um = job.lone.most_width_um;
    return setup;
}

std::optional<Job> job_of(const MovieSetup& setup, std::span<const std::byte> memory) try {
    if (!is_sound(setup.fit) || !is_type(setup.type) || !is_sound(setup.camera)) return {};
    const auto maps = setup.camera.has_maps ? maps_of(setup.camera, memory) : nullptr;
    if (setup.camera.has_maps && !maps) return {};
    Job job{camera_of(setup.camera, maps), {}, {}, {}, setup.fit.pixel_size_um, 0, 0, 1, {}, {}};
    job.options.psf = psf_of(setup.fit), job.options.fit = options_of(setup.fit);
    job.options.roi_size = setup.roi_size, job.options.threshold = setup.threshold;
    job.options.emitters = setup.joint ? any_emitters : 1;
    job.options.psf_misfit = setup.psf_misfit;
    job.lone.least_width_um = setup.least_width_um, job.lone.most_width_um = setup.most_width_um;
    check(view(FoundSpots(job).rois), job.options.psf, job.pixel_size_um, job.options.fit);
    Detector(job.camera, detect_options(job));
    return job;
} catch (const Error&) {
    return {};
}

bool pack(const FoundSpots& found, const BlockResult& result, std::span<std::byte> to) {
    Packer packer(to);
    for_all_columns(found, [&](const auto& column) { packer.add(column); });
    packer.add(result.noise_checks);
    packer.add(std::vector{result.counts.bad_pixels});
    return packer.all_in();
}

bool unpack(std::span<const std::byte> from, const Job& job, int frames, FoundSpots& found, BlockResult& result) {
    Unpacker unpacker(from);
    found.clear();
    found.fits.model = job.options.psf.model;
    for_all_columns(found, [&](auto& column) { unpacker.take(column); });
    std::vector<float> noise_checks;
    std::vector<std::int64_t> bad_pixels;
    unpacker.take(noise_checks), unpacker.take(bad_pixels);
    if (!unpacker.good() || !is_whole(found, job) || noise_checks.size() != std::size_t(frames) ||
        bad_pixels.size() != 1)
        return false;
    result.noise_checks.insert(result.noise_checks.end(), noise_checks.begin(), noise_checks.end());
    result.counts.bad_pixels += bad_pixels[0];
    return true;
}

bool pack(std::span<const JointCut> groups, std::span<std::byte> to) {
    Packer packer(to);
    for (const JointCut& group : groups) {
        const Rois& pixels = *group.pixels;
        const std::size_t area = std::size_t(pixels.size) * std::size_t(pixels.size);
        std::vector<std::int32_t> corners;
        for (const std::size_t k : group.windows)
            for (const Rois* rois : {group.pixels, group.searched})
                corners.insert(corners.end(), {rois->x_corner[k], rois->y_corner[k]});
        packer.add(corners);
        for (const auto* plane : {&pixels.pixels, &pixels.variance, &pixels.qe})
            packer.add(part_of(*plane, group.windows, area));
        packer.add(group.light), packer.add(group.earlier);
        packer.add(std::vector{std::uint8_t(group.again), std::uint8_t(group.search)});
        add_fit(*group.fit, packer);
    }
    return packer.all_in();
}

Groups::Groups(const Job& job) : job_(job), pixels_(FoundSpots(job).wide), searched_(FoundSpots(job).rois) {}

bool Groups::add(std::span<const std::byte> from, std::uint32_t count) {
    Unpacker unpacker(from);
    for (std::uint32_t k = 0; k < count; ++k) {
        Group& group = groups_.emplace_back();
        if (!take_windows(unpacker, group)) return false;
        std::vector<std::uint8_t> flags;
        unpacker.take(group.light), unpacker.take(group.earlier), unpacker.take(flags);
        if (!take_fit(unpacker, group.fit) || flags.size() != 2) return false;
        all_.push_back({&pixels_, &searched_, group.windows, rectangle_of(pixels_, group.windows), group.light,
                        group.earlier, flags[0] != 0, flags[1] != 0, &group.fit});
    }
    return true;
}

/// Within the frame.
bool Groups::take_windows(Unpacker& from, Group& group) {
    std::vector<std::int32_t> corners;
    std::vector<float> pixels, variance, qe;
    from.take(corners), from.take(pixels), from.take(variance), from.take(qe);
    const std::size_t n = corners.size() / corners_of_window, first = pixels_.x_corner.size();
    const std::size_t area = n * std::size_t(pixels_.size) * std::size_t(pixels_.size);
    if (!from.good() || n == 0 || corners.size() != n * corners_of_window || pixels.size() != area ||
        variance.size() != (job_.camera.variance_map().empty() ? 0 : area) ||
        qe.size() != (job_.camera.qe_map().empty() ? 0 : area))
        return false;
    for (std::size_t k = 0; k < n; ++k) {
        const std::int32_t* corner = &corners[k * corners_of_window];
        for (Rois* rois : {&pixels_, &searched_}) {
            if (corner[0] < 0 || corner[0] > job_.camera.width() - rois->size || corner[1] < 0 ||
                corner[1] > job_.camera.height() - rois->size)
                return false;
            rois->x_corner.push_back(corner[0]), rois->y_corner.push_back(corner[1]);
            corner += 2;
        }
        group.windows.push_back(first + k);
    }
    pixels_.pixels.insert(pixels_.pixels.end(), pixels.begin(), pixels.end());
    pixels_.variance.insert(pixels_.variance.end(), variance.begin(), variance.end());
    pixels_.qe.insert(pixels_.qe.end(), qe.begin(), qe.end());
    return true;
}

bool pack_fits(std::span<const JointCut> groups, std::span<std::byte> to) {
    Packer packer(to);
    for (const JointCut& group : groups) add_fit(*group.fit, packer);
    return packer.all_in();
}

bool unpack_fits(std::span<const std::byte> from, std::span<const JointCut> groups) {
    Unpacker unpacker(from);
    return std::all_of(groups.begin(), groups.end(),
                       [&](const JointCut& group) { return take_fit(unpacker, *group.fit); });
}

}  // namespace glint::worker
