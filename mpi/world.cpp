// All ranks: start and end of MPI, collective calls on texts, messages.
// SPDX-License-Identifier: MIT
#include "mpi/world.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "mpi/calls.hpp"
#include "mpi/cores.hpp"

namespace glint::mpi {
namespace {

int threads_of(const RankInfo& place) {
    std::vector<CpuMask> masks(std::size_t(place.size_of_node));
    const CpuMask mine = cpus_of_this_process();
    calls().gather_on_node(&mine, sizeof mine, masks.data());
    for (const environment::Setting& setting : environment::settings())
        if (setting.name == "GLINT_THREADS" && setting.is_set) return environment::threads();
    return share_of_threads(masks, std::size_t(place.rank_on_node), environment::threads());
}

/// If the launcher belongs to another MPI, every process is rank 0 of 1, and each would do the whole work.
void require_all_ranks(int size) {
    for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* launched = std::getenv(variable);
        if (!launched) continue;
        if (size == 1 && std::atoi(launched) > 1)
            throw Error(fmt::format(
                "{} processes were started ({}), but MPI sees one: the launcher belongs to another MPI "
                "than glint-mpi uses. Start it by that MPI's mpirun, or by srun --mpi=TYPE (srun --mpi=list)",
                launched, variable));
        return;
    }
}

}  // namespace

World::World(int& argc, char**& argv) {
    RankInfo place;
    if (!calls().begin(&argc, &argv, &place))
        throw Error("this MPI does not support threads: glint-mpi needs MPI_THREAD_FUNNELED");
    rank_ = place.rank, size_ = place.size, host_ = place.host;
    require_all_ranks(size_);
    threads_ = threads_of(place);
}

World::~World() { calls().end(); }

void World::abort(int exit_code) const {
    calls().abort(exit_code);
    std::abort();
}

void World::broadcast(std::string& text) const {
    std::int64_t bytes = std::int64_t(text.size());
    calls().broadcast(&bytes, sizeof bytes);
    text.resize(std::size_t(bytes));
    calls().broadcast(text.data(), int(bytes));
}

std::vector<std::string> World::gather(const std::string& text) const {
    const int bytes = int(text.size());
    std::vector<int> counts(rank_ == 0 ? std::size_t(size_) : 0), offsets(counts.size());
    calls().gather_counts(bytes, counts.data());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    std::string all(std::size_t(std::accumulate(counts.begin(), counts.end(), 0)), '\0');
    calls().gather(text.data(), bytes, all.data(), counts.data(), offsets.data());
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
        texts.push_back(all.substr(std::size_t(offsets[rank]), std::size_t(counts[rank])));
    return texts;
}

void World::send(int rank, const void* bytes, int count) const { calls().send(rank, bytes, count); }

std::optional<int> World::receive(void* bytes, int count) const {
    int rank = 0;
    return calls().receive(&rank, bytes, count) ? std::optional(rank) : std::nullopt;
}

}  // namespace glint::mpi
