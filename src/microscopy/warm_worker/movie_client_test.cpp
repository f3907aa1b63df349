// Movies localized by a warm worker in a thread of the test, on a real or simulated GPU: the same rows as without it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <limits>
#include <set>
#include <thread>

#include "base/build_identity.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/movie_io.hpp"
#include "glint/movie_region.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/simulated_movie.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/typical_psf.hpp"
#include "warm_worker/movie_messages.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/warm_worker.hpp"
#include "warm_worker/worker_connection.hpp"

namespace glint::warm_worker {
namespace {

constexpr std::uint64_t mib = gpu::test::mib;
constexpr int frames = 24, width = 64, height = 48;

Camera plain() { return test::scmos_camera(); }
Camera with_maps() { return test::mapped_camera_with_bad_pixels(width, height); }

FrameBlock simulated(const Camera& camera, double spots = 8, int count = frames, int size = 0) {
    return test::simulated_frames(camera, size ? size : width, size ? size : height, count, spots);
}

class GpuMovieClient : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        if (!environment::inherited_lease().empty()) GTEST_SKIP() << "under a lease there is no worker";
        how.psf.sigma_nm = 130, how.pixel_size_nm = 100, how.threads = 3;
        how.backend = Backend::gpu, how.gpu_memory_bytes = 160 * mib;  // an unusual value gives a separate socket name
        how.gpu_timeout_s = 60;
    }
    void TearDown() override {
        test_ends = true;
        if (server.joinable()) server.join();
    }
    void serve_in_thread() {
        constexpr double idle_s = 600;  // long, because the reference alone takes long under a sanitizer
        const WorkerSettings settings{how.gpu_memory_bytes, 0};
        const std::string name = to_name(settings);
        const WorkerSockets sockets(environment::lease_directory());
        Descriptor lock = sockets.lock(name), listener = sockets.listen(name);
        ASSERT_TRUE(lock && listener);
        server = std::thread([=, this, held = std::move(lock), socket = std::move(listener)]() mutable {
            serve({name, settings, idle_s, &test_ends}, std::move(socket), std::move(held));
        });
    }
    Localizations run(const FrameBlock& block, const Camera& camera, bool by_worker, LocalizeResult* result = nullptr) {
        LocalizeOptions options = how;
        if (by_worker) options.gpu_worker = "/no/program";  // the test creates the socket
        return localize_frames(*memory_movie(block), camera, options, result);
    }
    /// Compares the rows with and without the worker.
    void expect_same(const FrameBlock& block, const Camera& camera, std::size_t least) {
        LocalizeResult alone, with;
        const Localizations expected = run(block, camera, false, &alone), rows = run(block, camera, true, &with);
        EXPECT_GE(rows.size(), least);
        expect_equal(rows, expected);
        for (const FitEvent& event : with.fit.events) ADD_FAILURE() << event.what;
        EXPECT_EQ(with.fit.gpus.size(), 1u);
        EXPECT_EQ(with.fit.fits, alone.fit.fits);
        EXPECT_EQ(with.noise_check, alone.noise_check);
        EXPECT_EQ(with.bad_pixels, alone.bad_pixels);
        EXPECT_GE(with.fit.bytes_up, alone.fit.bytes_up);
    }
    static void expect_equal(const Localizations& a, const Localizations& b) {
        EXPECT_EQ(a.frame, b.frame);
        EXPECT_EQ(a.x_px, b.x_px);
        EXPECT_EQ(a.lpy_px, b.lpy_px);
        EXPECT_EQ(a.photons, b.photons);
        EXPECT_EQ(a.bg, b.bg);
        EXPECT_EQ(a.p_value, b.p_value);
        EXPECT_EQ(a.detection_score, b.detection_score);
        EXPECT_EQ(a.emitters, b.emitters);
    }
    /// Returns a connection that a worker has greeted, for a movie.
    WorkerConnection greeted() {
        Placement options = how;
        options.gpu_worker = "/no/program";
        WorkerConnection worker;
        EXPECT_TRUE(worker.connect(options, nullptr, RequestKind::movie, true)) << worker.why_not();
        return worker;
    }
    static void expect_dropped(const WorkerConnection& worker) {
        MovieReply reply;
        EXPECT_THROW(worker.receive(reply, nullptr), WorkerFailed);
    }

    LocalizeOptions how;
    StopFlag test_ends{false};
    std::thread server;
};

}  // namespace

TEST_F(GpuMovieClient, gives_the_same_rows) {
    serve_in_thread();
    for (const int emitters : {1, any_emitters}) {
        SCOPED_TRACE(emitters);
        how.fit.emitters = emitters;
        expect_same(simulated(plain()), plain(), 100);
        expect_same(simulated(with_maps(), 20), with_maps(), 200);
    }
    how.psf = test::typical_psf(PsfModel::GaussianXYNBSXSY), how.roi_size = 9;
    how.memory_bytes = 2 * width * height * 2;  // blocks of one frame, so that each place is used repeatedly
    expect_same(simulated(plain()), plain(), 100);
    FrameBlock floats = simulated(plain(), 8, 4);
    std::vector<float> counts;
    for (std::size_t k = 0; k < floats.bytes.size(); k += 2)
        counts.push_back(
            float(std::to_integer<int>(floats.bytes[k]) + 256 * std::to_integer<int>(floats.bytes[k + 1])));
    counts[100] = counts[9999] = std::numeric_limits<float>::quiet_NaN();
    floats.type = PixelType::float32, floats.bytes.resize(counts.size() * sizeof(float));
    std::memcpy(floats.bytes.data(), counts.data(), floats.bytes.size());
    expect_same(floats, plain(), 10);
}

// The worker receives only the region. Rows are in coordinates of whole frames, and maps cover whole frames.
TEST_F(GpuMovieClient, gives_the_same_rows_of_a_region) {
    constexpr PixelRegion part{9, 5, 48, 40};
    serve_in_thread();
    how.region = RegionOfFrames{part, width, height};
    for (const Camera& whole : {plain(), with_maps()}) {
        Camera camera = whole;
        if (camera.has_maps()) camera.roi_x += part.x, camera.roi_y += part.y;
        const FrameBlock block = simulated(whole, 20);
        const auto rows_of = [&](bool by_worker, Backend backend) {
            LocalizeOptions options = how;
            options.backend = backend;
            if (by_worker) options.gpu_worker = "/no/program";
            LocalizeResult result;
            const Localizations rows =
                localize_frames(*crop_movie(memory_movie(block), part), camera, options, &result);
            EXPECT_FALSE(result.fit.gpu_failed) << result.fit.note;
            return rows;
        };
        const Localizations rows = rows_of(false, Backend::gpu), on_cpu = rows_of(false, Backend::cpu);
        EXPECT_GE(rows.size(), 150u);
        expect_equal(rows_of(true, Backend::gpu), rows);
        ASSERT_EQ(rows.frame, on_cpu.frame);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            EXPECT_NEAR(rows.x_px[k], on_cpu.x_px[k], 0.02 * rows.lpx_px[k]);
            EXPECT_GT(rows.x_px[k], part.x - 2.0f);
            EXPECT_GT(rows.y_px[k], part.y - 2.0f);
        }
    }
}

// The client reads no frames if the file contains them unpacked.
TEST_F(GpuMovieClient, reads_files_itself) {
    struct Counted : Movie {
        explicit Counted(const std::filesystem::path& path) : movie(open_movie(path)) {}
        const MovieInfo& info() const override { return movie->info(); }
        void read(std::int64_t first, int count, FrameBlock& block) override {
            blocks_read += count > 1;  // the light checks read single frames
            movie->read(first, count, block);
        }
        std::optional<FramesInFile> in_file(std::int64_t first, int count) override {
            return movie->in_file(first, count);
        }
        std::unique_ptr<Movie> movie;
        std::atomic<int> blocks_read{0};
    };
    serve_in_thread();
    how.fit.emitters = 1;  // the client searches for lone spots
    const FrameBlock block = simulated(plain());
    const test::TemporaryFolder folder;
    folder.write("movie.yaml", fmt::format("Data Type: uint16\nByte Order: '<'\nFrames: {}\nHeight: {}\nWidth: {}\n",
                                           frames, height, width));
    const auto path = folder.write(
        "movie.raw", std::string(reinterpret_cast<const char*>(block.bytes.data()), frames * block.frame_bytes()));
    Counted movie(path);
    LocalizeOptions by_worker = how;
    by_worker.gpu_worker = "/no/program";
    LocalizeResult result;
    expect_equal(localize_frames(movie, plain(), by_worker, &result), run(block, plain(), false));
    EXPECT_FALSE(result.fit.gpu_failed) << result.fit.note;
    std::byte first{};
    const iovec part{&first, 1};
    if (::preadv2(movie.in_file(0, 1)->descriptor, &part, 1, 0, RWF_NOWAIT) == 1) {
        EXPECT_EQ(movie.blocks_read, 0);
    }
}

// With so low a threshold, at least every 28 px have a row of 60 bytes. Rows need more room than the frames' bytes,
// both for two frames of 601 px, whose bytes are no multiple of 4, and for one frame of 1000 px.
TEST_F(GpuMovieClient, more_rows_than_there_is_room_for) {
    serve_in_thread();
    how.fit.emitters = 1, how.neighbor_rounds = 0, how.threshold = 1, how.threads = 1, how.roi_size = 5;
    how.psf.sigma_nm = 70, how.keep_failed = true;
    const FrameBlock four = simulated(plain(), 1, 4, 601);
    expect_same(four, plain(), 10000);
    LocalizeResult result;
    run(four, plain(), true, &result);
    EXPECT_GT(result.localizations * 60 / 2, 2 * 601 * 601 * 2) << "the rows of two frames find room";
    const FrameBlock large = simulated(plain(), 1, 1, 1000);
    const Localizations rows = run(large, plain(), true, &result);
    ASSERT_FALSE(result.fit.events.empty());
    EXPECT_NE(result.fit.events[0].what.find("no room for the rows of one frame"), std::string::npos)
        << result.fit.events[0].what;
    expect_equal(rows, run(large, plain(), false));
}

TEST_F(GpuMovieClient, is_the_same_after_a_stop_and_a_resume) {
    const FrameBlock block = simulated(plain());
    const test::TemporaryFolder folder;
    how.threads = 1, how.memory_bytes = 2 * width * height * 2;
    localize(*memory_movie(block), plain(), folder / "alone.csv", how);
    serve_in_thread();
    StopFlag stop{false};
    how.gpu_worker = "/no/program";
    LocalizeOptions stopping = how;
    stopping.stop = &stop;
    stopping.progress = [&](std::int64_t done, std::int64_t, std::int64_t) { stop = done > 8; };
    const LocalizeResult stopped = localize(*memory_movie(block), plain(), folder / "o.csv", stopping);
    EXPECT_FALSE(stopped.complete);
    EXPECT_GT(stopped.frames, 8);
    EXPECT_LT(stopped.frames, frames);
    how.resume = true;
    const LocalizeResult resumed = localize(*memory_movie(block), plain(), folder / "o.csv", how);
    EXPECT_EQ(resumed.resumed_frames, stopped.frames);
    EXPECT_EQ(test::read_bytes(folder / "o.csv"), test::read_bytes(folder / "alone.csv"));
    EXPECT_TRUE(stopped.fit.events.empty() && resumed.fit.events.empty());
}

TEST_F(GpuMovieClient, more_movies_than_the_gpu_holds_at_once) {
    serve_in_thread();
    const FrameBlock block = simulated(plain(), 15);
    const Localizations alone = run(block, plain(), false);
    std::vector<std::future<Localizations>> several;
    for (int k = 0; k < 7; ++k)
        several.push_back(std::async(std::launch::async, [&] { return run(block, plain(), true); }));
    for (auto& one : several) expect_equal(one.get(), alone);
}

// One client has used all resources and keeps them. Another client's frames need more memory than is left.
TEST_F(GpuMovieClient, a_movie_gets_the_memory_that_another_one_keeps) {
    how.gpu_memory_bytes = 8 * mib, how.fit.emitters = 1;
    serve_in_thread();
    constexpr int block_frames = 31, blocks = 4, side = 460;
    const LocalizeJob job = make_job(memory_movie(simulated(plain(), 1, 1))->info(), plain(), how);
    const auto memory = SharedMemory::create(8 * mib);
    ASSERT_TRUE(memory);
    const WorkerConnection keeps = greeted();
    keeps.send(setup_of(job, PixelType::uint16), memory->descriptor());
    for (std::uint64_t k = 0; k < blocks; ++k)
        keeps.send(MovieJob{FramesFrom::memory, block_frames, 0, 0, (4 + k) * mib, mib});
    for (int k = 0; k < blocks; ++k) {
        MovieReply reply;
        keeps.receive(reply, nullptr);
        EXPECT_EQ(reply.done.outcome, Outcome::fitted) << reply.done.what.str();
    }
    expect_same(simulated(plain(), 20, 1, side), plain(), 10);
}

// More jobs than a worker accepts from a connection simultaneously, and a later client with one job.
TEST_F(GpuMovieClient, a_long_movie_keeps_no_other_waiting) {
    serve_in_thread();
    constexpr std::size_t jobs = 100;
    const LocalizeJob job = make_job(memory_movie(simulated(plain(), 1, 1))->info(), plain(), how);
    const MovieSetup setup = setup_of(job, PixelType::uint16);
    const auto memory = SharedMemory::create(8 * mib), other_memory = SharedMemory::create(mib);
    ASSERT_TRUE(memory && other_memory);
    const WorkerConnection quick = greeted();
    quick.send(setup, other_memory->descriptor());
    const Connection slow = WorkerSockets(environment::lease_directory()).connect(to_name({how.gpu_memory_bytes, 0}));
    Greeting greeting;
    ASSERT_TRUE(slow.send(hello_for(RequestKind::movie)) && slow.receive(greeting, 60) == Arrival::message);
    ASSERT_TRUE(slow.send(setup, memory->descriptor()));
    for (std::uint64_t k = 0; k < jobs; ++k)
        ASSERT_TRUE(slow.send(MovieJob{FramesFrom::memory, 1, 0, 0, (16 + k) << 16, 1 << 16}));
    quick.send(MovieJob{FramesFrom::memory, 1, 0, 0, 1 << 16, 1 << 16});
    MovieReply reply;
    quick.receive(reply, nullptr);
    EXPECT_EQ(reply.done.outcome, Outcome::fitted) << reply.done.what.str();
    std::set<std::uint64_t> places;
    while (slow.receive(reply, 0) == Arrival::message) places.insert(reply.place);
    EXPECT_LT(places.size(), jobs) << "the movie with one job came last";
    while (places.size() < jobs) {
        ASSERT_EQ(slow.receive(reply, 60), Arrival::message);
        EXPECT_EQ(reply.done.outcome, Outcome::fitted) << reply.done.what.str();
        EXPECT_TRUE(places.insert(reply.place).second) << reply.place;
    }
}

TEST_F(GpuMovieClient, whoever_breaks_the_rules_is_dropped_and_others_are_served) {
    serve_in_thread();
    const LocalizeJob job = make_job(memory_movie(simulated(plain(), 1, 1))->info(), plain(), how);
    const MovieSetup setup = setup_of(job, PixelType::uint16);
    const auto memory = SharedMemory::create(1 << 20);
    ASSERT_TRUE(memory);
    const MovieJob block{FramesFrom::memory, 1, 0, 0, 1 << 16, 1 << 19};
    const WorkerConnection without_memory = greeted();
    without_memory.send(setup);
    expect_dropped(without_memory);
    const WorkerConnection unsound = greeted();
    MovieSetup wrong = setup;
    wrong.roi_size = -7;
    unsound.send(wrong, memory->descriptor());
    expect_dropped(unsound);
    const WorkerConnection too_early = greeted();
    too_early.send(block);
    expect_dropped(too_early);
    const WorkerConnection beyond = greeted();
    beyond.send(setup, memory->descriptor());
    MovieJob outside = block;
    outside.at = (1 << 20) - 8;
    beyond.send(outside);
    expect_dropped(beyond);
    // The worker does not wait for an invalid file, and continues.
    const WorkerConnection mistaken = greeted();
    mistaken.send(setup, memory->descriptor());
    MovieReply reply;
    MovieJob in_file = block;
    in_file.from = FramesFrom::file;
    const auto expect_not_there = [&](int file) {
        mistaken.send(in_file, file);
        mistaken.receive(reply, nullptr);
        EXPECT_EQ(reply.done.outcome, Outcome::not_there) << reply.done.what.str();
    };
    expect_not_there(-1);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor from(ends[0]), to(ends[1]);
    expect_not_there(from.get());
    const test::TemporaryFolder folder;
    folder.write("short", "too short for a frame");
    const Descriptor too_short(::open((folder / "short").c_str(), O_RDONLY | O_CLOEXEC));
    expect_not_there(too_short.get());
    std::memset(memory->data(), 0xff, 8);  // offsets before a file's first byte
    expect_not_there(too_short.get());
    const Descriptor folder_itself(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
    expect_not_there(folder_itself.get());
    mistaken.send(block);
    mistaken.receive(reply, nullptr);
    EXPECT_EQ(reply.done.outcome, Outcome::fitted) << reply.done.what.str();
    EXPECT_EQ(reply.place, block.place);
    expect_same(simulated(plain()), plain(), 100);
}

// A long block is given up when its client is gone, and the worker continues.
TEST_F(GpuMovieClient, a_client_that_leaves_within_a_long_block_ends_nothing) {
    serve_in_thread();
    constexpr int side = 400;
    LocalizeOptions dense = how;
    dense.threshold = 1, dense.psf.sigma_nm = 70, dense.roi_size = 5;
    const FrameBlock block = simulated(plain(), 1, 1, side);
    const LocalizeJob job = make_job(memory_movie(block)->info(), plain(), dense);
    const auto memory = SharedMemory::create(4 * mib);
    ASSERT_TRUE(memory);
    std::memcpy(memory->data(), block.bytes.data(), block.bytes.size());
    {
        const WorkerConnection leaves = greeted();
        leaves.send(setup_of(job, PixelType::uint16), memory->descriptor());
        leaves.send(MovieJob{FramesFrom::memory, 1, 0, 0, 2 * mib, 2 * mib});
    }
    expect_same(simulated(plain()), plain(), 100);
}

// If a worker sends invalid blocks, or is gone, the frames are localized nevertheless.
TEST_F(GpuMovieClient, that_is_no_worker_does_no_harm) {
    const FrameBlock block = simulated(plain());
    how.threads = 1;
    const Localizations alone = run(block, plain(), false);
    const std::string name = to_name({how.gpu_memory_bytes, 0});
    const WorkerSockets sockets(environment::lease_directory());
    Descriptor listener = sockets.listen(name);
    std::atomic<bool> ended{false};
    std::thread impostor([&] {
        while (!ended) {
            Connection client(Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
            if (!client) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            Greeting greeting;
            greeting.build = build_identity(), greeting.uuid = "GPU-0";
            Hello words;
            MovieSetup setup;
            MovieJob job;
            Descriptor file;
            if (client.receive(words, 60) != Arrival::message || !client.send(greeting) ||
                client.receive(setup, 60, nullptr, &file) != Arrival::message ||
                client.receive(job, 60) != Arrival::message)
                continue;
            MovieReply reply;
            reply.place = job.place, reply.done.outcome = Outcome::fitted;
            client.send(reply);
        }
    });
    LocalizeResult result;
    expect_equal(run(block, plain(), true, &result), alone);
    ended = true;
    impostor.join();
    ASSERT_EQ(result.fit.events.size(), 3u);
    const std::string& what = result.fit.events[0].what;
    EXPECT_NE(what.find("not a block of this movie"), std::string::npos) << what;
    sockets.remove(name);
}

TEST_F(GpuMovieClient, that_is_running_counts_as_an_open_gpu) {
    const FrameBlock block = simulated(plain());
    how.backend = Backend::automatic, how.gpu_worker = "/no/program";
    std::string words;
    how.on_decision = [&](const std::string& told) { words = told; };
    run(block, plain(), true);
    if (words.find("by a fixed rule") != std::string::npos) GTEST_SKIP() << "this GPU's speed is not known: " << words;
    EXPECT_NE(words.find("its context"), std::string::npos) << words;
    serve_in_thread();
    greeted();  // ensures that its GPU is open
    words.clear();
    run(block, plain(), true);
    EXPECT_FALSE(words.empty());
    EXPECT_EQ(words.find("its context"), std::string::npos) << words;
}

}  // namespace glint::warm_worker
