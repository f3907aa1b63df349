// Tests of the glint-mpi of the archive, which finds its MPI when it starts: either ABI, under either launcher.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/hold.hpp"

using namespace glint;
using namespace glint::test;
namespace fs = std::filesystem;

namespace {

const std::string given = " --sigma 130nm --pixel-size 100nm --offset 100 --gain 1";
const std::string mpich_run = "mpiexec.hydra -n 3 ";

bool has_mpich(const TemporaryFolder& folder) {
    return run(folder, "command -v mpiexec.hydra && ldconfig -p | grep -q libmpich.so.12").exit_code == 0;
}

class FindMpi : public ::testing::Test {
  protected:
    void SetUp() override {
        const Ended made = run(folder_, "glint simulate -o movie.tif --frames 40 --seed 5 -q" + given +
                                            " && glint localize movie.tif -o one.hdf5 -q --backend cpu" + given);
        ASSERT_EQ(made.exit_code, 0) << made.err;
    }

    /// Runs under the launcher, with `variables` set in the shell.
    Ended localize(const std::string& launcher, const std::string& variables = "") const {
        const fs::path program =
            fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "mpi_found/bin/glint-mpi";
        return run(folder_, variables + " " + launcher + program.string() +
                                " localize movie.tif -o o.hdf5 --overwrite --backend cpu" + given);
    }
    void expect_right(const Ended& end, const std::string& ranks) const {
        ASSERT_EQ(end.exit_code, 0) << end.err;
        EXPECT_NE(end.err.find(ranks), std::string::npos) << end.err;
        EXPECT_TRUE(read_bytes(folder_ / "o.hdf5") == read_bytes(folder_ / "one.hdf5"));
    }

    TemporaryFolder folder_;
    const std::string open_mpi_run_ = std::string(GLINT_MPIRUN) + " -n 3 ";
};

void expect_refused(const Ended& end, const std::string& why) {
    EXPECT_EQ(end.exit_code, 1) << end.err;
    EXPECT_NE(end.err.find(why), std::string::npos) << end.err;
}

}  // namespace

TEST_F(FindMpi, open_mpi_by_its_launcher_and_without_one) {
    expect_right(localize(open_mpi_run_), "3 ranks");
    expect_right(localize(""), "1 rank");
}

TEST_F(FindMpi, mpich_by_its_launcher_and_by_name) {
    if (!has_mpich(folder_)) GTEST_SKIP() << "no MPICH here (Debian: mpich)";
    expect_right(localize(mpich_run), "3 ranks");
    expect_right(localize("", "GLINT_MPI_LIBRARY=libmpich.so.12"), "1 rank");
}

// Otherwise each process would be a run with a single rank, and do the whole work.
TEST_F(FindMpi, a_launcher_of_another_mpi_is_an_error) {
    if (!has_mpich(folder_)) GTEST_SKIP() << "no MPICH here (Debian: mpich)";
    const std::string why = "3 processes were started";
    expect_refused(localize(open_mpi_run_, "GLINT_MPI_LIBRARY=libmpich.so.12"), why);
    expect_refused(localize(mpich_run, "GLINT_MPI_LIBRARY=libmpi.so.40"), why);
}

TEST_F(FindMpi, what_is_not_there_is_named) {
    expect_refused(localize("", "GLINT_MPI_LIBRARY=libnone.so"), "it looked for libnone.so. Load your cluster's MPI");
    expect_refused(localize("", "GLINT_MPI_LIBRARY=libm.so.6"), "libm.so.6 is no MPI");
}
