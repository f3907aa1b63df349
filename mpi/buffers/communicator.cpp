// A duplicated communicator with MPI_ERRORS_RETURN; the test for a CUDA-aware MPI.
// SPDX-License-Identifier: MIT
#include "mpi/buffers/communicator.hpp"

#include "gpu/text.hpp"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

namespace glint::mpi {

using gpu::text;

bool cuda_aware() {
#if defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

Communicator::Communicator(MPI_Comm communicator, Way way)
    : state_(std::make_shared<detail::CommunicatorState>(communicator, way)) {}
int Communicator::rank() const { return state_->rank; }
int Communicator::size() const { return state_->size; }
bool Communicator::direct() const { return state_->direct; }
std::uint64_t Communicator::shared_messages() const { return state_->shared_messages; }
MPI_Comm Communicator::native() const { return state_->own; }

namespace detail {

CommunicatorState::CommunicatorState(MPI_Comm communicator, Way way)
    : direct(way == Way::direct || (way == Way::automatic && cuda_aware())) {
    check(MPI_Comm_dup(communicator, &own), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_dup(own, &answers), "MPI_Comm_dup");
    check(MPI_Comm_rank(own, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(own, &size), "MPI_Comm_size");
    shares.assign(std::size_t(size), false);
    if (way == Way::automatic && !direct) find_neighbors();
}

/// The other ranks of this node.
void CommunicatorState::find_neighbors() {
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(own, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    int count = 0;
    check(MPI_Comm_size(node, &count), "MPI_Comm_size");
    std::vector<int> ranks(static_cast<std::size_t>(count));
    check(MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, node), "MPI_Allgather");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    for (const int other : ranks) shares[std::size_t(other)] = other != rank;
}

CommunicatorState::~CommunicatorState() {
    int over = 0;
    MPI_Finalized(&over);
    for (MPI_Comm* communicator : {&answers, &own})
        if (!over && *communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
}

void CommunicatorState::check(int result, const char* call) const {
    if (result == MPI_SUCCESS) return;
    char words[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    MPI_Error_string(result, words, &length);
    throw MpiError(result, text("rank ", rank, " of ", size, ": ", call, " failed: ", words));
}

void CommunicatorState::require_rank(int other, const char* role) const {
    if (other < 0 || other >= size)
        throw OptionError(text(role, " rank ", other, " is not in this communicator, whose ranks are 0 to ", size - 1));
}

std::byte* CommunicatorState::pinned(const gpu::Context& context) {
    if (context_ != context.shared_state()) {
        pinned_ = gpu::Pinned<std::byte>(context, 2 * piece_bytes);
        context_ = context.shared_state();
    }
    return pinned_.data();
}

}  // namespace detail
}  // namespace glint::mpi
