// Streams and deferred execution: an operation runs only when something forces it.
//
// A real GPU may run the operations of streams in any order that streams and events allow, and as late as the host lets
// it. A simulation that ran everything immediately would hide every missing wait. So calls only queue operations.
// Operations run when a condition must hold (a synchronised stream, an event), in an order that SIMGPU_SCHEDULE and
// SIMGPU_SEED choose:
//
//   lazy    only the needed operations
//   pct     by random priorities that change now and then: finds deep reorderings (Burckhardt et al., ASPLOS 2010)
//   random  any operation that could run
//   eager   at the call, as a naive simulation would
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <random>

#include "clock.hpp"
#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

struct Context;

/// An event's last recording: a point in a stream.
struct Record {
    Stream* stream = nullptr;
    std::uint64_t sequence = 0;
    Clock clock;
    bool done = false;
    std::uint64_t capture = 0;  // the capture in which it was recorded; 0: none
    std::uint64_t time_ns = 0;  // when it was reached
};
using RecordPtr = std::shared_ptr<Record>;

struct Operation {
    std::function<cu::Result()> run;  // empty: only a position in the order
    RecordPtr waits_for, records;
    std::uint64_t sequence = 0;
};

struct Stream {
    Context* context = nullptr;
    int id = 0;
    std::uint64_t priority = 0;
    std::deque<Operation> queue;
    std::uint64_t pushed = 0, done = 0;  // sequence numbers of the last operation put in and run
    Clock clock;                         // operations known to have run before the next one that is put in
    std::uint64_t capture = 0;           // the number of the capture that contains this stream; 0: none
};

/// For a capture that was invalidated.
constexpr std::uint64_t spoilt_capture = ~std::uint64_t(0);

std::mt19937_64& random_numbers();

/// The capture mode of this thread: 0 global (the default), 1 thread-local, 2 relaxed.
inline thread_local int capture_mode = 0;

Stream& add_stream(Context& context);
void remove_streams_of(const Context& context);

/// Appends an operation to the stream; its sequence number is then stream.pushed.
void push(Stream& stream, std::function<cu::Result()> run, RecordPtr waits_for = {}, RecordPtr records = {});
/// Makes the next operation that is put in call `instead` and not do its work.
void fail_next_operation(std::function<cu::Result()> instead);

/// Runs at least the operations up to `sequence`.
void run_until(Stream& stream, std::uint64_t sequence);
/// The same, and records that the host has synchronized with them, as after cuStreamSynchronize.
void synchronize(Stream& stream, std::uint64_t sequence, const Clock& clock);
void synchronize(Stream& stream);
/// Runs all operations, and records that the host has synchronized with them.
void synchronize_all();
/// Records that the host knows of completed operations, as after a successful query.
void host_saw(const Clock& clock);
/// The operations with which the host has synchronized.
Clock& host_clock();
/// Runs a few random operations, because time passes even if the host only polls.
void let_time_pass();

}  // namespace simgpu
