// Fits rows of a stack on the CPU, in parallel batches.
// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <vector>

#include "base/arena.hpp"
#include "fit/fit_batch.hpp"
#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/isa.hpp"
#include "gpu/foreign.hpp"

namespace glint {
namespace {

// The number of rows that a thread fits before it requests more.
constexpr std::int64_t default_chunk = 2048;  // about 0.5 ms of one core; a multiple of every lane width
constexpr std::int64_t joint_part = 64;       // some ms of one core, or tens with z

constexpr std::int64_t converted_at_once =
    256;  // ROIs, so that converted pixels are still in the cache when they are fitted

/// The pixels of some ROIs on the host, copied from the GPU if necessary.
class HostPixels {
  public:
    /// Returns the pixels of ROIs [first, first + count), valid until the next call.
    const std::byte* of(const RoiView& rois, std::int64_t first, std::int64_t count) {
        const std::size_t each = rois.roi_bytes();
        const std::byte* at = rois.pixels + std::size_t(first) * each;
        if (rois.gpu < 0) return at;
        copy_.resize(std::size_t(count) * each);
        gpu::download_foreign(rois.gpu, reinterpret_cast<std::uint64_t>(at), copy_.data(), copy_.size());
        return copy_.data();
    }

  private:
    std::vector<std::byte> copy_;
};

bool are_photoelectrons(const RoiView& rois) { return !rois.camera && rois.type == PixelType::float32; }

/// Some ROIs converted from counts to photoelectrons (eq. 2.1), with read variance and quantum efficiency per pixel if
/// the camera has maps.
class ConvertedRois {
  public:
    KernelInput input(const RoiView& rois, const std::byte* counts, std::int64_t first, std::int64_t count) {
        static const CameraView photon_counter(Camera{}, 1, 1);
        const CameraView& camera = rois.camera ? *rois.camera : photon_counter;
        const int area = rois.size * rois.size;
        pixels_.resize(std::size_t(count) * area);
        if (camera.uniform()) {
            camera.window_to_photoelectrons(counts, rois.type, 0, 0, int(pixels_.size()), 1, pixels_.data());
            return {pixels_.data(), nullptr, nullptr, 0, {}, count, nullptr};
        }
        const bool noise_map = !camera.variance_map().empty(), qe_map = !camera.qe_map().empty();
        if (noise_map) variance_.resize(pixels_.size());
        if (qe_map) qe_.resize(pixels_.size());
        for (std::int64_t k = 0; k < count; ++k, counts += rois.roi_bytes()) {
            const int x = rois.x_corner[std::size_t(first + k)], y = rois.y_corner[std::size_t(first + k)];
            camera.window_to_photoelectrons(counts, rois.type, x, y, rois.size, rois.size, &pixels_[k * area]);
            const auto cut = [&](std::span<const float> map, std::vector<float>& to) {
                for (int row = 0; row < rois.size; ++row)
                    std::copy_n(&map[std::size_t(y + row) * camera.width() + x], rois.size,
                                &to[k * area + row * rois.size]);
            };
            if (noise_map) cut(camera.variance_map(), variance_);
            if (qe_map) cut(camera.qe_map(), qe_);
        }
        return {pixels_.data(), noise_map ? variance_.data() : nullptr, nullptr, 0, {},
                count,          qe_map ? qe_.data() : nullptr};
    }

  private:
    std::vector<float> pixels_, variance_, qe_;
};

/// Returns the kernel's input for ROIs [first, first + count), whose pixels are at `pixels`.
KernelInput input_part(const RoiView& rois, const Psf& psf, const std::byte* pixels, const Starts& starts,
                       std::int64_t first, std::int64_t count, ConvertedRois& converted) {
    const std::size_t at = std::size_t(first) * rois.size * rois.size;
    KernelInput in{reinterpret_cast<const float*>(pixels), nullptr, nullptr, 0, {}, count, nullptr};
    if (!are_photoelectrons(rois)) in = converted.input(rois, pixels, first, count);
    in.known_starts = starts.known;
    if (!rois.variance.empty()) in.variance = rois.variance.data() + at;
    if (!rois.additive.empty()) in.additive = rois.additive.data() + at;
    if (!rois.qe.empty()) in.qe = rois.qe.data() + at;
    for (int k = 0; k < starts.known; ++k) in.start[k] = starts.of[k] + first;
    if (psf.has_field()) in.x_corner = rois.x_corner.data() + first, in.y_corner = rois.y_corner.data() + first;
    return in;
}

KernelOutput output_part(Fits& fits, std::int64_t first) {
    KernelOutput out{};
    for (int k = 0; k < parameter_count(fits.model); ++k) {
        out.theta[k] = fits.theta[k].data() + first;
        out.crlb[k] = fits.crlb[k].data() + first;
    }
    out.log_likelihood_ratio = fits.log_likelihood_ratio.data() + first;
    out.p_value = fits.p_value.data() + first;
    out.iterations = fits.iterations.data() + first;
    out.status = reinterpret_cast<std::uint8_t*>(fits.status.data()) + first;
    return out;
}

}  // namespace

void fit_on_cpu(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, RowRange rows,
                Fits& fits, FitInfo& info, const std::function<void(std::int64_t)>& finished,
                const std::function<void(const KernelInput&, std::int64_t)>& then) {
    // A part is within one batch: threads divide a large batch among them.
    const std::int64_t usual = then ? joint_part : default_chunk;
    const std::int64_t batch_size = options.batch_size > 0 ? options.batch_size : usual;
    const std::int64_t parts_each = (batch_size + usual - 1) / usual;
    const std::int64_t batches = (rows.count() + batch_size - 1) / batch_size;
    const std::int64_t at_once = are_photoelectrons(rois) ? usual : converted_at_once;
    check_corners(rois, rows.first, rows.count());
    const KernelPsf numbers = kernel_psf(psf, pixel_size_nm, options, rois.size);
    const KernelOptions kernel = kernel_options(rois, options);
    const Starts starts = starts_of(rois, options);
    const auto fit_part = [&](std::int64_t part_of_all) {
        if (options.stop && *options.stop) return;
        const std::int64_t batch = rows.first + part_of_all / parts_each * batch_size;
        const std::int64_t begin = batch + part_of_all % parts_each * usual;
        const std::int64_t end = std::min({begin + usual, batch + batch_size, rows.end});
        if (begin >= end) return;
        HostPixels host;
        const std::byte* pixels = host.of(rois, begin, end - begin);
        ConvertedRois converted;
        for (std::int64_t part = begin; part < end; part += at_once) {
            const KernelInput in = input_part(rois, psf, pixels + std::size_t(part - begin) * rois.roi_bytes(), starts,
                                              part, std::min(at_once, end - part), converted);
            const KernelOutput out = output_part(fits, part);
            fit_batch(int(psf.model), numbers, kernel, in, out);
            if (then) then(in, part);
        }
        if (finished) finished(end - begin);
    };
    const int wanted = options.threads > 0 ? options.threads : environment::threads();
    const int allowed = std::min(wanted, tbb::this_task_arena::max_concurrency());
    const std::int64_t parts = batches * parts_each;
    const int threads = parts <= 1 ? allowed : tbb_threads(allowed);
    if (threads == 1 || parts <= 1) {
        for (std::int64_t part = 0; part < parts; ++part) fit_part(part);
    } else {
        tbb::task_arena arena(threads);
        arena.execute([&] { tbb::parallel_for(std::int64_t(0), parts, fit_part); });
    }
    if (options.stop && *options.stop) throw Cancelled("the fit was stopped");
    info.backend = "cpu", info.device = active_isa(), info.threads = threads;
    info.batches += batches, info.batch_size = std::max(info.batch_size, std::min(batch_size, rows.count()));
    info.cpu_fits += rows.count();
}

}  // namespace glint
