// Finds an MPI when glint-mpi starts, in the archive: opens the library of Open MPI or of MPICH and its kin, and then ours for its kind,
// which stands in lib/ beside bin/ (docs/decisions/0090-mpi-at-run-time.md).
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

/// A name says which ABI its library has: Open MPI's since 3.0, and the one that MPICH 3.1, Intel MPI, MVAPICH2 and Cray's MPI share.
const std::vector<std::string> open_mpi{"libmpi.so.40"}, mpich{"libmpi.so.12", "libmpich.so.12"};

/// The launcher's kind first: started by another MPI's, each process would be the only rank of its own.
std::vector<std::string> candidates() {
    if (const std::string named = environment::mpi_library(); !named.empty()) return {named};
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) return open_mpi;
    std::vector<std::string> first = open_mpi, then = mpich;
    if (std::getenv("PMI_SIZE") && !std::getenv("PMIX_RANK")) std::swap(first, then);
    first.insert(first.end(), then.begin(), then.end());
    return first;
}

/// Null where it is not found. For all to see: MPI opens parts of its own, which look for it.
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
