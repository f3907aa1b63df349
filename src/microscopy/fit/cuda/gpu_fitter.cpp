// GpuFitter: batches on several streams, whose transfers and kernels overlap so that the link is never idle.
//
// The link is the limit, not the kernel: it transfers 2.7e8 7x7 ROIs of float32 per second (53 GB/s), and the kernel
// fits 3.9e9. Counts are therefore uploaded unconverted (uint16 doubles the rate), and everything here keeps the link
// busy. Four slots are in flight; the fifth batch waits for the oldest. One host thread per GPU does all of it; the
// streams provide the concurrency.
//
// A row is final once finish() has returned for its batch. After a failure only the batches in flight are fitted again.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "fit/cuda/fatbins.hpp"
#include "fit/cuda/fit_kernels.hpp"
#include "fit/cuda/fit_slot.hpp"
#include "fit/row_queue.hpp"
#include "glint/error.hpp"
#include "glint/gpu_fit.hpp"

namespace glint {
namespace {

// One slot uploads, one computes, one downloads, and one is being staged by the host.
constexpr int slot_count = 4;
constexpr std::size_t bytes_to_fill_the_link = std::size_t(16) << 20;  // per batch; 0.3 ms at 55 GB/s
// Several GPUs share the driver's locks: batches twice as large halve the contention.
constexpr std::size_t large_stack_bytes = std::size_t(4) << 30, bytes_of_large = 2 * bytes_to_fill_the_link;
// A batch is a multiple of min_batch, unless the caller or a lack of memory wants it smaller.
constexpr std::int64_t min_batch = 1024, one_warp = 32;

static_assert(int(GpuPixel::u8) == int(PixelType::uint8) && int(GpuPixel::u16) == int(PixelType::uint16) &&
              int(GpuPixel::f32) == int(PixelType::float32));

}  // namespace

// One model represents all: nvcc has compiled every model of this build, or none.
bool has_gpu_kernels() { return !fit_fatbin(int(PsfModel::GaussianXYNB)).empty(); }

void require_gpu_kernels() {
    if (!has_gpu_kernels())
        throw gpu::NoGpu(0,
                         "this glint was built without CUDA: build it where nvcc is found (./dev setup gpu), or use "
                         "`backend=cpu`");
}

struct GpuFitter::State {
    // Allocates no memory yet. fit() does, and reduces the batch if memory is short.
    State(gpu::Lease leased, std::int64_t wanted_batch)
        : lease(std::move(leased)), wanted_batch_size(wanted_batch), context(lease.create_context()), kernels(context) {
        slots = new_slots();
    }
    /// A slot keeps the memory of its largest batch. Only new slots release it, if batches must be smaller.
    std::vector<FitSlot> new_slots() const {
        std::vector<FitSlot> fresh;
        for (int k = 0; k < slot_count; ++k) fresh.emplace_back(context);
        return fresh;
    }

    /// The data that all batches of one call share.
    struct Plan {
        const RoiView& rois;
        const FitsView& out;
        Starts starts;
        FitLaunch launch;
        FitVariant kernel;
        BatchKind kind;
        std::int64_t wanted_batch;
        bool maps_used;
    };

    gpu::Lease lease;  // destroyed last: it covers all of the following memory
    std::int64_t wanted_batch_size;
    gpu::Context context;
    FitKernels kernels;
    std::vector<FitSlot> slots;
    gpu::Buffer<GpuCameraPixel> maps;
    std::shared_ptr<const CameraView::Maps> maps_of;  // the maps uploaded last
    std::shared_ptr<const TableOnGpu> table;          // of the last PSF that had a table
    std::uint64_t table_hash = 0;                     // PsfTable::hash() of that table

    /// Checks the arguments, chooses the kernel, and uploads the camera's maps unless the last call had the same.
    /// Throws OptionError before anything is enqueued, and gpu::OutOfMemory for the maps.
    Plan plan(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& fit_options,
              const FitsView& out) {
        check(rois, psf, pixel_size_nm, fit_options);
        const bool maps_used = rois.camera && !rois.camera->uniform();
        Plan p{rois, out, starts_of(rois, fit_options), {}, {}, {}, 0, maps_used};
        p.kind = kind_of(rois, p.starts, psf);
        const PixelPlanes planes{.noise = maps_used || !rois.variance.empty(),
                                 .additive = !rois.additive.empty(),
                                 .qe = !rois.qe.empty() || (rois.camera && !rois.camera->qe_map().empty())};
        // The camera's values, if they are uniform. With maps, the kernel reads each pixel's values. Without a camera,
        // the pixels are already photoelectrons.
        const CameraView::Pixel all = rois.camera ? rois.camera->pixel(0) : CameraView::Pixel{0, 1, 0, 1};
        p.launch = {kernel_psf(psf, pixel_size_nm, fit_options, rois.size),
                    kernel_options(rois, fit_options),
                    GpuPixel(int(rois.type)),
                    all.offset_adu,
                    all.factor_e_per_adu,
                    rois.camera ? rois.camera->width() : 0,
                    rois.camera ? rois.camera->height() : 0,
                    p.starts.known,
                    0};
        // Frees the last table first: there may be no room for both.
        if (psf.table && table_hash != psf.table->hash()) table = {};
        // Loads the model's image the first time, which the cost model books as a library (Work::library).
        p.kernel = kernels.of(psf, rois.size, planes);
        if (psf.table) table = p.kernel.table, table_hash = psf.table->hash();
        p.wanted_batch = batch_for(p);
        if (maps_used && maps_of != rois.camera->maps()) {
            // Frees and forgets the old maps first: if the upload fails, the next call must not use them.
            maps_of = {}, maps = {};
            maps = upload_maps(*rois.camera);
            maps_of = rois.camera->maps();
        }
        return p;
    }

    /// Returns the ROIs per batch: as many as the link needs, but few enough that four batches fit into the context's
    /// limit.
    ///
    /// A larger batch gains nothing once its transfer (0.3 ms) takes longer than the calls that start it. It costs
    /// memory that other processes could lease, and longer phases at the start and end in which the link is idle.
    std::int64_t batch_for(const Plan& p) const {
        const std::int64_t n = std::max<std::int64_t>(1, std::int64_t(p.rois.count));
        if (wanted_batch_size > 0) return std::min(wanted_batch_size, n);
        const BatchLayout each = layout_of(p.kind, min_batch);
        const std::size_t bytes = each.up + each.down;
        const std::size_t bytes_up = std::max<std::size_t>(1, each.up / min_batch);
        const bool large = std::size_t(n) > large_stack_bytes / bytes_up;
        const std::size_t fills = (large ? bytes_of_large : bytes_to_fill_the_link) / bytes_up;
        // The limit may have been lowered since the last call (give_up_spare_memory).
        const std::size_t fits = context.statistics().limit_bytes / slot_count / bytes * min_batch;
        const std::size_t batch = std::clamp<std::size_t>(std::min(fills, fits), min_batch, std::size_t(1) << 22);
        return std::min<std::int64_t>(n, std::int64_t(batch / min_batch * min_batch));
    }

    /// One struct of 16 bytes per pixel, so that the kernel reads all four values by one load. The stream is
    /// synchronised once here, so that no batch has to wait for it.
    gpu::Buffer<GpuCameraPixel> upload_maps(const CameraView& camera) {
        std::vector<GpuCameraPixel> pixels(std::size_t(camera.width()) * camera.height());
        for (std::size_t k = 0; k < pixels.size(); ++k) {
            const CameraView::Pixel p = camera.pixel(k);
            pixels[k] = {p.offset_adu, p.factor_e_per_adu, p.variance_e2, p.qe};
        }
        // Masked pixels have no light, since their neighbours are not read; their variance leaves them without weight
        // anyway.
        for (const CameraView::MaskedPixel& masked : camera.maps()->masked)
            pixels[masked.at].offset = pixels[masked.at].factor = 0;
        const gpu::Stream stream(context);
        gpu::Buffer<GpuCameraPixel> buffer(stream, pixels.size());
        gpu::upload(stream, buffer, pixels);
        stream.synchronize();
        return buffer;
    }

    /// Publishes the lease's memory in use. If other processes wait and the batches need no more memory, returns the
    /// rest to them. Memory is published after its allocation. Until then, other processes count it as in use, so
    /// publishing late is safe and early is not.
    void publish_memory(bool needs_no_more) {
        if (needs_no_more && lease.others_wait()) give_up_spare_memory();
        lease.publish_held();
    }

    /// Trims the pool, and shrinks context limit and lease to the remaining memory. They do not grow again. The next
    /// larger batch reaches the limit and is reduced, or the device gets a new lease (Device::limit_was_lowered).
    void give_up_spare_memory() {
        const gpu::MemoryStatistics memory = context.statistics();
        if (memory.reserved_bytes >= lease.bytes()) return;
        context.trim();
        // The limit before the lease: once the lease is smaller, other processes may take the memory.
        const std::uint64_t kept = context.statistics().reserved_bytes;
        context.lower_limit(kept);
        lease.shrink(kept);
    }

    /// ROIs per batch: halved when memory runs out, doubled again after a number of successful batches that itself
    /// doubles with each failure.
    class BatchSize {
      public:
        explicit BatchSize(std::int64_t wanted) : wanted_(wanted), now_(wanted) {}
        operator std::int64_t() const { return now_; }
        /// Returns false if the batch cannot be smaller. Doubling the interval after each failure limits the waste: if
        /// memory stays short, retries become rare.
        bool halve() {
            if (now_ <= one_warp) return false;
            now_ = std::max(one_warp, now_ / 2);
            succeeded_ = 0, retry_after_ *= 2;
            return true;
        }
        void succeeded() {
            if (now_ == wanted_ || ++succeeded_ < retry_after_) return;
            now_ = std::min(wanted_, 2 * now_);
            succeeded_ = 0;
        }

      private:
        std::int64_t wanted_, now_;
        int succeeded_ = 0, retry_after_ = 8;  // batches
    };

    /// The GPU has marked ROIs outside the camera's maps; a check on the host would cost memory bandwidth, which is the
    /// limit. Called before the rows count as finished; check_corners() names the first such ROI and throws.
    static void refuse_outside_maps(const Plan& p, std::int64_t first, std::int64_t end) {
        const void* statuses = p.out.status + first;
        if (p.maps_used && std::memchr(statuses, gpu_outside_maps, std::size_t(end - first)))
            check_corners(p.rois, first, end - first);
    }

    /// Takes and fits rows until none are left. If it throws, returns the rows without a result to the queue.
    ///
    /// Batches finish in the order in which they were taken, each by waiting for its own stream. A slot is reused only
    /// when its batch is finished. With slot_count batches in flight, waits for the oldest. Slots are used in rotation.
    void run(Plan& p, BatchSize& batch, const StopFlag* stop, RowShare& share, FitInfo& info) {
        struct InFlight {
            RowRange rows;
            FitSlot* slot = nullptr;
        };
        std::vector<InFlight> in_flight;  // oldest first
        const auto finish_oldest = [&] {
            // times() needs finish(); the rows are reported after their statuses were checked.
            const InFlight oldest = in_flight.front();
            oldest.slot->finish();
            refuse_outside_maps(p, oldest.rows.first, oldest.rows.end);
            const BatchTimes times = oldest.slot->times();
            info.transfer_seconds += times.up + times.down, info.kernel_seconds += times.kernel;
            share.finish(oldest.rows);
            in_flight.erase(in_flight.begin());
            batch.succeeded();
        };
        std::size_t turn = 0;
        try {
            for (;;) {
                // Checked once per batch. Batches in flight are dropped; finished ones remain.
                if (stop && *stop) throw Cancelled("the fit was stopped");
                if (int(in_flight.size()) == slot_count) finish_oldest();
                // Towards the end of a stack shared by several GPUs, the queue returns fewer rows than requested.
                const RowRange rows = share.take(batch);
                if (rows.empty() && in_flight.empty()) break;
                if (rows.empty()) {  // other devices may still return rows
                    finish_oldest();
                    continue;
                }
                FitSlot& slot = slots[turn++ % slot_count];
                const BatchLayout layout = layout_of(p.kind, rows.count());
                // May throw OutOfMemory with other batches in flight. The handler below waits for these batches and
                // also returns their rows.
                slot.reserve(layout);
                // After one rotation, all slots have memory for a full batch, so no more will be needed.
                publish_memory(turn > slot_count || share.left() == 0);
                p.launch.count = unsigned(rows.count());
                // Before run(), which may already have enqueued a part of the batch when it throws.
                in_flight.push_back({rows, &slot});
                const std::vector<Part> up = up_parts(p.rois, p.starts, layout, rows.first);
                slot.run(p.kernel, p.launch, layout, maps, up, down_parts(p.out, layout, rows.first));
                for (const Part& part : up)
                    if (part.gpu != context.ordinal()) info.bytes_up += std::int64_t(part.bytes);
                info.bytes_down += std::int64_t(layout.down);
                info.batch_size = std::max(info.batch_size, rows.count());
                ++info.batches;
            }
        } catch (...) {
            // Waits for all slots, in any order: rows may be returned only when nothing on the device writes to them
            // any more.
            for (FitSlot& slot : slots) slot.drop();
            share.give_back();
            throw;
        }
    }
};

GpuFitter::GpuFitter(gpu::Lease lease, std::int64_t batch_size)
    : state_(std::make_unique<State>(std::move(lease), batch_size)) {}
GpuFitter::GpuFitter(const gpu::LeaseRequest& request, std::int64_t batch_size)
    : GpuFitter(
          [&] {
              require_gpu_kernels();
              gpu::LeaseRequest with_context = request;
              with_context.for_context = true;
              return gpu::acquire(with_context);
          }(),
          batch_size) {}
GpuFitter::~GpuFitter() = default;
GpuFitter::GpuFitter(GpuFitter&&) noexcept = default;

const gpu::Context& GpuFitter::context() const { return state_->context; }
FitKernels& GpuFitter::kernels() { return state_->kernels; }
void GpuFitter::share() { state_->publish_memory(true); }

void GpuFitter::fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                    const FitsView& out, FitInfo* info, std::int64_t* finished) {
    const std::int64_t first = finished ? *finished : 0, count = std::int64_t(rois.count);
    // A queue with one device gives full batches with rows in order, so *finished describes the progress.
    const auto told = [&](std::int64_t done) { options.progress(first + done, count, -1); };
    RowQueue all({first, count}, 1, options.progress ? RowQueue::OnFinished(told) : RowQueue::OnFinished());
    RowShare share(all);
    const auto tell = [&] {
        if (finished) *finished = first + share.finished();
    };
    try {
        fit(rois, psf, pixel_size_nm, options, out, share, info);
    } catch (...) {
        tell();
        throw;
    }
    tell();
}

void GpuFitter::fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                    const FitsView& out, RowShare& share, FitInfo* info) {
    const Clock::time_point begin = Clock::now();
    FitInfo how;
    how.backend = "gpu", how.device = state_->context.name(), how.fits = std::int64_t(rois.count);
    const auto tell = [&] {
        how.seconds = seconds_since(begin);
        if (info) *info = how;
    };
    try {
        State::Plan plan = state_->plan(rois, psf, pixel_size_nm, options, out);
        State::BatchSize batch(plan.wanted_batch);
        // OutOfMemory here means that even the pool's fallbacks did not suffice. The smallest batch is one warp.
        for (;;) try {
                state_->run(plan, batch, options.stop, share, how);
                break;
            } catch (const gpu::OutOfMemory&) {  // retry the unfinished rows in smaller batches
                // Finished rows remain finished: `share` has only the unfinished rows left.
                if (!batch.halve()) throw;
                // Reports the largest batch of the last attempt.
                how.batch_size = 0;
                state_->slots = state_->new_slots();  // frees the memory of the old ones
            }
    } catch (...) {
        tell();
        throw;
    }
    tell();
}

double GpuFitter::kernel_seconds(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                                 int repeats) {
    Fits fits;
    fits.resize(psf.model, rois.count);
    const FitsView out = view(fits);
    State::Plan p = state_->plan(rois, psf, pixel_size_nm, options, out);
    check_corners(rois, 0, std::int64_t(rois.count));
    const std::int64_t n = std::int64_t(rois.count);
    const BatchLayout layout = layout_of(p.kind, n);
    FitSlot slot(state_->context);
    slot.reserve(layout);
    p.launch.count = unsigned(n);
    slot.run(p.kernel, p.launch, layout, state_->maps, up_parts(rois, p.starts, layout, 0), down_parts(out, layout, 0));
    slot.finish();
    // All ROIs as one batch. Uses the best time, which is least disturbed by other processes.
    double best = 1e30;
    for (int k = 0; k < repeats; ++k)
        best = std::min(best, slot.kernel_seconds(p.kernel, p.launch, layout, state_->maps));
    return best;
}

}  // namespace glint
