// Passes parts of a stack to a warm worker through shared memory, and receives the results.
//
// Two parts are in progress. While one is being fitted, this thread copies another part to the shared memory, or its
// results from there. When the worker has answered, a part's results are copied to the caller's memory, and its rows
// count as finished. Otherwise the rows return to the queue and the connection ends, so that a late answer cannot be
// mistaken for the answer to a new part.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/fit_service.hpp"
#include "fit/fit_setup.hpp"
#include "fit/on_gpus.hpp"
#include "glint/error.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/fit_job.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/worker_connection.hpp"

namespace glint::warm_worker {
namespace {

constexpr std::size_t bytes_of_part = std::size_t(48)
                                      << 20;  // pixels and results: several batches of GpuFitter, which it overlaps
constexpr std::size_t max_parts = 2;          // in progress

std::int64_t rows_of_part(const BatchKind& kind, std::int64_t all, std::int64_t batch_size) {
    constexpr std::int64_t streams = 4;  // of GpuFitter
    if (batch_size > 0) return std::min(all, streams * batch_size);
    constexpr std::int64_t some = 1024;
    const std::size_t bytes_of_row = end_of(layout_of(kind, some)) / std::size_t(some);
    return std::min(all, std::int64_t(bytes_of_part / bytes_of_row));
}

LargeParts large_parts_of(const Stack& stack) {
    return {stack.rois.camera ? stack.rois.camera->maps() : nullptr, stack.psf.table};
}

std::size_t piece_for(const BatchLayout& layout) { return whole_pages(std::size_t(end_of(layout))); }

/// Returns true if a worker could fit the stack: Placement::gpu_worker names the program, and the stack has one
/// molecule per ROI, needs one GPU, and is in host memory.
bool can_serve(const Stack& stack) {
    const FitOptions& options = stack.options;
    return wants_worker(stack.psf, options) && options.emitters == 1 && stack.rois.count > 0 && stack.rois.gpu < 0 &&
           num_bytes(large_parts_of(stack)) <= max_memory / 2;
}

/// A Fitter's connection to a worker. The connection and the shared memory are kept from one stack to the next.
class FitClient final : public FitService {
  public:
    std::optional<OpenGpu> open_gpu(const Stack& stack) override;
    bool fit(const Stack& stack, RowQueue& queue, FitInfo& info) override;

  private:
    struct PartInFlight {
        RowRange rows;
        BatchLayout layout;
        std::byte* memory;
    };
    bool connect(const FitOptions& options, bool may_start);
    void disconnect();
    std::byte* memory_for(const LargeParts& large, const BatchLayout& largest, std::size_t parts);
    void run(const Stack& stack, RowShare& share, FitInfo& part);
    void send(const Stack& stack, const PartInFlight& part);
    void take_results(const Stack& stack, const PartInFlight& part, FitInfo& info);

    std::mutex mutex_;  // guards the following members
    WorkerConnection worker_;
    std::optional<SharedMemory> memory_;
    LargeParts large_;  // packed in memory_
    bool memory_sent_ = false;
};

std::optional<OpenGpu> FitClient::open_gpu(const Stack& stack) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !can_serve(stack) || !connect(stack.options, false)) return {};
    return OpenGpu{worker_.greeting().uuid.str(), worker_.greeting().driver.str()};
}

/// Also releases the memory, since a worker that has not answered may still write to it.
void FitClient::disconnect() {
    worker_.disconnect();
    memory_.reset();
    memory_sent_ = false;
}

/// Connects to a worker that has a GPU, unless already connected.
bool FitClient::connect(const FitOptions& options, bool may_start) {
    if (worker_.serves(options)) return true;
    disconnect();
    return worker_.connect(options, options.stop, RequestKind::fits, may_start);
}

bool FitClient::fit(const Stack& stack, RowQueue& queue, FitInfo& info) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !can_serve(stack)) return false;
    const Clock::time_point began = Clock::now();
    const auto report = [&](const std::string& what) {
        info.events.push_back({seconds_since(began), what});
        if (stack.options.log) stack.options.log(what);
    };
    for (int failures = 0; failures < max_failures; ++info.retries) {
        if (!connect(stack.options, true)) {
            report("no worker: " + worker_.why_not());
            return false;
        }
        RowShare share(queue);
        FitInfo part;
        part.backend = "gpu", part.device = worker_.greeting().name.str();
        const Clock::time_point run_began = Clock::now();
        const auto note = [&] {
            part.fits = share.finished();
            add_part(info, part, worker_.greeting().name.str(), worker_.greeting().uuid.str(),
                     seconds_since(run_began));
        };
        bool another_may_do = true;
        try {
            run(stack, share, part);
            note();
            return queue.is_finished();
        } catch (const WorkerFailed& failure) {
            disconnect();
            report("the worker failed: " + failure.what);
            another_may_do = failure.another_may_do;
        } catch (...) {
            disconnect();
            note();
            throw;
        }
        if (stack.options.restart_batches) share.give_back_finished();
        note();
        if (!another_may_do) return false;
        failures = part.fits > 0 ? 1 : failures + 1;
    }
    return false;
}

/// Returns the first of `parts` equal pieces of the shared memory, which follow the large parts.
std::byte* FitClient::memory_for(const LargeParts& large, const BatchLayout& largest, std::size_t parts) {
    const std::size_t of_large = whole_pages(num_bytes(large));
    const std::size_t bytes = of_large + parts * piece_for(largest);
    if (!memory_ || memory_->size() < bytes || !(large_ == large)) {
        memory_.reset(), large_ = large;
        memory_ = SharedMemory::create(bytes);
        memory_sent_ = false;
        if (memory_) pack(large, {memory_->data(), of_large});
    }
    if (!memory_) throw WorkerFailed{fmt::format("could not allocate {} bytes to share with it", bytes), false};
    return memory_->data() + of_large;
}

void FitClient::run(const Stack& stack, RowShare& share, FitInfo& info) {
    const BatchKind kind = kind_of(stack.rois, starts_of(stack.rois, stack.options), stack.psf);
    const std::int64_t all = std::int64_t(stack.rois.count), most = rows_of_part(kind, all, stack.options.batch_size);
    const BatchLayout largest = layout_of(kind, most);
    const std::size_t parts = all > most ? max_parts : 1;
    std::byte* const memory = memory_for(large_parts_of(stack), largest, parts);
    std::vector<PartInFlight> in_flight;  // oldest first
    const auto finish_oldest = [&] {
        take_results(stack, in_flight.front(), info);
        share.finish(in_flight.front().rows);
        in_flight.erase(in_flight.begin());
    };
    for (std::size_t turn = 0;; ++turn) {
        if (stack.options.stop && *stack.options.stop) throw Cancelled("the fit was stopped");
        if (in_flight.size() == parts) finish_oldest();
        const RowRange rows = share.take(most);
        if (rows.empty()) break;
        in_flight.push_back({rows, layout_of(kind, rows.count()), memory + turn % parts * piece_for(largest)});
        send(stack, in_flight.back());
    }
    while (!in_flight.empty()) finish_oldest();
}

void FitClient::send(const Stack& stack, const PartInFlight& part) {
    copy_parts(up_parts(stack.rois, starts_of(stack.rois, stack.options), part.layout, part.rows.first), part.memory, 0,
               CopyTo::batch);
    FitJob job = job_of(stack.rois, stack.psf, stack.pixel_size_nm, stack.options);
    job.rows = part.rows.count(), job.at = std::uint64_t(part.memory - memory_->data());
    worker_.send(job, memory_sent_ ? -1 : memory_->descriptor());
    memory_sent_ = true;
}

void FitClient::take_results(const Stack& stack, const PartInFlight& part, FitInfo& info) {
    FitReply reply;
    worker_.receive(reply, stack.options.stop);
    // The worker numbers rows within the part.
    if (reply.outcome == Outcome::refused) check_corners(stack.rois, part.rows.first, part.rows.count());
    take(reply, info);
    copy_parts(down_parts(view(stack.fits), part.layout, part.rows.first), part.memory + results_at(part.layout), 0,
               CopyTo::parts);
}

}  // namespace
}  // namespace glint::warm_worker

namespace glint {

std::unique_ptr<FitService> make_fit_service() { return std::make_unique<warm_worker::FitClient>(); }

}  // namespace glint
