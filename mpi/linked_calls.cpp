// The MPI that glint-mpi is linked to.
// SPDX-License-Identifier: MIT
#include "mpi/calls.hpp"

const glint::mpi::Calls& glint::mpi::calls() { return glint_mpi_calls; }
