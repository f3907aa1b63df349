// GpuDetector: allocates buffers and launches the detection kernels in order.
//
// The steps are those of Detector on the CPU, each over all frames of a call, so that even small frames fill the GPU.
// Between find() and spot_counts() the host is not involved: counts stay on the device, no kernel's launch depends on a
// result, and lists have room for the most maxima that a frame can have. Lists are made by prefix sums, not by atomic
// counters, so the spots and their order are the same in every run and for any number of frames per call.
// SPDX-License-Identifier: MIT
#include "detect/cuda/gpu_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "detect/background.hpp"
#include "detect/cuda/fatbins.hpp"
#include "detect/detect_setup.hpp"
#include "detect/empty_noise.hpp"
#include "detect/filter.hpp"

namespace glint {
namespace {

constexpr std::size_t staged_bytes = 48 << 10;  // of tiles per block, so that several blocks fit on a multiprocessor

/// A table on the device; none where there are no values. `values` may go at once: an upload from pageable memory
/// returns when it has been read.
template <class T>
gpu::Buffer<T> uploaded(const gpu::Stream& stream, const std::vector<T>& values) {
    if (values.empty()) return {};
    gpu::Buffer<T> buffer(stream, values.size());
    gpu::upload(stream, buffer, values);
    return buffer;
}

/// Grows a buffer to at least n elements; never shrinks it. The old one is freed first, so that both never exist at
/// once.
template <class T>
void make_room(const gpu::Stream& stream, gpu::Buffer<T>& buffer, std::size_t n) {
    if (buffer.size() < n) buffer = {}, buffer = gpu::Buffer<T>(stream, n);
}
template <class T>
void make_room(const gpu::Stream& stream, gpu::Pinned<T>& memory, std::size_t n) {
    if (memory.size() < n) memory = {}, memory = gpu::Pinned<T>(stream.context(), n);
}

/// The address as a kernel's parameter; 0 where there is no such table, which the kernels test.
template <class T>
std::uint64_t address(const gpu::Stream& stream, const gpu::Buffer<T>& buffer) {
    return buffer ? buffer.read_on(stream) : 0;
}

/// Blocks for so many threads, the last one partly idle.
std::size_t blocks_of(std::size_t threads) { return (threads + detect_threads - 1) / detect_threads; }
std::size_t divided(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

/// A radius known at compile time lets a thread keep its column of the frame in registers; others share one kernel, 0.
int own_radius(const ScoreLaunch& score) { return score.radius <= 6 ? score.radius : 0; }

}  // namespace

// One module for all frame sizes and filters; glint built without nvcc has an empty one.
gpu::Module detect_module(const gpu::Context& context) {
    if (detect_fatbin(0).empty()) throw gpu::NoGpu(0, "this glint was built without CUDA");
    return gpu::Module(context, detect_fatbin(0));
}

GpuDetector::GpuDetector(const gpu::Stream& stream, const gpu::Module& module, const CameraView& camera,
                         const DetectOptions& options)
    : stream_(stream),
      module_(module),
      camera_(&camera),
      // The check comes first of all: the following members are computed from the options.
      threshold_((check(options), threshold_of(camera, options))),
      noise_(noise_grid(camera.width(), camera.height(), Filter(options.filter).radius())),
      most_shared_bytes_(std::size_t(stream.context().shared_bytes_per_block())),
      before_(stream.context(), true),
      after_(stream.context(), true) {
    upload_tables(options);
}

/// What depends on camera and options only: the filter's taps (as kernel parameters, which are read from constant
/// memory), the camera's maps, and without maps of noise the norms of the filter at the frame's edges.
void GpuDetector::upload_tables(const DetectOptions& options) {
    const Filter filter(options.filter);
    const Kernels taps = filter.kernels();
    score_launch_.grid = tile_grid(camera_->width(), camera_->height(), options.filter);
    score_launch_.radius = taps.radius;
    std::copy_n(taps.wide, taps.radius + 1, score_launch_.wide);
    std::copy_n(taps.squared, taps.radius + 1, score_launch_.squared);
    std::copy_n(taps.narrow, narrow_radius + 1, score_launch_.narrow);
    // The maps of v and q lie one after the other in one buffer: FrameLaunch::has_qe says whether the second exists.
    if (const auto& maps = camera_->maps()) {
        offsets_ = uploaded(stream_, maps->offset);
        factors_ = uploaded(stream_, maps->factor);
        std::vector<float> noise = maps->variance;
        noise.insert(noise.end(), maps->qe.begin(), maps->qe.end());
        noise_maps_ = uploaded(stream_, noise);
        std::vector<unsigned> masked;
        for (const CameraView::MaskedPixel& pixel : maps->masked) {
            masked.insert(masked.end(), {pixel.at, pixel.count});
            masked.insert(masked.end(), pixel.from.begin(), pixel.from.end());
        }
        masked_ = uploaded(stream_, masked);
    }
    // With maps the norms differ from pixel to pixel (eq. 5.5), and the kernel sums them itself.
    if (noise_maps_) return;
    // eq. 5.6: A', B' and C' depend only on how much of the window the frame's edge cuts off. Rows with the same cut
    // share a class, so the table has a few rows instead of one per row of the frame.
    const EdgeNorms norms(filter, camera_->width(), camera_->height());
    std::vector<float> table;
    for (const EdgeNorms::Row& row : norms.rows())
        for (const auto* column : {&row.box_ratio, &row.norm, &row.narrow_norm})
            table.insert(table.end(), column->begin(), column->end());
    norms_ = uploaded(stream_, table);
    classes_ = uploaded(stream_, norms.class_of());
}

int GpuDetector::most_frames() const {
    constexpr std::int64_t most_pixels = std::numeric_limits<int>::max();  // kernels use 32-bit indices
    return int(std::clamp<std::int64_t>(most_pixels / (std::int64_t(camera_->width()) * camera_->height()), 1, 65535));
}

FrameLaunch GpuDetector::frame_launch() const {
    return {camera_->width(),      camera_->height(),          unsigned(frames_),
            camera_->shot_noise(), camera_->variance_scalar(), !camera_->qe_map().empty()};
}

/// Loaded on first use, with permission to use as much shared memory as a block can have.
const gpu::Kernel& GpuDetector::kernel(const std::string& name) {
    const auto known = kernels_.find(name);
    return known != kernels_.end()
               ? known->second
               : kernels_.emplace(name, module_.kernel(name, int(most_shared_bytes_))).first->second;
}

/// Launches a kernel. `arguments` are the kernel's parameters in order and in their exact types: the driver copies
/// bytes, and nothing checks them here (the simulated server does).
template <class... Arguments>
void GpuDetector::launch(const std::string& name, std::size_t blocks, unsigned threads, unsigned shared_bytes,
                         Arguments... arguments) {
    void* pointers[] = {&arguments...};
    gpu::launch(stream_, kernel(name), unsigned(blocks), threads, shared_bytes, pointers);
}

/// A kernel of the score, whose parameters begin and end alike. Its blocks have `rows` rows of sums, and two rows more
/// of those of the narrow filter and of the filter itself.
template <class... Arguments>
void GpuDetector::launch_score(const char* kind, int rows, ScoreSums sums, Arguments... arguments) {
    const std::size_t strips = std::size_t(score_strips(camera_->width(), score_launch_.radius)),
                      blocks =
                          std::size_t(frames_) * strips * divided(std::size_t(camera_->height()), std::size_t(rows));
    const int of_columns = sums.wide * rows + (sums.narrow + 1) * (rows + 2);
    const unsigned shared = unsigned((of_columns * int(detect_threads) + rows * words_of_strip) * int(sizeof(float)));
    launch(fmt::format("{}_{}", kind, own_radius(score_launch_)), blocks, detect_threads, shared, frame_launch(),
           score_launch_, arguments..., least_score_.read_on(stream_), score_.write_on(stream_),
           narrow_.write_on(stream_), marks_.write_on(stream_));
}

void GpuDetector::reserve(int frames) {
    // No two maxima are adjacent, so there are at most a quarter as many as pixels.
    const std::size_t n = std::size_t(frames), width = std::size_t(camera_->width()),
                      height = std::size_t(camera_->height()), pixels = n * width * height,
                      tiles = n * std::size_t(score_launch_.grid.columns * score_launch_.grid.rows),
                      noise = std::max<std::size_t>(1, n * samples()),
                      maxima = n * most_maxima(camera_->width(), camera_->height());
    if (frames <= room_) return;
    // Until all have grown: an exception in between leaves some smaller, and the next call must look at each again.
    room_ = 0;
    make_room(stream_, photoelectrons_, pixels);
    for (auto* buffer : {&score_, &narrow_}) make_room(stream_, *buffer, maxima);
    for (auto* buffer : {&shot_, &inverse_noise_}) make_room(stream_, *buffer, tiles);
    // Frames too small for noise samples still get buffers of one element: kernels want an address.
    for (auto* buffer : {&observed_, &expected_}) make_room(stream_, *buffer, noise);
    for (auto* buffer : {&spread_, &least_score_}) make_room(stream_, *buffer, n);
    for (auto* buffer : {&found_, &kept_, &bad_count_}) make_room(stream_, *buffer, n);
    make_room(stream_, marks_,
              n * height * std::size_t(score_strips(camera_->width(), score_launch_.radius) * words_of_strip));
    make_room(stream_, list_, maxima);
    make_room(stream_, keep_, maxima);
    make_room(stream_, kept_here_, n), make_room(stream_, bad_, n), make_room(stream_, spreads_, n);
    room_ = frames;
}

/// Photoelectrons, and the clipped means of the tiles (eq. 5.8).
void GpuDetector::measure_background(PixelType type, const gpu::Buffer<std::byte>& frames) {
    // Without maps the conversion is two numbers; with maps, the kernel reads offset and factor per pixel.
    const CameraView::Pixel all = camera_->uniform() ? camera_->pixel(0) : CameraView::Pixel{};
    const CountsLaunch conversion{all.offset_adu, all.factor_e_per_adu, unsigned(camera_->masked_pixels())};
    const std::uint64_t counts = frames.read_on(stream_), offsets = address(stream_, offsets_),
                        factors = address(stream_, factors_);
    const bool may_miss = type == PixelType::float32;  // integers are never NaN
    if (may_miss)
        launch("count_bad_pixels", std::size_t(frames_), detect_threads, detect_threads * sizeof(unsigned),
               frame_launch(), conversion, counts, offsets, factors, bad_count_.write_on(stream_));
    else
        gpu::fill(stream_, bad_count_, 0);
    const TileGrid& grid = score_launch_.grid;
    // The last tile of a row or column takes the remainder, so it is the largest; all get room for that one.
    const std::size_t width = std::size_t(camera_->width() - (grid.columns - 1) * grid.tile_px),
                      height = std::size_t(camera_->height() - (grid.rows - 1) * grid.tile_px);
    // Odd, so that the threads of a team, each in its own row, read from different banks of shared memory.
    const std::size_t stride = width | 1, bytes = height * stride * sizeof(float),
                      sums = 2 * height * 2 * sizeof(float);
    // As many tiles as leave a team for each, halved until they fit; beyond what a block can have, tiles are read from
    // global memory.
    const bool staged = bytes + sums + 8 <= most_shared_bytes_;
    std::size_t fitting = detect_threads / least_tile_team;
    while (fitting > 1 && fitting * (bytes + sums) > staged_bytes) fitting /= 2;
    const std::size_t staged_sums = staged ? divided(fitting * bytes, 2 * sizeof(float)) : 0;
    const TileLaunch tiles{grid, unsigned(fitting), int(height), staged ? int(stride) : 0, unsigned(staged_sums)};
    const std::size_t blocks = divided(std::size_t(frames_) * std::size_t(grid.columns * grid.rows), fitting);
    launch(type == PixelType::uint8    ? "background_u8"
           : type == PixelType::uint16 ? "background_u16"
                                       : "background_f32",
           blocks, detect_threads, unsigned(staged_sums * 2 * sizeof(float) + fitting * sums), frame_launch(), tiles,
           conversion, counts, offsets, factors, address(stream_, masked_), address(stream_, noise_maps_),
           photoelectrons_.write_on(stream_), shot_.write_on(stream_), inverse_noise_.write_on(stream_));
    if (may_miss)
        launch("fill_missing_tiles", std::size_t(frames_), detect_threads, 0, grid, bad_count_.read_on(stream_),
               shot_.write_on(stream_));
}

/// The spread of the noise samples, and from it (`for_threshold`) the frame's threshold: called before the search with
/// all samples, and after it without those near spots, for the report (docs/explanation/theory.md, Noise check).
void GpuDetector::judge_noise(bool for_threshold) {
    // Also without samples (frames too small): it sets the threshold.
    launch("judge_noise", std::size_t(frames_), detect_threads,
           unsigned(detect_threads * noise_sums * sizeof(double) + noise_digits * digit_values * sizeof(unsigned)),
           samples(), threshold_, observed_.read_on(stream_), expected_.read_on(stream_), spread_.write_on(stream_),
           for_threshold ? least_score_.write_on(stream_) : std::uint64_t(0));
}

/// Maxima of the narrow filter where the score reaches the threshold (eq. 5.7), as a bitmap, by one of two kernels:
/// noise that is uniform (eq. 5.6) or mapped (eq. 5.5). Frames with missing pixels, as only those of float32 have them,
/// always by the latter; which they are, the host does not know.
void GpuDetector::search(PixelType type) {
    const std::uint64_t missing = type == PixelType::float32 ? bad_count_.read_on(stream_) : 0;
    if (!noise_maps_)
        launch_score("uniform_score", uniform_score_rows, uniform_sums, photoelectrons_.read_on(stream_),
                     inverse_noise_.read_on(stream_), norms_.read_on(stream_), classes_.read_on(stream_));
    if (noise_maps_ || missing)
        launch_score("weighted_score", weighted_score_rows, weighted_sums, photoelectrons_.read_on(stream_),
                     shot_.read_on(stream_), address(stream_, noise_maps_), missing, int(!noise_maps_));
}

/// The maxima in order of row and column, with plateaus reduced to their first pixel.
void GpuDetector::list() {
    const ListLaunch launch_of_list{most_maxima(camera_->width(), camera_->height()), score_launch_.radius,
                                    plateau_reach(score_launch_.radius)};
    launch("list_maxima", std::size_t(frames_), list_threads,
           (list_threads + list_threads / listed_together) * unsigned(sizeof(unsigned)), frame_launch(), launch_of_list,
           noise_, marks_.read_on(stream_), narrow_.read_on(stream_), list_.write_on(stream_), found_.write_on(stream_),
           keep_.write_on(stream_), kept_.write_on(stream_), observed_.write_on(stream_));
}

// room_ and frames_ are set before anything is enqueued: a failed call leaves a detector that can be called again.
void GpuDetector::find(int frames, PixelType type, const gpu::Buffer<std::byte>& counts) {
    reserve(frames);
    frames_ = frames;
    (void)counts.read_on(stream_);  // the wait for their upload is none of the search
    before_.record(stream_);
    measure_background(type, counts);
    if (samples() > 0)
        launch("sample_noise", blocks_of(std::size_t(frames) * samples()), detect_threads, 0, frame_launch(),
               score_launch_.grid, noise_, camera_->uniform() ? camera_->pixel(0).factor_e_per_adu : 1.0f,
               photoelectrons_.read_on(stream_), address(stream_, offsets_), address(stream_, factors_),
               address(stream_, noise_maps_), shot_.read_on(stream_), observed_.write_on(stream_),
               expected_.write_on(stream_));
    judge_noise(true);
    search(type);
    list();
    judge_noise(false);
    after_.record(stream_);
    const std::size_t n = std::size_t(frames);
    gpu::download(stream_, kept_here_.span().first(n), kept_);
    gpu::download(stream_, spreads_.span().first(n), spread_);
    gpu::download(stream_, bad_.span().first(n), bad_count_);
}

// The one wait between the search and the end of the fits: the host must know how many ROIs there are.
std::span<const unsigned> GpuDetector::spot_counts() {
    stream_.synchronize();
    return kept_here_.span().first(std::size_t(frames_));
}

// In parts, so that a threshold that lets noise through does not need room for all ROIs at once.
GpuSpots& GpuDetector::cut(int size, std::int64_t first, std::int64_t count) {
    // Columns lie `count` apart, whatever the buffers have room for, so each can be downloaded or passed on as a whole.
    spots_.count = count;
    if (count == 0) return spots_;
    const std::size_t n = std::size_t(count), area = std::size_t(size) * std::size_t(size);
    make_room(stream_, spots_.places, 5 * n);
    make_room(stream_, spots_.starts, 3 * n);
    make_room(stream_, spots_.pixels, n * area);
    const SpotLaunch spots{size, most_maxima(camera_->width(), camera_->height()), unsigned(first), unsigned(count)};
    // All frames, though the part may concern a few: a frame's first row is the sum of the preceding frames' counts.
    launch("gather_spots", std::size_t(frames_), detect_threads, detect_threads * unsigned(sizeof(unsigned)),
           frame_launch(), spots, score_.read_on(stream_), list_.read_on(stream_), found_.read_on(stream_),
           keep_.read_on(stream_), kept_.read_on(stream_), spots_.places.write_on(stream_),
           spots_.starts.write_on(stream_));
    const std::uint64_t places = spots_.places.read_on(stream_);
    launch("cut_rois", blocks_of(n * area), detect_threads, 0, frame_launch(), size, unsigned(n),
           photoelectrons_.read_on(stream_), places, spots_.pixels.write_on(stream_));
    return spots_;
}

}  // namespace glint
