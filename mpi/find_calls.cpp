// Finds an MPI when the archive's glint-mpi starts. Opens the library of Open MPI, or of MPICH and compatible MPIs, and
// then our library for that ABI from lib/ beside bin/ (docs/decisions/0090-mpi-at-run-time.md).
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "mpi/calls.hpp"

namespace glint::mpi {
namespace {

/// The name of a library identifies its ABI: that of Open MPI since 3.0, or the common one of MPICH 3.1, Intel MPI,
/// MVAPICH2 and Cray's MPI.
const std::vector<std::string> open_mpi{"libmpi.so.40"}, mpich{"libmpi.so.12", "libmpich.so.12"};

/// The launcher's ABI comes first: with another MPI than the launcher's, each process would be a run with a single
/// rank.
std::vector<std::string> candidates() {
    if (const std::string named = environment::mpi_library(); !named.empty()) return {named};
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) return open_mpi;
    std::vector<std::string> first = open_mpi, then = mpich;
    if (std::getenv("PMI_SIZE") && !std::getenv("PMIX_RANK")) std::swap(first, then);
    first.insert(first.end(), then.begin(), then.end());
    return first;
}

/// Returns null if the library is not found. Its symbols are global, because plugins that MPI opens need them.
void* opened(const std::string& name, std::string& why_not) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) why_not += fmt::format("{}{}", why_not.empty() ? "" : "; ", dlerror());
    return library;
}

const Calls& calls_for(void* library, const std::string& name) {
    if (!dlsym(library, "MPI_Init_thread")) throw Error(fmt::format("{} is no MPI: it has no MPI_Init_thread", name));
    const bool is_open_mpi = dlsym(library, "ompi_mpi_comm_world");
    const auto ours = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib" /
                      (is_open_mpi ? "glint-mpi-openmpi.so" : "glint-mpi-mpich.so");
    void* of_ours = dlopen(ours.c_str(), RTLD_NOW | RTLD_LOCAL);
    const void* found = of_ours ? dlsym(of_ours, "glint_mpi_calls") : nullptr;
    if (!found) throw Error(fmt::format("the MPI that was found cannot be used: {}", dlerror()));
    return *static_cast<const Calls*>(found);
}

const Calls& find() {
    const std::vector<std::string> names = candidates();
    std::string why_not;
    for (const std::string& name : names)
        if (void* library = opened(name, why_not)) return calls_for(library, name);
    throw Error(fmt::format(
        "glint-mpi finds no MPI here: it looked for {}. Load your cluster's MPI (module load openmpi), or name its "
        "library: GLINT_MPI_LIBRARY=/path/libmpi.so.40, or libmpi.so.12 of MPICH, Intel MPI and their kin. "
        "One movie on one machine needs none: glint localize. ({})",
        fmt::join(names, ", "), why_not));
}

}  // namespace

const Calls& calls() {
    static const Calls& found = find();
    return found;
}

}  // namespace glint::mpi
