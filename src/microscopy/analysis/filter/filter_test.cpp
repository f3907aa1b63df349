// Tests of conditions on rows: which rows they choose, and where their errors point.
// SPDX-License-Identifier: MIT
#include "glint/filter.hpp"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "analysis/filter/evaluate.hpp"
#include "glint/error.hpp"
#include "tests/cut_table.hpp"
#include "tests/localization_table.hpp"

using namespace glint;
using namespace glint::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Ten rows: x from 0 to 9 px of 100 nm, photons 100 times x, and an extra column `n` with a NaN in row 3.
Localizations ten_rows() {
    Localizations table;
    for (int k = 0; k < 10; ++k) {
        table.frame.push_back(std::uint32_t(k)), table.status.push_back(std::uint8_t(k % 2));
        table.x_px.push_back(float(k)), table.y_px.push_back(0), table.photons.push_back(float(100 * k));
        table.lpx_px.push_back(0.125f), table.z_nm.push_back(float(50 * k));
        table.extra["n"].values.push_back(k == 3 ? not_a_number : k), table.extra["my column"].values.push_back(-k);
    }
    table.pixel_size_nm = 100;
    return table;
}

std::vector<std::uint32_t> rows(const std::string& condition, const Localizations& table = ten_rows()) {
    return filter(table, std::vector{condition}).table.frame;
}
using Rows = std::vector<std::uint32_t>;

std::string error_of(const std::string& condition) {
    return message_of<OptionError>([&] { rows(condition); });
}

/// Returns the text above the carets.
std::string marked(const std::string& condition) {
    const std::string message = error_of(condition);
    const std::size_t carets = message.rfind("\n  ") + 1, text = message.rfind("\n  ", carets - 2) + 1;
    const std::size_t begin = message.find('^', carets), end = message.size();
    return begin == message.npos ? "no caret in " + message : message.substr(text + begin - carets, end - begin);
}

}  // namespace

TEST(Filter, errors_of_unicode_signs_and_a_lone_percent_say_what_to_write) {
    const auto says = [](const std::string& condition, const std::string& what) {
        EXPECT_TRUE(error_of(condition).starts_with(what)) << error_of(condition);
    };
    says("photons \u2265 5", "write >= for \u2265");
    says("photons\u22655", "write >= for \u2265\n  photons\u22655\n         ^");  // one character of three bytes
    says("x \u2264 5", "write <= for");
    says("x \u2260 5", "write != for");
    says("2 \u00d7 x > 5", "write * for");
    says("x > \u22125", "write - for");
    says("x\u00b2 > 5", "write **2 for");
    says("x >\u00a05", "write a plain space for");
    for (const char* condition : {"photons > 5%", "5 % 3 < 1", "%", "photons % 2", "(photons > 5%)", "not 5%"}) {
        says(condition, "a % is allowed only in `within 10% of`");
        EXPECT_EQ(marked(condition), "%") << condition;
    }
    Localizations table = ten_rows();
    table.extra["fl\u00e4che\u00b2"].values = table.extra["\u00b5"].values = table.extra["n"].values;
    EXPECT_EQ(rows("`fl\u00e4che\u00b2` >= 8", table), (Rows{8, 9}));
    EXPECT_EQ(rows("\u00b5 >= 8", table), (Rows{8, 9})) << "a letter";
}

TEST(Filter, comparisons_arithmetic_and_words) {
    EXPECT_EQ(rows("frame >= 7"), (Rows{7, 8, 9}));
    EXPECT_EQ(rows("photons > 200 and x < 5"), (Rows{3, 4}));
    EXPECT_EQ(rows("x < 1 or x > 8 and frame != 9"), (Rows{0}));  // `and` binds before `or`
    EXPECT_EQ(rows("(x < 1 or x > 7) and frame != 9"), (Rows{0, 8}));
    EXPECT_EQ(rows("not x > 1"), (Rows{0, 1}));  // negates the comparison
    EXPECT_EQ(rows("not not x > 8"), (Rows{9}));
    EXPECT_EQ(rows("2 < x <= 4"), (Rows{3, 4}));
    EXPECT_EQ(rows("x + 1 == 2 * 2"), (Rows{3}));
    EXPECT_EQ(rows("-x ** 2 == -9"), (Rows{3}));         // as in Python: -(x ** 2)
    EXPECT_EQ(rows("2 ** 3 ** 0 * x == 4"), (Rows{2}));  // from the right
    EXPECT_EQ(rows("2 ** -1 * x == 2"), (Rows{4}));
    EXPECT_EQ(rows("8 / 2 / 2 - 1 - 1 == x"), (Rows{0}));  // from the left
    EXPECT_EQ(rows("abs(x - 5) < 1"), (Rows{5}));
    EXPECT_EQ(rows("sqrt(x) == 3"), (Rows{9}));
    EXPECT_EQ(rows("log(x) > 2.1"), (Rows{9}));
    EXPECT_EQ(rows("min(x, 5, 8 - x) == 5 or max(x, 8) == 9"), (Rows{9}));
    EXPECT_EQ(rows("status == 1 and x > .6e1"), (Rows{7, 9}));
    EXPECT_EQ(rows("`my column` <= -9"), (Rows{9}));
}

TEST(Filter, names_have_units) {
    for (const char* condition :
         {"x_nm > 750", "x_um > 0.75", "x_px > 7.5", "lpx_nm * x > 93.75", "z_um >= 0.4", "z_px >= 4"})
        EXPECT_EQ(rows(std::string(condition) + " and z >= 400 and z_nm >= 400"), (Rows{8, 9})) << condition;
    Localizations unknown = ten_rows();
    unknown.pixel_size_nm = 0;
    EXPECT_EQ(rows("x_px > 8 and z_um > 0", unknown), (Rows{9}));
    EXPECT_HAS(message_of<OptionError>([&] { rows("x_nm > 8", unknown); }), "`written_pixel_size=100nm`");
    EXPECT_HAS(message_of<OptionError>([&] { rows("neighbors(5nm) > 8", unknown); }), "`written_pixel_size=100nm`");
}

TEST(Filter, comparisons_with_nan_are_false) {
    EXPECT_EQ(rows("n == 3 or n != 3").size(), 9u);
    EXPECT_EQ(rows("not n > 100").size(), 10u);  // the comparison is false, so its negation holds
    EXPECT_EQ(rows("log(x - 5) > -1000"), (Rows{6, 7, 8, 9}));
    EXPECT_EQ(rows("min(n, 4) == 3 or max(4, n) < 4"), (Rows{}));
    EXPECT_EQ(rows("n >= percentile(n, 100)"), (Rows{9}));
}

TEST(Filter, clauses_are_counted_alone_and_in_turn) {
    const std::vector<std::string> conditions = {"x > 2 and (x < 5 or x > 7) and status == 0", "4 <= x < 9"};
    const Filtered out = filter(ten_rows(), conditions);
    EXPECT_EQ(out.table.frame, (Rows{4, 8}));
    const std::vector<FilterClause> wanted = {
        {"x > 2", 7, 7}, {"(x < 5 or x > 7)", 7, 4}, {"status == 0", 5, 2}, {"4 <= x", 6, 2}, {"x < 9", 9, 2}};
    ASSERT_EQ(out.clauses.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(out.clauses[k].text, wanted[k].text);
        EXPECT_EQ(out.clauses[k].fulfilled, wanted[k].fulfilled) << wanted[k].text;
        EXPECT_EQ(out.clauses[k].left, wanted[k].left) << wanted[k].text;
    }
    EXPECT_EQ(out.table.extra.at("my column").values, (std::vector<double>{-4, -8}));
    EXPECT_HAS(out.table.history.back(), "- \"4 <= x < 9\"\nLocalizations before: 10\nLocalizations left: 2\n");
}

TEST(Filter, percentile_interpolates) {
    EXPECT_EQ(rows("x > percentile(x, 75)"), (Rows{7, 8, 9}));  // 6.75
    EXPECT_EQ(rows("x == percentile(2 * x, 50) / 2 + 0.5"), (Rows{5}));
    EXPECT_DOUBLE_EQ(conditions::percentile({4, 1, not_a_number, 2, INFINITY, 3}, 50), 2.5);
    EXPECT_TRUE(std::isnan(conditions::percentile({not_a_number}, 50)));
}

TEST(Filter, mode_is_the_densest_place) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> narrow(130, 10);
    std::uniform_real_distribution<double> wide(0, 1000);
    std::vector<double> values;
    for (int k = 0; k < 40'000; ++k) values.push_back(k % 4 ? narrow(random) : wide(random));
    // For a normal density, the kernel estimate's mode has a standard error of sqrt(1 / (4 sqrt(pi) n h^3)) sigma^2
    // phi(0)^-1 .... With h = 1.2 and 30,000 values in the peak, that is 0.63. The uniform part has no slope.
    EXPECT_NEAR(conditions::mode(values), 130, 4 * 0.63);
    EXPECT_EQ(conditions::mode({1, 2, 2, 2, 2, 5}), 2);
    EXPECT_EQ(conditions::mode({7}), 7);
    EXPECT_TRUE(std::isnan(conditions::mode({})));
    EXPECT_TRUE(std::isfinite(conditions::mode({0, 1, 2, 3, 1e300, -1e300})));
}

TEST(Filter, within_is_a_share_or_a_number) {
    EXPECT_EQ(rows("x within 20% of 5"), (Rows{4, 5, 6}));
    EXPECT_EQ(rows("x within 2 of 5 and x > 5"), (Rows{6, 7}));
    EXPECT_EQ(rows("x within 10 * 2% of 2 + 3 and lpx within 1% of mode"), (Rows{4, 5, 6}));
    EXPECT_EQ(rows("lpx within 1% of mode(lpx * 2) / 2").size(), 10u);
}

TEST(Filter, neighbors_are_counted_as_by_hand) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<float> place(-3, 30);
    Localizations table;
    for (int k = 0; k < 3000; ++k) {
        table.frame.push_back(0);
        table.x_px.push_back(place(random)), table.y_px.push_back(place(random));
    }
    table.x_px[17] = std::numeric_limits<float>::quiet_NaN();
    table.x_px[20] = table.x_px[21], table.y_px[20] = table.y_px[21];
    table.x_px[700] = 3e38f;
    for (std::size_t k : {28, 35, 1400}) table.x_px[k] = -1e30f, table.y_px[k] = k == 35 ? -2e30f : 1e20f;
    WholeTable whole(table);
    for (double radius : {1e-12, 0.7, 4.0, 1000.0, 1e30}) {
        const std::vector<std::uint32_t> counts = conditions::count_neighbors(whole, radius, nullptr);
        for (std::size_t a = 0; a < table.size(); a += 7) {
            std::uint32_t near = 0;
            for (std::size_t b = 0; b < table.size(); ++b) {
                const double dx = double(table.x_px[a]) - table.x_px[b], dy = double(table.y_px[a]) - table.y_px[b];
                near += a != b && dx * dx + dy * dy <= radius * radius;
            }
            ASSERT_EQ(counts[a], near) << "row " << a << ", radius " << radius;
        }
        EXPECT_EQ(counts[17], 0u);
        EXPECT_GE(counts[20], 1u);
    }
    EXPECT_EQ(rows("neighbors(100nm) == 1"), (Rows{0, 9}));
    EXPECT_EQ(rows("neighbors(0.2um) == 4 and neighbors(1px) == 2").size(), 6u);
}

// Cells once grew with the extent: one distant localization put all others into one cell, and all pairs were compared.
TEST(Filter, neighbors_are_counted_as_fast_if_one_is_far_away) {
    Localizations table = full_table(40'000);
    std::mt19937_64 random(6);
    std::uniform_real_distribution<float> place(0, 256);
    for (std::size_t k = 0; k < table.size(); ++k) table.x_px[k] = place(random), table.y_px[k] = place(random);
    const auto seconds = [&] {
        WholeTable whole(table);
        const std::clock_t began = std::clock();
        conditions::count_neighbors(whole, 0.5, nullptr);
        return double(std::clock() - began) / CLOCKS_PER_SEC;  // CPU time: does not depend on the load
    };
    const double near = std::min(seconds(), seconds());
    for (const float far : {1e6f, 1e12f, -3e38f}) {
        table.x_px[5] = far;
        EXPECT_LT(std::min(seconds(), seconds()), 8 * near + 0.02) << far;
    }
}

TEST(Filter, result_does_not_depend_on_threads) {
    Localizations table = full_table(50'000);
    const std::vector<std::string> conditions = {"photons > percentile(photons, 30) and neighbors(3nm) >= 5",
                                                 "sx within 20% of mode or track > 7"};
    tbb::task_arena alone(1);
    Filtered one;
    alone.execute([&] { one = filter(table, conditions); });
    const Filtered all = filter(table, conditions);
    EXPECT_GT(all.table.size(), 0u);
    EXPECT_EQ(all.table.extra, one.table.extra);
    EXPECT_TRUE(all.table.extra.at("track").is_integer);
    for (std::size_t k = 0; k < all.clauses.size(); ++k) EXPECT_EQ(all.clauses[k].left, one.clauses[k].left);
}

TEST(Filter, errors_point_to_the_place) {
    EXPECT_EQ(marked("photon > 500"), "photon");
    EXPECT_HAS(error_of("photon > 500"),
               "there is no column photon: did you mean photons? Columns: frame, x, y, z, photons, lpx, status");
    EXPECT_EQ(marked("x > 1 and photons_nm > 500"), "photons_nm");
    EXPECT_HAS(error_of("photons_nm > 5"), "did you mean photons?");
    EXPECT_HAS(error_of("uncertainty < 20"), "did you mean lpx_nm?");
    EXPECT_HAS(error_of("sx > 1"), "there is no column sx");
    EXPECT_EQ(marked("x > 5nm"), "5nm");
    EXPECT_EQ(marked("x > 1 && y < 1"), "&&");
    EXPECT_HAS(error_of("x > 1 && y < 1"), "write and for &&");
    EXPECT_EQ(marked("x = 1"), "=");
    EXPECT_EQ(marked("x > 1 or x"), "x");
    EXPECT_EQ(marked("x > 1 + (y < 2)"), "(y < 2)");
    EXPECT_EQ(marked("sin(x) > 1"), "sin");
    EXPECT_EQ(marked("(x > 1"), "(");
    EXPECT_EQ(marked("x > 1)"), ")");
    EXPECT_EQ(marked("x > 1 y"), "y");
    EXPECT_EQ(marked("x > `no end"), "`no end");
    EXPECT_EQ(marked("x > 1e999"), "1e999");
    EXPECT_EQ(marked("max(x) > 1"), "max");
    EXPECT_EQ(marked("neighbors(5) > 1"), "5");
    EXPECT_EQ(marked("percentile(x, 101) > 1"), "percentile(x, 101");
    EXPECT_EQ(marked("x within 5% 3"), "3");
    EXPECT_EQ(marked("x < 3 within 5% of 3"), "within");
    EXPECT_EQ(marked("lpx within -5% of mode"), "-5");
    EXPECT_EQ(marked("x within -2 of 3"), "-2");
    EXPECT_HAS(error_of("x >"), "missing at the end\n  x >\n     ^");
    EXPECT_HAS(error_of(" "), "the condition is empty");
    EXPECT_HAS(error_of("\xc2\xb5\xc3\xa4 > 1"), "\xc2\xb5\xc3\xa4 > 1\n  ^^");  // letters, not bytes
    EXPECT_HAS(error_of(std::string(500, ' ') + "y > q > " + std::string(500, ' ')), "... ");
    EXPECT_HAS(message_of<OptionError>([] { filter(ten_rows(), {}); }), "no condition");
}

TEST(Filter, depth_and_length_are_limited) {
    for (const auto& [begin, end] : std::vector<std::pair<std::string, std::string>>{
             {"(", ")"}, {"-", ""}, {"not ", ""}, {"abs(", ")"}, {"2**", ""}}) {
        std::string text = "1";
        for (int k = 0; k < 20'000; ++k) text = begin + text;
        for (int k = 0; k < 20'000; ++k) text += end;
        EXPECT_HAS(error_of(text.substr(0, 65'000)), "nested") << begin;
    }
    std::string sum = "x > 1";
    for (int k = 0; k < 20'000; ++k) sum += "+1";
    EXPECT_HAS(error_of(sum), "nested");
    std::string many = "x > -1";
    for (int k = 0; k < 3000; ++k) many += " and x > -1";
    EXPECT_EQ(rows(many).size(), 10u);
    EXPECT_HAS(error_of(std::string(70'000, ' ') + "x > 1"), "more than the limit");
}

TEST(Filter, a_table_without_rows_has_none_left) {
    EXPECT_EQ(filter({}, std::vector<std::string>{"photons > 5 and neighbors(1px) > 0 and sx within 1% of mode"})
                  .table.size(),
              0u);
}

TEST(Filter, a_table_in_pieces_gives_the_same_rows_and_counts) {
    const Localizations table = full_table(1000);
    const std::vector<std::string> conditions = {"photons within 60% of mode and track >= 3",
                                                 "x < percentile(x, 70) or neighbors(1um) > 20",
                                                 "frame > 100 and status != 1"};
    const Filtered whole = filter(table, conditions);
    ASSERT_GT(whole.table.size(), 20u);
    CutTable cut(table, 170);
    FilteredTable pieces(cut, conditions);
    expect_same(joined(pieces), whole.table);
    EXPECT_EQ(pieces.rows_before(), 1000u);
    EXPECT_EQ(pieces.rows(), whole.table.size());
    ASSERT_EQ(pieces.clauses().size(), whole.clauses.size());
    for (std::size_t k = 0; k < whole.clauses.size(); ++k) {
        EXPECT_EQ(pieces.clauses()[k].fulfilled, whole.clauses[k].fulfilled) << k;
        EXPECT_EQ(pieces.clauses()[k].left, whole.clauses[k].left) << k;
    }
    FilteredTable none(cut, std::vector<std::string>{"frame < 0"});
    std::size_t visits = 0;
    none.for_each([&](const Localizations& piece) {
        ++visits;
        EXPECT_EQ(piece.size(), 0u);
    });
    EXPECT_EQ(visits, 1u);
}
