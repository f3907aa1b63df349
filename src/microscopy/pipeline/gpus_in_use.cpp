// Lends parts of GPUs to threads, repeats failed work, and withdraws GPUs that fail or give way.
// SPDX-License-Identifier: MIT
#include "pipeline/gpus_in_use.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "glint/error.hpp"

namespace glint {
namespace {

/// Ends `run` when the GPU of its thread gives way.
struct GaveWay : gpu::GpuError {
    GaveWay() : GpuError(0, "the GPU was given back to others") {}
};

template <class Part>
constexpr bool is_upload = std::is_same_v<Part, FrameUpload>;

/// Returns how many parts of this kind are borrowed.
template <class Part>
std::size_t& lent(GpuInUse& gpu) {
    return is_upload<Part> ? gpu.uploading : gpu.busy;
}

}  // namespace

void GpusInUse::join(GpuInUse& gpu) {
    const std::lock_guard lock(mutex_);
    gpus_.push_back(&gpu);
    for (const auto& upload : gpu.uploads) idle<FrameUpload>().push_back({&gpu, upload.get()});
    for (const auto& localizer : gpu.localizers) idle<GpuLocalizer>().push_back({&gpu, localizer.get()});
    for (const auto& finder : gpu.finders) idle<JointOnGpu>().push_back({&gpu, finder.get()});
    changed_.notify_all();
}

void GpusInUse::withdraw(GpuInUse& gpu) {
    std::erase(gpus_, &gpu);
    for_each_kind([&](auto& parts) { std::erase_if(parts, [&](const auto& one) { return one.gpu == &gpu; }); });
    changed_.notify_all();
}

/// Waits for an idle part of the GPU `of`, or of any GPU if `of` is null. If no GPU is left, rethrows the failure.
/// Throws GaveWay if the GPU whose thread runs `run` leaves, so that `run` ends and another GPU's thread can start it.
template <class Part>
GpusInUse::Borrowed<Part> GpusInUse::borrow(const GpuInUse* of) {
    std::unique_lock lock(mutex_);
    Idle<Part>& from = idle<Part>();
    const auto may_be_lent = [&](const Borrowed<Part>& one) {
        if (is_upload<Part> && one.gpu->one_upload && one.gpu->uploading > 0) return false;
        return !of || one.gpu == of;
    };
    const auto first = [&] { return std::find_if(from.begin(), from.end(), may_be_lent); };
    changed_.wait(lock, [&] {
        return first() != from.end() || runner_leaves() || (of ? of->failure != nullptr : gpus_.empty());
    });
    if (runner_leaves()) throw GaveWay();
    const auto found = first();
    if (found == from.end()) std::rethrow_exception(of ? of->failure : last_failure_);
    const Borrowed<Part> borrowed = *found;
    from.erase(found);
    ++lent<Part>(*borrowed.gpu);
    return borrowed;
}

template <class Part>
void GpusInUse::put_back(const Borrowed<Part>& borrowed) {
    --lent<Part>(*borrowed.gpu);
    if (!is_upload<Part>) ++borrowed.gpu->done;
    if (!borrowed.gpu->failure) idle<Part>().push_back(borrowed);
    changed_.notify_all();
}

void GpusInUse::succeeded(GpuInUse& gpu, std::int64_t fits) {
    gpu.fits += fits;
    progressed_ = std::chrono::steady_clock::now();
    if (gpu.failure || !gpu.gives_way()) return;
    gpu.gave_way = true;
    fail(gpu, std::make_exception_ptr(GaveWay()));
}

void GpusInUse::fail(GpuInUse& gpu, std::exception_ptr failure) {
    if (gpu.failure) return;
    gpu.failure = last_failure_ = failure;
    withdraw(gpu);
}

void GpusInUse::throw_if_failed(const GpuInUse& gpu) const {
    const std::lock_guard lock(mutex_);
    if (gpu.failure) std::rethrow_exception(gpu.failure);
}

/// For a thread that has borrowed a part: waits until another part is put back. Returns false if no other part is
/// borrowed that could be put back.
template <class Part>
bool GpusInUse::wait_for_memory(GpuInUse& gpu, std::unique_lock<std::mutex>& lock) {
    const std::size_t oneself = is_upload<Part> ? 0 : 1;
    if (gpu.busy <= gpu.without_memory + oneself) return false;
    const std::size_t so_far = gpu.done;
    gpu.without_memory += oneself;
    changed_.wait(lock, [&] { return gpu.done != so_far || gpu.failure || runner_leaves(); });
    gpu.without_memory -= oneself;
    return true;
}

void GpusInUse::free_memory_of(GpuInUse& gpu) {
    for_each_kind([&](auto& parts) {
        for (const auto& one : parts)
            if (one.gpu == &gpu) one.part->free();
    });
}

/// If memory runs out, the work is repeated after another part was put back. If all other parts wait for memory too, it
/// is repeated once after the idle parts have freed theirs. If that does not help, uploads are lent one at a time, and
/// a caller that holds an upload must put it back first.
template <class Part>
void GpusInUse::on_one_of(const GpuInUse* of, const Work<Part>& work) {
    for (bool done = false, freed = false, freed_alone = false; !done;) {
        const Borrowed<Part> borrowed = borrow<Part>(of);
        try {
            const std::int64_t fits = work(*borrowed.gpu, *borrowed.part);
            borrowed.gpu->keeper.look();
            const std::lock_guard lock(mutex_);
            succeeded(*borrowed.gpu, fits);
            put_back(borrowed);
            done = true;
        } catch (const gpu::OutOfMemory&) {
            std::unique_lock lock(mutex_);
            GpuInUse& gpu = *borrowed.gpu;
            const bool waited = wait_for_memory<Part>(gpu, lock);
            const bool others_upload = !std::is_same_v<Part, JointOnGpu> && gpu.uploading > 1 && !gpu.failure;
            if (!waited && freed_alone) fail(gpu, std::current_exception());
            put_back(borrowed);
            if (waited) continue;
            const bool again = std::exchange(freed, true);
            if (again) gpu.one_upload = true;
            free_memory_of(gpu);
            freed_alone = again && !others_upload;  // no other upload starts from here on
            if (again && others_upload && of) throw;
        } catch (const GaveWay&) {  // thrown by a borrow() within `work`
            const std::lock_guard lock(mutex_);
            put_back(borrowed);
            if (runner_leaves()) throw;
        } catch (const gpu::GpuError&) {
            const std::lock_guard lock(mutex_);
            fail(*borrowed.gpu, std::current_exception());
            put_back(borrowed);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            put_back(borrowed);
            throw;
        }
    }
}

template void GpusInUse::on_one_of(const GpuInUse*, const Work<FrameUpload>&);
template void GpusInUse::on_one_of(const GpuInUse*, const Work<GpuLocalizer>&);
template void GpusInUse::on_one_of(const GpuInUse*, const Work<JointOnGpu>&);

/// Calls run() without the lock until all work is done or no GPU is left. Errors other than those of GPUs end all work
/// and are thrown.
void GpusInUse::run_with(GpuInUse& gpu, const std::function<void()>& run, std::unique_lock<std::mutex>& lock) {
    runner_ = &gpu;
    lock.unlock();
    const auto stop = [&](bool at_end) {
        lock.lock();
        runner_ = nullptr, ended_ = at_end;
        changed_.notify_all();
    };
    try {
        run();
    } catch (const gpu::GpuError&) {
        stop(false);
        // has no effect if a part has failed already; otherwise no part was borrowed yet
        fail(gpu, std::current_exception());
        return;
    } catch (...) {
        stop(true);
        throw;
    }
    stop(true);
}

void GpusInUse::serve(GpuInUse& gpu, const std::function<void()>& run) {
    join(gpu);
    std::unique_lock lock(mutex_);
    const auto leave = [&] {
        withdraw(gpu);
        changed_.wait(lock, [&] { return gpu.busy == 0 && gpu.uploading == 0; });
    };
    try {
        while (!ended_ && !gpu.failure)
            if (runner_)
                changed_.wait(lock);
            else
                run_with(gpu, run, lock);
    } catch (...) {
        leave();
        throw;
    }
    leave();
    if (gpu.failure && !gpu.gave_way && !ended_) std::rethrow_exception(gpu.failure);
}

}  // namespace glint
