// The table written during a run has the same bytes as a table written at the end, or does not exist.
// SPDX-License-Identifier: MIT
#include "run/running_table.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "tests/temporary_folder.hpp"

using namespace glint;

namespace {

constexpr std::size_t many = 300'000;  // rows: more than may wait

Localizations rows_from(std::size_t first, std::size_t count) {
    Localizations table;
    table.pixel_size_nm = 100;
    for (std::size_t k = first; k < first + count; ++k) {
        table.frame.push_back(std::uint32_t(k / 50));
        table.x_px.push_back(float(k % 509)), table.y_px.push_back(float(k % 251) / 3);
        table.photons.push_back(float(k % 1009));
    }
    return table;
}

class RunningTableTest : public ::testing::Test {
  protected:
    std::filesystem::path out() const { return folder_ / "t.csv"; }
    std::unique_ptr<RunningTable> begun(std::size_t rows, std::size_t piece = 1234) const {
        auto table = std::make_unique<RunningTable>(out(), rows_from(0, 1), IfExists::replace, Warn(), 2);
        for (std::size_t k = 0; k < rows; k += piece) table->append(rows_from(k, std::min(piece, rows - k)));
        return table;
    }
    std::size_t files() const {
        return std::size_t(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
    }
    test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(RunningTableTest, has_the_bytes_of_one_that_is_written_at_once) {
    ASSERT_TRUE(begun(many)->finish());
    write_localizations(folder_ / "at_once.csv", rows_from(0, many));
    EXPECT_EQ(test::read_bytes(out()), test::read_bytes(folder_ / "at_once.csv"));
}

TEST_F(RunningTableTest, is_not_begun_for_a_few_rows) {
    const auto table = begun(1000);
    EXPECT_EQ(files(), 0u);
    EXPECT_FALSE(table->finish());
    EXPECT_EQ(files(), 0u);
}

TEST_F(RunningTableTest, leaves_no_file_where_it_is_not_finished) {
    begun(many);
    EXPECT_EQ(files(), 0u);
}

TEST_F(RunningTableTest, is_given_up_where_it_cannot_be_written) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit little{1 << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    auto table = begun(many);
    EXPECT_FALSE(table->finish());
    table.reset();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(files(), 0u);
}

TEST_F(RunningTableTest, replaces_no_file_that_came_meanwhile) {
    auto table = std::make_unique<RunningTable>(out(), rows_from(0, 1), IfExists::refuse, Warn(), 2);
    table->append(rows_from(0, many));
    std::ofstream(out()) << "another's";
    EXPECT_FALSE(table->finish());
    table.reset();
    EXPECT_EQ(test::read_bytes(out()), "another's");
    EXPECT_EQ(files(), 1u);
}
