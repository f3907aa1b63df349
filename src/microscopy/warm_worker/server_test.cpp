// A warm worker in a thread of the test, on a real or simulated GPU, with correct and incorrect clients.
// SPDX-License-Identifier: MIT
#include "warm_worker/warm_worker.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/build_identity.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/gpu_sharing_fixture.hpp"
#include "tests/simulated_movie.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/fit_job.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {
namespace {

using test::gib, test::mib, test::pixel_nm;

/// The fixture's stack and options, and a worker that the test can end.
struct GpuWarmWorker : test::GpuSharing {
    WorkerSockets sockets{environment::lease_directory()};
    std::string name;
    StopFlag test_ends{false};
    std::thread server;

    void SetUp() override {
        GpuSharing::SetUp();
        if (IsSkipped()) return;
        if (!environment::inherited_lease().empty()) GTEST_SKIP() << "under a lease there is no worker";
        options.gpu_worker = "/no/program";   // the test creates the socket
        options.gpu_memory_bytes = 96 * mib;  // an unusual value gives a separate socket name
        name = to_name({options.gpu_memory_bytes, 0});
    }
    void serve_in_thread() {
        constexpr double idle_s = 600;
        test_ends = false;
        Descriptor lock = sockets.lock(name), listener = sockets.listen(name);
        ASSERT_TRUE(lock && listener);
        server = std::thread([this, held = std::move(lock), socket = std::move(listener)]() mutable {
            serve({name, {options.gpu_memory_bytes, 0}, idle_s, &test_ends}, std::move(socket), std::move(held));
        });
    }
    void end_server() {
        test_ends = true;
        if (server.joinable()) server.join();
    }
    void TearDown() override { end_server(); }
    Connection met() const {
        Connection connection = sockets.connect(name);
        EXPECT_TRUE(connection);
        return connection;
    }
    static Hello hello() {
        Hello words;
        words.build = build_identity();
        return words;
    }
    /// Returns a connection that the worker has greeted.
    Connection greeted() const {
        Connection connection = met();
        Greeting greeting;
        EXPECT_TRUE(connection.send(hello()));
        EXPECT_EQ(connection.receive(greeting, 60), Arrival::message);
        EXPECT_EQ(greeting.why.str(), "");
        EXPECT_EQ(greeting.pid, unsigned(::getpid()));
        return connection;
    }
    FitJob job(std::int64_t rows) const {
        FitJob some = job_of(view(rois), psf, pixel_nm, options);
        some.rows = rows;
        return some;
    }
    static void expect_dropped(const Connection& connection) {
        FitReply reply;
        EXPECT_EQ(connection.receive(reply, 60), Arrival::gone);
    }
    void expect_served() {
        const Fits by_worker = fit_with(Backend::gpu);
        for (const FitEvent& event : info.events) ADD_FAILURE() << event.what;
        EXPECT_GT(info.batches, 0);
        EXPECT_EQ(by_worker.theta, reference.theta);
        EXPECT_EQ(by_worker.crlb, reference.crlb);
        EXPECT_EQ(by_worker.p_value, reference.p_value);
        EXPECT_EQ(by_worker.status, reference.status);
        EXPECT_EQ(by_worker.iterations, reference.iterations);
    }
    void fit_reference() {
        FitOptions own = options;
        own.gpu_worker.clear(), own.backend = Backend::gpu;
        reference = fit(rois, psf, pixel_nm, own);
    }
    Fits reference;
};

}  // namespace

TEST_F(GpuWarmWorker, whoever_breaks_the_rules_is_dropped_and_others_are_served) {
    fit_reference();
    serve_in_thread();
    {
        Connection silent = met(), gone = met();
        gone = Connection();
        Connection junk = met();
        ASSERT_TRUE(junk.send(job(1)));
        expect_dropped(junk);
        Connection other_build = met();
        Hello wrong = hello();
        wrong.build = "another";
        ASSERT_TRUE(other_build.send(wrong));
        Greeting greeting;
        ASSERT_EQ(other_build.receive(greeting, 60), Arrival::message);
        expect_dropped(other_build);
        wrong = hello(), wrong.magic = 1;
        Connection no_glint = met();
        ASSERT_TRUE(no_glint.send(wrong));
        ASSERT_EQ(no_glint.receive(greeting, 60), Arrival::message);
        expect_dropped(no_glint);
        const auto memory = SharedMemory::create(1 << 20);
        ASSERT_TRUE(memory);
        const Connection without_memory = greeted();
        ASSERT_TRUE(without_memory.send(job(1)));
        expect_dropped(without_memory);
        const Connection beyond = greeted();
        ASSERT_TRUE(beyond.send(job(1 << 20), memory->descriptor()));
        expect_dropped(beyond);
        Descriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        ASSERT_EQ(::ftruncate(unsealed.get(), 1 << 20), 0);
        const Connection open_ended = greeted();
        ASSERT_TRUE(open_ended.send(job(1), unsealed.get()));
        expect_dropped(open_ended);
        const Connection twice = greeted();
        ASSERT_TRUE(twice.send(hello()));
        expect_dropped(twice);
        // The client learns what a fit rejects, and the worker continues.
        const Connection mistaken = greeted();
        FitJob wrong_job = job(1);
        wrong_job.setup.tolerance = -1;
        ASSERT_TRUE(mistaken.send(wrong_job, memory->descriptor()));
        FitReply reply;
        ASSERT_EQ(mistaken.receive(reply, 60), Arrival::message);
        EXPECT_EQ(reply.outcome, Outcome::refused);
        EXPECT_NE(reply.what.str().find("tolerance"), std::string::npos) << reply.what.str();
        ASSERT_TRUE(mistaken.send(job(1)));
        ASSERT_EQ(mistaken.receive(reply, 60), Arrival::message);
        EXPECT_EQ(reply.outcome, Outcome::fitted) << reply.what.str();
        expect_served();
    }
}

TEST_F(GpuWarmWorker, all_columns_go_through) {
    rois.variance.assign(rois.pixels.size(), 2), rois.additive.assign(rois.pixels.size(), 1);
    rois.qe.assign(rois.pixels.size(), 0.9f);
    fit_reference();
    serve_in_thread();
    expect_served();
    end_server();
    std::array<std::vector<float>, max_parameters> starts;
    for (int k = 0; k < parameter_count(psf.model); ++k) {
        starts[std::size_t(k)] = reference.theta[std::size_t(k)];
        options.start[std::size_t(k)] = starts[std::size_t(k)];
    }
    fit_reference();
    serve_in_thread();
    expect_served();
}

// Three cameras: one without maps, one with maps, and another one. Each stack is sent in several parts.
TEST_F(GpuWarmWorker, counts_of_a_camera_go_through) {
    constexpr int side = 64;
    options.backend = Backend::gpu, options.batch_size = 32;  // 128 rows per part
    name = to_name({options.gpu_memory_bytes, 32});
    std::vector<std::uint16_t> counts;
    for (const float electrons : rois.pixels) counts.push_back(std::uint16_t(100 + 2 * electrons));
    std::vector<std::int32_t> corners;
    for (std::size_t k = 0; k < rois.count(); ++k) corners.push_back(std::int32_t(k) % (side - rois.size + 1));
    RoiView stack;
    stack.size = rois.size, stack.count = rois.count(), stack.type = PixelType::uint16;
    stack.pixels = reinterpret_cast<const std::byte*>(counts.data());
    stack.x_corner = stack.y_corner = corners;
    const std::vector<CameraView> cameras{CameraView(test::scmos_camera(), rois.size, rois.size),
                                          CameraView(test::mapped_camera(side, side), side, side),
                                          CameraView(test::mapped_camera_with_bad_pixels(side, side), side, side)};
    std::vector<Fits> alone;
    FitOptions own = options;
    own.gpu_worker.clear();
    for (const CameraView& camera : cameras) {
        stack.camera = &camera;
        alone.push_back(fit(stack, psf, pixel_nm, own));
    }
    serve_in_thread();
    Fitter fitter;
    for (std::size_t k = 0; k < cameras.size(); ++k) {
        SCOPED_TRACE(k);
        stack.camera = &cameras[k];
        const Fits fits = fitter.fit(stack, psf, pixel_nm, options, &info);
        for (const FitEvent& event : info.events) ADD_FAILURE() << event.what;
        EXPECT_EQ(fits.theta, alone[k].theta);
        EXPECT_EQ(fits.crlb, alone[k].crlb);
        EXPECT_EQ(fits.p_value, alone[k].p_value);
        EXPECT_EQ(fits.status, alone[k].status);
    }
    corners[1500] = side;
    test::expect_error<OptionError>([&] { fitter.fit(stack, psf, pixel_nm, options); },
                                    {"ROI 1500 of 7 px at (64, 64)", "64 x 64"});
}

TEST_F(GpuWarmWorker, maps_that_are_none_are_not_used) {
    serve_in_thread();
    const auto memory = SharedMemory::create(1 << 20);
    ASSERT_TRUE(memory);
    FitJob with_maps = job(1);
    with_maps.columns |= has_camera;
    with_maps.camera.width = with_maps.camera.height = 64, with_maps.camera.has_maps = 1;
    const Connection without_any = greeted();  // zeros: maps without pixels
    ASSERT_TRUE(without_any.send(with_maps, memory->descriptor()));
    expect_dropped(without_any);
    const CameraView small(test::mapped_camera(32, 32), 32, 32);
    const LargeParts large{small.maps(), nullptr};
    pack(large, {memory->data(), num_bytes(large)});
    const Connection too_small = greeted();
    ASSERT_TRUE(too_small.send(with_maps, memory->descriptor()));
    expect_dropped(too_small);
    const Connection grows = greeted();
    with_maps.camera.width = with_maps.camera.height = 32, with_maps.at = 1 << 19;
    FitReply reply;
    ASSERT_TRUE(grows.send(with_maps, memory->descriptor()));
    ASSERT_EQ(grows.receive(reply, 60), Arrival::message);
    EXPECT_EQ(reply.outcome, Outcome::fitted) << reply.what.str();
    with_maps.camera.width = 64;
    ASSERT_TRUE(grows.send(with_maps));
    expect_dropped(grows);
}

TEST_F(GpuWarmWorker, a_large_stack_keeps_no_other_waiting) {
    options.batch_size = 32;  // 128 rows per part
    name = to_name({options.gpu_memory_bytes, 32});
    fit_reference();
    serve_in_thread();
    std::atomic<std::int64_t> large_done{0};
    std::atomic<bool> begun{false};
    std::thread large([&] {
        FitOptions slow = options;
        slow.backend = Backend::gpu;
        slow.progress = [&](std::int64_t done, std::int64_t, std::int64_t) { large_done = done, begun = true; };
        fit(rois, psf, pixel_nm, slow);
    });
    while (!begun) std::this_thread::yield();
    RoiView few = view(rois);
    few.count = 64, few.x_start = {}, few.y_start = {};
    few.x_corner = {}, few.y_corner = {};
    FitOptions quick = options;
    quick.backend = Backend::gpu;
    fit(few, psf, pixel_nm, quick);
    EXPECT_LT(large_done, std::int64_t(rois.count())) << "the small stack came after the large one";
    large.join();
}

TEST_F(GpuWarmWorker, makes_way_for_a_request_that_waits) {
    fit_reference();
    const gpu::LeaseSnapshot before = gpu::snapshot_leases();
    serve_in_thread();
    expect_served();
    std::vector<gpu::Lease> others;  // together the GPU's whole memory, except the context
    for (const gpu::LeaseGpu& one : before.gpus)
        others.push_back(gpu::acquire({.bytes = one.available_bytes - 3 * gib / 4, .timeout_s = 60}));
    server.join();  // within a second or two, not after the ten minutes of idle_s
}

TEST_F(GpuWarmWorker, that_has_no_gpu_tells_why) {
    std::vector<gpu::Lease> all;
    for (const gpu::LeaseGpu& one : gpu::snapshot_leases().gpus)
        all.push_back(gpu::acquire({.bytes = one.available_bytes - gib, .timeout_s = 0}));
    serve_in_thread();
    Connection connection = met();
    Greeting greeting;
    ASSERT_TRUE(connection.send(hello()));
    ASSERT_EQ(connection.receive(greeting, 60), Arrival::message);
    EXPECT_NE(greeting.why.str(), "");
    expect_dropped(connection);
    server.join();
}

// The cost model counts the time of opening a GPU, unless a worker has it open.
TEST_F(GpuWarmWorker, that_is_running_counts_as_an_open_gpu) {
    const auto decision = [&] {
        std::string words;
        FitOptions undecided = options;
        undecided.backend = Backend::automatic, undecided.always_gpu = false;
        undecided.on_decision = [&](const std::string& told) { words = told; };
        fit(rois, psf, pixel_nm, undecided);
        return words;
    };
    const std::string alone = decision();
    serve_in_thread();
    greeted();  // ensures that its GPU is open
    const std::string with_worker = decision();
    EXPECT_NE(alone.find("its context"), std::string::npos) << alone;
    EXPECT_FALSE(with_worker.empty());
    EXPECT_EQ(with_worker.find("its context"), std::string::npos) << with_worker;
}

// The process at the socket is not a worker of this build: the stack is fitted nevertheless.
TEST_F(GpuWarmWorker, of_another_build_is_not_used) {
    fit_reference();
    const Descriptor listener = sockets.listen(name);
    std::thread impostor([&] {
        pollfd wait{listener.get(), POLLIN, 0};
        ::poll(&wait, 1, 60000);
        const Connection client(Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
        Greeting greeting;
        greeting.build = "another", greeting.uuid = "GPU-0";
        Hello words;
        EXPECT_EQ(client.receive(words, 60), Arrival::message);
        EXPECT_TRUE(client.send(greeting));
        expect_dropped(client);
    });
    const Fits fits = fit_with(Backend::gpu);
    impostor.join();
    ASSERT_FALSE(info.events.empty());
    EXPECT_NE(info.events[0].what.find("another build"), std::string::npos) << info.events[0].what;
    EXPECT_EQ(fits.theta, reference.theta);
    sockets.remove(name);
}

}  // namespace glint::warm_worker
