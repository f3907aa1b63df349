// MPI's initialisation, and collective calls that sleep while they wait.
// SPDX-License-Identifier: MIT
#include "mpi/world.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "mpi/cores.hpp"

namespace glint::mpi {
namespace {

void sleep_until_done(MPI_Request request) {
    using namespace std::chrono_literals;
    for (int done = 0, looks = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done; ++looks)
        if (looks > 100) std::this_thread::sleep_for(1ms);
}

int threads_of(int rank) {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    int ranks = 1, here = 0;
    MPI_Comm_size(node, &ranks);
    MPI_Comm_rank(node, &here);
    std::vector<CpuMask> masks(static_cast<std::size_t>(ranks));
    const CpuMask mine = cpus_of_this_process();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, masks.data(), sizeof mine, MPI_BYTE, node);
    MPI_Comm_free(&node);
    for (const environment::Setting& setting : environment::settings())
        if (setting.name == "GLINT_THREADS" && setting.is_set) return environment::threads();
    return share_of_threads(masks, std::size_t(here), environment::threads());
}

}  // namespace

World::World(int& argc, char**& argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED)
        throw Error("this MPI does not support threads: glint-mpi needs MPI_THREAD_FUNNELED");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    host_.assign(name, std::size_t(length));
    threads_ = threads_of(rank_);
}

World::~World() { MPI_Finalize(); }

void World::abort(int exit_code) const {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();
}

void World::broadcast(std::string& text) const {
    MPI_Request request;
    std::int64_t bytes = std::int64_t(text.size());
    MPI_Ibcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
    text.resize(std::size_t(bytes));
    MPI_Ibcast(text.data(), int(bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
}

std::vector<std::string> World::gather(const std::string& text) const {
    MPI_Request request;
    const int bytes = int(text.size());
    std::vector<int> counts(rank_ == 0 ? std::size_t(size_) : 0), offsets(counts.size());
    MPI_Igather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    std::string all(std::size_t(std::accumulate(counts.begin(), counts.end(), 0)), '\0');
    MPI_Igatherv(text.data(), bytes, MPI_BYTE, all.data(), counts.data(), offsets.data(), MPI_BYTE, 0, MPI_COMM_WORLD,
                 &request);
    sleep_until_done(request);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
        texts.push_back(all.substr(std::size_t(offsets[rank]), std::size_t(counts[rank])));
    return texts;
}

}  // namespace glint::mpi
