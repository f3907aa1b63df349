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
      noise_(noise_grid(camera.width(), camera.height(), Filter(options.sigma_px).radius())),
      most_shared_bytes_(std::size_t(stream.context().shared_bytes_per_block())),
      before_(stream.context(), true),
      after_(stream.context(), true) {
    upload_tables(options);
}

/// What depends on camera and options only: the filter's taps (as kernel parameters, which are read from constant
/// memory), the camera's maps, and without maps of noise the norms of the filter at the frame's edges.
void GpuDetector::upload_tables(const DetectOptions& options) {
    const Filter filter(options.sigma_px);
    const Kernels taps = filter.kernels();
    score_launch_.grid = tile_grid(camera_->width(), camera_->height(), options.sigma_px);
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
    for (auto* buffer : {&photoelectrons_, &score_, &narrow_}) make_room(stream_, *buffer, pixels);
    for (auto* buffer : {&shot_, &inverse_sigma_}) make_room(stream_, *buffer, tiles);
    // Frames too small for noise samples still get buffers of one element: kernels want an address.
    for (auto* buffer : {&observed_, &expected_}) make_room(stream_, *buffer, noise);
    for (auto* buffer : {&median_, &spread_, &least_score_}) make_room(stream_, *buffer, n);
    for (auto* buffer : {&found_, &kept_, &bad_count_}) make_room(stream_, *buffer, n);
    make_room(stream_, marks_, n * height * mark_words(camera_->width()));
    make_room(stream_, list_, maxima);
    make_room(stream_, keep_, maxima);
    make_room(stream_, kept_here_, n), make_room(stream_, bad_, n), make_room(stream_, spreads_, n);
    room_ = frames;
}

void GpuDetector::convert(PixelType type, const gpu::Buffer<std::byte>& frames) {
    // Without maps the conversion is two numbers; with maps, the kernel reads offset and factor per pixel.
    const CameraView::Pixel all = camera_->uniform() ? camera_->pixel(0) : CameraView::Pixel{};
    const std::uint64_t counts = frames.read_on(stream_), offsets = address(stream_, offsets_),
                        factors = address(stream_, factors_), to = photoelectrons_.write_on(stream_);
    const std::size_t pixels = std::size_t(frames_) * std::size_t(camera_->width()) * std::size_t(camera_->height());
    const char* name = type == PixelType::uint8    ? "photoelectrons_u8"
                       : type == PixelType::uint16 ? "photoelectrons_u16"
                                                   : "photoelectrons_f32";
    // Four pixels per thread, as ToPhotoelectrons expects.
    launch(name, divided(pixels, 4 * detect_threads), detect_threads, 0, frame_launch(), all.offset_adu,
           all.factor_e_per_adu, counts, offsets, factors, to);
    if (const unsigned masked = unsigned(camera_->masked_pixels()); masked > 0)
        launch("mend_masked", blocks_of(std::size_t(frames_) * masked), detect_threads, 0, frame_launch(), masked,
               masked_.read_on(stream_), to);
    if (type != PixelType::float32) return gpu::fill(stream_, bad_count_, 0);  // integers are never NaN
    // From the raw counts: mended pixels may have become NaN, too.
    launch("count_bad_pixels", std::size_t(frames_), detect_threads, detect_threads * sizeof(unsigned), frame_launch(),
           all.offset_adu, all.factor_e_per_adu, counts, offsets, factors, bad_count_.write_on(stream_));
}

/// Clipped means of the tiles (eq. 5.8). One thread per tile, as clipping passes over the same few pixels again and
/// again.
void GpuDetector::measure_background(PixelType type) {
    const TileGrid& grid = score_launch_.grid;
    // The last tile of a row or column takes the remainder, so it is the largest; all get room for that one.
    const std::size_t width = std::size_t(camera_->width() - (grid.columns - 1) * grid.tile_px),
                      height = std::size_t(camera_->height() - (grid.rows - 1) * grid.tile_px);
    // Odd, so that the threads of a warp, each in its own tile, read from different banks of shared memory.
    const std::size_t stride = width * height | 1, bytes = stride * sizeof(float);
    // A thread per tile, at most one warp of the block; the other threads help to load. At least one tile, even beyond
    // staged_bytes; beyond what a block can have, tiles are read from global memory, one by each thread.
    const std::size_t fitting = std::min<std::size_t>(32, std::max(staged_bytes, bytes) / bytes);
    const bool staged = bytes <= most_shared_bytes_;
    const TileLaunch tiles{grid, staged ? unsigned(fitting) : detect_threads, staged ? int(stride) : 0};
    const std::size_t all = std::size_t(frames_) * std::size_t(grid.columns * grid.rows);
    launch("tile_background", divided(all, tiles.tiles_per_block), detect_threads,
           staged ? unsigned(fitting * bytes) : 0u, frame_launch(), tiles, photoelectrons_.read_on(stream_),
           address(stream_, noise_maps_), shot_.write_on(stream_), inverse_sigma_.write_on(stream_));
    if (type == PixelType::float32)
        launch("fill_missing_tiles", std::size_t(frames_), detect_threads, 0, grid, bad_count_.read_on(stream_),
               shot_.write_on(stream_));
}

/// The spread of the noise samples, and from it (`for_threshold`) the frame's threshold: called before the search with
/// all samples, and after it without those near spots, for the report (docs/theory.md, Noise check).
void GpuDetector::judge_noise(bool for_threshold) {
    const unsigned n = samples();
    const std::size_t frames = std::size_t(frames_);
    // Only the thread whose sample is the median writes; a frame without usable samples keeps 0.
    gpu::fill(stream_, median_, 0);
    if (n > 0)
        // By comparing each sample with all others: a million comparisons a frame are nothing here, and no sorting is
        // needed.
        launch("noise_median", frames * divided(n, 2 * detect_threads), 2 * detect_threads, n * unsigned(sizeof(float)),
               n, observed_.read_on(stream_), median_.write_on(stream_));
    // Also without samples (frames too small): it sets the threshold.
    launch("noise_spread", frames, detect_threads, detect_threads * 3 * unsigned(sizeof(double)), n, threshold_,
           observed_.read_on(stream_), expected_.read_on(stream_), median_.read_on(stream_), spread_.write_on(stream_),
           for_threshold ? least_score_.write_on(stream_) : std::uint64_t(0));
}

/// Score and narrow filter of every pixel, by one of two kernels: noise that is uniform (eq. 5.6) or mapped (eq. 5.5). Frames with
/// missing pixels, as only those of float32 have them, always by the latter; which they are, the host does not know.
void GpuDetector::score(PixelType type) {
    const bool may_miss = type == PixelType::float32;
    noise_maps_ ? score_weighted(0) : score_uniform();
    if (!may_miss) return;
    const std::uint64_t missing = bad_count_.read_on(stream_);
    if (!noise_maps_) score_weighted(missing);
    const std::size_t pixels = std::size_t(frames_) * std::size_t(camera_->width()) * std::size_t(camera_->height());
    launch("lower_missing", blocks_of(pixels), detect_threads, 0, frame_launch(), missing,
           photoelectrons_.read_on(stream_), narrow_.write_on(stream_));
}

std::size_t GpuDetector::score_blocks(int rows) const {
    return std::size_t(frames_) * divided(std::size_t(camera_->height()), std::size_t(rows)) *
           divided(std::size_t(camera_->width()), std::size_t(score_columns(score_launch_.radius)));
}

void GpuDetector::score_uniform() {
    const unsigned shared = uniform_score_rows * 3 * detect_threads * unsigned(sizeof(float));
    launch(fmt::format("uniform_score_{}", own_radius(score_launch_)), score_blocks(uniform_score_rows), detect_threads,
           shared, frame_launch(), score_launch_, photoelectrons_.read_on(stream_), inverse_sigma_.read_on(stream_),
           norms_.read_on(stream_), classes_.read_on(stream_), score_.write_on(stream_), narrow_.write_on(stream_));
}

/// `missing`: where each frame's number of missing pixels lies, so that only frames with such are scored; 0: all.
void GpuDetector::score_weighted(std::uint64_t missing) {
    // Seven sums per pixel instead of three, hence fewer rows per block.
    const unsigned shared = weighted_score_rows * 7 * detect_threads * unsigned(sizeof(float));
    launch(fmt::format("weighted_score_{}", own_radius(score_launch_)), score_blocks(weighted_score_rows),
           detect_threads, shared, frame_launch(), score_launch_, photoelectrons_.read_on(stream_),
           shot_.read_on(stream_), address(stream_, noise_maps_), missing, score_.write_on(stream_),
           narrow_.write_on(stream_));
}

/// Maxima of the narrow filter where the score reaches the threshold (eq. 5.7), in order of row and column: a bitmap, a
/// prefix sum over its words, and plateaus reduced to their first pixel.
void GpuDetector::list() {
    const std::size_t frames = std::size_t(frames_);
    const unsigned capacity = most_maxima(camera_->width(), camera_->height());
    const std::uint64_t narrow = narrow_.read_on(stream_);
    launch("mark_maxima",
           frames * divided(std::size_t(camera_->height()), search_rows) *
               divided(std::size_t(camera_->width()), search_columns),
           detect_threads, search_rows * search_columns, frame_launch(), score_.read_on(stream_), narrow,
           least_score_.read_on(stream_), marks_.write_on(stream_));
    launch("list_maxima", frames, 2 * detect_threads, 2 * detect_threads * unsigned(sizeof(unsigned)), frame_launch(),
           capacity, marks_.read_on(stream_), list_.write_on(stream_), found_.write_on(stream_));
    launch("drop_plateaus", frames, detect_threads, detect_threads * unsigned(sizeof(unsigned)), frame_launch(),
           capacity, plateau_reach(score_launch_.radius), narrow, list_.read_on(stream_), found_.read_on(stream_),
           keep_.write_on(stream_), kept_.write_on(stream_));
}

// room_ and frames_ are set before anything is enqueued: a failed call leaves a detector that can be called again.
void GpuDetector::find(int frames, PixelType type, const gpu::Buffer<std::byte>& counts) {
    reserve(frames);
    frames_ = frames;
    (void)counts.read_on(stream_);  // the wait for their upload is none of the search
    before_.record(stream_);
    convert(type, counts);
    measure_background(type);
    if (samples() > 0)
        launch("sample_noise", blocks_of(std::size_t(frames) * samples()), detect_threads, 0, frame_launch(),
               score_launch_.grid, noise_, camera_->uniform() ? camera_->pixel(0).factor_e_per_adu : 1.0f,
               photoelectrons_.read_on(stream_), address(stream_, offsets_), address(stream_, factors_),
               address(stream_, noise_maps_), shot_.read_on(stream_), observed_.write_on(stream_),
               expected_.write_on(stream_));
    // Before score(): list() needs the thresholds, and noise that is too large raises them.
    judge_noise(true);
    score(type);
    list();
    after_.record(stream_);
    // All that the host needs to know before cut(): how many spots each frame has.
    gpu::download(stream_, kept_here_.span().first(std::size_t(frames)), kept_);
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
    // Each part excludes the samples near its own spots; measure_noise() after the last part sees them all.
    if (samples() > 0)
        launch("leave_out", blocks_of(n), detect_threads, 0, unsigned(n), noise_, places, observed_.write_on(stream_));
    launch("cut_rois", blocks_of(n * area), detect_threads, 0, frame_launch(), size, unsigned(n),
           photoelectrons_.read_on(stream_), places, spots_.pixels.write_on(stream_));
    return spots_;
}

// The median is taken anew: cut() has removed samples since find().
void GpuDetector::measure_noise() {
    judge_noise(false);
    const std::size_t n = std::size_t(frames_);
    // To page-locked memory, in stream order: valid after the next synchronisation.
    gpu::download(stream_, spreads_.span().first(n), spread_);
    gpu::download(stream_, bad_.span().first(n), bad_count_);
}

}  // namespace glint
