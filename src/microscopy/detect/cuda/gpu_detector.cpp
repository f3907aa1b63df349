// GpuDetector: allocates buffers and launches the detection kernels in order.
//
// The steps are those of Detector on the CPU. Each runs over all frames of a call, so that even small frames fill the
// GPU. The host does nothing between find() and spot_counts():
// - Counts stay on the device.
// - No launch depends on a result.
// - Lists have room for the maximum number of maxima per frame.
//
// Prefix sums, not atomic counters, build the lists. The spots and their order are therefore the same in every run and
// for any number of frames per call.
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

// of tiles per block; small enough for several blocks per multiprocessor
constexpr std::size_t staged_bytes = 48 << 10;

/// Uploads a table to the device; an empty buffer if there are no values. `values` may be freed immediately, because an
/// upload from pageable memory returns after reading it.
template <class T>
gpu::Buffer<T> uploaded(const gpu::Stream& stream, const std::vector<T>& values) {
    if (values.empty()) return {};
    gpu::Buffer<T> buffer(stream, values.size());
    gpu::upload(stream, buffer, values);
    return buffer;
}

/// Grows a buffer to at least n elements; never shrinks it. Frees the old one first, so that both never exist
/// simultaneously.
template <class T>
void make_room(const gpu::Stream& stream, gpu::Buffer<T>& buffer, std::size_t n) {
    if (buffer.size() < n) buffer = {}, buffer = gpu::Buffer<T>(stream, n);
}
template <class T>
void make_room(const gpu::Stream& stream, gpu::Pinned<T>& memory, std::size_t n) {
    if (memory.size() < n) memory = {}, memory = gpu::Pinned<T>(stream.context(), n);
}

/// Returns the address as a kernel parameter; 0 for a missing table, which the kernels check.
template <class T>
std::uint64_t address(const gpu::Stream& stream, const gpu::Buffer<T>& buffer) {
    return buffer ? buffer.read_on(stream) : 0;
}

/// Returns the number of blocks for so many threads; the last block may be partly idle.
std::size_t blocks_of(std::size_t threads) { return (threads + detect_threads - 1) / detect_threads; }
std::size_t divided(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

/// Returns the radius if a kernel is compiled for it, else 0. A radius known at compile time lets a thread keep its
/// column of the frame in registers.
int own_radius(const ScoreLaunch& score) { return score.radius <= 6 ? score.radius : 0; }

}  // namespace

// One module serves all frame sizes and filters. Without nvcc, glint is built with an empty module.
gpu::Module detect_module(const gpu::Context& context) {
    if (detect_fatbin(0).empty()) throw gpu::NoGpu(0, "this glint was built without CUDA");
    return gpu::Module(context, detect_fatbin(0));
}

GpuDetector::GpuDetector(const gpu::Stream& stream, const gpu::Module& module, const CameraView& camera,
                         const DetectOptions& options)
    : stream_(stream),
      module_(module),
      camera_(&camera),
      // checks first, because the following members are computed from the options
      threshold_((check(options), threshold_of(camera, options))),
      noise_(noise_grid(camera.width(), camera.height(), Filter(options.filter).radius())),
      max_shared_bytes_(std::size_t(stream.context().shared_bytes_per_block())),
      before_(stream.context(), true),
      after_(stream.context(), true) {
    upload_tables(options);
}

/// Uploads what depends only on camera and options: the filter's taps (kernel parameters in constant memory) and the
/// camera's maps. Without maps of noise, also the norms of the filter at the frame's edges.
void GpuDetector::upload_tables(const DetectOptions& options) {
    const Filter filter(options.filter);
    const Kernels taps = filter.kernels();
    score_launch_.grid = tile_grid(camera_->width(), camera_->height(), options.filter);
    score_launch_.radius = taps.radius;
    std::copy_n(taps.wide, taps.radius + 1, score_launch_.wide);
    std::copy_n(taps.squared, taps.radius + 1, score_launch_.squared);
    std::copy_n(taps.narrow, narrow_radius + 1, score_launch_.narrow);
    // One buffer contains the map of v and then that of q. FrameLaunch::has_qe is set if q exists.
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
    // With maps, the norms differ between pixels (eq. 5.5), and the kernel sums them itself.
    if (noise_maps_) return;
    // eq. 5.6: A', B' and C' depend only on how much of the window the frame's edge cuts off. Rows with the same cut
    // share a class, so the table needs only a few rows instead of one per frame row.
    const EdgeNorms norms(filter, camera_->width(), camera_->height());
    std::vector<float> table;
    for (const EdgeNorms::Row& row : norms.rows())
        for (const auto* column : {&row.box_ratio, &row.norm, &row.narrow_norm})
            table.insert(table.end(), column->begin(), column->end());
    norms_ = uploaded(stream_, table);
    classes_ = uploaded(stream_, norms.class_of());
}

int GpuDetector::max_frames() const {
    constexpr std::int64_t max_pixels = std::numeric_limits<int>::max();  // kernels use 32-bit indices
    return int(std::clamp<std::int64_t>(max_pixels / (std::int64_t(camera_->width()) * camera_->height()), 1, 65535));
}

FrameLaunch GpuDetector::frame_launch() const {
    return {camera_->width(),      camera_->height(),          unsigned(frames_),
            camera_->shot_noise(), camera_->variance_scalar(), !camera_->qe_map().empty()};
}

/// Loads a kernel on first use, and allows it the maximum shared memory of a block.
const gpu::Kernel& GpuDetector::kernel(const std::string& name) {
    const auto known = kernels_.find(name);
    return known != kernels_.end() ? known->second
                                   : kernels_.emplace(name, module_.kernel(name, int(max_shared_bytes_))).first->second;
}

/// Launches a kernel. `arguments` are the kernel's parameters in order and with their exact types. The driver copies
/// bytes without any check (the simulated server checks them).
template <class... Arguments>
void GpuDetector::launch(const std::string& name, std::size_t blocks, unsigned threads, unsigned shared_bytes,
                         Arguments... arguments) {
    void* pointers[] = {&arguments...};
    gpu::launch(stream_, kernel(name), unsigned(blocks), threads, shared_bytes, pointers);
}

/// Launches a score kernel; all score kernels have the same first and last parameters. A block has `rows` rows of sums,
/// plus two rows for the column sums of the narrow filter and for the narrow filter itself.
template <class... Arguments>
void GpuDetector::launch_score(const char* kind, int rows, ScoreSums sums, Arguments... arguments) {
    const std::size_t strips = std::size_t(score_strips(camera_->width(), score_launch_.radius)),
                      blocks =
                          std::size_t(frames_) * strips * divided(std::size_t(camera_->height()), std::size_t(rows));
    const int of_columns = sums.wide * rows + (sums.narrow + 1) * (rows + 2);
    const unsigned shared = unsigned((of_columns * int(detect_threads) + rows * words_of_strip) * int(sizeof(float)));
    launch(fmt::format("{}_{}", kind, own_radius(score_launch_)), blocks, detect_threads, shared, frame_launch(),
           score_launch_, arguments..., min_score_.read_on(stream_), score_.write_on(stream_),
           narrow_.write_on(stream_), marks_.write_on(stream_));
}

void GpuDetector::reserve(int frames) {
    // No two maxima are adjacent, so their number is at most a quarter of the number of pixels.
    const std::size_t n = std::size_t(frames), width = std::size_t(camera_->width()),
                      height = std::size_t(camera_->height()), pixels = n * width * height,
                      tiles = n * std::size_t(score_launch_.grid.columns * score_launch_.grid.rows),
                      noise = std::max<std::size_t>(1, n * samples()),
                      maxima = n * max_maxima(camera_->width(), camera_->height());
    if (frames <= room_) return;
    // Reset until all buffers have grown. After an exception in between, the next call must check each buffer again.
    room_ = 0;
    make_room(stream_, photoelectrons_, pixels);
    for (auto* buffer : {&score_, &narrow_}) make_room(stream_, *buffer, maxima);
    for (auto* buffer : {&shot_, &inverse_noise_}) make_room(stream_, *buffer, tiles);
    // Frames too small for noise samples still get buffers of one element, because kernels need an address.
    for (auto* buffer : {&observed_, &expected_}) make_room(stream_, *buffer, noise);
    for (auto* buffer : {&spread_, &min_score_}) make_room(stream_, *buffer, n);
    for (auto* buffer : {&found_, &kept_, &bad_count_}) make_room(stream_, *buffer, n);
    make_room(stream_, marks_,
              n * height * std::size_t(score_strips(camera_->width(), score_launch_.radius) * words_of_strip));
    make_room(stream_, list_, maxima);
    make_room(stream_, keep_, maxima);
    make_room(stream_, kept_here_, n), make_room(stream_, bad_, n), make_room(stream_, spreads_, n);
    room_ = frames;
}

/// Computes photoelectrons and the clipped means of the tiles (eq. 5.8).
void GpuDetector::measure_background(PixelType type, const gpu::Buffer<std::byte>& frames) {
    // Without maps, the conversion needs two numbers. With maps, the kernel reads offset and factor per pixel.
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
    // The last tile of a row or column includes the remainder, so it is the largest. All tiles get room for that size.
    const std::size_t width = std::size_t(camera_->width() - (grid.columns - 1) * grid.tile_px),
                      height = std::size_t(camera_->height() - (grid.rows - 1) * grid.tile_px);
    // An odd stride, so that the threads of a team, each in its own row, access different banks of shared memory.
    const std::size_t stride = width | 1, bytes = height * stride * sizeof(float),
                      sums = 2 * height * 2 * sizeof(float);
    // Starts with as many tiles as leave a team for each, and halves the number until they fit. Tiles too large for a
    // block's shared memory are read from global memory.
    const bool staged = bytes + sums + 8 <= max_shared_bytes_;
    std::size_t fitting = detect_threads / min_tile_team;
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

/// Computes the spread of the noise samples, and from it (`for_threshold`) the frame's threshold. Called before the
/// search with all samples, and afterwards without samples near spots, for the report (docs/explanation/theory.md,
/// Noise check).
void GpuDetector::judge_noise(bool for_threshold) {
    // Also called without samples (frames too small), because it sets the threshold.
    launch("judge_noise", std::size_t(frames_), detect_threads,
           unsigned(detect_threads * noise_sums * sizeof(double) + noise_digits * digit_values * sizeof(unsigned)),
           samples(), threshold_, observed_.read_on(stream_), expected_.read_on(stream_), spread_.write_on(stream_),
           for_threshold ? min_score_.write_on(stream_) : std::uint64_t(0));
}

/// Writes a bitmap of the narrow filter's maxima whose score reaches the threshold (eq. 5.7). One kernel is for uniform
/// noise (eq. 5.6), the other for mapped noise (eq. 5.5). Frames with missing pixels always need the second. Only
/// float32 frames can have them, and the host does not know which do.
void GpuDetector::search(PixelType type) {
    const std::uint64_t missing = type == PixelType::float32 ? bad_count_.read_on(stream_) : 0;
    if (!noise_maps_)
        launch_score("uniform_score", uniform_score_rows, uniform_sums, photoelectrons_.read_on(stream_),
                     inverse_noise_.read_on(stream_), norms_.read_on(stream_), classes_.read_on(stream_));
    if (noise_maps_ || missing)
        launch_score("weighted_score", weighted_score_rows, weighted_sums, photoelectrons_.read_on(stream_),
                     shot_.read_on(stream_), address(stream_, noise_maps_), missing, int(!noise_maps_));
}

/// Lists the maxima in order of row and column, with plateaus reduced to their first pixel.
void GpuDetector::list() {
    const ListLaunch launch_of_list{max_maxima(camera_->width(), camera_->height()), score_launch_.radius,
                                    plateau_reach(score_launch_.radius)};
    launch("list_maxima", std::size_t(frames_), list_threads,
           (list_threads + list_threads / listed_together) * unsigned(sizeof(unsigned)), frame_launch(), launch_of_list,
           noise_, marks_.read_on(stream_), narrow_.read_on(stream_), list_.write_on(stream_), found_.write_on(stream_),
           keep_.write_on(stream_), kept_.write_on(stream_), observed_.write_on(stream_));
}

// Sets room_ and frames_ before anything is enqueued, so that the detector can be called again after a failure.
void GpuDetector::find(int frames, PixelType type, const gpu::Buffer<std::byte>& counts) {
    reserve(frames);
    frames_ = frames;
    (void)counts.read_on(stream_);  // waits for the upload before the search is timed
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

// The only wait between the search and the end of the fits: the host needs the number of ROIs.
std::span<const unsigned> GpuDetector::spot_counts() {
    stream_.synchronize();
    return kept_here_.span().first(std::size_t(frames_));
}

// In parts, so that memory for all ROIs is not needed simultaneously if the threshold lets noise through.
GpuSpots& GpuDetector::cut(int size, std::int64_t first, std::int64_t count) {
    // Columns are `count` apart, regardless of the buffers' capacity, so that each can be downloaded or passed on as a
    // whole.
    spots_.count = count;
    if (count == 0) return spots_;
    const std::size_t n = std::size_t(count), area = std::size_t(size) * std::size_t(size);
    make_room(stream_, spots_.places, 5 * n);
    make_room(stream_, spots_.starts, 3 * n);
    make_room(stream_, spots_.pixels, n * area);
    const SpotLaunch spots{size, max_maxima(camera_->width(), camera_->height()), unsigned(first), unsigned(count)};
    // Processes all frames, even for a part of few frames: a frame's first row is the sum of the preceding counts.
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
