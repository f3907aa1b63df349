// The record of a fit (FitInfo), described once. All code that sums, prints, sends or shows a record uses this list.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/fit.hpp"

namespace glint {

/// How the values of several parts of one fit are combined.
enum class Combined {
    total,  ///< added
    largest,
    first,  ///< the first value that is set
    apart   ///< combined separately (fit_info.cpp)
};

/// What a value of FitInfo describes: every fit, or the activity and events of GPUs.
enum class InfoGroup { fit, gpu };

template <class Value>
struct InfoField {
    const char* name;  ///< in C++ and Python
    const char* json;  ///< in --json, and between the ranks of glint-mpi
    Value FitInfo::*value;
    InfoGroup group;
    Combined combined;
};
template <class Value>  // GCC deduces it by itself, but clang 14 does not
InfoField(const char*, const char*, Value FitInfo::*, InfoGroup, Combined)->InfoField<Value>;

/// Calls visit(InfoField) for each field, in the order in which they are printed.
template <class Visit>
void for_each_info_field(const Visit& visit) {
    using enum InfoGroup;
    using enum Combined;
    visit(InfoField{"backend", "backend", &FitInfo::backend, fit, apart});
    visit(InfoField{"device", "device", &FitInfo::device, fit, apart});
    visit(InfoField{"threads", "threads", &FitInfo::threads, fit, apart});
    visit(InfoField{"fits", "fits", &FitInfo::fits, fit, total});
    visit(InfoField{"batches", "batches", &FitInfo::batches, fit, total});
    visit(InfoField{"batch_size", "batch_size", &FitInfo::batch_size, fit, largest});
    visit(InfoField{"seconds", "seconds", &FitInfo::seconds, fit, total});
    visit(InfoField{"note", "note", &FitInfo::note, fit, first});
    visit(InfoField{"gpu_failed", "gpu_failed", &FitInfo::gpu_failed, fit, largest});
    visit(InfoField{"timed_out", "timed_out", &FitInfo::timed_out, fit, largest});
    visit(InfoField{"decision", "decision", &FitInfo::decision, fit, first});
    visit(InfoField{"bytes_up", "bytes_up", &FitInfo::bytes_up, gpu, total});
    visit(InfoField{"bytes_down", "bytes_down", &FitInfo::bytes_down, gpu, total});
    visit(InfoField{"transfer_seconds", "transfer_s", &FitInfo::transfer_seconds, gpu, total});
    visit(InfoField{"kernel_seconds", "kernel_s", &FitInfo::kernel_seconds, gpu, total});
    visit(InfoField{"waited_seconds", "waited_s", &FitInfo::waited_seconds, gpu, total});
    visit(InfoField{"retries", "retries", &FitInfo::retries, gpu, total});
    visit(InfoField{"gpus", "gpus", &FitInfo::gpus, gpu, apart});
    visit(InfoField{"cpu_fits", "cpu_fits", &FitInfo::cpu_fits, gpu, total});
    visit(InfoField{"events", "events", &FitInfo::events, gpu, apart});
}

/// Adds the activity and events of GPUs, and the work of the CPU in the same fit.
void add_gpu_part(FitInfo& sum, const FitInfo& more);

/// Adds a part of the same process, whose threads are the same and are not added. A part without fits adds nothing.
void add(FitInfo& sum, const FitInfo& more);

}  // namespace glint
