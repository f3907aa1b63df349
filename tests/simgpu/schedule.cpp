// Deferred execution of operations, in the order of the chosen schedule.
// SPDX-License-Identifier: MIT
#include "schedule.hpp"

#include "memory.hpp"
#include "process.hpp"
#include "server.hpp"
#include "settings.hpp"

namespace simgpu {
namespace {

enum class Schedule { lazy, pct, random, eager };

Schedule schedule() {
    static const Schedule chosen = [] {
        const std::string name = setting("SIMGPU_SCHEDULE", "pct");
        if (name == "lazy") return Schedule::lazy;
        if (name == "pct") return Schedule::pct;
        if (name == "random") return Schedule::random;
        if (name == "eager") return Schedule::eager;
        broken("SIMGPU_SCHEDULE=%s: write lazy, pct, random or eager", name.c_str());
    }();
    return chosen;
}

// Never destroyed, because a program may call the driver in its last destructors.
std::list<Stream*>& streams() {
    static auto& list = *new std::list<Stream*>;
    return list;
}
std::function<cu::Result()>& next_failure() {
    static auto& failure = *new std::function<cu::Result()>;
    return failure;
}

bool is_ready(const Stream& stream) {
    return !stream.queue.empty() && (!stream.queue.front().waits_for || stream.queue.front().waits_for->done);
}

/// Runs the first operation of a stream. After a sticky error, removes it without running it.
void step(Stream& stream) {
    const Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    Context& context = *stream.context;
    if (operation.run && context.lost == cu::success) {
        context.note_error(operation.run());
        own_use(context.device).busy_until_ns = now_ns() + 200'000'000;  // NVML samples over 1/6 s to 1 s
    }
    if (operation.records) {
        operation.records->time_ns = now_ns();
        operation.records->done = true;
    }
    stream.done = operation.sequence;
}

Stream* pick_by_priority(const std::vector<Stream*>& ready) {
    Stream* best = ready[0];
    for (Stream* stream : ready)
        if (stream->priority > best->priority) best = stream;
    if (random_numbers()() % 64 == 0) best->priority = random_numbers()() % 1000;
    return best;
}

Stream* pick() {
    std::vector<Stream*> ready;
    for (Stream* stream : streams())
        if (is_ready(*stream)) ready.push_back(stream);
    if (ready.empty()) return nullptr;
    return schedule() == Schedule::pct ? pick_by_priority(ready) : ready[random_numbers()() % ready.size()];
}

/// Runs only the operations on which this operation depends.
void run_needed(Stream& stream, std::uint64_t sequence) {
    while (stream.done < sequence && !stream.queue.empty()) {
        if (!is_ready(stream)) {
            const RecordPtr needed = stream.queue.front().waits_for;
            run_needed(*needed->stream, needed->sequence);
        }
        step(stream);
    }
}

}  // namespace

Clock& host_clock() {
    static auto& clock = *new Clock;
    return clock;
}

std::mt19937_64& random_numbers() {
    static std::mt19937_64 numbers{std::uint64_t(setting_number("SIMGPU_SEED", 1))};
    return numbers;
}

Stream& add_stream(Context& context) {
    static int ids = 0;
    Stream& stream = *streams().emplace_back(new Stream);
    stream.context = &context;
    stream.id = ++ids;
    stream.priority = random_numbers()() % 1000;
    return stream;
}

void remove_streams_of(const Context& context) {
    streams().remove_if([&](const Stream* stream) { return stream->context == &context; });
}

void push(Stream& stream, std::function<cu::Result()> run, RecordPtr waits_for, RecordPtr records) {
    if (next_failure()) run = std::exchange(next_failure(), {});
    stream.clock.of_stream[stream.id] = ++stream.pushed;
    stream.clock.join(host_clock());
    if (waits_for) stream.clock.join(waits_for->clock);
    if (records) {
        records->stream = &stream;
        records->sequence = stream.pushed;
        records->clock = stream.clock;
        records->capture = stream.capture;
    }
    stream.queue.push_back({std::move(run), std::move(waits_for), std::move(records), stream.pushed});
    if (schedule() == Schedule::eager) run_needed(stream, stream.pushed);
}

void fail_next_operation(std::function<cu::Result()> instead) { next_failure() = std::move(instead); }

void run_until(Stream& stream, std::uint64_t sequence) {
    if (schedule() == Schedule::lazy) return run_needed(stream, sequence);
    while (stream.done < sequence)
        if (Stream* next = pick())
            step(*next);
        else
            break;
}

void synchronize(Stream& stream, std::uint64_t sequence, const Clock& clock) {
    run_until(stream, sequence);
    host_saw(clock);
}

void synchronize(Stream& stream) { synchronize(stream, stream.pushed, stream.clock); }

void synchronize_all() {
    while (Stream* next = pick()) step(*next);
    for (const Stream* stream : streams()) host_saw(stream->clock);
}

void host_saw(const Clock& clock) {
    host_clock().join(clock);
    note_synchronization();
}

void let_time_pass() {
    if (schedule() == Schedule::lazy && random_numbers()() % 4 != 0) return;
    for (auto steps = random_numbers()() % 3; steps > 0; --steps)
        if (Stream* next = pick()) step(*next);
}

}  // namespace simgpu
