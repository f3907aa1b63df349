// Tables without rows, through every command that reads and writes tables: the columns stay, and no frames appear.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "glint/localization_io.hpp"
#include "glint/localization_reader.hpp"
#include "tests/command_line.hpp"

namespace glint::test {
namespace {

class EmptyTables : public CommandLine {
  protected:
    void SetUp() override {
        make_movie("m.tif");
        succeed("localize m.tif -o full.hdf5" + given);
    }
    void succeed(const std::string& arguments) {
        const Ended end = glint(arguments + " -q");
        ASSERT_EQ(end.exit_code, 0) << arguments << "\n" << end.err;
    }
    std::set<std::string> columns_of(const std::string& name) const {
        const LocalizationReader reader(folder_ / name, {}, {.pixel_size_nm = 100});
        const Localizations row = reader.example();
        std::set<std::string> names;
        for (const LocalizationColumn& column : localization_columns())
            if (!(row.*column.values).empty()) names.insert(std::string(column.name));
        for (const auto& [column, values] : row.extra) names.insert(column);
        if (!row.iterations.empty()) names.insert("iterations");
        if (!row.status.empty()) names.insert("status");
        return names;
    }
    std::int64_t frames_of(const std::string& tables) {
        const Ended end =
            glint("convert " + tables + " -o merged.hdf5 --pixel-size 100nm --consecutive --overwrite --json");
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return end.exit_code == 0 ? nlohmann::json::parse(end.out).at("frames").get<std::int64_t>() : -1;
    }
};

TEST_F(EmptyTables, keep_the_columns_that_a_full_one_would_get) {
    for (const std::string ending : {".hdf5", ".csv", ".smlm.h5"}) {
        if (ending != ".hdf5") succeed("convert full.hdf5 -o full" + ending);
        succeed("filter full.hdf5 -o empty" + ending + " --where 'photons < 0'");
        for (const std::string command : {"link", "link --unmerged", "drift", "cluster --radius 20nm"}) {
            for (const std::string table : {"full", "empty"})
                succeed(fmt::format("{} {}{} -o {}_out{} --pixel-size 100nm --overwrite", command, table, ending, table,
                                    ending));
            EXPECT_GT(columns_of("full_out" + ending).size(), 6u);
            EXPECT_EQ(columns_of("empty_out" + ending), columns_of("full_out" + ending)) << command << ending;
        }
    }
}

TEST_F(EmptyTables, merged_have_the_columns_that_all_have) {
    succeed("cluster full.hdf5 --radius 20nm -o group.hdf5");
    for (const std::string table : {"full", "group"})
        succeed("filter " + table + ".hdf5 -o no_" + table + ".hdf5 --where 'photons < 0'");
    succeed("convert no_full.hdf5 no_group.hdf5 -o merged.hdf5");
    EXPECT_EQ(columns_of("merged.hdf5"), columns_of("full.hdf5"));
    succeed("convert no_group.hdf5 no_group.hdf5 -o merged.hdf5 --overwrite");
    EXPECT_EQ(columns_of("merged.hdf5"), columns_of("group.hdf5"));
}

TEST_F(EmptyTables, of_clusters_that_all_rows_were_dropped_from_keep_their_columns) {
    const std::string cluster = "cluster full.hdf5 --radius 1nm --min-neighbors 100";
    succeed(cluster + " -o all.hdf5");
    succeed(cluster + " -o rest.hdf5 --drop-rest");
    EXPECT_EQ(read_localizations(folder_ / "rest.hdf5").size(), 0u);
    EXPECT_EQ(columns_of("rest.hdf5"), columns_of("all.hdf5"));
}

TEST_F(EmptyTables, are_no_frames) {
    succeed("filter full.hdf5 -o empty.csv --where 'photons < 0'");
    EXPECT_EQ(frames_of("full.hdf5 empty.csv full.hdf5"), 80);
    for (const std::string name : {"none.hdf5", "none.smlm.h5"}) {
        succeed("convert empty.csv -o " + name + " --pixel-size 100nm");
        EXPECT_EQ(frames_of("full.hdf5 " + name + " full.hdf5"), 80) << name;
    }
}

}  // namespace
}  // namespace glint::test
