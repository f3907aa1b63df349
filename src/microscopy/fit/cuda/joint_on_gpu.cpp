// Packs the input of groups, launches a team for each, and unpacks the results.
//
// The largest groups take longest and start first. A team's memory is what its first group needs. If memory is short,
// fewer teams run, and each fits more groups one after another.
// SPDX-License-Identifier: MIT
#include "fit/cuda/joint_on_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "fit/cuda/stream_work.hpp"

namespace glint {
namespace {

// Twice as many as run simultaneously, so that another team begins as soon as one ends.
constexpr std::size_t teams_of_multiprocessor = 8;

constexpr std::size_t cache_line = 32;  // floats, at which each team's memory begins

/// Unlike in JointPixels, rows of pixels are not padded, so that more groups fit into a cache.
int pitch_of(const JointCut& group) { return group.rectangle.width; }
int room_of(const JointCut& group) { return joint_room(int(group.fit->emitters.size())); }

/// Visits the input from which pixels are cut, in order (JointPlace): calls visit(first float, count) for each piece.
template <class Visit>
void for_pieces(const JointCut& group, const Visit& visit) {
    const std::size_t area = std::size_t(group.pixels->size) * std::size_t(group.pixels->size);
    for (const auto* plane : {&group.pixels->pixels, &group.pixels->variance, &group.pixels->qe})
        if (!plane->empty())
            for (const std::size_t k : group.windows) visit(&(*plane)[k * area], area);
    for (const std::span<const JointLight> light : {group.light, group.earlier})
        if (!light.empty()) visit(light.front().data(), light.size() * max_psf_parameters);
}

/// Returns the number of floats of a group that are uploaded.
std::size_t floats_of(const JointCut& group) {
    std::size_t floats = group.windows.size() * joint_corners;
    for_pieces(group, [&](const float*, std::size_t n) { floats += n; });
    return floats;
}

void write(const JointCut& group, float* to) {
    const Rectangle& in = group.rectangle;
    for (const std::size_t k : group.windows)
        for (const Rois* rois : {group.pixels, group.searched})
            *to++ = float(rois->x_corner[k] - in.left), *to++ = float(rois->y_corner[k] - in.top);
    for_pieces(group, [&](const float* from, std::size_t n) { to = std::copy_n(from, n, to); });
}

}  // namespace

JointOnGpu::JointOnGpu(const gpu::Context& context, FitKernels& kernels, const Psf& psf, double pixel_size_nm,
                       const JointOptions& options, std::size_t bytes)
    : stream_(context),
      kernel_(kernels.joint(psf.model)),
      table_(kernels.table_of(psf)),
      setup_(psf, pixel_size_nm, options),
      cpu_(psf, pixel_size_nm, options),
      bytes_(bytes),
      before_(context, true),
      after_(context, true) {}

JointOnGpu::~JointOnGpu() { settle(stream_); }

void JointOnGpu::free() { places_ = {}, given_ = space_ = {}, results_ = {}; }

std::size_t JointOnGpu::floats_of_team(const JointCut& group) const {
    const int pitch = pitch_of(group), height = group.rectangle.height;
    const std::size_t floats =
        setup_.space(pitch, height, room_of(group)) + joint_planes * std::size_t(pitch) * std::size_t(height);
    return (floats + cache_line - 1) / cache_line * cache_line;
}

/// Returns the memory that one group needs.
std::size_t JointOnGpu::num_bytes(const JointCut& group) const {
    return grown((floats_of(group) + floats_of_team(group)) * sizeof(float) + sizeof(JointPlace) + sizeof(JointResult));
}

/// Half of the memory is for groups, half for teams.
std::size_t JointOnGpu::as_many_as_fit(std::span<const JointCut> groups, std::size_t bytes) const {
    std::size_t n = 0, used = 0;
    while (n < groups.size()) {
        used += grown(floats_of(groups[n]) * sizeof(float) + sizeof(JointPlace) + sizeof(JointResult));
        if (n > 0 && used > bytes / 2) break;
        ++n;
    }
    return n;
}

void JointOnGpu::find_on_cpu(const JointCut& group) {
    const JointPixels pixels = cut(group, cpu_);
    if (pixels.height > 0) cpu_.run(pixels, group.search, *group.fit);
}

void JointOnGpu::find(std::span<const JointCut> all) {
    std::vector<JointCut> fitting;
    for (const JointCut& group : all)
        if (num_bytes(group) <= bytes_)
            fitting.push_back(group);
        else
            find_on_cpu(group);
    std::span<const JointCut> groups = fitting;
    for (std::size_t bytes = bytes_; !groups.empty();) {
        const std::size_t n = as_many_as_fit(groups, bytes);
        try {
            find_at_once(groups.first(n), bytes);
            groups = groups.subspan(n);
        } catch (const gpu::OutOfMemory&) {
            settle(stream_);
            free();
            if (bytes == 0) throw;
            bytes = n == 1 ? 0 : bytes / 2;  // 0: one group, one team
        } catch (...) {
            settle(stream_);
            throw;
        }
    }
}

void JointOnGpu::find_at_once(std::span<const JointCut> groups, std::size_t bytes) {
    const std::size_t n = groups.size();
    struct Ordered {
        const JointCut* group;
        std::size_t space;
    };
    std::vector<Ordered> order;
    for (const JointCut& group : groups) order.push_back({&group, floats_of_team(group)});
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.space > b.space; });
    const gpu::Context& context = stream_.context();
    const std::size_t resident = teams_of_multiprocessor * std::size_t(context.multiprocessors());
    grow(places_here_, n, context), grow(results_here_, n, context);
    std::size_t floats = 0, space = 0, teams = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const JointCut& group = *order[k].group;
        const bool more = k < resident && (k == 0 || grown((space + order[k].space) * sizeof(float)) <= bytes / 2);
        places_here_.data()[k] = {group.rectangle.width,
                                  group.rectangle.height,
                                  pitch_of(group),
                                  room_of(group),
                                  int(group.windows.size()),
                                  int(group.light.size()),
                                  int(group.earlier.size()),
                                  group.again,
                                  group.search,
                                  floats,
                                  space,
                                  setup_.cell_of(group.rectangle)};
        setup_.begin(*group.fit, group.rectangle, results_here_.data()[k]);
        floats += floats_of(group);
        if (more && teams == k) space += order[k].space, ++teams;
    }
    grow(given_here_, floats, context);
    for (std::size_t k = 0; k < n; ++k) write(*order[k].group, given_here_.data() + places_here_.data()[k].first);
    grow(places_, n, stream_), grow(given_, floats, stream_), grow(results_, n, stream_);
    grow(space_, space, stream_);
    gpu::upload(stream_, places_, places_here_.span().first(n));
    gpu::upload(stream_, given_, given_here_.span().first(floats));
    gpu::upload(stream_, results_, results_here_.span().first(n));
    const Rois& rois = *groups.front().pixels;
    JointLaunch launch{setup_.psf,
                       setup_.numbers,
                       unsigned(n),
                       rois.size,
                       groups.front().searched->size,
                       !rois.variance.empty(),
                       !rois.qe.empty(),
                       rois.variance_scalar,
                       rois.qe_scalar,
                       rois.excess_noise};
    if (table_) table_->use(stream_, launch.psf);
    std::uint64_t places = places_.read_on(stream_), given = given_.read_on(stream_), own = space_.write_on(stream_),
                  results = results_.write_on(stream_);
    void* arguments[] = {&launch, &places, &given, &own, &results};
    before_.record(stream_);
    gpu::launch(stream_, kernel_, unsigned(teams), joint_team_threads, joint_shared_bytes, arguments);
    after_.record(stream_);
    gpu::download(stream_, results_here_.span().first(n), results_);
    // Groups take milliseconds. The driver's wait would keep a core busy for that time.
    while (!stream_.idle()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    stream_.synchronize();
    for (std::size_t k = 0; k < n; ++k) {
        const JointResult& result = results_here_.data()[k];
        if (!result.as_it_was) setup_.take(result, order[k].group->rectangle, *order[k].group->fit);
    }
    seconds_ += after_.milliseconds_since(before_) / 1000.0;
    bytes_up_ += std::int64_t(floats * sizeof(float) + n * (sizeof(JointPlace) + sizeof(JointResult)));
    bytes_down_ += std::int64_t(n * sizeof(JointResult));
}

}  // namespace glint
