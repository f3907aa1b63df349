// MPI's calls, compiled with the header of one MPI. Linked into glint-mpi; in the archive, a library for each MPI ABI.
// SPDX-License-Identifier: MIT
#include "mpi/calls.hpp"

#include <mpi.h>

#include <chrono>
#include <thread>

namespace {

using glint::mpi::RankInfo;

constexpr int tag = 1;
MPI_Comm node = MPI_COMM_NULL;

/// MPI's own busy-wait would occupy a core per rank, which the fitting threads need.
void sleep_until_done(MPI_Request request) {
    using namespace std::chrono_literals;
    for (int done = 0, looks = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done; ++looks)
        if (looks > 100) std::this_thread::sleep_for(1ms);
}

bool begin(int* argc, char*** argv, RankInfo* place) {
    static_assert(MPI_MAX_PROCESSOR_NAME < sizeof place->host);
    int provided = 0, length = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place->rank_on_node);
    MPI_Comm_size(node, &place->size_of_node);
    MPI_Get_processor_name(place->host, &length);
    return provided >= MPI_THREAD_FUNNELED;
}

void end() {
    MPI_Comm_free(&node);
    MPI_Finalize();
}

void abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

void broadcast(void* bytes, int count) {
    MPI_Request request;
    MPI_Ibcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
}

void gather_on_node(const void* bytes, int count, void* all) {
    MPI_Allgather(bytes, count, MPI_BYTE, all, count, MPI_BYTE, node);
}

void gather_counts(int count, int* counts) {
    MPI_Request request;
    MPI_Igather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
}

void gather(const void* bytes, int count, void* all, const int* counts, const int* offsets) {
    MPI_Request request;
    MPI_Igatherv(bytes, count, MPI_BYTE, all, counts, offsets, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(request);
}

void send(int rank, const void* bytes, int count) { MPI_Send(bytes, count, MPI_BYTE, rank, tag, MPI_COMM_WORLD); }

bool receive(int* rank, void* bytes, int count) {
    int arrived = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &arrived, &status);
    if (!arrived) return false;
    *rank = status.MPI_SOURCE;
    MPI_Recv(bytes, count, MPI_BYTE, *rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const glint::mpi::Calls glint_mpi_calls{
    begin, end, abort, broadcast, gather_on_node, gather_counts, gather, send, receive};

#ifdef GLINT_MPI_LINKED  // not in the libraries that glint-mpi finds when it starts
const glint::mpi::Calls& glint::mpi::calls() { return glint_mpi_calls; }
#endif
