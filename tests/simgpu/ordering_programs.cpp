// A pipeline like glint's: chunks are uploaded on one stream and computed on another, through pinned slots in turn.
// SPDX-License-Identifier: MIT
#include "programs.hpp"

namespace {

constexpr int chunks = 6, slots = 2;
constexpr unsigned n = 3000;
constexpr std::size_t bytes = n * sizeof(float);

struct StreamBuffers {
    float *in, *out;     // pinned
    cu::DevicePtr x, y;  // y becomes 2 x + 1
    cu::Event uploaded, done;
};

struct Pipeline {
    Session session;
    StreamBuffers slot[slots];
    std::string bug;
    int wrong = 0;

    explicit Pipeline(std::string planted) : bug(std::move(planted)) {
        for (StreamBuffers& s : slot) {
            s.in = pin_floats(n);
            s.out = pin_floats(n);
            s.x = session.allocate(bytes, 0);
            s.y = session.allocate(bytes, 1);
            CHECK_CALL(cuEventCreate, &s.uploaded, cu::event_disable_timing);
            CHECK_CALL(cuEventCreate, &s.done, cu::event_disable_timing);
        }
    }

    /// Waits for the chunk that used this slot, and compares its results.
    void finish(int chunk) {
        StreamBuffers& s = slot[chunk % slots];
        if (bug != "early_read") CHECK_CALL(cuEventSynchronize, s.done);
        for (unsigned i = 0; i < n; ++i) wrong += !(s.out[i] == 2 * (float(i) + float(chunk)) + 1);
        if (bug == "early_read") CHECK_CALL(cuEventSynchronize, s.done);
    }

    void upload(StreamBuffers& s, int chunk) {
        for (unsigned i = 0; i < n; ++i) s.in[i] = float(i) + float(chunk);
        CHECK_CALL(cuMemcpyHtoDAsync, s.x, s.in, bytes, session.streams[0]);
    }

    void order_streams(StreamBuffers& s) {
        if (bug == "wait_before_record") CHECK_CALL(cuStreamWaitEvent, session.streams[1], s.uploaded, 0);
        CHECK_CALL(cuEventRecord, s.uploaded, session.streams[0]);
        if (bug != "missing_wait" && bug != "wait_before_record")
            CHECK_CALL(cuStreamWaitEvent, session.streams[1], s.uploaded, 0);
    }

    void compute(StreamBuffers& s) {
        float a = 2;
        unsigned count = n;
        void* parameters[] = {&s.y, &s.x, &a, &count};
        CHECK_CALL(cuMemsetD8Async, s.y, 0, bytes, session.streams[1]);
        session.launch("axpy", (n + 127) / 128, 128, 0, parameters, 1);
        a = 99, count = 0;  // the driver has copied the arguments
        struct {
            double a;
            float b;
        } affine{1, 1};
        count = n;
        void* more[] = {&s.y, &affine, &count};
        session.launch("apply_affine", (n + 127) / 128, 128, 0, more, 1);
    }

    void start(int chunk) {
        StreamBuffers& s = slot[chunk % slots];
        if (chunk >= slots && bug == "slot_reused") {
            // the upload of chunk - slots may not have run
        } else if (chunk >= slots) {
            finish(chunk - slots);
            CHECK_CALL(cuStreamWaitEvent, session.streams[0], s.done, 0);
        }
        upload(s, chunk);
        order_streams(s);
        compute(s);
        CHECK_CALL(cuMemcpyDtoHAsync, s.out, s.y, bytes, session.streams[1]);
        CHECK_CALL(cuEventRecord, s.done, session.streams[1]);
        if (bug == "slot_reused") CHECK_CALL(cuStreamWaitEvent, session.streams[0], s.done, 0);
    }

    void close() {
        for (StreamBuffers& s : slot) {
            if (bug == "leak") break;
            if (bug != "early_free") CHECK_CALL(cuStreamSynchronize, session.streams[1]);
            CHECK_CALL(cuMemFreeAsync, s.x, session.streams[0]);
            CHECK_CALL(cuMemFreeAsync, s.y, session.streams[1]);
            CHECK_CALL(cuEventDestroy, s.uploaded);
            CHECK_CALL(cuEventDestroy, s.done);
            unpin(s.in);
            unpin(s.out);
        }
        if (bug != "leak") session.close();
    }
};

}  // namespace

int pipeline(const Arguments& arguments) {
    Pipeline p(arguments.at(0));
    for (int chunk = 0; chunk < chunks; ++chunk) p.start(chunk);
    if (p.bug != "early_free" && p.bug != "slot_reused")
        for (int chunk = chunks - slots; chunk < chunks; ++chunk) p.finish(chunk);
    p.close();
    std::printf(p.wrong ? "%d values are wrong\n" : "right\n", p.wrong);
    return p.wrong ? 1 : 0;
}
