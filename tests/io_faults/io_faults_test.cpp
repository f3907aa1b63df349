// Runs every command that writes. Each call that changes a file fails once, and once the process is killed there.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <ostream>

#include "glint/movie_io.hpp"
#include "tests/run_program.hpp"
#include "tests/thorough.hpp"

using namespace glint::test;
namespace fs = std::filesystem;

namespace {

using Files = std::map<std::string, std::string>;  ///< names and bytes

struct Case {
    std::string name, command;
    std::string again;  ///< flags to repeat the command after a failure
    Files before = {};  ///< existing files that the command replaces
    bool parts = false;
};

void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }

const std::string camera = " --pixel-size 100nm --offset 100 --gain 1";
const std::string spots = camera + " --sigma 130nm -q";

const Case cases[] = {
    {"localize_hdf5", "localize m.tif -o o.hdf5" + spots, " --resume"},
    {"localize_csv", "localize m.tif -o o.csv" + spots, " --resume"},
    {"localize_smlm", "localize m.tif -o o_smlm.h5" + spots, " --resume"},
    {"localize_parts", "localize m.tif -o o.hdf5" + spots, " --resume", {}, true},
    {"localize_over_older",
     "localize m.tif -o o.hdf5 --overwrite" + spots,
     " --resume",
     {{"o.hdf5", "old table"}, {"o.yaml", "old description"}}},
    {"fit_hdf5", "fit r.npy -o o.hdf5" + spots, " --overwrite"},
    {"fit_over_older",
     "fit r.npy -o o.hdf5 --overwrite" + spots,
     "",
     {{"o.hdf5", "old table"}, {"o.yaml", "old description"}}},
    {"fit_csv_over_older", "fit r.npy -o o.csv --overwrite" + spots, "", {{"o.csv", "old table"}}},
    {"convert", "convert t.csv t.csv -o o.hdf5 --pixel-size 100nm -q", " --overwrite"},
    {"filter", "filter t.csv -o o.hdf5 --where 'frame >= 0' --pixel-size 100nm -q", " --overwrite"},
    {"cluster", "cluster t.csv -o o.hdf5 --radius 50nm --centers c.csv --pixel-size 100nm -q", " --overwrite"},
    {"resolution",
     "resolution t.csv -o o.csv --map o.tif --density d.tif --finest 100nm --split blocks --pixel-size 100nm -q",
     " --overwrite"},
    {"report", "report t.csv -o o.html --pixel-size 100nm --no-resolution -q", " --overwrite"},
    {"render_png", "render t.csv -o o.png --pixel-size 100nm", " --overwrite"},
    {"render_tif", "render t.csv -o o.tif --pixel-size 100nm", " --overwrite"},
    {"preview", "localize m.tif --preview 0 -o o.png --sigma 1.3px --offset 100 --gain 1", " --overwrite"},
    {"simulate", "simulate -o o.tif --frames 3 --size 24 --spots 2 -q", " --overwrite"},
    {"simulate_over_older",
     "simulate -o o.tif --overwrite --frames 3 --size 24 --spots 2 -q",
     "",
     {{"o.tif", "old movie"}, {"o_truth.csv", "old truth"}}},
    {"calibrate", "calibrate astigmatism b.tif -o o.toml --plot o.png --z-step 50nm -q" + camera, " --overwrite"},
    {"calibrate_over_older",
     "calibrate astigmatism b.tif -o o.toml --plot o.png --overwrite --z-step 50nm -q" + camera,
     "",
     {{"o.toml", "old curve"}, {"o.png", "old plot"}}},
    {"calibrate_camera", "calibrate camera --dark m.tif --gain 1 -o o.toml -q", " --overwrite"},
    {"calibrate_camera_over_older",
     "calibrate camera --dark m.tif --gain 1 -o o.toml --overwrite -q",
     "",
     {{"o.toml", "old camera"}, {"o_maps.hdf5", "old maps"}}},
};

/// In an ordinary run, one call in each group of this size fails; the commit's hash chooses which.
constexpr int step = 5;

class IoFaults : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        ASSERT_EQ(
            run(folder_,
                "glint simulate -o m.tif --frames 12 --size 32 --spots 3 -q && glint localize m.tif -o t.csv" + spots)
                .exit_code,
            0);
        write_rois();
        write_beads();
        folder_.write("known_leaks", "leak:libhdf5\n");  // HDF5 does not free a file's structure when its close() fails
        for (const std::string& name : folder_.names()) inputs_[name] = "";
        inputs_[".out"] = inputs_[".err"] = "";
        library_ = fs::read_symlink("/proc/self/exe").replace_filename("libio_faults.so");
        ASSERT_TRUE(fs::exists(library_)) << library_;
    }

    /// Writes forty ROIs of 7x7 px with a spot, as .npy.
    void write_rois() {
        std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (40, 7, 7), }";
        header.resize(118 - 1, ' ');
        header += '\n';
        std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + char(118) + '\0' + header;
        for (int k = 0; k < 40; ++k)
            for (int y = 0; y < 7; ++y)
                for (int x = 0; x < 7; ++x) {
                    const int far = (x - 3) * (x - 3) + (y - 3) * (y - 3);
                    const int count = 110 + (far < 6 ? 400 >> far : 0) + (k * 7 + x * 3 + y * 5) % 11;
                    bytes += char(count & 255);
                    bytes += char(count >> 8);
                }
        folder_.write("r.npy", bytes);
    }

    /// Writes slices of a bead through the focus of an astigmatic lens: 21 slices, 50 nm apart.
    void write_beads() const {
        constexpr int edge = 32, slices = 21;
        glint::MovieInfo info;
        info.width = info.height = edge, info.frames = slices;
        glint::FrameBlock block{0, slices, edge, edge, glint::PixelType::uint16, {}};
        for (int slice = 0; slice < slices; ++slice)
            for (int y = 0; y < edge; ++y)
                for (int x = 0; x < edge; ++x) {
                    const double z_um = 0.05 * (slice - slices / 2);
                    const auto width = [&](double focus_um) {
                        return 1.3 * std::sqrt(1 + std::pow((z_um - focus_um) / 0.4, 2));
                    };
                    const double sx = width(0.2), sy = width(-0.2);
                    const double dx = (x - 15.6) / sx, dy = (y - 16.2) / sy;
                    const auto count =
                        std::uint16_t(110 + 20000 / (6.283 * sx * sy) * std::exp(-(dx * dx + dy * dy) / 2));
                    block.bytes.push_back(std::byte(count & 255)), block.bytes.push_back(std::byte(count >> 8));
                }
        glint::TiffMovieWriter writer(folder_ / "b.tif", info);
        writer.append(block);
        writer.close();
    }

    void clear() {
        for (const std::string& name : folder_.names())
            if (!inputs_.count(name)) fs::remove_all(folder_ / name);
        for (const auto& [name, bytes] : GetParam().before) folder_.write(name, bytes);
        if (GetParam().parts) fs::create_directory(folder_ / "o.hdf5.journal.parts");
    }

    /// Returns the files that the command wrote or left.
    Files made() const {
        Files files;
        for (const std::string& name : folder_.names())
            if (!inputs_.count(name))
                files[name] = fs::is_directory(folder_ / name) ? "folder" : read_bytes(folder_ / name);
        return files;
    }

    Ended with_fault(int at, const std::string& kind) {
        const std::string count =
            (fs::temp_directory_path() / (folder_.path().filename().string() + ".count")).string();
        const Ended end =
            run(folder_,
                "export GLINT_FAULT_FOLDER=" + folder_.path().string() + " GLINT_FAULT_COUNT=" + count +
                    " GLINT_FAULT_AT=" + std::to_string(at) + " GLINT_FAULT_KIND=" + kind +
                    " ASAN_OPTIONS=verify_asan_link_order=0 LSAN_OPTIONS=print_suppressions=0:suppressions=known_leaks"
                    " GLINT_THREADS=1 GLINT_BACKEND=cpu; exec env LD_PRELOAD=" +
                    library_.string() + " glint " + GetParam().command);
        const std::string text = read_bytes(count);
        calls_ = text.empty() ? 0 : std::stoi(text);
        fs::remove(count);
        return end;
    }

    Ended again() {
        return run(folder_, "GLINT_THREADS=1 GLINT_BACKEND=cpu exec glint " + GetParam().command + GetParam().again);
    }

    /// Expects that no new file of a pair is beside an old one.
    void expect_no_mixed_pair(const Files& reference, const std::string& where) const {
        const Files now = made();
        for (const auto& [described, description] : {std::pair{"o.hdf5", "o.yaml"},
                                                     {"o.tif", "o_truth.csv"},
                                                     {"o.toml", "o.png"},
                                                     {"o_maps.hdf5", "o.toml"}}) {
            if (!reference.count(description) || !now.count(described) || !now.count(description)) continue;
            EXPECT_EQ(now.at(described) == reference.at(described), now.at(description) == reference.at(description))
                << where;
        }
    }

    /// Expects that each older file is complete, or replaced by the complete new one.
    void expect_nothing_lost(const Files& reference, const std::string& where) const {
        const Files now = made();
        bool replaced = false;
        for (const char* name : {"o.hdf5", "o.csv", "o.tif", "o.toml", "o_maps.hdf5"})
            replaced |= now.count(name) && reference.count(name) && now.at(name) == reference.at(name);
        for (const auto& [name, bytes] : GetParam().before) {
            bool kept = false;
            for (const auto& [left, its_bytes] : now) kept |= its_bytes == bytes;
            EXPECT_TRUE(kept || replaced) << where << ": " << name;
        }
    }

    TemporaryFolder folder_;
    Files inputs_;
    fs::path library_;
    int calls_ = 0;
};

}  // namespace

TEST_P(IoFaults, each_call_fails_once_and_is_the_last_once) {
    clear();
    const Ended whole = with_fault(0, "fail");
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const Files reference = made();
    const int calls = calls_;
    ASSERT_GT(calls, 3) << "the calls are not seen";
    int tried = 0;
    for (const std::string kind : {"fail", "kill"})
        for (int at = 1; at <= calls; ++at) {
            if (!has_turn(at, std::min(step, calls))) continue;
            ++tried;
            const std::string where = kind + " at call " + std::to_string(at) + " of " + std::to_string(calls);
            clear();
            const Ended end = with_fault(at, kind);
            expect_no_mixed_pair(reference, where);
            if (kind == "kill")
                EXPECT_EQ(end.exit_code, 128 + 9) << where;
            else if (end.exit_code == 0)
                for (const auto& [name, bytes] : reference) EXPECT_TRUE(made()[name] == bytes) << where << ": " << name;
            else
                EXPECT_TRUE(end.exit_code == 4 && end.err.find("glint: cannot ") != end.err.npos)
                    << where << ": exit " << end.exit_code << "\n"
                    << end.err;
            expect_nothing_lost(reference, where);
            if (made() == reference) continue;
            const Ended resumed = again();
            EXPECT_EQ(resumed.exit_code, 0) << where << "\n" << end.err << resumed.err;
            const Files now = made();
            EXPECT_TRUE(now == reference) << where << "\n" << end.err << ::testing::PrintToString(folder_.names());
        }
    std::printf("%d cases\n", tried);
}

INSTANTIATE_TEST_SUITE_P(Commands, IoFaults, ::testing::ValuesIn(cases),
                         [](const auto& which) { return which.param.name; });

// The journal and the text of the rows are written simultaneously. If a write fails once, the run continues and the
// table is complete.
TEST(IoFaultsOfLargeTables, a_call_that_fails_once_in_the_middle_costs_nothing) {
    TemporaryFolder folder, elsewhere;
    const std::string localize = "localize m.tif -o o.csv --threads 2 --backend cpu" + spots;
    const std::string count = (elsewhere / "count").string();
    const std::string library = fs::read_symlink("/proc/self/exe").replace_filename("libio_faults.so").string();
    ASSERT_EQ(
        run(folder, "glint simulate -o m.tif --structure random --frames 2400 --size 128 --spots 40 -q").exit_code, 0);
    const auto with_fault = [&](int at) {
        fs::remove(folder / "o.csv");
        return run(folder, "export GLINT_FAULT_FOLDER=" + folder.path().string() + " GLINT_FAULT_COUNT=" + count +
                               " GLINT_FAULT_AT=" + std::to_string(at) +
                               " GLINT_FAULT_KIND=fail ASAN_OPTIONS=verify_asan_link_order=0; exec env LD_PRELOAD=" +
                               library + " glint " + localize);
    };
    ASSERT_EQ(with_fault(0).exit_code, 0);
    const std::string whole = read_bytes(folder / "o.csv");
    const int calls = std::stoi(read_bytes(count));
    for (const int percent : {50, 60, 70, 80}) {
        SCOPED_TRACE(percent);
        const Ended end = with_fault(calls * percent / 100);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        EXPECT_TRUE(read_bytes(folder / "o.csv") == whole);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{".err", ".out", "m.tif", "m_truth.csv", "o.csv"}));
    }
}
