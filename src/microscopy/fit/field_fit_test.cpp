// Fits with a PSF that changes over the field: each ROI, and each group of a joint fit, is fitted with its own cell.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "fit/joint/joint_fit.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/simulate.hpp"
#include "psf/psf_text.hpp"
#include "tests/expect_error.hpp"
#include "tests/field_psf.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

using test::field_psf;
using test::one_cell;
using Truth = std::array<std::vector<float>, max_parameters>;

constexpr double pixel_nm = 100;

class FieldFit : public ::testing::TestWithParam<PsfModel> {};

RoiSimulation some_rois(std::size_t count) {
    RoiSimulation how;
    how.size = 11, how.count = count, how.photons_min = 3000, how.photons_max = 6000, how.z_range_nm = 300;
    return how;
}

FitOptions on_cpu(int emitters = 1) {
    FitOptions options;
    options.backend = Backend::cpu, options.emitters = emitters;
    return options;
}

/// The cell of each ROI, from its middle.
std::vector<int> cells_of(const Rois& rois, const PsfField& field) {
    std::vector<int> cells;
    for (std::size_t k = 0; k < rois.count(); ++k)
        cells.push_back(
            field.cell_at(rois.x_corner[k] + 0.5 * (rois.size - 1), rois.y_corner[k] + 0.5 * (rois.size - 1)));
    return cells;
}

/// The ROIs of one cell.
Rois choose(const Rois& rois, const std::vector<int>& cells, int cell) {
    Rois some;
    some.size = rois.size;
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    for (std::size_t k = 0; k < cells.size(); ++k) {
        if (cells[k] != cell) continue;
        some.pixels.insert(some.pixels.end(), rois.pixels.begin() + std::ptrdiff_t(k * area),
                           rois.pixels.begin() + std::ptrdiff_t((k + 1) * area));
        some.x_corner.push_back(rois.x_corner[k]), some.y_corner.push_back(rois.y_corner[k]);
    }
    return some;
}

/// Expects that each row of `fits` is that of a fit with the table of its cell alone.
void expect_own_cells(const Fits& fits, const Rois& rois, const Psf& psf, const FitOptions& options) {
    const std::vector<int> cells = cells_of(rois, psf.table->field());
    for (int cell = 0; cell < psf.table->field().cells(); ++cell) {
        const Fits alone = fit(choose(rois, cells, cell), one_cell(psf, cell), pixel_nm, options);
        ASSERT_GT(alone.count(), 0u) << "no ROI lies in cell " << cell;
        std::size_t next = 0;
        for (std::size_t row = 0; row < fits.count(); ++row) {
            if (cells[fits.window_index(row)] != cell) continue;
            ASSERT_LT(next, alone.count());
            for (std::size_t k = 0; k < std::size_t(parameter_count(psf.model)); ++k) {
                EXPECT_EQ(fits.theta[k][row], alone.theta[k][next]) << row << " of cell " << cell;
                EXPECT_EQ(fits.crlb[k][row], alone.crlb[k][next]) << row << " of cell " << cell;
            }
            EXPECT_EQ(fits.status[row], alone.status[next]);
            EXPECT_EQ(fits.p_value[row], alone.p_value[next]);
            ++next;
        }
        EXPECT_EQ(next, alone.count());
    }
}

}  // namespace

TEST(PsfField, a_place_has_the_nearest_cell) {
    const PsfField field{3, 2, -10, 5, 40};
    EXPECT_EQ(field.cell_at(-9, 6), 0);
    EXPECT_EQ(field.cell_at(29.9, 44.9), 0);
    EXPECT_EQ(field.cell_at(30.1, 44.9), 1);
    EXPECT_EQ(field.cell_at(30.1, 45.1), 4);
    EXPECT_EQ(field.cell_at(109, 84), 5);
    EXPECT_EQ(field.cell_at(-1e9, -1e9), 0);
    EXPECT_EQ(field.cell_at(1e9, 1e9), 5);
    EXPECT_EQ(field.cell_at(1e9, -1e9), 2);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(field.cell_at(nan, nan), 0);
    EXPECT_EQ(PsfField{}.cell_at(500, 500), 0);
}

TEST(PsfField, implausible_fields_are_errors) {
    const PsfTable::Shape shape{4, 4, 4, 1};
    const auto refuses = [&](const PsfField& field, std::size_t cells, std::initializer_list<const char*> words) {
        test::expect_error<OptionError>(
            [&] {
                PsfTable(shape, std::vector<float>(64 * cells, 1), {100, 0, 100}, field);
            },
            words);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refuses({0, 1, 0, 0, 10}, 1, {"0 x 1 cells", "4096"});
    refuses({1, -3, 0, 0, 10}, 1, {"1 x -3 cells"});
    refuses({1 << 30, 1 << 30, 0, 0, 10}, 1, {"4096"});
    refuses({2, 1, 0, 0, 0}, 2, {"edge of 0 px", "1 to"});
    refuses({2, 1, 0, 0, nan}, 2, {"edge of nan px"});
    refuses({2, 1, 0, 0, 1e7}, 2, {"edge of"});
    refuses({2, 1, nan, 0, 10}, 2, {"begins at (nan, 0)"});
    refuses({2, 1, 0, 1e30, 10}, 2, {"begins at"});
    refuses({2, 2, 0, 0, 10}, 3, {"in 2 x 2 cells has 256 coefficients, not 192"});
    const PsfTable::Shape large{64, 64, 64, 1};
    test::expect_error<OptionError>(
        [&] {
            PsfTable(large, {}, {100, 0, 100}, {64, 64, 0, 0, 10});
        },
        {"64 x 64 cells", "use fewer cells"});
}

TEST(PsfField, one_cell_is_a_table_without_a_field) {
    const Psf psf = test::typical_psf(PsfModel::SplineXYZNB);
    const PsfTable& plain = *psf.table;
    Psf same = psf;
    same.table = std::make_shared<const PsfTable>(plain.shape(),
                                                  std::vector<float>(plain.values().begin(), plain.values().end()),
                                                  plain.scale(), PsfField{1, 1, 30, -20, 7});
    EXPECT_FALSE(same.has_field());
    EXPECT_EQ(same.table->hash(), plain.hash());
    EXPECT_EQ(same.table->field(), PsfField{});
    EXPECT_EQ(to_text(same), to_text(psf));
    EXPECT_EQ(psf_setting(same), psf_setting(psf));
    EXPECT_EQ(provenance_of(same), provenance_of(psf));
}

TEST(PsfField, text_and_hash_contain_it) {
    Psf psf = field_psf(PsfModel::SplineXYZNB);
    const PsfTable& table = *psf.table;
    psf.field_x_px = 128, psf.field_y_px = -3.25;
    const Psf back = parse_psf(to_text(psf), psf.table);
    EXPECT_EQ(back.field_x_px, 128);
    EXPECT_EQ(back.field_y_px, -3.25);
    EXPECT_NE(provenance_of(psf).find("3 x 2 cells of 40 px from (-138, 8.25) px"), std::string::npos);
    PsfField moved = table.field();
    moved.left_px += 1;
    const std::vector<float> values(table.values().begin(), table.values().end());
    EXPECT_EQ(PsfTable(table.shape(), values, table.scale(), table.field()).hash(), table.hash());
    EXPECT_NE(PsfTable(table.shape(), values, table.scale(), moved).hash(), table.hash());
    EXPECT_NE(table.one_cell(0)->hash(), table.one_cell(1)->hash());
}

TEST_P(FieldFit, each_roi_is_fitted_with_its_cell) {
    const Psf psf = field_psf(GetParam());
    Truth truth;
    const Rois rois = simulate_rois(some_rois(600), psf, pixel_nm, {}, truth);
    const Fits fits = fit(rois, psf, pixel_nm, on_cpu());
    expect_own_cells(fits, rois, psf, on_cpu());
    // The truth was drawn by the cells too: errors are those of the CRLB, 1 / sqrt(2 n) of them known.
    double squares = 0, one_squares = 0;
    const Fits one = fit(rois, one_cell(psf, 5), pixel_nm, on_cpu());
    for (std::size_t k = 0; k < fits.count(); ++k) {
        squares += std::pow((fits.theta[2][k] - truth[2][k]) / fits.crlb[2][k], 2);
        one_squares += std::pow((one.theta[2][k] - truth[2][k]) / one.crlb[2][k], 2);
    }
    const double n = double(fits.count());
    EXPECT_NEAR(std::sqrt(squares / n), 1, 0.05 + 4 / std::sqrt(2 * n));
    EXPECT_GT(one_squares, 1.3 * squares) << "the cells must differ, or this test shows nothing";
}

TEST_P(FieldFit, the_movies_place_in_the_field_moves_with_the_corners) {
    Psf psf = field_psf(GetParam());
    Truth truth;
    Rois rois = simulate_rois(some_rois(100), psf, pixel_nm, {}, truth);
    const Fits fits = fit(rois, psf, pixel_nm, on_cpu());
    for (std::size_t k = 0; k < rois.count(); ++k) rois.x_corner[k] -= 20, rois.y_corner[k] += 31;
    psf.field_x_px = 20, psf.field_y_px = -31;
    EXPECT_EQ(fit(rois, psf, pixel_nm, on_cpu()).theta, fits.theta);
    psf.field_x_px = 60;
    EXPECT_NE(fit(rois, psf, pixel_nm, on_cpu()).theta, fits.theta);
}

TEST_P(FieldFit, rois_without_corners_are_refused) {
    const Psf psf = field_psf(GetParam());
    Truth truth;
    Rois rois = simulate_rois(some_rois(10), psf, pixel_nm, {}, truth);
    rois.x_corner.clear();
    test::expect_error<OptionError>([&] { fit(rois, psf, pixel_nm, on_cpu()); },
                                    {"0 and 10 corners for 10 ROIs", "changes over the field", "give the corners"});
    EXPECT_NO_THROW(fit(rois, one_cell(psf, 0), pixel_nm, on_cpu()));
}

TEST_P(FieldFit, several_emitters_are_fitted_with_the_cell_of_their_roi) {
    const Psf psf = field_psf(GetParam());
    Truth truth;
    Rois rois = simulate_rois(some_rois(60), psf, pixel_nm, {}, truth);
    // Two molecules in each: the pixels of two ROIs of the same cell are added.
    const std::vector<int> cells = cells_of(rois, psf.table->field());
    const std::size_t area = 121;
    for (std::size_t k = 0; k + 1 < rois.count(); ++k)
        if (cells[k] == cells[k + 1])
            for (std::size_t p = 0; p < area; ++p) rois.pixels[k * area + p] += rois.pixels[(k + 1) * area + p];
    const Fits fits = fit(rois, psf, pixel_nm, on_cpu(any_emitters));
    EXPECT_GT(fits.count(), rois.count());
    expect_own_cells(fits, rois, psf, on_cpu(any_emitters));
}

TEST_P(FieldFit, a_group_is_fitted_with_the_cell_of_its_middle) {
    const Psf psf = field_psf(GetParam());
    const PsfInDouble in_double(psf, pixel_nm);
    std::mt19937 random(4);
    for (int cell = 0; cell < 6; ++cell) {
        const Rectangle at{5 + 40 * (cell % 3) - 10, 17 + 40 * (cell / 3), 15, 13};
        ASSERT_EQ(psf.table->field().cell_at(at.middle_x_px(), at.middle_y_px()), cell);
        JointFit start;
        start.bg = 10;
        std::vector<double> mu(std::size_t(at.width * at.height), start.bg);
        for (const double dx : {-2.5, 2.5}) {
            Emitter& e = start.emitters.emplace_back();
            e.theta[0] = at.middle_x_px() + dx, e.theta[1] = at.middle_y_px() + 0.3, e.theta[2] = 4000;
            in_double.typical_shape(0.1, e.theta.data() + 4);
            in_double.add_photons(e.theta.data(), at.left, at.top, at.width, at.height, mu.data());
        }
        JointPixels pixels(at);
        for (std::size_t p = 0; p < mu.size(); ++p) {
            const std::size_t to = pixels.at(at.left + int(p) % at.width, at.top + int(p) / at.width);
            pixels[JointPlane::data][to] = float(std::poisson_distribution<int>(mu[p])(random));
            pixels[JointPlane::known][to] = 0;
            pixels[JointPlane::per_photon][to] = pixels[JointPlane::searched][to] = 1;
        }
        JointFit of_field = start, of_cell = start, of_other = start;
        JointFitter(psf, pixel_nm, {}).find(pixels, of_field);
        JointFitter(one_cell(psf, cell), pixel_nm, {}).find(pixels, of_cell);
        JointFitter(one_cell(psf, (cell + 3) % 6), pixel_nm, {}).find(pixels, of_other);
        EXPECT_EQ(of_field.half_deviance, of_cell.half_deviance);
        ASSERT_EQ(of_field.emitters.size(), of_cell.emitters.size());
        for (std::size_t e = 0; e < of_field.emitters.size(); ++e)
            EXPECT_EQ(of_field.emitters[e].theta, of_cell.emitters[e].theta);
        EXPECT_NE(of_field.half_deviance, of_other.half_deviance);
        EXPECT_GT(of_field.p_value, 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, FieldFit, ::testing::Values(PsfModel::SplineXYZNB, PsfModel::SplineXYNB),
                         [](const auto& model) { return std::string(to_name(model.param)); });

TEST(PsfField, light_is_drawn_by_the_cell_of_the_molecule) {
    const Psf psf = field_psf(PsfModel::SplineXYZNB);
    const PsfInDouble in_double(psf, pixel_nm);
    for (int cell = 0; cell < 6; ++cell) {
        const double x = 12.3 + 40 * (cell % 3), y = 24.1 + 40 * (cell / 3), theta[] = {x, y, 1000, 0, 0.2};
        std::vector<double> drawn(225), here(225), expected(225);
        in_double.add_photons(theta, int(x) - 7, int(y) - 7, 15, 15, drawn.data());
        in_double.at(x, y).add_photons(theta, int(x) - 7, int(y) - 7, 15, 15, here.data());
        PsfInDouble(one_cell(psf, cell), pixel_nm).add_photons(theta, int(x) - 7, int(y) - 7, 15, 15, expected.data());
        EXPECT_EQ(drawn, expected);
        EXPECT_EQ(here, expected);
    }
}

}  // namespace glint
