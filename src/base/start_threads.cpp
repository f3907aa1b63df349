// Tests how many threads can be started.
// SPDX-License-Identifier: MIT
#include "base/start_threads.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <latch>
#include <limits>
#include <mutex>
#include <system_error>
#include <vector>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr int others = 2;  // threads of a run that do not compute
constexpr std::size_t shallow_stack = std::size_t(1) << 20, deep_stack = std::size_t(8) << 20;

/// Returns the number of this process's threads, plus a constant.
nlink_t thread_links() {
    struct stat status {};
    return ::stat("/proc/self/task", &status) == 0 ? status.st_nlink : 0;
}

/// The kernel counts a joined thread for a moment longer.
void wait_until_gone(nlink_t links_before) {
    using namespace std::chrono_literals;
    for (int looks = 0; looks < 1000 && thread_links() > links_before; ++looks) std::this_thread::sleep_for(100us);
}

/// Starts up to `wanted` threads; returns how many run at the same time.
int start(int wanted) {
    const nlink_t links_before = thread_links();
    std::latch end(1);
    std::vector<std::thread> threads;
    try {
        threads.reserve(std::size_t(wanted));
        while (int(threads.size()) < wanted) threads.emplace_back([&end] { end.wait(); });
    } catch (const std::system_error&) {
        // The limit is reached.
    }
    end.count_down();
    for (std::thread& thread : threads) thread.join();
    wait_until_gone(links_before);
    return int(threads.size());
}

}  // namespace

void require_deep_stacks() {
    pthread_attr_t attributes;
    if (::pthread_getattr_default_np(&attributes) != 0) return;
    std::size_t bytes = 0;
    if (::pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < shallow_stack &&
        ::pthread_attr_setstacksize(&attributes, deep_stack) == 0)
        ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
}

int run_on_deep_stack(const std::function<int()>& body) {
    require_deep_stacks();
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= shallow_stack) return body();
    int result = 0;
    try {
        std::thread([&] { result = body(); }).join();
    } catch (const std::system_error&) {
        return body();
    }
    return result;
}

int startable_threads(int wanted) {
    require_deep_stacks();
    static std::mutex mutex;
    static int known = 1, most = std::numeric_limits<int>::max();
    const std::lock_guard lock(mutex);
    if (wanted > known && wanted <= most) {
        const int more = wanted - 1 + others, started = start(more);
        if (started == more)
            known = wanted;
        else
            most = std::max(1 + started - others, 1);
    }
    return std::min(wanted, most);
}

std::string why_no_threads() {
    return "the system starts no more threads for this user, container or batch job: raise `ulimit -u` or its limit on "
           "processes, or use fewer by `threads` or GLINT_THREADS";
}

std::jthread start_thread(std::function<void()> work) {
    require_deep_stacks();
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error&) {
        throw Error(why_no_threads());
    }
}

}  // namespace glint
