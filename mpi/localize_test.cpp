// Tests of glint-mpi as a user runs it. The output is byte for byte that of one process, even after ranks were killed
// or stopped.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "glint/localization_io.hpp"
#include "tests/hold.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using namespace glint::test;
namespace fs = std::filesystem;

namespace {

fs::path bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

const std::string given = " --sigma 130nm --pixel-size 100nm --offset 100 --gain 1";
const std::string on_cpu = given + " --psf GaussianXYNBSXSY --roi 11 --backend cpu";
/// With one thread, three blocks are in flight, so a rank that has written three records has requested frames five
/// times. FrameScheduler first assigns a sixteenth of 400 frames, later an eighth of the rest. When 4 ranks stop, some
/// frames are left.
const std::string stoppable = on_cpu + " --threads 1";
constexpr int max_records = 3;

std::string mpirun(int ranks) {
    return std::string(GLINT_MPIRUN) + " -n " + std::to_string(ranks) + " " + (bin() / "glint-mpi").string() +
           " localize ";
}

int occurrences(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
    return count;
}

/// Returns the process of a rank of the mpirun that runs in this folder; 0 if there is none.
pid_t process_of_rank(const fs::path& folder, int rank) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc", gone)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        if (fs::read_symlink(entry.path() / "cwd", gone) != folder || gone) continue;
        if (fs::read_symlink(entry.path() / "exe", gone).filename() != "glint-mpi") continue;
        const std::string variables = '\0' + read_bytes(entry.path() / "environ");
        if (variables.find(std::string(1, '\0') + "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0') !=
            std::string::npos)
            return std::stoi(name);
    }
    return 0;
}

class GlintMpi : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        shared_ = std::make_unique<TemporaryFolder>();
        // By default all runs of a user share one folder. The last run to end removes it, even while another run
        // begins.
        mpi_files_ = std::make_unique<TemporaryFolder>();
        for (const char* variable : {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"})
            ::setenv(variable, mpi_files_->path().c_str(), 1);
        const Ended made = run(*shared_,
                               "glint simulate -o movie.tif --size 96 --frames 400 --spots 40 --sigma 130nm "
                               "--pixel-size 100nm --seed 5 -q --overwrite && "
                               "glint localize movie.tif -o one.hdf5 -q" +
                                   on_cpu);
        ASSERT_EQ(made.exit_code, 0) << made.err;
        one_ = read_bytes(*shared_ / "one.hdf5");
    }
    static void TearDownTestSuite() { shared_.reset(), mpi_files_.reset(); }

    std::string movie() const { return (*shared_ / "movie.tif").string(); }
    Ended ranks(int count, const std::string& arguments) { return run(folder_, mpirun(count) + arguments); }
    std::string out(const std::string& name = "o.hdf5") const { return read_bytes(folder_ / name); }
    bool exists(const std::string& name) const { return fs::exists(folder_ / name); }
    void expect_clean(const std::string& name = "o.hdf5") const {
        EXPECT_EQ(folder_.names(),
                  (std::vector<std::string>{".err", ".out", name, fs::path(name).stem().string() + ".yaml"}));
    }

    std::string whole_movie() const { return mpirun(4) + movie() + " -o o.hdf5 --overwrite" + stoppable; }

    static std::unique_ptr<TemporaryFolder> shared_, mpi_files_;
    static std::string one_;
    TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> GlintMpi::shared_, GlintMpi::mpi_files_;
std::string GlintMpi::one_;

}  // namespace

TEST_F(GlintMpi, talk_may_be_lost_and_results_may_not) {
    const std::string program = (bin() / "glint-mpi").string(),
                      alone = program + " localize " + movie() + " -o o.hdf5 --overwrite --frames 0:40" + on_cpu;
    EXPECT_EQ(run(folder_, alone + " -q").exit_code, 0);
    const std::string expected = out();
    for (const std::string how : {" 2>/dev/full", " 2>&-", " <&- 2>&-"}) {
        EXPECT_EQ(run(folder_, alone + how).exit_code, 0) << how;
        EXPECT_TRUE(out() == expected) << how;
    }
    for (const std::string how : {" >/dev/full", " --json >/dev/full", " >&-"}) {
        const Ended end = run(folder_, alone + how);
        EXPECT_EQ(end.exit_code, 4) << how;
        EXPECT_NE(end.err.find("stdout"), std::string::npos) << end.err;
    }
    EXPECT_EQ(run(folder_, program + " --help >/dev/full").exit_code, 4);
}

TEST_F(GlintMpi, the_file_is_that_of_one_process_for_any_number_of_ranks) {
    for (const int count : {1, 4}) {
        const Ended end = ranks(count, movie() + " -o o.hdf5 --overwrite" + on_cpu);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        EXPECT_TRUE(out() == one_) << count << " ranks";
        EXPECT_EQ(occurrences(end.out, "localizations "), 1) << end.out;
        EXPECT_EQ(occurrences(end.err, "finished frames are kept in"), 1) << end.err;
        expect_clean();
    }
}

TEST_F(GlintMpi, a_range_of_frames_and_more_ranks_than_frames) {
    const std::string range = " --frames 17:20";
    ASSERT_EQ(run(folder_, "glint localize " + movie() + " -o one.csv -q" + on_cpu + range).exit_code, 0);
    const Ended end = ranks(4, movie() + " -o o.csv -q" + on_cpu + range);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(out("o.csv") == out("one.csv"));
}

TEST_F(GlintMpi, a_region_of_the_frames) {
    const std::string region = " --region 17,9,60,45";
    ASSERT_EQ(run(folder_, "glint localize " + movie() + " -o one.csv -q" + on_cpu + region).exit_code, 0);
    const Ended end = ranks(3, movie() + " -o o.csv -q" + on_cpu + region);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(out("o.csv") == out("one.csv"));
    EXPECT_GT(occurrences(out("o.csv"), "\n"), 1000) << "a third of the frames' area, which have 40 spots each";
}

// The parts are written beside the target of the link, where --resume of any run looks for them.
TEST_F(GlintMpi, an_output_that_is_a_link_stays_one) {
    fs::create_directory(folder_ / "far");
    fs::create_symlink("far/o.hdf5", folder_ / "o.hdf5");
    const Ended end = ranks(2, movie() + " -o o.hdf5 -q" + on_cpu);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(fs::is_symlink(folder_ / "o.hdf5"));
    EXPECT_TRUE(read_bytes(folder_ / "far/o.hdf5") == one_);
    EXPECT_FALSE(exists("o.hdf5.journal.parts"));
}

TEST_F(GlintMpi, names_of_movies_may_be_any_bytes) {
    fs::create_symlink(movie(), folder_ / "m\xff.tif");
    ASSERT_EQ(run(folder_, "glint localize " + movie() + " -o one.csv -q" + on_cpu).exit_code, 0);
    const Ended end = ranks(3, "m\xff.tif -o o\xfe.csv -q" + on_cpu);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(out("o\xfe.csv") == out("one.csv"));
}

TEST_F(GlintMpi, json_tells_what_each_rank_did) {
    const Ended end = ranks(4, movie() + " -o o.hdf5 --json -q" + on_cpu);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const auto json = nlohmann::json::parse(end.out);
    std::int64_t frames = 0, rows = 0, fits = 0;
    ASSERT_EQ(json.at("ranks").size(), 4u);
    for (const auto& rank : json.at("ranks")) {
        frames += rank.at("frames").get<std::int64_t>(), rows += rank.at("localizations").get<std::int64_t>();
        fits += rank.at("fit").at("fits").get<std::int64_t>();
        EXPECT_NE(rank.at("host"), "");
        EXPECT_EQ(rank.at("fit").at("device"), json.at("fit").at("device"));
    }
    EXPECT_EQ(frames, 400);
    EXPECT_EQ(rows, json.at("localizations").get<std::int64_t>());
    EXPECT_EQ(fits, json.at("fit").at("fits").get<std::int64_t>());
    EXPECT_EQ(occurrences(end.err, "\n"), occurrences(end.err, "glint: warning: ")) << "quiet: " << end.err;
}

// When a rank is killed, mpirun ends all other ranks. --resume finds the finished frames, whichever rank was killed and
// when.
TEST_F(GlintMpi, a_killed_rank_costs_unfinished_frames_only_whoever_goes_on) {
    std::mt19937 random(11);
    const std::string again = movie() + " -o o.hdf5 --resume --json -q" + on_cpu;
    const std::vector<std::string> resumes{mpirun(4) + again, mpirun(2) + again, mpirun(1) + again,
                                           "glint localize " + again};
    for (std::size_t k = 0; k < resumes.size(); ++k) {
        for (const char* name : {"o.hdf5", "o.yaml"}) fs::remove(folder_ / name);
        const int victim = int((k + random()) % 4), records = 1 + int(random() % max_records);
        SCOPED_TRACE("rank " + std::to_string(victim) + " at record " + std::to_string(records));
        const Hold hold(records);
        Program program(folder_, hold.variables() + "exec " + whole_movie());
        ASSERT_TRUE(hold.reached(program)) << program.ended().err;
        pid_t process = 0;
        ASSERT_TRUE(become(program, [&] { return (process = process_of_rank(folder_.path(), victim)) != 0; }));
        ::kill(process, SIGKILL);
        const Ended killed = program.ended();
        EXPECT_NE(killed.exit_code, 0);
        EXPECT_NE(killed.err.find("--resume"), std::string::npos) << killed.err;
        EXPECT_FALSE(exists("o.hdf5"));
        const Ended resumed = run(folder_, resumes[k]);
        ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
        EXPECT_GE(nlohmann::json::parse(resumed.out).at("resumed_frames").get<int>(), records);
        EXPECT_TRUE(out() == one_);
        expect_clean();
    }
}

TEST_F(GlintMpi, stopped_by_ctrl_c_or_the_batch_system_it_keeps_what_is_finished) {
    for (const int signal : {SIGINT, SIGUSR1}) {
        const Ended end = stop_after(2, signal, folder_, whole_movie());
        ASSERT_FALSE(exists("o.hdf5")) << end.err;
        EXPECT_EQ(occurrences(end.err, "glint: stopping"), 1) << end.err;
        if (signal == SIGUSR1) {  // after Ctrl-C mpirun may kill the ranks before the partial file is written
            EXPECT_EQ(end.exit_code, 130) << end.err;
            ASSERT_TRUE(exists("o.partial.hdf5")) << end.err;
            EXPECT_GT(read_localizations(folder_ / "o.partial.hdf5").size(), 0u);
        }
        const Ended refused = ranks(2, movie() + " -o o.hdf5 -q" + on_cpu);
        EXPECT_EQ(refused.exit_code, 2) << "finished work must not be lost";
        const Ended resumed = ranks(3, movie() + " -o o.hdf5 --resume -q" + on_cpu);
        ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
        EXPECT_TRUE(out() == one_);
        expect_clean();
        fs::remove(folder_ / "o.hdf5"), fs::remove(folder_ / "o.yaml");
    }
}

TEST_F(GlintMpi, other_options_on_resume_are_refused_and_named_once) {
    const Ended stopped = stop_after(2, SIGUSR1, folder_, whole_movie());
    ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
    for (const std::string& program : {mpirun(4), std::string("glint localize ")}) {
        const Ended end = run(folder_, program + movie() + " -o o.hdf5 --resume --threshold 7 -q" + on_cpu);
        EXPECT_EQ(end.exit_code, 2);
        EXPECT_EQ(occurrences(end.err, "threshold (5 then, 7 now)"), 1) << end.err;
    }
    EXPECT_EQ(run(folder_, "glint localize " + movie() + " -o o.hdf5 -q" + on_cpu).exit_code, 2);
    ASSERT_EQ(run(folder_, "glint localize " + movie() + " -o o.hdf5 --overwrite -q" + on_cpu).exit_code, 0);
    EXPECT_TRUE(out() == one_);
    expect_clean();
}

TEST_F(GlintMpi, a_full_disk_is_said_once_and_costs_nothing_finished) {
    // RLIMIT_FSIZE of 100 kB for the ranks, not for mpirun. It applies to shared memory as well, so none is used.
    const std::string program = (bin() / "glint-mpi").string();
    const Ended end = run(folder_, GLINT_MPIRUN " --mca btl tcp,self -n 4 sh -c 'ulimit -f 200; exec " + program +
                                       " localize " + movie() + " -o o.hdf5 -q" + on_cpu + "'");
    EXPECT_EQ(end.exit_code, 4) << end.err;
    EXPECT_EQ(occurrences(end.err, "glint: rank "), 1) << end.err;
    EXPECT_NE(end.err.find("--resume"), std::string::npos) << end.err;
    const Ended resumed = ranks(4, movie() + " -o o.hdf5 --resume --json -q" + on_cpu);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_GT(nlohmann::json::parse(resumed.out).at("resumed_frames").get<int>(), 0);
    EXPECT_TRUE(out() == one_);
}

TEST_F(GlintMpi, errors_before_the_first_frame_are_said_once) {
    struct Case {
        std::string arguments, words;
        int exit_code;
    };
    for (const Case& wrong : {Case{movie() + " -o nowhere/o.hdf5" + on_cpu, "nowhere", 4},
                              Case{"none.tif -o o.hdf5" + on_cpu, "none.tif", 3},
                              Case{movie() + " -o o.hdf5 --nonsense" + on_cpu, "--nonsense", 2},
                              Case{movie() + " -o o.txt" + on_cpu, "o.txt", 2}}) {
        const Ended end = ranks(3, wrong.arguments + " -q");
        EXPECT_EQ(end.exit_code, wrong.exit_code) << wrong.arguments << end.err;
        EXPECT_EQ(occurrences(end.err, "glint: "), 1) << end.err;
        EXPECT_NE(end.err.find(wrong.words), std::string::npos) << end.err;
        EXPECT_EQ(folder_.names(), (std::vector<std::string>{".err", ".out"}));
    }
}

TEST_F(GlintMpi, a_frame_that_cannot_be_read_leaves_the_others) {
    constexpr int pages = 200, bad = 90;
    write_tiff(folder_ / "bad.tif", std::vector<TiffPageOptions>(
                                        pages, {.width = 64, .height = 64, .compression = COMPRESSION_ADOBE_DEFLATE}));
    TIFF* tiff = TIFFOpen((folder_ / "bad.tif").c_str(), "r");
    TIFFSetDirectory(tiff, bad);
    const auto offset = std::streamoff(TIFFGetStrileOffset(tiff, 0));
    TIFFClose(tiff);
    std::fstream(folder_ / "bad.tif", std::ios::in | std::ios::out | std::ios::binary).seekp(offset) << "not deflated";
    const Ended end = ranks(4, "bad.tif -o o.csv -q" + on_cpu);
    EXPECT_EQ(end.exit_code, 3) << end.err;
    EXPECT_EQ(occurrences(end.err, "glint: rank "), 1) << end.err;
    EXPECT_NE(end.err.find("bad.tif: frame 90 cannot be read"), std::string::npos) << end.err;
    EXPECT_TRUE(exists("o.partial.csv"));
    EXPECT_FALSE(exists("o.csv"));
}

TEST_F(GlintMpi, several_movies_go_one_after_the_other) {
    fs::create_directory(folder_ / "in");
    for (const char* name : {"a", "b"})
        ASSERT_EQ(run(folder_, std::string("glint simulate -o in/") + name +
                                   ".tif --size 48 --frames 30 --spots 4 --sigma 130nm --pixel-size 100nm -q --seed " +
                                   std::to_string(name[0]))
                      .exit_code,
                  0);
    ASSERT_EQ(run(folder_, "glint localize in/a.tif in/b.tif -o one/ -q" + on_cpu).exit_code, 0);
    const Ended end = ranks(3, "in/a.tif in/b.tif -o many/ -q --json" + on_cpu);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(nlohmann::json::parse(end.out).size(), 2u);
    for (const std::string name : {"a.hdf5", "b.hdf5"}) EXPECT_TRUE(out("many/" + name) == out("one/" + name)) << name;
}

TEST_F(GlintMpi, help_shows_how_to_start_it) {
    const Ended end = run(folder_, (bin() / "glint-mpi").string() + " --help");
    EXPECT_EQ(end.exit_code, 0);
    EXPECT_NE(end.out.find("mpirun -n 8"), std::string::npos);
    EXPECT_NE(end.out.find("srun "), std::string::npos);
}

// 4 ranks on 2 GPUs with room for two each: ranks lease free memory and wait for the rest.
TEST_F(GlintMpi, tests_at_the_same_time_share_no_folder_of_open_mpi) {
    const Ended end = run(folder_, std::string(GLINT_MPIRUN) + " -n 1 printenv OMPI_FILE_LOCATION");
    if (end.out.empty()) GTEST_SKIP() << "this MPI does not say where its folder is";
    EXPECT_TRUE(end.out.starts_with(mpi_files_->path().string())) << end.out;
}

TEST_F(GlintMpi, a_flag_that_takes_no_value_gets_none) {
    const Ended end = ranks(2, movie() + " -o o.hdf5 --overwrite=1e308" + on_cpu);
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_NE(end.err.find("--overwrite takes no value, and got 1e308"), std::string::npos) << end.err;
    EXPECT_NE(ranks(2, movie() + " -o o.hdf5 --gain ''" + on_cpu).exit_code, 0);
}

TEST_F(GlintMpi, on_shared_gpus_the_file_is_that_of_one_process) {
    const std::string server = (bin().parent_path() / "simgpu").string();
    if (!fs::exists(server + "/libsimgpu_all_kernels.so")) GTEST_SKIP() << "no simulated server in " << server;
    const std::string variables =
        "export LD_LIBRARY_PATH=" + server + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SIMGPU_KERNELS=" + server +
        "/libsimgpu_all_kernels.so SIMGPU_DEVICES=2x4GiB SIMGPU_TIME_SCALE=0.02" +
        " SIMGPU_STATE=" + folder_.path().string() + "/.state GLINT_LEASE_DIR=" + folder_.path().string() +
        "/.leases; unset CUDA_VISIBLE_DEVICES GLINT_GPU_MEMORY_LIMIT SIMGPU_FAULT; ";
    const std::string on_gpu = given + " --backend gpu --frames 0:60 -q";
    const Ended one = run(folder_, variables + "glint localize " + movie() + " -o one.csv" + on_gpu);
    if (one.err.find("without kernels") != std::string::npos) GTEST_SKIP() << one.err;
    ASSERT_EQ(one.exit_code, 0) << one.err;
    const Ended end = run(folder_, variables + mpirun(4) + movie() + " -o o.csv --json" + on_gpu);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(out("o.csv") == out("one.csv"));
    for (const auto& rank : nlohmann::json::parse(end.out).at("ranks")) {
        const bool idle = rank.at("fit").at("fits").get<int>() == 0;
        EXPECT_EQ(rank.at("fit").at("backend"), idle ? "" : "gpu");
    }
}
