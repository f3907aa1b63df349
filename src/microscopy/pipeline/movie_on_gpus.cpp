// Localizes the frames of a job on GPUs that may join and leave.
//
// Each thread takes a block from the file to its rows. It reads the block through a FrameUpload, has a GpuLocalizer of
// that GPU find and fit spots, has a JointOnGpu fit groups, and selects rows. There are several localizers and more
// threads than localizers. Reading, uploads, kernels and the CPU's part of different blocks therefore overlap. If no
// thread runs this pipeline, that of a new GPU does. A GPU that fails is withdrawn with all its parts; its failed block
// is read again for another GPU.
// SPDX-License-Identifier: MIT
#include "pipeline/movie_on_gpus.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/block_plan.hpp"
#include "pipeline/gpus_in_use.hpp"
#include "pipeline/zero_border.hpp"

namespace glint {
namespace {

constexpr std::int64_t blocks_worth_a_gpu = 128;  // blocks for each GPU: about 0.1 s; opening one takes 0.2 s

/// The state of a thread for the CPU's part.
struct ThreadState {
    explicit ThreadState(const LocalizeJob& job) : found(job) {}
    Fitter fitter;
    FoundSpots found;
};

/// Plans blocks that fit into a GPU's memory as a whole.
BlockPlan plan_of(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames) {
    BlockPlan plan = plan_uploaded_blocks(movie.frame_bytes(), frames, job.threads, job.options.memory_bytes);
    const std::size_t uploads = max_uploads(movie, job, frames, plan.frames, 1);
    if (const std::uint64_t memory = job.options.gpu_memory_bytes; memory > 0)  // 0: all memory
        plan.frames = frames_on_gpu(memory, movie, job, plan.frames, uploads).frames;
    return plan;
}

}  // namespace

struct MovieOnGpus::State {
    State(const MovieInfo& of, const LocalizeJob& wanted, std::int64_t frames, int gpus_at_once,
          BlocksInOrder& in_order)
        : movie(of),
          job(wanted),
          blocks(in_order),
          plan(plan_of(of, wanted, frames)),
          useful_gpus(int(std::clamp<std::int64_t>(frames / (blocks_worth_a_gpu * plan.frames), 1, gpus_at_once))),
          uploads(max_uploads(of, wanted, frames, plan.frames, useful_gpus)) {}
    void run();
    void localize(BlockInFlight& block, FoundSpots& found);
    int bring(GpuInUse& gpu, FrameUpload& upload, BlockInFlight& block, int first);

    const MovieInfo& movie;
    const LocalizeJob& job;
    BlocksInOrder& blocks;
    const BlockPlan plan;
    const int useful_gpus;
    const std::size_t uploads;  // maximum for each GPU
    GpusInUse gpus;
};

/// Uploads frames from `first` on, as many as memory allows. Throws if the GPU failed or gives way.
int MovieOnGpus::State::bring(GpuInUse& gpu, FrameUpload& upload, BlockInFlight& block, int first) {
    return upload.bring(block.count - first, [&](int from, int count, std::byte* counts) {
        gpus.throw_if_failed(gpu);
        const int read = blocks.read(block, first + from, count, counts);
        note_zero_borders(counts, movie, block.first + first + from, read, block.result.counts);
        return read;
    });
}

/// The GPU's part of a block, up to the fits of single molecules.
void MovieOnGpus::State::localize(BlockInFlight& block, FoundSpots& found) {
    gpus.on_one_of<FrameUpload>(nullptr, [&](GpuInUse& gpu, FrameUpload& upload) {
        found.clear();
        block.result = {};
        block.result.first_frame = block.first;
        for (int done = 0; done < block.count;) {
            const int n = bring(gpu, upload, block, done);
            int fitted = 0;  // includes fits of a localizer that had no memory for the remaining frames
            if (n > 0)
                gpus.on_one_of<GpuLocalizer>(&gpu, [&, before = found.fits.count()](GpuInUse&,
                                                                                    GpuLocalizer& localizer) {
                    localizer.localize(upload.counts(), movie.type, block.first + done, n, fitted, found, block.result);
                    return std::int64_t(found.fits.count() - before);
                });
            done += n;
        }
        return std::int64_t(0);  // already counted
    });
}

void MovieOnGpus::State::run() {
    std::vector<BlockInFlight> items(std::size_t(plan.blocks));
    tbb::enumerable_thread_specific<ThreadState> threads([&] { return ThreadState(job); });
    const auto find_groups = [&](std::span<const JointCut> groups) {
        gpus.on_one_of<JointOnGpu>(nullptr, [&](GpuInUse&, JointOnGpu& finder) {
            finder.find(groups);
            return std::int64_t(0);  // the fits of the spots are already counted
        });
    };
    blocks.run(plan.frames, std::move(items), [&](BlockInFlight& block) {
        ThreadState& mine = threads.local();
        localize(block, mine.found);
        if (block.count == 0) return;
        try {
            add_rows(job, mine.fitter, mine.found, block.result, find_groups);
        } catch (const Cancelled&) {
            block.give_up();
        }
    });
}

MovieOnGpus::MovieOnGpus(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, int gpus,
                         BlocksInOrder& blocks)
    : state_(std::make_unique<State>(movie, job, frames, gpus, blocks)) {}
MovieOnGpus::~MovieOnGpus() = default;

int MovieOnGpus::useful_gpus() const { return state_->useful_gpus; }

offload::Workload& MovieOnGpus::workload() { return state_->gpus; }

void MovieOnGpus::run_on(GpuFitter& fitter, FitInfo& part, bool& useful, const std::function<bool()>& gives_way) {
    State& state = *state_;
    part.backend = "gpu", part.device = fitter.context().name();
    GpuInUse gpu(fitter, state.movie, state.job, state.plan.frames, state.uploads, gives_way);
    const auto note = [&] { gpu.add_to(part), useful = gpu.fits > 0; };
    try {
        state.gpus.serve(gpu, [&] { state.run(); });
    } catch (...) {
        note();
        throw;
    }
    note();
}

}  // namespace glint
