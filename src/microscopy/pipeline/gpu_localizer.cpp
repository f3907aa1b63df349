// Detection, fits and download on one stream.
// SPDX-License-Identifier: MIT
#include "pipeline/gpu_localizer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "fit/cuda/stream_work.hpp"

namespace glint {
namespace {

constexpr std::int64_t rois_at_once = 1 << 16;  // limits memory if the threshold lets noise through

template <class T>
void bring(const gpu::Stream& stream, gpu::Pinned<T>& to, const gpu::Buffer<T>& from, std::size_t n) {
    grow(to, n, stream.context());
    gpu::download(stream, to.span().first(n), from);
}

/// Appends the pixels of a camera map under each ROI from `first` on, for fits on the CPU.
void append_map(std::span<const float> map, int width, std::size_t first, const Rois& rois, std::vector<float>& to) {
    if (map.empty()) return;
    for (std::size_t k = first; k < rois.x_corner.size(); ++k)
        for (int y = 0; y < rois.size; ++y) {
            const auto row = map.begin() + (rois.y_corner[k] + y) * std::ptrdiff_t(width) + rois.x_corner[k];
            to.insert(to.end(), row, row + rois.size);
        }
}

}  // namespace

GpuLocalizer::GpuLocalizer(const gpu::Context& context, const gpu::Module& detect, FitKernels& kernels,
                           const LocalizeJob& job, int frames)
    : context_(context), detect_(detect), kernels_(kernels), job_(job), frames_(frames), stream_(context), part_(job) {
    make();
    frames_ = std::min(frames_, detector_->max_frames());
}

GpuLocalizer::~GpuLocalizer() { settle(stream_); }

void GpuLocalizer::free() { detector_.reset(), fit_.reset(); }

/// Creates the detector and the fit if they are missing. They are freed when memory runs out, and may still be missing
/// after a failed call.
void GpuLocalizer::make() {
    if (detector_ && fit_) return;
    detector_.emplace(stream_, detect_, job_.camera, detect_options(job_));
    fit_.emplace(stream_, kernels_, job_.camera, job_.options.roi_size, job_.options.psf, job_.options.pixel_size_nm,
                 job_.options.fit);
}

void GpuLocalizer::localize(const gpu::Buffer<std::byte>& counts, PixelType type, std::int64_t first_frame, int frames,
                            int& done, FoundSpots& found, BlockResult& result) {
    const std::size_t frame_bytes =
        std::size_t(job_.camera.width()) * std::size_t(job_.camera.height()) * std::size_t(num_bytes(type));
    while (done < frames) try {
            make();
            const int n = std::min(frames_, frames - done);
            part_.clear();
            find_and_fit(counts.view(std::size_t(done) * frame_bytes, std::size_t(n) * frame_bytes), type,
                         first_frame + done, n, part_);
            found.scores.empty() ? std::swap(found, part_) : found.append(part_);
            const auto spreads = detector_->spreads();
            result.noise_checks.insert(result.noise_checks.end(), spreads.begin(), spreads.end());
            for (unsigned bad : detector_->bad_pixels()) result.counts.bad_pixels += bad;
            done += n;
        } catch (const gpu::OutOfMemory&) {
            settle(stream_);
            free();
            if (frames_ == 1) throw;
            frames_ /= 2;
        } catch (...) {
            settle(stream_);
            throw;
        }
}

void GpuLocalizer::find_and_fit(const gpu::Buffer<std::byte>& counts, PixelType type, std::int64_t first_frame,
                                int frames, FoundSpots& found) {
    detector_->find(frames, type, counts);
    const auto per_frame = detector_->spot_counts();
    const std::int64_t all = std::accumulate(per_frame.begin(), per_frame.end(), std::int64_t(0));
    for (std::int64_t first = 0; first < all || first == 0; first += rois_at_once) {
        const std::int64_t n = std::min(rois_at_once, all - first);
        const std::size_t count = std::size_t(n), size = std::size_t(job_.options.roi_size);
        const GpuSpots& spots = detector_->cut(job_.options.roi_size, first, n);
        if (n > 0) {
            fit_->run({n, spots.pixels, spots.places.view(3 * count, 2 * count), spots.starts});
            bring(stream_, places_, spots.places, 5 * count);
            bring(stream_, starts_, spots.starts, 3 * count);
            bring(stream_, pixels_, spots.pixels, count * size * size);
            if (found.wide.size > 0) bring_wide(first, n, found.wide);
        }
        stream_.synchronize();
        if (n > 0) take(n, first_frame, found);
    }
    times_.detect += detector_->seconds();
}

// Overwrites the spots that the fit reads; the stream keeps the order.
void GpuLocalizer::bring_wide(std::int64_t first, std::int64_t n, const Rois& wide) {
    const GpuSpots& spots = detector_->cut(wide.size, first, n);
    const std::size_t count = std::size_t(n), size = std::size_t(wide.size);
    bring(stream_, wide_places_, spots.places, 5 * count);
    bring(stream_, wide_pixels_, spots.pixels, count * size * size);
}

void GpuLocalizer::take(std::int64_t count, std::int64_t first_frame, FoundSpots& found) {
    const std::size_t n = std::size_t(count), before = found.scores.size();
    Rois& rois = found.rois;
    const auto append = [n](auto& to, const auto* from) { to.insert(to.end(), from, from + n); };
    for (std::size_t k = 0; k < n; ++k) rois.frame.push_back(std::uint32_t(first_frame + places_.data()[k]));
    append(rois.x_corner, places_.data() + 3 * n), append(rois.y_corner, places_.data() + 4 * n);
    append(rois.x_start, starts_.data()), append(rois.y_start, starts_.data() + n);
    append(found.scores, starts_.data() + 2 * n);
    rois.pixels.insert(rois.pixels.end(), pixels_.data(),
                       pixels_.data() + n * std::size_t(rois.size) * std::size_t(rois.size));
    const auto append_maps = [&](Rois& to) {
        append_map(job_.camera.variance_map(), job_.camera.width(), before, to, to.variance);
        append_map(job_.camera.qe_map(), job_.camera.width(), before, to, to.qe);
    };
    append_maps(rois);
    if (Rois& wide = found.wide; wide.size > 0) {
        wide.frame.insert(wide.frame.end(), rois.frame.end() - count, rois.frame.end());
        append(wide.x_corner, wide_places_.data() + 3 * n), append(wide.y_corner, wide_places_.data() + 4 * n);
        wide.pixels.insert(wide.pixels.end(), wide_pixels_.data(),
                           wide_pixels_.data() + n * std::size_t(wide.size) * std::size_t(wide.size));
        append_maps(wide);
    }
    fit_->append_to(found.fits);
    times_.fit += fit_->seconds();
    times_.bytes_down += fit_->bytes_down() + std::int64_t((n * (8 + std::size_t(rois.size) * rois.size)) * 4);
}

}  // namespace glint
