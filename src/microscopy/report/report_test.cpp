// Tests of reports: rounding, pieces, sampling, text that stays text.
// SPDX-License-Identifier: MIT
#include "glint/report.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <zlib.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "analysis/filter/columns.hpp"
#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "report/base64.hpp"
#include "report/cells.hpp"
#include "report/page_json.hpp"
#include "report/raw_frames.hpp"
#include "report/rounded_table.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

std::vector<std::uint8_t> from_base64(const std::string& text) {
    static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<std::uint8_t> bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char letter : text) {
        if (letter == '=') break;
        bits = bits << 6 | std::uint32_t(letters.find(letter)), count += 6;
        if (count >= 8) count -= 8, bytes.push_back(std::uint8_t(bits >> count));
    }
    return bytes;
}

std::vector<std::uint8_t> inflated(const std::vector<std::uint8_t>& bytes, std::size_t size) {
    std::vector<std::uint8_t> out(size + 1);
    uLongf length = uLongf(out.size());
    EXPECT_EQ(uncompress(out.data(), &length, bytes.data(), uLong(bytes.size())), Z_OK);
    out.resize(length);
    return out;
}

/// Returns a table like that of a 2D movie: 12 um, precision about 5 nm.
Localizations table_2d(std::size_t rows, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> field(0, 120), share(0, 1);
    std::normal_distribution<float> normal;
    Localizations table;
    for (std::size_t row = 0; row < rows; ++row) {
        table.frame.push_back(std::uint32_t(row / 20));
        table.x_px.push_back(field(random)), table.y_px.push_back(field(random));
        table.photons.push_back(std::exp(7 + 0.6f * normal(random)));
        table.lpx_px.push_back(1.5f / std::sqrt(table.photons.back()));
        table.lpy_px.push_back(table.lpx_px.back() * (1 + 0.01f * normal(random)));
        table.bg.push_back(10 + normal(random)), table.p_value.push_back(share(random));
        table.sx_px.push_back(1.3f), table.sy_px.push_back(1.3f);
    }
    table.width = table.height = 120, table.frames = std::int64_t(rows / 20 + 1), table.pixel_size_nm = 100;
    return table;
}

/// Decodes a piece as the page does. Returns the codes of each column.
std::vector<std::vector<std::uint32_t>> codes_of(const RoundedTable& stored, std::size_t piece) {
    const std::size_t rows = stored.rows_of(piece);
    std::size_t size = 0;
    for (const RoundedColumn& column : stored.columns()) size += std::size_t(column.bytes) * rows;
    const std::vector<std::uint8_t> bytes = inflated(from_base64(stored.text_of(piece)), size);
    EXPECT_EQ(bytes.size(), size);
    std::vector<std::vector<std::uint32_t>> all;
    std::size_t at = 0;
    for (const RoundedColumn& column : stored.columns()) {
        std::vector<std::uint32_t> codes(rows);
        for (int byte = 0; byte < column.bytes; ++byte, at += rows)
            for (std::size_t row = 0; row < rows; ++row) codes[row] |= std::uint32_t(bytes[at + row]) << (8 * byte);
        if (column.kind == RoundedColumn::Kind::frame)
            for (std::size_t row = 1; row < rows; ++row) codes[row] += codes[row - 1];
        if (column.minus >= 0)
            for (std::size_t row = 0; row < rows; ++row)
                codes[row] = std::uint8_t(codes[row] + all[std::size_t(column.minus)][row]);
        all.push_back(std::move(codes));
    }
    return all;
}

/// Returns the JSON of a page's facts.
PageJson facts_of(const std::string& page) {
    const std::string begin = "class=\"data-facts\">";
    const std::size_t at = page.find(begin) + begin.size();
    return PageJson::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace

TEST(ReportCells, contain_their_values_and_are_short_decimal_numbers) {
    std::mt19937 random(2);
    std::lognormal_distribution<double> photons(7, 1);
    std::normal_distribution<double> speed(0, 3);
    std::vector<double> values[2];
    for (int k = 0; k < 20000; ++k) values[0].push_back(photons(random)), values[1].push_back(speed(random));
    for (const std::vector<double>& sample : values) {
        const ValueCells cells = make_cells(sample);
        EXPECT_EQ(cells.is_log, &sample == &values[0]);
        EXPECT_GE(cells.edges.size(), 30u);
        EXPECT_LE(cells.edges.size(), 254u);
        EXPECT_TRUE(std::is_sorted(cells.edges.begin(), cells.edges.end()));
        for (const double edge : cells.edges) {
            const std::string text = nlohmann::json(edge).dump();
            EXPECT_LE(text.size(), 10u) << text;
            double read = 0;
            std::from_chars(text.data(), text.data() + text.size(), read);
            EXPECT_EQ(read, edge);  // the condition that contains the text compares with the same number
        }
        for (const double value : sample) {
            const std::size_t k = cells.of(value);
            EXPECT_TRUE(k == 0 || cells.edges[k - 1] <= value);
            EXPECT_TRUE(k == cells.edges.size() || value < cells.edges[k]);
        }
    }
}

TEST(ReportCells, of_special_values) {
    EXPECT_TRUE(make_cells({}).edges.empty());
    EXPECT_TRUE(make_cells({nan_value, nan_value}).edges.empty());
    EXPECT_EQ(make_cells({nan_value, 1, 2}).of(nan_value), nan_cell);
    const ValueCells constant = make_cells({5, 5, 5});
    EXPECT_LT(constant.of(4.99), constant.of(5));
    EXPECT_LT(constant.of(5), constant.of(5.01));
    const ValueCells group = make_integer_cells(3, 40);
    EXPECT_TRUE(group.is_integer);
    for (int k = 3; k <= 40; ++k) EXPECT_EQ(group.of(k), k - 3);
    const ValueCells track = make_integer_cells(0, 1e6);
    EXPECT_FALSE(track.is_integer);
    EXPECT_LE(track.edges.size(), 254u);
    EXPECT_EQ(track.of(0), 0);
    EXPECT_EQ(track.of(1e6), track.edges.size());
    const ValueCells probability = make_probability_cells();
    EXPECT_EQ(probability.of(0), 0);
    EXPECT_EQ(probability.of(1), probability.edges.size());
}

TEST(ReportRows, are_stored_once_and_rounded_to_a_fraction_of_their_precision) {
    Localizations table = table_2d(30000);
    for (std::size_t row = 0; row < table.size(); ++row) table.z_nm.push_back(table.x_px[row] * 8 - 400);
    table.lpz_nm.assign(table.size(), 15), table.z_nm[7] = float(nan_value);
    table.extra["group"] = {std::vector<double>(table.size(), 3), true};
    table.x_px[11] = std::numeric_limits<float>::infinity();  // no position: left out
    const RoundedTable stored(table);
    EXPECT_EQ(stored.rows(), table.size() - 1);
    EXPECT_GE(stored.pieces(), 4u);
    std::vector<float> precision = table.lpx_px;
    std::nth_element(precision.begin(), precision.begin() + std::ptrdiff_t(precision.size() / 2), precision.end());
    const double median = precision[precision.size() / 2];
    std::set<std::size_t> seen;
    for (std::size_t piece = 0; piece < stored.pieces(); ++piece) {
        const std::vector<std::size_t> rows = stored.indices_of(piece);
        const auto codes = codes_of(stored, piece);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            seen.insert(rows[k]);
            EXPECT_TRUE(k == 0 || codes[0][k - 1] <= codes[0][k]);
        }
        for (std::size_t c = 0; c < stored.columns().size(); ++c) {
            const RoundedColumn& column = stored.columns()[c];
            const conditions::Column from = conditions::find_column(table, column.name, column.name, {});
            for (std::size_t k = 0; k < rows.size(); ++k) {
                double value = 0;
                from.copy(table, rows[k], {&value, 1});
                if (column.kind == RoundedColumn::Kind::frame) {
                    EXPECT_EQ(codes[c][k], value);
                } else if (column.kind == RoundedColumn::Kind::cells) {
                    EXPECT_EQ(codes[c][k], column.cells.of(value)) << column.name;
                } else if (std::isnan(value)) {
                    EXPECT_EQ(codes[c][k], RoundedTable::no_z);
                } else {
                    const double low = (double(column.first) + codes[c][k]) * column.step;
                    EXPECT_LE(low, value);
                    EXPECT_LT(value, low + column.step);
                    // the middle of the interval is off by at most half a step
                    EXPECT_LE(column.step / 2, (column.kind == RoundedColumn::Kind::axial ? 15 : median * 1.05) / 8);
                }
            }
        }
    }
    EXPECT_EQ(seen.size(), table.size() - 1);
    EXPECT_FALSE(seen.contains(11));
}

TEST(ReportRows, far_rows_do_not_make_the_others_coarse) {
    Localizations table = table_2d(2000);
    table.z_nm.assign(table.size(), 100);
    table.lpz_nm.assign(table.size(), 16);
    const RoundedTable usual(table);
    table.x_px[3] = 1e9f, table.z_nm[4] = 1e12f, table.z_nm[5] = -300;
    const RoundedTable stored(table);
    EXPECT_EQ(stored.rows(), usual.rows() - 1);
    EXPECT_EQ(stored.far_z(), 1u);
    for (std::size_t k = 0; k < usual.columns().size(); ++k)
        EXPECT_EQ(stored.columns()[k].step, usual.columns()[k].step) << usual.columns()[k].name;
    const auto z = std::find_if(stored.columns().begin(), stored.columns().end(),
                                [](const RoundedColumn& column) { return column.name == "z"; });
    ASSERT_NE(z, stored.columns().end());
    const auto value = [&](std::size_t row) { return (double(z->first) + z->codes[row] + 0.5) * z->step; };
    EXPECT_NEAR(value(0), 100, z->step);
    EXPECT_NEAR(value(5), -300, z->step);
    EXPECT_EQ(z->codes[4], RoundedTable::no_z);
}

TEST(ReportRows, conditions_at_edges_keep_the_rows_of_the_codes) {
    const Localizations table = table_2d(5000);
    const RoundedTable stored(table);
    for (const RoundedColumn& column : stored.columns()) {
        std::size_t code = 0;
        double edge = 0;
        if (column.kind == RoundedColumn::Kind::cells) {
            if (column.cells.edges.size() < 10) continue;  // all widths are equal
            code = column.cells.edges.size() / 2, edge = column.cells.edges[code - 1];
        } else if (column.kind == RoundedColumn::Kind::position) {
            code = 1000, edge = double(column.first + 1000) * column.step;
        } else {
            continue;
        }
        const std::string text = nlohmann::json(edge).dump();
        const std::vector<std::string> condition = {column.expression + " >= " + text};
        std::size_t by_code = 0;
        for (std::size_t piece = 0; piece < stored.pieces(); ++piece) {
            const auto codes = codes_of(stored, piece);
            for (const std::uint32_t one : codes[std::size_t(&column - stored.columns().data())])
                by_code += one >= code && one != nan_cell;
        }
        EXPECT_EQ(filter(table, condition).table.size(), by_code) << condition[0];
    }
}

TEST(ReportRows, take_at_most_twelve_bytes) {
    const Localizations table = table_2d(150000);
    const RoundedTable stored(table);
    std::size_t bytes = 0;
    for (std::size_t piece = 0; piece < stored.pieces(); ++piece) bytes += stored.text_of(piece).size();
    EXPECT_LE(double(bytes) / double(table.size()), 12);
}

TEST(ReportRows, do_not_depend_on_threads) {
    const Localizations table = table_2d(200000);
    std::string texts[2];
    for (const int threads : {1, 2}) {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, std::size_t(threads));
        const RoundedTable stored(table);
        for (std::size_t piece = 0; piece < stored.pieces(); ++piece) texts[threads - 1] += stored.text_of(piece);
        texts[threads - 1] += stored.columns_json().dump();
    }
    EXPECT_TRUE(texts[0] == texts[1]);
}

TEST(ReportRows, of_each_piece_are_a_random_sample) {
    const Localizations table = table_2d(60000);
    const RoundedTable stored(table);
    // The mean of a piece differs from that of the table by its standard error, whatever the column.
    for (std::size_t piece = 0; piece < stored.pieces(); ++piece) {
        const std::vector<std::size_t> rows = stored.indices_of(piece);
        const double n = double(rows.size()), all = double(table.size());
        double frame = 0, x = 0;
        for (const std::size_t row : rows) frame += table.frame[row], x += double(table.x_px[row]);
        const double error = std::sqrt((1 - n / all) / n / 12);
        EXPECT_NEAR(frame / n / (all / 20), 0.5, 4.5 * error);
        EXPECT_NEAR(x / n / 120, 0.5, 4.5 * error + 4 / std::sqrt(12 * all));
    }
}

TEST(Report, text_cannot_end_the_page) {
    const std::string hostile = "</script><!-- & \xe2\x80\xa8 ' \" \\ \xff";
    const std::string text = text_in_page({{"text", hostile}, {"number", nan_value}});
    EXPECT_EQ(text.find_first_of("<>&"), text.npos);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    const PageJson read = PageJson::parse(text);
    EXPECT_EQ(read["text"].get<std::string>(), hostile.substr(0, hostile.size() - 1) + "\xef\xbf\xbd");
    EXPECT_TRUE(read["number"].is_null());
}

TEST(Report, base64_is_that_of_the_standard) {
    const auto encoded = [](std::string text) {
        return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    };
    // RFC 4648, section 10
    EXPECT_EQ(encoded(""), "");
    EXPECT_EQ(encoded("f"), "Zg==");
    EXPECT_EQ(encoded("fo"), "Zm8=");
    EXPECT_EQ(encoded("foo"), "Zm9v");
    EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Report, a_page_is_one_file_with_its_facts) {
    const TemporaryFolder folder;
    Localizations table = table_2d(500);
    table.history = {"Generated by: </script><script>alert(1)</script>\nBaseline: 100\nSensitivity: 0.5\nGain: 2\n"};
    ReportOptions options;
    options.tables = {"a.hdf5"}, options.title = "<b>";
    const ReportInfo info = write_report(folder / "r.html", table, options);
    EXPECT_EQ(info.rows, 500u);
    EXPECT_EQ(info.stored_rows, 500u);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"r.html"});
    const std::string page = read_bytes(folder / "r.html");
    EXPECT_EQ(page.size(), info.bytes);
    EXPECT_EQ(page.find("{{"), page.npos);
    EXPECT_EQ(page.find("<b>"), page.npos);
    EXPECT_EQ(page.find("alert(1)</script>"), page.npos);
    for (const char* address : {"http:", "https:", "src=\"//"}) {
        // the name of the SVG format is no address that a browser opens
        const std::size_t at = page.find(address);
        EXPECT_TRUE(at == page.npos || page.compare(at, 26, "http://www.w3.org/2000/svg") == 0) << page.substr(at, 60);
    }
    const PageJson facts = facts_of(page);
    EXPECT_EQ(facts["title"], "<b>");
    EXPECT_EQ(facts["camera"]["offset_adu"], 100);
    EXPECT_EQ(facts["camera"]["gain_e_per_adu"], 0.25);
    EXPECT_EQ(facts["history"][0], table.history[0]);
    expect_error<OptionError>([&] { write_report(folder / "r.html", table, options, IfExists::refuse); }, {"r.html"});
    EXPECT_EQ(read_bytes(folder / "r.html"), page);
}

TEST(Report, frames_of_another_movie_are_not_shown) {
    const TemporaryFolder folder;
    const Localizations table = table_2d(500);
    FrameBlock block;
    block.count = 30, block.width = 120, block.height = 64;
    block.bytes.resize(block.frame_bytes() * 30);
    const auto movie = memory_movie(std::move(block), "other.tif");
    ReportOptions options;
    options.movie = movie.get();
    const ReportInfo info = write_report(folder / "report.html", table, options);
    EXPECT_EQ(info.raw_frames, 0);
    EXPECT_NE(std::find_if(info.missing.begin(), info.missing.end(),
                           [](const std::string& text) { return text.find("120 x 64 px") != text.npos; }),
              info.missing.end());
}

TEST(Report, a_larger_table_is_a_sample) {
    const TemporaryFolder folder;
    const Localizations table = table_2d(60000);
    ReportOptions options;
    options.size_mb = 0.2;
    const ReportInfo info = write_report(folder / "r.html", table, options);
    EXPECT_EQ(info.rows, 60000u);
    EXPECT_LE(info.row_bytes, 200000u);
    EXPECT_GE(info.row_bytes, 100000u);
    EXPECT_LT(info.stored_rows, 40000u);
    EXPECT_EQ(facts_of(read_bytes(folder / "r.html"))["stored_rows"], info.stored_rows);
}

TEST(Report, wrong_options_and_stops_leave_no_file) {
    const TemporaryFolder folder;
    const Localizations table = table_2d(10);
    ReportOptions options;
    options.size_mb = 0;
    expect_error<OptionError>([&] { write_report(folder / "r.html", table, options); }, {"report_size=0"});
    options = {}, options.raw_frames = -1;
    expect_error<OptionError>([&] { write_report(folder / "r.html", table, options); }, {"raw_frames=-1"});
    const StopFlag stop{true};
    options = {}, options.stop = &stop;
    EXPECT_THROW(write_report(folder / "r.html", table, options), Cancelled);
    EXPECT_TRUE(folder.names().empty());
}

TEST(Report, raw_frames_are_rounded_by_less_than_their_noise_and_cropped_to_the_limit) {
    FrameBlock block;
    block.width = 40, block.height = 30, block.count = 50, block.type = PixelType::uint16;
    block.bytes.resize(block.frame_bytes() * 50);
    std::mt19937 random(4);
    std::poisson_distribution<int> counts(300);
    std::vector<std::uint16_t> values(40 * 30 * 50);
    for (std::uint16_t& value : values) value = std::uint16_t(100 + counts(random));
    std::memcpy(block.bytes.data(), values.data(), block.bytes.size());
    const auto movie = memory_movie(std::move(block));
    Localizations table = table_2d(100);
    table.frame.assign(100, 25);
    const RawFrames whole = read_raw_frames(*movie, table, 10, 1e6, nullptr, nullptr);
    ASSERT_EQ(whole.texts.size(), 10u);
    EXPECT_TRUE(whole.note.empty());
    EXPECT_EQ(whole.json[5]["frame"], 27);
    EXPECT_EQ(whole.json[4]["rows"].size() + whole.json[5]["rows"].size(), 0u);
    const auto bytes = inflated(from_base64(whole.texts[5]), 40 * 30);
    const double low = whole.json[5]["low"], high = whole.json[5]["high"];
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        const double value = low + std::pow(bytes[k] / 255.0, 2) * (high - low);
        EXPECT_NEAR(value, values[27 * 40 * 30 + k], std::sqrt(300) / 4);
    }
    const RawFrames cropped = read_raw_frames(*movie, table, 10, 4000, nullptr, nullptr);
    EXPECT_NE(cropped.note.find("of 40 x 30 pixels"), std::string::npos) << cropped.note;
    std::size_t sum = 0;
    for (const std::string& text : cropped.texts) sum += text.size();
    EXPECT_LE(sum, 4000u);
    // The drift that was subtracted is added again: 250 nm are 2.5 px.
    Drift drift;
    drift.x.nm.assign(50, 250), drift.y.nm.assign(50, -100);
    const RawFrames drifted = read_raw_frames(*movie, table, 50, 1e6, &drift, nullptr);
    ASSERT_EQ(drifted.json[25]["rows"].size(), 100u);
    EXPECT_NEAR(drifted.json[25]["rows"][7][0], table.x_px[7] + 2.5, 0.001);
    EXPECT_NEAR(drifted.json[25]["rows"][7][1], table.y_px[7] - 1, 0.001);
}
