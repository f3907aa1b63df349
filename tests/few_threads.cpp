// For LD_PRELOAD: simulates a system on which a process may have at most FEW_THREADS threads besides its first.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<int> running{0};

struct Start {
    void* (*work)(void*);
    void* argument;
};

void* run(void* raw) {
    const Start start = *static_cast<Start*>(raw);
    delete static_cast<Start*>(raw);
    void* const result = start.work(start.argument);
    --running;
    return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                              void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    static const int most = std::atoi(std::getenv("FEW_THREADS") ? std::getenv("FEW_THREADS") : "1000000");
    if (++running > most) {
        --running;
        return EAGAIN;
    }
    Start* const start = new Start{work, argument};
    const int error = create(thread, attributes, run, start);
    if (error) delete start, --running;
    return error;
}
