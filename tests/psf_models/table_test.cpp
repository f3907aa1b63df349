// A PSF that is a table of coefficients: single and joint fits, by the program, by a warm worker, by several ranks, and
// resumed. The reference is the astigmatic PSF from which the table was computed.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/localization_io.hpp"
#include "glint/simulate.hpp"
#include "gpu/driver.hpp"
#include "psf/in_double.hpp"
#include "psf/psf_text.hpp"
#include "tests/expect_error.hpp"
#include "tests/hold.hpp"
#include "tests/typical_psf.hpp"
#include "warm_worker/fit_job.hpp"

namespace glint::test {
namespace {

constexpr double pixel_nm = 100;

Psf tabulated() { return typical_psf(parse_psf_model("TabulatedXYZNB")); }

Rois electrons_of(const RoiSimulation& s, const Psf& psf) {
    std::array<std::vector<float>, max_parameters> truth;
    return simulate_rois(s, psf, pixel_nm, Camera{}, truth);
}

/// Writes the files that a user gives: cal.toml and the coefficients beside it.
void write_table(const TemporaryFolder& folder, const PsfTable& table) {
    const auto& [depths, height, width, one] = table.shape();
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(depths) + ", " +
                         std::to_string(height) + ", " + std::to_string(width) + "), }";
    header.resize(128 - 10 - 1, ' ');
    header += '\n';
    const std::uint16_t length = std::uint16_t(header.size());
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(header);
    bytes.append(reinterpret_cast<const char*>(table.values().data()), table.values().size_bytes());
    folder.write("psf.npy", bytes);
    folder.write("cal.toml", "[table]\nfile = \"psf.npy\"\npixel_size_um = 0.1\nz_min_um = -0.6\nz_max_um = 0.6\n");
}

const std::string given =
    " --psf TabulatedXYZNB --calibration cal.toml --pixel-size 100nm --offset 100 --gain 1 --threshold 12";

std::string program(const char* name) {
    return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string() + " ";
}

/// Writes a movie of molecules in 3D, simulated with the reference.
void make_movie(const TemporaryFolder& folder, int frames) {
    folder.write(
        "astigmatic.toml",
        "[astigmatism]\nsx0_um = 0.13\nsy0_um = 0.13\ngamma_um = 0.2\nd_um = 0.4\nax = 0.0\nbx = 0.0\nay = 0.0\n"
        "by = 0.0\nz_min_um = -0.6\nz_max_um = 0.6\nroi_px = 0\npixel_size_um = 0.0\n");
    const Ended made =
        run(folder, program("glint_more") +
                        "simulate -o m.tif -q --structure random --size 64x64 --spots 5 --photons 4000:4000 "
                        "--background 10 --z-range 500nm --calibration astigmatic.toml --pixel-size 100nm "
                        "--offset 100 --gain 1 --seed 4 --frames " +
                        std::to_string(frames));
    ASSERT_EQ(made.exit_code, 0) << made.err;
}

/// Expects as many errors of z within one and within two standard errors as for a Gaussian.
void expect_right_z(const Localizations& found, const Localizations& truth) {
    constexpr double near_px = 1;
    int rows = 0, within_one = 0, within_two = 0;
    for (std::size_t k = 0; k < found.size(); ++k)
        for (std::size_t j = 0; j < truth.size(); ++j)
            if (truth.frame[j] == found.frame[k] &&
                std::hypot(truth.x_px[j] - found.x_px[k], truth.y_px[j] - found.y_px[k]) < near_px) {
                const double pull = std::abs(found.z_nm[k] - truth.z_nm[j]) / found.lpz_nm[k];
                ++rows, within_one += pull < 1, within_two += pull < 2;
                break;
            }
    ASSERT_GT(rows, 150);
    const auto expect_share = [&](int within, double share) {
        // Five standard errors of the sample, and a margin for neighbours and the bounds of z.
        EXPECT_NEAR(double(within) / rows, share, 5 * std::sqrt(share * (1 - share) / rows) + 0.03) << rows;
    };
    expect_share(within_one, 0.683), expect_share(within_two, 0.954);
}

}  // namespace

TEST(MoreModels, of_a_table_are_what_it_was_made_of) {
    const Psf psf = tabulated(), reference = typical_psf(PsfModel::AstigmaticXYZNB);
    constexpr int size = 21;
    for (const double z_um : {-0.5, -0.13, 0.0, 0.31, 0.55})
        for (const double x : {10.0, 9.7, 10.45}) {
            const double theta[] = {x, 10.2, 1, 0, z_um};
            std::vector<double> image(size * size), wanted(size * size);
            PsfInDouble(psf, pixel_nm).add_photons(theta, 0, 0, size, size, image.data());
            PsfInDouble(reference, pixel_nm).add_photons(theta, 0, 0, size, size, wanted.data());
            for (std::size_t k = 0; k < image.size(); ++k) EXPECT_NEAR(image[k], wanted[k], 5e-5) << z_um << " " << k;
        }
    EXPECT_EQ(psf.z_range().min_nm, -600);
    EXPECT_DOUBLE_EQ(psf.detection_sigma_nm(), 1.5 * pixel_nm);
}

TEST(MoreModels, of_a_table_fit_what_its_reference_fits) {
    const Psf psf = tabulated(), reference = typical_psf(PsfModel::AstigmaticXYZNB);
    RoiSimulation s;
    s.count = 500, s.size = 13, s.z_range_nm = 450, s.photons_min = s.photons_max = 3000;
    const Rois rois = electrons_of(s, reference);
    const Fits fits = fit(rois, psf, pixel_nm), wanted = fit(rois, reference, pixel_nm);
    int apart = 0;
    for (std::size_t k = 0; k < rois.count(); ++k)
        for (std::size_t parameter : {0, 1, 2, 4})
            apart +=
                !(std::abs(fits.theta[parameter][k] - wanted.theta[parameter][k]) < 0.05f * wanted.crlb[parameter][k]);
    EXPECT_LE(apart, 4) << "of 2,000: those with two maxima along z";
}

TEST(MoreModels, of_a_table_refuse_what_is_none_of_theirs) {
    const std::vector<float> eight(8, 1);
    const PsfTable::Scale scale{pixel_nm, -600, 600};
    expect_error<OptionError>([&] { PsfTable({2, 2, 3, 1}, eight, scale); }, {"2 x 2 x 3 x 1", "12", "8"});
    expect_error<OptionError>([&] { PsfTable({0, 2, 4, 1}, eight, scale); }, {"0 x 2 x 4 x 1", "1 or more"});
    expect_error<OptionError>(
        [&] {
            PsfTable({1 << 16, 1 << 16, 1 << 16, 1 << 16}, eight, scale);
        },
        {"at most 16777216"});
    expect_error<OptionError>(
        [&] {
            PsfTable({2, 2, 2, 1}, {1, 1, 1, NAN, 1, 1, 1, 1}, scale);
        },
        {"coefficient 3", "nan"});
    expect_error<OptionError>(
        [&] {
            PsfTable({2, 2, 2, 1}, eight, {0.1, -600, 600});
        },
        {"pixels of 0.1 nm", "nanometres, at least 1"});
    expect_error<OptionError>(
        [&] {
            PsfTable({2, 2, 2, 1}, eight, {pixel_nm, -0.6, 0.6});
        },
        {"from z = -0.6 to 0.6 nm", "at least 10"});

    Psf psf = tabulated();
    expect_error<OptionError>([&] { check_psf(psf, 160); }, {"100 nm", "160 nm", "pixel_size"});
    psf.table = std::make_shared<const PsfTable>(PsfTable::Shape{2, 2, 2, 1}, eight, scale);
    expect_error<OptionError>([&] { check_psf(psf, pixel_nm); }, {"2 x 2 x 2 x 1", "at least 4 x 4 x 4 x 1"});
    expect_error<OptionError>([&] { psf.detection_sigma_nm(); }, {"at least 4 x 4 x 4 x 1"});  // checked before the fit
    psf.table = {};
    expect_error<OptionError>([&] { check_psf(psf, pixel_nm); }, {"TabulatedXYZNB", "`calibration=FILE`"});
    Psf gaussian = typical_psf(PsfModel::GaussianXYNB);
    gaussian.table = tabulated().table;
    expect_error<OptionError>([&] { check_psf(gaussian, pixel_nm); }, {"GaussianXYNB", "no use for a table"});
}

TEST(MoreModels, of_a_table_are_a_text_with_its_hash) {
    const Psf psf = tabulated();
    const Psf back = parse_psf(to_text(psf), psf.table);
    EXPECT_EQ(back.table, psf.table);
    EXPECT_EQ(to_text(back), to_text(psf));
    std::vector<float> values(psf.table->values().begin(), psf.table->values().end());
    const auto same = std::make_shared<const PsfTable>(psf.table->shape(), values, psf.table->scale());
    EXPECT_EQ(same->hash(), psf.table->hash());
    values[12345] += 1e-6f;
    const auto other = std::make_shared<const PsfTable>(psf.table->shape(), values, psf.table->scale());
    Psf of_other = psf;
    of_other.table = other;
    EXPECT_NE(content_hash(of_other), content_hash(psf));
    EXPECT_NE(psf_setting(of_other), psf_setting(psf));
    expect_error<InputError>([&] { parse_psf(to_text(psf), other); }, {"table="});
    expect_error<InputError>([&] { parse_psf(to_text(psf)); }, {"table="});
    const PsfTable::Scale deeper{pixel_nm, -600, 700};
    EXPECT_NE(PsfTable(psf.table->shape(), values, deeper).hash(), other->hash());
}

TEST(MoreModels, of_a_table_reach_a_worker_whole_or_not_at_all) {
    const Psf psf = tabulated();
    const warm_worker::FitSetup setup = warm_worker::setup_of(psf, pixel_nm, {});
    const warm_worker::LargeParts parts{nullptr, psf.table};
    std::vector<std::byte> memory(warm_worker::num_bytes(parts));
    warm_worker::pack(parts, memory);
    const auto there = warm_worker::unpack({}, setup, memory);
    ASSERT_TRUE(there);
    EXPECT_TRUE(warm_worker::is_sound(setup, *there));
    EXPECT_EQ(to_text(warm_worker::psf_of(setup, *there)), to_text(psf));
    EXPECT_FALSE(warm_worker::unpack({}, setup, std::span(memory).first(memory.size() - 8)));
    EXPECT_FALSE(warm_worker::is_sound(setup, {}));
    memory[memory.size() / 2] ^= std::byte(1);  // a bit of a coefficient: another table
    const auto changed = warm_worker::unpack({}, setup, memory);
    ASSERT_TRUE(changed);
    EXPECT_FALSE(warm_worker::is_sound(setup, *changed));
}

TEST(MoreModels, of_a_table_are_read_from_files) {
    const TemporaryFolder folder;
    write_table(folder, *tabulated().table);
    make_movie(folder, 60);
    Ended end = run(folder, program("glint_more") + "localize m.tif -o a.csv --backend cpu -q" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const Localizations truth = read_truth(folder / "m_truth.csv", 100);
    expect_right_z(read_localizations(folder / "a.csv", {}, 100), truth);
    end = run(folder, program("glint_more") + "localize m.tif -o single.csv --emitters 1 --backend cpu -q" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    expect_right_z(read_localizations(folder / "single.csv", {}, 100), truth);

    const auto refused = [&](const std::string& toml, const std::string& words) {
        folder.write("bad.toml", toml);
        const Ended bad = run(folder, program("glint_more") +
                                          "localize m.tif -o b.csv --psf TabulatedXYZNB --calibration bad.toml "
                                          "--pixel-size 100nm --offset 100 --gain 1");
        EXPECT_NE(bad.exit_code, 0);
        EXPECT_NE(bad.err.find(words), std::string::npos) << bad.err;
        EXPECT_FALSE(std::filesystem::exists(folder / "b.csv"));
    };
    const std::string scale = "pixel_size_um = 0.1\nz_min_um = -0.6\nz_max_um = 0.6\n";
    refused("[table]\n" + scale, "file is missing");
    refused("[table]\nfile = \"none.npy\"\n" + scale, "none.npy");
    refused("[table]\nfile = \"psf.npy\"\npixel_size_um = 0.1\nz_min_um = 1\nz_max_um = 0.6\n",
            "greater than z_min_um");
    refused("[table]\nfile = \"m.tif\"\n" + scale, "m.tif");
    refused("[table]\nfile = \"psf.npy\"\npixel_size_um = 0.16\nz_min_um = -1\nz_max_um = 0.6\n", "160 nm");
    const std::string whole = read_bytes(folder / "psf.npy");
    folder.write("short.npy", whole.substr(0, whole.size() / 2));
    refused("[table]\nfile = \"short.npy\"\n" + scale, "truncated");
}

TEST(MoreModels, of_a_table_resume) {
    const TemporaryFolder folder;
    write_table(folder, *tabulated().table);
    make_movie(folder, 800);
    const std::string localize = "localize m.tif --emitters 1 --backend cpu --threads 2 -q" + given;
    ASSERT_EQ(run(folder, program("glint_more") + localize + " -o whole.csv").exit_code, 0);
    const Ended killed = stop_after(2, SIGKILL, folder, program("glint_more") + localize + " -o o.csv");
    ASSERT_EQ(killed.exit_code, 128 + SIGKILL);
    // Another table under the same name is another PSF.
    const std::string coefficients = read_bytes(folder / "psf.npy");
    std::string other = coefficients;
    other[other.size() - 2] ^= 1;
    folder.write("psf.npy", other);
    const Ended refused = run(folder, program("glint_more") + localize + " -o o.csv --resume");
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find("TabulatedXYZNB table"), std::string::npos) << refused.err;
    folder.write("psf.npy", coefficients);
    const Ended resumed = run(folder, program("glint_more") + localize + " -o o.csv --resume --json");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_GT(nlohmann::json::parse(resumed.out)["resumed_frames"], 0);
    EXPECT_TRUE(read_bytes(folder / "o.csv") == read_bytes(folder / "whole.csv"));
}

TEST(MoreModels, of_a_changed_table_are_fitted_anew_by_run) {
    const TemporaryFolder folder;
    write_table(folder, *tabulated().table);
    make_movie(folder, 20);
    folder.write("recipe.toml",
                 "[camera]\npixel_size = \"100nm\"\noffset = 100\ngain = 1\n[psf]\nmodel = \"TabulatedXYZNB\"\n"
                 "calibration = \"cal.toml\"\n[localize]\nthreshold = 12\nemitters = \"1\"\n[drift]\non = false\n"
                 "[resolution]\non = false\n[render]\npicture_pixel = \"100nm\"\n");
    const auto localized_anew = [&] {
        const Ended end = run(folder, program("glint_more") + "run m.tif -o out --recipe recipe.toml --backend cpu");
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return end.err.find("localize is already finished") == std::string::npos;
    };
    EXPECT_TRUE(localized_anew());
    EXPECT_FALSE(localized_anew());
    std::string other = read_bytes(folder / "psf.npy");
    other[other.size() - 2] ^= 1;
    folder.write("psf.npy", other);
    EXPECT_TRUE(localized_anew());
}

TEST(MoreModels, of_a_table_are_not_overwritten_by_results) {
    const TemporaryFolder folder;
    write_table(folder, *tabulated().table);
    make_movie(folder, 2);
    std::filesystem::rename(folder / "psf.npy", folder / "psf.csv");
    folder.write("cal.toml", "[table]\nfile = \"psf.csv\"\npixel_size_um = 0.1\nz_min_um = -0.6\nz_max_um = 0.6\n");
    const std::string coefficients = read_bytes(folder / "psf.csv");
    const Ended end = run(folder, program("glint_more") + "localize m.tif -o psf.csv --overwrite -q" + given);
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_TRUE(read_bytes(folder / "psf.csv") == coefficients);
}

TEST(MoreModels, of_a_table_are_fitted_by_several_ranks) {
#ifdef GLINT_MPIRUN
    const TemporaryFolder folder;
    write_table(folder, *tabulated().table);
    make_movie(folder, 60);
    const std::string localize = "localize m.tif --backend cpu -q" + given;
    ASSERT_EQ(run(folder, program("glint_more") + localize + " -o whole.csv").exit_code, 0);
    const Ended end =
        run(folder, std::string(GLINT_MPIRUN) + " -n 3 " + program("glint_more_mpi") + localize + " -o o.csv");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(read_bytes(folder / "o.csv") == read_bytes(folder / "whole.csv"));
#else
    GTEST_SKIP() << "built without MPI";
#endif
}

/// On a GPU, simulated or real.
class GpuTable : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!gpu::driver().why.empty()) GTEST_SKIP() << "no GPU, and not on the simulated server: tests/simgpu/run";
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }
    TemporaryFolder folder_;
};

TEST_F(GpuTable, is_shared_with_a_warm_worker) {
    write_table(folder_, *tabulated().table);
    make_movie(folder_, 60);
    const auto localize = [&](const std::string& out, const std::string& how) {
        const Ended end = run(folder_, "export GLINT_GPU_WORKER_IDLE=3; exec " + program("glint_more") +
                                           "localize m.tif --json --gpu-timeout 60s -q -o " + out + how + given);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        const auto summary = nlohmann::json::parse(end.out);
        const auto fit = nlohmann::json::parse(end.out)["fit"];
        EXPECT_EQ(fit["backend"], how.find("cpu") == how.npos ? "gpu" : "cpu") << end.out;
        EXPECT_TRUE(fit["gpu"]["events"].empty()) << "a worker was asked for and not used? " << end.out;
    };
    for (const std::string emitters : {"1", "auto"}) {
        localize("alone.csv", " --overwrite --backend gpu --gpu-worker off --emitters " + emitters);
        localize("worker.csv", " --overwrite --backend gpu --gpu-worker auto --emitters " + emitters);
        localize("again.csv", " --overwrite --backend gpu --gpu-worker auto --emitters " + emitters);
        localize("cpu.csv", " --overwrite --backend cpu --emitters " + emitters);
        EXPECT_TRUE(read_bytes(folder_ / "worker.csv") == read_bytes(folder_ / "alone.csv")) << emitters;
        EXPECT_TRUE(read_bytes(folder_ / "again.csv") == read_bytes(folder_ / "alone.csv")) << emitters;
        const Localizations on_gpu = read_localizations(folder_ / "worker.csv", {}, 100);
        const Localizations on_cpu = read_localizations(folder_ / "cpu.csv", {}, 100);
        ASSERT_GT(on_gpu.size(), 150u);
        EXPECT_NEAR(double(on_gpu.size()), double(on_cpu.size()), 3);
        expect_right_z(on_gpu, read_truth(folder_ / "m_truth.csv", 100));
    }
}

TEST_F(GpuTable, is_that_of_the_call) {
    const Psf psf = tabulated();
    Psf deeper = psf;
    const AstigmaticCurve curve{130, 130, 100, 500, 0, 0, 0, 0, -600, 600};
    deeper.table = spline_table(curve, pixel_nm);
    RoiSimulation s;
    s.count = 300, s.size = 11, s.z_range_nm = 400;
    const Rois rois = electrons_of(s, psf);
    FitOptions options;
    options.backend = Backend::gpu, options.gpu_timeout_s = 60;
    Fitter fitter;
    for (const Psf& each : {psf, deeper, psf}) {
        const Fits on_gpu = fitter.fit(rois, each, pixel_nm, options), on_cpu = fit(rois, each, pixel_nm);
        int apart = 0;
        for (std::size_t k = 0; k < rois.count(); ++k)
            apart += !(std::abs(on_gpu.theta[4][k] - on_cpu.theta[4][k]) < 0.01f * on_cpu.crlb[4][k]);
        EXPECT_LE(apart, 3);
    }
}

}  // namespace glint::test
