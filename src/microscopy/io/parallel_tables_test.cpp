// Tables written and read by several threads: the same bytes and errors as with one thread.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>
#include <numeric>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/localization_reader.hpp"
#include "tests/cut_table.hpp"
#include "tests/localization_table.hpp"
#include "tests/on_threads.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

constexpr const char* formats[] = {".hdf5", ".csv", ".smlm.h5", ".all.csv", ".smap.csv", "_sml.mat", ".smlm"};

/// Returns several blocks of rows and a part of one, with values that the writers count in warnings.
Localizations rows_of_many_blocks() {
    Localizations table = full_table(50'000);
    for (std::size_t k = 0; k < table.size(); k += 977) {
        table.photons[k] = std::numeric_limits<float>::quiet_NaN();
        table.extra["net_gradient"].values[k] = std::numeric_limits<double>::infinity();
        table.x_px[k] = -1;  // Picasso hides the row
    }
    return table;
}

Localizations rows_of(const Localizations& table, std::size_t first, std::size_t end) {
    std::vector<std::size_t> keep(end - first);
    std::iota(keep.begin(), keep.end(), first);
    return select(table, keep);
}

}  // namespace

TEST(ParallelTables, any_number_of_threads_writes_the_same_bytes) {
    TemporaryFolder folder;
    const Localizations table = rows_of_many_blocks();
    for (const std::string end : formats) {
        std::string bytes;
        std::vector<std::string> warnings;
        std::size_t hidden = 0;
        for (const int threads : {1, 2, 5})
            on_threads(threads, [&] {
                Warnings told;
                const std::size_t now_hidden = write_localizations(folder / ("a" + end), table, told.sink());
                if (threads == 1) bytes = read_bytes(folder / ("a" + end)), warnings = told.all, hidden = now_hidden;
                EXPECT_TRUE(read_bytes(folder / ("a" + end)) == bytes) << end << " by " << threads << " threads";
                EXPECT_EQ(told.all, warnings) << end;
                EXPECT_EQ(now_hidden, hidden) << end;
            });
        EXPECT_EQ(hidden, end == ".hdf5" ? 52u : 0u);  // every 977th of 50,000 rows
    }
}

TEST(ParallelTables, rows_keep_their_order_through_small_and_large_pieces) {
    TemporaryFolder folder;
    Localizations table;
    constexpr std::size_t rows = 600'000;
    for (std::size_t k = 0; k < rows; ++k) {
        table.frame.push_back(std::uint32_t(k));
        table.x_px.push_back(float(k % 1013)), table.y_px.push_back(float(k % 509));
    }
    table.sx_px = table.sy_px = table.lpx_px = table.lpy_px = std::vector<float>(rows, 1), table.pixel_size_nm = 100;
    const std::size_t cuts[] = {0, 5, 9'000, 300'000, 300'001, rows};  // the third of these pieces is a large one
    for (const std::string end : formats) {
        write_localizations(folder / ("whole" + end), table);
        LocalizationWriter writer(folder / ("pieces" + end), table, rows);
        for (std::size_t k = 1; k < std::size(cuts); ++k) writer.append(rows_of(table, cuts[k - 1], cuts[k]));
        writer.close();
        EXPECT_TRUE(read_bytes(folder / ("whole" + end)) == read_bytes(folder / ("pieces" + end))) << end;
        EXPECT_TRUE(read_localizations(folder / ("pieces" + end), {}, 100).frame == table.frame) << end;
    }
}

TEST(ParallelTables, a_full_disk_is_reported_by_any_number_of_threads) {
    TemporaryFolder folder;
    const Localizations table = rows_of_many_blocks();
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    for (const int threads : {1, 2, 5})
        for (const rlim_t bytes : {rlim_t(1000), rlim_t(2'000'000)})
            for (const std::string end : formats)
                on_threads(threads, [&] {
                    CutTable pieces(table, 9'000);
                    const rlimit tight{end == ".smlm" ? bytes / 10 : bytes, unlimited.rlim_max};  // .smlm is compressed
                    for (const bool in_pieces : {false, true}) {
                        setrlimit(RLIMIT_FSIZE, &tight);
                        const std::string message = message_of<OutputError>([&] {
                            in_pieces ? write_localizations(folder / ("a" + end), pieces)
                                      : write_localizations(folder / ("a" + end), table);
                        });
                        setrlimit(RLIMIT_FSIZE, &unlimited);
                        EXPECT_HAS(message, "a" + end + ": the file would exceed the size limit");
                        EXPECT_TRUE(folder.names().empty()) << end;
                    }
                });
}
