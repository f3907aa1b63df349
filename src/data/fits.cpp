// Fits: names of statuses, and allocation of the columns.
// SPDX-License-Identifier: MIT
#include "glint/fits.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace glint {
namespace {

constexpr std::size_t large_bytes = std::size_t(64) << 20;

/// Asks for huge pages for the columns of a large stack (a hundred million fits): page faults of 4 KiB would take
/// longer than the fits on a GPU.
template <class T>
void resize_large(std::vector<T>& column, std::size_t n) {
    if (n > column.capacity() && n * sizeof(T) >= large_bytes) {
        column.reserve(n);
        const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
        const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(column.data()) + page - 1) / page * page;
        const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(column.data() + column.capacity()) / page * page;
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a hint: errors do not matter
    }
    column.resize(n);
}

}  // namespace

std::string_view name_of(FitStatus status) {
    switch (status) {
        case FitStatus::converged: return "converged";
        case FitStatus::iteration_limit: return "iteration limit";
        case FitStatus::at_bound: return "at bound";
        case FitStatus::singular: return "singular";
        case FitStatus::bad_input: return "bad input";
    }
    return "";
}

void Fits::resize(PsfModel new_model, std::size_t n) {
    model = new_model;
    for (int k = 0; k < max_parameters; ++k) {
        resize_large(theta[k], k < parameter_count(model) ? n : 0);
        resize_large(crlb[k], k < parameter_count(model) ? n : 0);
    }
    resize_large(log_likelihood_ratio, n);
    resize_large(p_value, n);
    resize_large(iterations, n);
    resize_large(status, n);
    window.clear(), emitters.clear();
}

}  // namespace glint
