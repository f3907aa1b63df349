// Tests of links with simulated blinks whose molecules are known.
// SPDX-License-Identifier: MIT
#include "glint/link.hpp"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "glint/error.hpp"
#include "glint/merge.hpp"
#include "tests/cut_table.hpp"
#include "tests/expect_error.hpp"

using namespace glint;

namespace {

struct Blinks {
    Localizations table;
    std::vector<int> blink;  ///< blink of each row
};

/// Blinks of `length` frames on average, at random places. Localizations have the variance `a_nm2` + `b` CRLB along
/// each axis. The share `dark` of the frames within a blink is not seen.
Blinks simulate_blinks(int blinks, double a_nm2 = 0, double b = 1, double dark = 0, bool with_z = false,
                       double length = 4) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    struct Row {
        std::uint32_t frame;
        double x, y, z, sigma;
        int blink;
    };
    std::vector<Row> rows;
    constexpr double field_nm = 20000, pixel_nm = 100;
    constexpr int frames = 2000;
    for (int k = 0; k < blinks; ++k) {
        const double x = field_nm * uniform(random), y = field_nm * uniform(random), z = 600 * uniform(random) - 300;
        const int first = int(frames * uniform(random));
        const int last = std::min(frames - 1, first + int(-length * std::log(1 - uniform(random))));
        for (int frame = first; frame <= last; ++frame) {
            if (frame > first && frame < last && uniform(random) < dark) continue;
            const double sigma = 7 + 8 * uniform(random), error = std::sqrt(a_nm2 + b * sigma * sigma);
            rows.push_back({std::uint32_t(frame), x + error * normal(random), y + error * normal(random),
                            z + std::sqrt(a_nm2 + b * 4 * sigma * sigma) * normal(random), sigma, k});
        }
    }
    std::shuffle(rows.begin(), rows.end(), random);  // rows may be in any order
    Blinks out;
    for (const Row& row : rows) {
        out.table.frame.push_back(row.frame);
        out.table.x_px.push_back(float(row.x / pixel_nm)), out.table.y_px.push_back(float(row.y / pixel_nm));
        out.table.lpx_px.push_back(float(row.sigma / pixel_nm)),
            out.table.lpy_px.push_back(float(row.sigma / pixel_nm));
        out.table.photons.push_back(100);
        if (with_z) out.table.z_nm.push_back(float(row.z)), out.table.lpz_nm.push_back(float(2 * row.sigma));
        out.blink.push_back(row.blink);
    }
    out.table.pixel_size_nm = pixel_nm, out.table.frames = frames, out.table.width = out.table.height = 200;
    return out;
}

struct Mistakes {
    int wrong = 0, missed = 0;
};

/// Counts successive rows of a track that are not one blink, and of a blink that are not one track.
Mistakes mistakes(const Blinks& blinks, const Links& links) {
    const auto count = [&](auto group, auto other) {
        std::vector<std::size_t> order(blinks.blink.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t p, std::size_t q) {
            return std::pair(group(p), blinks.table.frame[p]) < std::pair(group(q), blinks.table.frame[q]);
        });
        int different = 0;
        for (std::size_t k = 1; k < order.size(); ++k)
            different += group(order[k - 1]) == group(order[k]) && other(order[k - 1]) != other(order[k]);
        return different;
    };
    const auto track = [&](std::size_t row) { return int(links.track[row]); };
    const auto blink = [&](std::size_t row) { return blinks.blink[row]; };
    return {count(track, blink), count(blink, track)};
}

/// Expects a count within five standard deviations of Poisson's law. Chance exceeds this limit once in a million.
void expect_poisson(double count, double expected) { EXPECT_NEAR(count, expected, 5 * std::sqrt(expected) + 5); }

}  // namespace

TEST(Link, finds_blinks_and_knows_its_mistakes) {
    for (const bool with_z : {false, true}) {
        const Blinks blinks = simulate_blinks(20000, 0, 1, 0, with_z);
        const Links links = link(blinks.table);
        const Mistakes found = mistakes(blinks, links);
        expect_poisson(found.wrong, links.false_links);
        expect_poisson(found.missed, links.missed_links);
        EXPECT_LT(found.wrong, 0.01 * double(links.links));
        EXPECT_EQ(links.gap, 0);
        EXPECT_EQ(links.links + links.tracks, blinks.table.size());
    }
}

TEST(Link, mistakes_are_known_in_crowds) {
    struct Crowd {
        int blinks;
        double dark, length;
    };
    for (const Crowd& crowd : {Crowd{100000, 0, 1.5}, Crowd{40000, 0, 6}, Crowd{30000, 0.1, 6}}) {
        const Blinks blinks = simulate_blinks(crowd.blinks, 0, 1, crowd.dark, false, crowd.length);
        const Links links = link(blinks.table);
        const Mistakes found = mistakes(blinks, links);
        EXPECT_GT(found.wrong, 50);
        // The tolerance is a fifth, plus chance: the likelihoods of choices are approximate.
        EXPECT_NEAR(found.wrong, links.false_links, 0.2 * links.false_links + 4 * std::sqrt(links.false_links));
        EXPECT_NEAR(found.missed, links.missed_links, 0.2 * links.missed_links + 4 * std::sqrt(links.missed_links));
    }
}

TEST(Link, gap_is_chosen_from_the_data) {
    // A frame is dark with the probability 0.1. Gaps of one frame are therefore common; 1 % of links have two.
    const Blinks blinks = simulate_blinks(20000, 0, 1, 0.1, false, 8);
    const Links links = link(blinks.table);
    EXPECT_GE(links.gap, 1);
    const Mistakes found = mistakes(blinks, links);
    expect_poisson(found.missed, links.missed_links);
    EXPECT_LT(found.missed, 0.005 * double(links.links));
    const Links none =
        link(blinks.table, {.radius_sigma = 0, .radius_nm = 0, .gap = 0, .progress = {}, .stop = nullptr});
    EXPECT_GT(mistakes(blinks, none).missed, 0.05 * double(none.links));
}

TEST(Link, variance_within_blinks_is_measured) {
    for (const auto& [a, b] : {std::pair(0.0, 1.0), std::pair(25.0, 1.0), std::pair(0.0, 1.5), std::pair(16.0, 1.2)}) {
        const Blinks blinks = simulate_blinks(20000, a, b, 0, true);
        const Links links = link(blinks.table);
        for (const InTrackVariance& variance : {links.lateral, links.axial}) {
            EXPECT_NEAR(variance.a_nm2, a, 4 * variance.a_error_nm2);
            EXPECT_NEAR(variance.b, b, 4 * variance.b_error);
            EXPECT_LT(variance.b_error, 0.1);
        }
    }
}

TEST(Link, merged_rows_are_as_precise_as_they_state) {
    const Blinks blinks = simulate_blinks(10000, 30, 1.2);
    Links links = link(blinks.table);
    const Localizations merged = merge_tracks(blinks.table, links);
    ASSERT_EQ(merged.size(), links.tracks);
    EXPECT_EQ(merged.history.size(), 1u);
    double photons = 0, n = 0;
    for (std::size_t k = 0; k < merged.size(); ++k) photons += merged.photons[k], n += merged.extra.at("n").values[k];
    EXPECT_EQ(n, double(blinks.table.size()));
    EXPECT_EQ(photons, 100.0 * n);
    EXPECT_TRUE(merged.extra.at("n").is_integer && merged.extra.at("len").is_integer &&
                merged.extra.at("track").is_integer);
    // Two halves of each long blink, merged separately, differ by as much as both precisions predict.
    std::vector<std::uint32_t> halves(links.track);
    std::map<std::uint32_t, std::vector<std::size_t>> of_track;
    for (std::size_t row = 0; row < halves.size(); ++row) of_track[links.track[row]].push_back(row);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (auto& [track, rows] : of_track) {
        if (rows.size() < 4) continue;
        std::sort(rows.begin(), rows.end(),
                  [&](auto p, auto q) { return blinks.table.frame[p] < blinks.table.frame[q]; });
        for (std::size_t k = rows.size() / 2; k < rows.size(); ++k) halves[rows[k]] = std::uint32_t(links.tracks);
        pairs.emplace_back(track, std::uint32_t(links.tracks++));
    }
    links.track = halves;
    const Localizations split = merge_tracks(blinks.table, links);
    double sum = 0;
    for (const auto& [p, q] : pairs)
        sum +=
            std::pow(split.x_px[p] - split.x_px[q], 2) / (std::pow(split.lpx_px[p], 2) + std::pow(split.lpx_px[q], 2));
    // Squares of standard normal numbers. 0.03 allows for 1 % of wrong links, and for the errors of A and B.
    const double count = double(pairs.size());
    EXPECT_NEAR(sum / count, 1, 4 * std::sqrt(2 / count) + 0.03);
}

TEST(Link, threads_make_no_difference) {
    const Blinks blinks = simulate_blinks(5000);
    tbb::task_arena one(1);
    Links alone;
    one.execute([&] { alone = link(blinks.table); });
    const Links all = link(blinks.table);
    EXPECT_EQ(alone.track, all.track);
    EXPECT_EQ(alone.lateral.a_nm2, all.lateral.a_nm2);
    EXPECT_EQ(alone.false_links, all.false_links);
}

TEST(Link, radius_in_nm_needs_no_precision) {
    Localizations table;
    table.pixel_size_nm = 100, table.frame = {0, 1, 2, 5}, table.x_px = {1, 1.2f, 1.6f, 1.6f},
    table.y_px = {0, 0, 0, 0};
    EXPECT_THROW(link(table), OptionError);
    LinkOptions options;
    options.radius_nm = 30, options.gap = 0;
    EXPECT_EQ(link(table, options).track, (std::vector<std::uint32_t>{0, 0, 1, 2}));
    options.radius_nm = 45, options.gap = 2;
    EXPECT_EQ(link(table, options).track, (std::vector<std::uint32_t>{0, 0, 0, 0}));
    EXPECT_EQ(merge_tracks(table, link(table, options)).extra.at("len").values, std::vector<double>{6});
}

TEST(Link, a_radius_beyond_reason_is_refused) {
    Localizations table;
    table.pixel_size_nm = 100, table.frame = {0, 1}, table.x_px = table.y_px = {1, 1};
    table.lpx_px = table.lpy_px = {0.1f, 0.1f};
    for (const double nm : {1e-300, 1e-4, 1e10, 1e160}) {
        LinkOptions options;
        options.radius_nm = nm;
        test::expect_error<OptionError>([&] { link(table, options); }, {" nm: give 0.001 to 1e+09 nm"});
    }
    LinkOptions options;
    options.radius_sigma = 1e20;
    test::expect_error<OptionError>([&] { link(table, options); }, {"a radius of 1e+20 standard deviations"});
}

TEST(Link, links_of_links_count_localizations) {
    Localizations table;
    table.pixel_size_nm = 100, table.frame = {0, 1, 4, 5, 20}, table.x_px = table.y_px = {1, 1, 1, 1, 1};
    table.photons = {100, 100, 100, 100, 100};
    LinkOptions options;
    options.radius_nm = 30, options.gap = 0;
    const Localizations once = merge_tracks(table, link(table, options));
    EXPECT_EQ(once.extra.at("n").values, (std::vector<double>{2, 2, 1}));
    options.gap = 3;  // counted between the first frames of two rows
    const Localizations twice = merge_tracks(once, link(once, options));
    EXPECT_EQ(twice.extra.at("n").values, (std::vector<double>{4, 1}));
    EXPECT_EQ(twice.extra.at("len").values, (std::vector<double>{6, 1}));
    EXPECT_EQ(twice.photons, (std::vector<float>{400, 100}));
}

TEST(Link, rows_without_a_precision_are_kept_and_counted) {
    Localizations table;
    table.pixel_size_nm = 100, table.frame = {0, 1, 1, 2}, table.x_px = table.y_px = {1, 1, 5, 7};
    table.lpx_px = {0.1f, 0.1f, 0, -1}, table.lpy_px = {0.1f, 0.1f, 0.1f, 0.1f};
    LinkOptions options;
    options.radius_sigma = 4, options.gap = 0;
    const Links links = link(table, options);
    EXPECT_EQ(links.unlinkable, 2u);
    EXPECT_EQ(merge_tracks(table, links).x_px, (std::vector<float>{1, 5, 7}));
    table.lpx_px = {0, 0, 0, 0};
    EXPECT_THROW(link(table, options), InputError);
}

TEST(Link, accepts_nan_and_empty_tables) {
    Localizations table;
    table.pixel_size_nm = 100;
    EXPECT_EQ(link(table, {.radius_sigma = 4, .radius_nm = 0, .gap = 1, .progress = {}, .stop = nullptr}).tracks, 0u);
    table.frame = {3, 4}, table.x_px = {1, NAN}, table.y_px = {1, 1}, table.lpx_px = table.lpy_px = {0.1f, 0.1f};
    const Links links = link(table);
    EXPECT_EQ(links.tracks, 2u);
    EXPECT_EQ(links.track[0], 0u);
    EXPECT_TRUE(std::isnan(links.lateral.b));
    table.pixel_size_nm = 0;
    EXPECT_THROW(link(table), OptionError);
}

TEST(Link, z_without_its_precision_is_carried_but_not_linked_by) {
    const Blinks blinks = simulate_blinks(5000, 0, 1, 0, true);
    Localizations without_z = blinks.table, without_precision = blinks.table, zeros = blinks.table;
    without_z.z_nm.clear(), without_z.lpz_nm.clear(), without_precision.lpz_nm.clear();
    zeros.lpz_nm.assign(zeros.size(), 0);
    const Links by_x_and_y = link(without_z);
    EXPECT_TRUE(link(blinks.table).uses_z);
    for (const Localizations& table : {without_precision, zeros}) {
        const Links links = link(table);
        EXPECT_FALSE(links.uses_z);
        EXPECT_EQ(links.track, by_x_and_y.track);
        EXPECT_EQ(links.false_links, by_x_and_y.false_links);
        const Localizations merged = merge_tracks(table, links);
        EXPECT_TRUE(merged.lpz_nm.empty());
        std::vector<double> sum(links.tracks), rows(links.tracks);
        for (std::size_t row = 0; row < table.size(); ++row)
            sum[links.track[row]] += table.z_nm[row], rows[links.track[row]] += 1;
        for (std::size_t k = 0; k < sum.size(); ++k) ASSERT_NEAR(merged.z_nm[k], sum[k] / rows[k], 1e-4);
        EXPECT_NE(merged.history.back().find("x and y alone"), std::string::npos);
    }
    // A radius in nm applies to x, y and z.
    LinkOptions options;
    options.radius_nm = 30;
    EXPECT_TRUE(link(without_precision, options).uses_z);
}

namespace {

/// Assigns every fiftieth row to track 0, so that its range is not the first to be complete. No track loses all rows.
void add_long_track(Links& links) {
    std::vector<int> rows(links.tracks);
    for (const std::uint32_t track : links.track) ++rows[track];
    for (std::size_t row = 0; row < links.track.size(); row += 50)
        if (int& left = rows[links.track[row]]; left > 1) --left, links.track[row] = 0;
}

}  // namespace

TEST(Link, tables_in_pieces_are_linked_as_whole_ones) {
    Blinks blinks = simulate_blinks(2000, 0, 1, 0, true);
    std::vector<std::size_t> order(blinks.table.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return blinks.table.frame[a] < blinks.table.frame[b]; });
    Localizations in_order = select(blinks.table, order), shuffled = blinks.table;
    for (Localizations* table : {&in_order, &shuffled}) {
        table->history = {"Step: 1\n"};
        table->extra["group"] = {std::vector<double>(table->size(), 3), true};
        table->extra["n"] = {std::vector<double>(table->size(), 2), true};
        Links links = link(*table);
        for (const bool has_bead : {false, true}) {
            if (has_bead) add_long_track(links);
            for (const std::size_t bytes : {std::size_t{1}, std::size_t{20000}, default_piece_bytes}) {
                test::CutTable cut(*table, 701);
                const auto merged = merged_pieces(cut, links, bytes);
                test::expect_same(test::joined(*merged), merge_tracks(*table, links));
                EXPECT_EQ(merged->like().history, merge_tracks(*table, links).history);
            }
            test::CutTable cut(*table, 701);
            test::expect_same(test::joined(*pieces_with_tracks(cut, links)), with_tracks(*table, links));
        }
        const Localizations two = select(*table, std::vector<std::size_t>{0, 1});
        test::CutTable shorter(two, 701);
        EXPECT_THROW(test::joined(*merged_pieces(shorter, links)), OptionError);
        EXPECT_THROW(pieces_with_tracks(shorter, links), OptionError);
    }
}

TEST(Link, one_visit_suffices_in_the_order_of_frames) {
    class Counted final : public TablePieces {
      public:
        explicit Counted(TablePieces& table) : table_(table) {}
        const Localizations& like() const override { return table_.like(); }
        void for_each(const Visit& visit) override { ++visits, table_.for_each(visit); }
        int visits = 0;

      private:
        TablePieces& table_;
    };
    Localizations table = simulate_blinks(5000).table;
    std::vector<std::size_t> order(table.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return table.frame[a] < table.frame[b]; });
    table = select(table, order);
    const Links links = link(table);
    test::CutTable cut(table, 500);
    Counted counted(cut);
    test::joined(*merged_pieces(counted, links, table.size() * row_bytes(table) / 4));
    EXPECT_EQ(counted.visits, 1);
}
TEST(Link, warns_of_a_table_that_is_linked_already) {
    const Blinks blinks = simulate_blinks(200);
    const Links links = link(blinks.table);
    EXPECT_EQ(linked_warning(blinks.table), "");
    EXPECT_EQ(linked_warning(with_tracks(blinks.table, links)), "") << "all rows are there";
    Localizations linked = merge_tracks(blinks.table, links);
    EXPECT_NE(linked_warning(linked), "");
    for (const auto& [first, second] : {std::pair(blinks.table, linked), std::pair(linked, blinks.table)})
        EXPECT_NE(linked_warning(merge(std::array{first, second}, FramesOfMerged::as_they_are)), "");
    linked.history.clear();
    EXPECT_NE(linked_warning(linked), "")
        << "n and len suffice, as in Picasso's tables, or in a CSV, which has no history";
    linked.extra.erase("len");
    EXPECT_EQ(linked_warning(linked), "");
}
