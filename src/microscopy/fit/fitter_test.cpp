// Tests of Fitter on shared GPUs: it waits, gives up, can be stopped, and shares memory.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/gpu_sharing_fixture.hpp"

namespace glint {
namespace {

using namespace test;

void expect_same(const Fits& a, const Fits& b) {
    EXPECT_EQ(a.theta, b.theta);
    EXPECT_EQ(a.crlb, b.crlb);
    EXPECT_EQ(a.status, b.status);
}

}  // namespace

TEST_F(GpuSharingWithStrangers, waits_for_a_stranger_to_go) {
    const Fits undisturbed = fit_with(Backend::gpu);
    auto stranger = std::make_unique<Stranger>();
    int told = 0;
    options.on_wait = [&](double elapsed_s, std::uint64_t available, std::uint64_t required) {
        EXPECT_GE(elapsed_s, 0);
        EXPECT_LT(available, required);
        EXPECT_GT(required, options.gpu_memory_bytes) << "with the context";
        if (++told == 2) stranger.reset();
    };
    expect_same(fit_with(Backend::gpu), undisturbed);
    EXPECT_EQ(told, 2);
    EXPECT_GT(info.waited_seconds, 0);
    EXPECT_FALSE(info.events.empty());
    EXPECT_EQ(info.note, "");
}

TEST_F(GpuSharingWithStrangers, gives_up_when_the_time_is_over) {
    const Stranger stranger;
    options.auto_timeout_s = options.gpu_timeout_s = 0.05;
    const Fits by_cpu = fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_NE(info.note.find("no GPU had room"), std::string::npos) << info.note;
    EXPECT_TRUE(info.timed_out);
    EXPECT_FALSE(info.gpu_failed);
    EXPECT_NE(info.note.find("processes without a lease: process "), std::string::npos) << info.note;
    EXPECT_GT(info.waited_seconds, 0);
    expect_same(by_cpu, fit_with(Backend::cpu));
    expect_error<gpu::LeaseTimeout>([&] { fit_with(Backend::gpu); }, {"no GPU had room within", "are needed"});
    EXPECT_FALSE(info.events.empty()) << "also told of a call that throws";
}

TEST_F(GpuSharing, prefers_a_gpu_without_comparing_speeds) {
    const Fits by_gpu = fit_with(Backend::prefer_gpu);
    EXPECT_EQ(info.backend, "gpu");
    EXPECT_EQ(info.decision, "");
    expect_same(by_gpu, fit_with(Backend::gpu));
    options.emitters = 2;
    fit_with(Backend::prefer_gpu);
    EXPECT_EQ(info.backend, "cpu") << "no error, unlike Backend::gpu";
}

TEST_F(GpuSharingWithStrangers, does_not_ask_again_after_it_has_waited_in_vain) {
    Fitter fitter;
    options.backend = Backend::automatic, options.auto_timeout_s = 0, options.always_gpu = true;
    {
        const Stranger stranger;
        fitter.fit(rois, psf, pixel_nm, options, &info);
        EXPECT_EQ(info.backend, "cpu");
    }
    fitter.fit(rois, psf, pixel_nm, options, &info);
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_NE(info.note, "");
}

TEST_F(GpuSharingWithStrangers, is_stopped_while_it_waits) {
    const Stranger stranger;
    StopFlag stop{false};
    options.stop = &stop;
    options.on_wait = [&](double, std::uint64_t, std::uint64_t) { stop = true; };
    EXPECT_THROW(fit_with(Backend::gpu), Cancelled);
}

// NVML reports that a process other than the lease holder keeps a GPU busy.
TEST_F(GpuSharingWithStrangers, a_busy_stranger_keeps_others_away_also_beside_a_lease) {
    const gpu::Lease holder = gpu::acquire({.bytes = 64 * mib, .timeout_s = 60});
    const gpu::Context context = holder.create_context();
    const auto strangers = [](std::uint64_t bytes, int percent) {
        for (const gpu::Device& device : gpu::inventory().devices)
            gpu::test::set_stranger()(device.ordinal, bytes, percent);
    };
    strangers(gib, 95);
    expect_error<gpu::LeaseTimeout>([] { gpu::acquire({.bytes = 64 * mib, .timeout_s = 0}); }, {"no lease"});
    strangers(gib, 90);
    EXPECT_EQ(gpu::acquire({.bytes = 64 * mib, .timeout_s = 60}).bytes(), 64 * mib);
    strangers(0, 0);
}

TEST_F(GpuSharing, the_turn_to_create_a_context_is_waited_for_as_a_gpu_is) {
    const int count = int(gpu::inventory().devices.size());
    const gpu::Lease other = gpu::acquire({.bytes = std::uint64_t(64) << 20, .gpus = count, .timeout_s = 60});
    std::vector<gpu::Lease::CreationLock> turns;
    const auto take_turns = [&] {
        turns.clear();
        for (int k = 0; k < count; ++k) turns.push_back(other.lock_context_creation(std::size_t(k)));
    };
    const auto end_turns = [&](double, std::uint64_t available, std::uint64_t required) {
        EXPECT_EQ(available, required);
        EXPECT_GT(required, options.gpu_memory_bytes);
        turns.clear();
    };
    StopFlag stop{false};
    take_turns();
    options.stop = &stop;
    options.on_wait = [&](double, std::uint64_t, std::uint64_t) { stop = true; };
    EXPECT_THROW(fit_with(Backend::gpu), Cancelled);
    options.stop = nullptr, options.on_wait = {};
    take_turns();
    options.auto_timeout_s = options.gpu_timeout_s = 0.05;
    expect_error<gpu::LeaseTimeout>([&] { fit_with(Backend::gpu); },
                                    {"no GPU was ready within", "contexts are created one at a time"});
    take_turns();
    fit_with(Backend::automatic);
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_NE(info.note.find("has the turn"), std::string::npos) << info.note;
    take_turns();
    options.gpu_timeout_s = 60, options.on_wait = end_turns;
    fit_with(Backend::gpu);
    EXPECT_EQ(info.backend, "gpu");
    EXPECT_TRUE(turns.empty()) << "it has waited";
}

TEST_F(GpuSharing, a_fitter_keeps_the_gpu_between_calls_and_gives_it_back) {
    const std::uint64_t before = free_bytes();
    options.backend = Backend::gpu;
    {
        Fitter fitter;
        const Fits first = fitter.fit(rois, psf, pixel_nm, options, &info);
        EXPECT_LT(free_bytes(), before);
        const Fits second = fitter.fit(rois, psf, pixel_nm, options, &info);
        expect_same(first, second);
        const auto leases = gpu::snapshot_leases();
        const auto holders = [](const gpu::LeaseGpu& gpu) { return gpu.holders.size(); };
        std::size_t held = 0;
        for (const gpu::LeaseGpu& gpu : leases.gpus) held += holders(gpu);
        EXPECT_EQ(held, 1u);
    }
    EXPECT_GE(free_bytes(), before);
}

TEST_F(GpuSharing, others_see_what_a_fit_has_taken_and_get_the_rest) {
    options.backend = Backend::gpu, options.gpu_memory_bytes = free_bytes() * 3 / 4;
    const auto mine = [&] {
        for (const gpu::LeaseGpu& gpu : gpu::snapshot_leases().gpus)
            if (!gpu.holders.empty()) return gpu.holders.front();
        return gpu::LeaseHolder();
    };
    for (const int batch_size : {64, 0}) {  // many batches per call, or one, as for a movie's blocks
        SCOPED_TRACE(batch_size);
        options.batch_size = batch_size;
        Fitter fitter;
        fitter.fit(rois, psf, pixel_nm, options, &info);
        const gpu::LeaseHolder alone = mine();
        EXPECT_GE(alone.reserved_bytes, options.gpu_memory_bytes);
        EXPECT_GT(alone.held_bytes, 0u);
        EXPECT_LT(alone.held_bytes, alone.reserved_bytes);

        // Another process requests the same amount on every GPU. There is room once this process has returned the
        // memory that it does not use.
        auto other = std::async(std::launch::async, [&] {
            return gpu::acquire({.bytes = options.gpu_memory_bytes, .gpus = gpu_count(), .timeout_s = 60}).waited_s();
        });
        while (other.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
            fitter.fit(rois, psf, pixel_nm, options, &info);
            EXPECT_EQ(info.retries, 0);
        }
        EXPECT_GT(other.get(), 0);
        EXPECT_LT(mine().reserved_bytes, gib);
    }
}

// During the fit's batches, the heartbeat must see the other request at least twice.
TEST_F(GpuSharing, a_fit_gives_way_to_a_shorter_one_after_a_quantum_and_goes_on) {
    const Fits undisturbed = fit_with(Backend::gpu);
    ::setenv("GLINT_GPU_QUANTUM", "1", 1);
    options.batch_size = 64;
    options.backend = Backend::gpu;
    const std::uint64_t all_but_a_context = free_bytes() - 600 * mib;
    for (const double expected_s : {0.5, 2.0, 0.0}) {
        SCOPED_TRACE(expected_s);
        std::future<double> other;
        options.progress = [&](auto...) {
            if (!other.valid())
                other = std::async(std::launch::async, [&] {
                    return gpu::acquire({.bytes = all_but_a_context,
                                         .gpus = gpu_count(),
                                         .timeout_s = 60,
                                         .expected_s = expected_s})
                        .waited_s();
                });
            std::this_thread::sleep_for(std::chrono::milliseconds(120));
        };
        bool gave_way = false;
        {
            Fitter fitter;  // keeps its GPU between calls, and the heartbeat may come late
            for (int calls = expected_s == 0.5 ? 20 : 1; calls > 0 && !gave_way; --calls) {
                expect_same(fitter.fit(rois, psf, pixel_nm, options, &info), undisturbed);
                EXPECT_EQ(info.retries, 0);
                EXPECT_EQ(info.fits, std::int64_t(rois.count()));
                gave_way = std::ranges::any_of(info.events, [](const FitEvent& e) {
                    return e.what.find("back for a while") != std::string::npos;
                });
            }
        }
        EXPECT_GT(other.get(), 0);
        EXPECT_EQ(gave_way, expected_s == 0.5);
    }
    ::unsetenv("GLINT_GPU_QUANTUM");
}

// Simulated GPUs have no defined speed: only a large stack is certain to use every GPU.
TEST_F(GpuSharing, a_large_stack_is_spread_over_all_gpus) {
    const Fits on_one = fit_with(Backend::gpu);
    ASSERT_EQ(info.gpus.size(), 1u);
    EXPECT_EQ(info.gpus[0].fits, info.fits);
    EXPECT_EQ(info.gpus[0].share, 1);
    options.gpus = all_gpus, options.batch_size = 32;
    Fitter fitter;
    std::size_t most = 0;
    for (int k = 0; k < 200 && int(most) < gpu_count(); ++k) {
        expect_same(fitter.fit(rois, psf, pixel_nm, options, &info), on_one);
        std::int64_t sum = 0;
        for (const GpuPart& part : info.gpus) sum += part.fits;
        EXPECT_EQ(sum, info.fits);
        EXPECT_EQ(info.backend, "gpu");
        most = std::max(most, info.gpus.size());
    }
    EXPECT_EQ(int(most), gpu_count());
    if (info.gpus.size() == 2) {
        EXPECT_EQ(info.device, "2x " + info.gpus[0].name);
    }
}

// As the threads of a movie do.
TEST_F(GpuSharing, small_stacks_of_several_threads_go_to_a_gpu_each) {
    const Fits alone = fit_with(Backend::gpu);
    options.gpus = all_gpus;
    Fitter fitter;
    std::mutex mutex;
    std::map<std::string, std::int64_t> fits;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int k = 0; k < 10; ++k) {
                FitInfo how;
                expect_same(fitter.fit(rois, psf, pixel_nm, options, &how), alone);
                const std::lock_guard lock(mutex);
                EXPECT_EQ(how.gpus.size(), 1u);
                for (const GpuPart& part : how.gpus) fits[part.uuid] += part.fits;
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::int64_t sum = 0;
    for (const auto& [uuid, n] : fits) sum += n;
    EXPECT_EQ(sum, std::int64_t(40 * rois.count()));
    std::size_t held = 0;
    for (const gpu::LeaseGpu& gpu : gpu::snapshot_leases().gpus) {
        EXPECT_LE(gpu.holders.size(), 1u) << "two leases on one GPU";
        held += gpu.holders.size();
    }
    EXPECT_EQ(int(held), gpu_count());
}

TEST_F(GpuSharing, what_others_need_is_given_back_on_every_gpu) {
    const Fits alone = fit_with(Backend::gpu);
    options.gpus = all_gpus, options.batch_size = 32, options.gpu_memory_bytes = free_bytes() * 3 / 4;
    Fitter fitter;
    auto other = std::async(std::launch::async, [&] {
        return gpu::acquire({.bytes = options.gpu_memory_bytes, .gpus = gpu_count(), .timeout_s = 60}).waited_s();
    });
    do {
        expect_same(fitter.fit(rois, psf, pixel_nm, options, &info), alone);
        EXPECT_EQ(info.retries, 0);
    } while (other.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
    other.get();
}

TEST_F(GpuSharing, a_stop_ends_the_work_on_all_gpus) {
    const Fits undisturbed = fit_with(Backend::gpu);
    options.gpus = all_gpus, options.batch_size = 32;
    int stopped = 0;
    for (int delay_ms = 0; delay_ms < 20; delay_ms += 4) {
        StopFlag stop{delay_ms == 0};
        options.stop = &stop;
        std::thread stopper([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
            stop = true;
        });
        try {
            expect_same(fit_with(Backend::gpu), undisturbed);
        } catch (const Cancelled&) {
            ++stopped;
        }
        stopper.join();
    }
    EXPECT_GE(stopped, 1);
}

TEST_F(GpuSharingWithStrangers, further_gpus_join_in_when_they_come_free) {
    if (gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    const Fits alone = fit_with(Backend::gpu);
    options.gpus = all_gpus, options.batch_size = 32, options.backend = Backend::gpu;
    bool told = false;
    options.log = [&](const std::string& what) { told = told || what.find("no further GPU now") != what.npos; };
    Fitter fitter;
    const std::uint64_t total = gpu::inventory().devices.at(0).total_bytes;
    for (int g = 1; g < gpu_count(); ++g) gpu::test::set_stranger()(g, std::uint64_t(0.98 * double(total)), 10);
    for (int k = 0; k < 200 && !told; ++k) expect_same(fitter.fit(rois, psf, pixel_nm, options, &info), alone);
    EXPECT_TRUE(told);
    EXPECT_EQ(info.gpus.size(), 1u);
    for (int g = 1; g < gpu_count(); ++g) gpu::test::set_stranger()(g, 0, 0);
    for (int k = 0; k < 2000 && info.gpus.size() < 2; ++k)
        expect_same(fitter.fit(rois, psf, pixel_nm, options, &info), alone);
    EXPECT_GE(info.gpus.size(), 2u);
}

}  // namespace glint
