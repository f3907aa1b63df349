// Streams and events: ordering on the device, and synchronization with the host.
// SPDX-License-Identifier: MIT
#include "glint/gpu/stream.hpp"

#include <unordered_map>
#include <utility>

#include "gpu/pool.hpp"
#include "gpu/stream_state.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace detail {

StreamState::~StreamState() {
    ContextState& at = home();
    if (forked()) return;
    const std::lock_guard lock(at.mutex);
    at.streams.erase(this);
    if (at.resources.erase({Resource::Rank::stream, this}) == 0) return;  // released by close(), or never added
    const Current current(at, std::nothrow);
    if (stream) at.retired.push_back(std::exchange(stream, nullptr));  // destroyed when its work is done
    drop();
    at.drop_finished_streams();
}

void StreamState::drop() noexcept {
    if (event) home().return_event(event, false);
    if (stream) home().driver->cuStreamDestroy(stream);
    event = nullptr, stream = nullptr;
}

std::uint64_t StreamState::capture() const {
    constexpr std::uint64_t spoilt = ~std::uint64_t(0);
    const Current current(home());
    int status = cu::capture_none;
    std::uint64_t id = spoilt;  // the driver sets it only for a capture that is still valid
    home().check(home().driver->cuStreamGetCaptureInfo(stream, &status, &id), "cuStreamGetCaptureInfo");
    return status == cu::capture_none ? 0 : id;
}

void StreamState::refuse_capture(const char* what) const {
    if (capturing())
        throw GpuError(cu::capture_unsupported, text(home().label(), ": ", what,
                                                     " is not possible on a stream that is being captured into a "
                                                     "graph, and would spoil the capture: end the capture first"));
}

void StreamState::synchronize() {
    require_usable();
    refuse_capture("waiting");
    ContextState& at = home();
    const std::uint64_t begun = uses;
    {
        const Current current(at);
        ++at.counters.host_blocks;
        at.check(at.driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
    }
    note_done(begun);
    at_synchronization(at);
}

void StreamState::note_done(std::uint64_t count) noexcept {
    for (std::uint64_t known = done; known < count && !done.compare_exchange_weak(known, count);) {
    }
}

void StreamState::wait_for(StreamState& other) {
    ContextState& here = home();
    {
        const Current current(other.home());
        other.home().check(other.home().driver->cuEventRecord(other.event, other.stream), "cuEventRecord");
    }
    const Current current(here);
    here.check(here.driver->cuStreamWaitEvent(stream, other.event, 0), "cuStreamWaitEvent");
    ++here.counters.event_waits;
}

struct EventState : Resource {
    EventState(const Context& of, bool with_timing)
        : context(non_owning_context(of.shared_state())), timing(with_timing) {
        ContextState& home = context.state();
        home.require_usable("an Event");
        event = home.take_event(timing);
        home.add(Resource::Rank::event, this);
    }
    ~EventState() override { context.state().remove(Resource::Rank::event, this); }
    void drop() noexcept override {
        if (event) context.state().return_event(event, timing);
        event = nullptr;
    }
    ContextState& usable() const {
        context.state().require_usable("this Event");
        return context.state();
    }
    /// Called before queries and waits by the host, which would invalidate a capture.
    ContextState& outside_captures() const {
        ContextState& home = usable();
        if (capture)
            throw GpuError(cu::capture_unsupported,
                           text(home.label(),
                                ": an event that was recorded on a stream being captured into a graph is "
                                "not a point in time that the host can wait for: record() it again"));
        return home;
    }

    Context context;
    bool timing;
    cu::Event event = nullptr;
    bool recorded = false;
    std::uint64_t capture = 0;  // the capture in which the event was last recorded; 0: none
};

}  // namespace detail

Stream::Stream(const Context& context) : state_(std::make_shared<detail::StreamState>(context)) {
    detail::ContextState& home = context.state();
    home.require_usable("a Stream");
    const detail::Current current(home);
    state_->event = home.take_event(false);
    home.add(detail::Resource::Rank::stream, state_.get());  // from here on, the state releases both handles
    home.check(home.driver->cuStreamCreate(&state_->stream, cu::stream_non_blocking), "cuStreamCreate");
    const std::lock_guard lock(home.mutex);
    home.streams[state_.get()] = state_;
}

Stream Stream::of_thread(const Context& context) {
    context.state().require_usable("this thread's Stream");
    thread_local std::unordered_map<detail::ContextState*, Stream> own;
    const auto found = own.find(&context.state());
    if (found != own.end()) return found->second;
    std::erase_if(own, [](const auto& entry) { return entry.first->released.load(); });
    return own.emplace(&context.state(), Stream(context)).first->second;
}

const Context& Stream::context() const { return state_->context; }
void Stream::synchronize() const { state_->synchronize(); }

void* Stream::native() const {
    state_->require_usable();
    return state_->stream;
}

bool Stream::idle() const {
    state_->require_usable();
    state_->refuse_capture("asking whether it is idle");
    detail::ContextState& home = state_->home();
    const detail::Current current(home);
    const cu::Result result = home.driver->cuStreamQuery(state_->stream);
    if (result != cu::not_ready) home.check(result, "cuStreamQuery");
    return result == cu::success;
}

Event::Event(const Context& context, bool timing) : state_(std::make_shared<detail::EventState>(context, timing)) {}

void Event::record(const Stream& stream) {
    detail::ContextState& home = state_->usable();
    stream.state().require_usable();
    const detail::Current current(home);
    const std::uint64_t capture = stream.state().capture();
    home.check(home.driver->cuEventRecord(state_->event, stream.state().stream), "cuEventRecord");
    state_->recorded = true, state_->capture = capture;
}

void Event::wait_on(const Stream& stream) const {
    state_->usable();
    stream.state().require_usable();
    detail::ContextState& there = stream.context().state();
    const std::uint64_t capture = stream.state().capture();
    if (capture && state_->recorded && state_->capture != capture)
        throw GpuError(
            cu::capture_unsupported,
            text(there.label(), ": a stream that is being captured into a graph cannot wait for an event recorded ",
                 state_->capture ? "in another capture" : "outside that capture",
                 ", which would spoil the capture: record() it in this one, or wait before the capture begins"));
    const detail::Current current(there);
    there.check(there.driver->cuStreamWaitEvent(stream.state().stream, state_->event, 0), "cuStreamWaitEvent");
}

void Event::synchronize() const {
    detail::ContextState& home = state_->outside_captures();
    {
        const detail::Current current(home);
        ++home.counters.host_blocks;
        home.check(home.driver->cuEventSynchronize(state_->event), "cuEventSynchronize");
    }
    detail::at_synchronization(home);
}

bool Event::done() const {
    detail::ContextState& home = state_->outside_captures();
    const detail::Current current(home);
    const cu::Result result = home.driver->cuEventQuery(state_->event);
    if (result != cu::not_ready) home.check(result, "cuEventQuery");
    return result == cu::success;
}

float Event::milliseconds_since(const Event& begin) const {
    detail::ContextState& home = state_->usable();
    begin.state_->usable();
    const detail::Current current(home);
    float milliseconds = 0;
    home.check(home.driver->cuEventElapsedTime(&milliseconds, begin.state_->event, state_->event),
               "cuEventElapsedTime");
    return milliseconds;
}

}  // namespace glint::gpu
