// Streams and events.
// SPDX-License-Identifier: MIT
#include "api.hpp"
#include "process.hpp"

namespace simgpu::api {
namespace {

constexpr cu::Result invalid_handle = 400, capture_merge = 902, capture_isolation = 905;

Stream& get(cu::Stream handle) { return process().streams.get(handle); }
Event& get(cu::Event handle) { return process().events.get(handle); }

/// Seen on an H200: a stream that waits for a captured event joins its capture. A dependency between two captures, or
/// between a capture and an uncaptured operation, invalidates the captures.
cu::Result join_capture(Stream& stream, std::uint64_t other) {
    if (stream.capture == other) return cu::success;
    if (!stream.capture) {
        const bool goes_on = process().streams.any([=](const Stream& s) { return s.capture == other; });
        stream.capture = goes_on ? other : 0;
        return goes_on ? cu::success : cu::invalid_value;
    }
    change_captures({stream.capture, other}, spoilt_capture);
    return other ? capture_merge : capture_isolation;
}

}  // namespace

cu::Result cuStreamCreate(cu::Stream* handle, unsigned) {
    *handle = reinterpret_cast<cu::Stream>(process().streams.add(&add_stream(*current())));
    return cu::success;
}

/// Operations in the stream still run later.
cu::Result cuStreamDestroy(cu::Stream handle) {
    Stream& stream = get(handle);
    process().streams.remove(stream);
    return stream.context->lost;
}

cu::Result cuStreamWaitEvent(cu::Stream handle, cu::Event event, unsigned) {
    Stream& stream = get(handle);
    const RecordPtr record = get(event).record;
    if (!record) return cu::success;  // never recorded: no wait, as in the driver
    if (const cu::Result refused = join_capture(stream, record->capture)) return refused;
    push(stream, {}, record);
    return stream.context->lost;
}

cu::Result cuStreamSynchronize(cu::Stream handle) {
    Stream& stream = get(handle);
    if (stream.capture) return cu::capture_unsupported;
    synchronize(stream);
    return stream.context->take_error();
}

cu::Result cuStreamQuery(cu::Stream handle) {
    Stream& stream = get(handle);
    if (stream.capture) return cu::capture_unsupported;
    let_time_pass();
    if (stream.queue.empty()) host_saw(stream.clock);
    if (const cu::Result error = stream.context->take_error()) return error;
    return stream.queue.empty() ? cu::success : cu::not_ready;
}

cu::Result cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, capture_mode);
    return cu::success;
}

/// Writes the id only for an active capture.
cu::Result cuStreamGetCaptureInfo(cu::Stream handle, int* status, uint64_t* id) {
    static const bool all = is_set("SIMGPU_CAPTURE");
    Stream& stream = get(handle);
    if (all && !stream.capture) stream.capture = 1;
    const bool spoilt = stream.capture == spoilt_capture;
    *status = spoilt ? cu::capture_invalidated : stream.capture ? cu::capture_active : cu::capture_none;
    if (*status == cu::capture_active) *id = stream.capture;
    return cu::success;
}

cu::Result cuEventCreate(cu::Event* handle, unsigned flags) {
    auto* event = new Event{current(), !(flags & cu::event_disable_timing), {}};
    *handle = reinterpret_cast<cu::Event>(process().events.add(event));
    return cu::success;
}

cu::Result cuEventDestroy(cu::Event handle) {
    Event& event = get(handle);
    process().events.remove(event);
    event.record.reset();
    return event.context->lost;
}

cu::Result cuEventRecord(cu::Event handle, cu::Stream stream_handle) {
    Event& event = get(handle);
    Stream& stream = get(stream_handle);
    if (event.context != stream.context) return invalid_handle;
    event.record = std::make_shared<Record>();
    push(stream, {}, {}, event.record);
    return stream.context->lost;
}

cu::Result cuEventQuery(cu::Event handle) {
    const Event& event = get(handle);
    if (event.record && event.record->capture) return cu::capture_unsupported;
    let_time_pass();
    if (const cu::Result lost = event.context->lost) return lost;
    if (!event.record) return cu::success;
    if (event.record->done) host_saw(event.record->clock);
    return event.record->done ? cu::success : cu::not_ready;
}

cu::Result cuEventSynchronize(cu::Event handle) {
    const Event& event = get(handle);
    const RecordPtr record = event.record;
    if (record && record->capture) return cu::capture_unsupported;
    if (record && !record->done) run_until(*record->stream, record->sequence);
    if (record) host_saw(record->clock);
    return event.context->take_error();
}

cu::Result cuEventElapsedTime(float* milliseconds, cu::Event begin_handle, cu::Event end_handle) {
    const Event &begin = get(begin_handle), &end = get(end_handle);
    if (!begin.timing || !end.timing || !begin.record || !end.record) return invalid_handle;
    if (!begin.record->done || !end.record->done) return cu::not_ready;
    *milliseconds = float((double(end.record->time_ns) - double(begin.record->time_ns)) * 1e-6);
    return cu::success;
}

}  // namespace simgpu::api
