// A program that shares the GPUs by leases, for tests: lease_worker MIB ROUNDS [COMMAND...]. In each round it acquires
// a lease, fills the GPU up to it, and releases it. Commands:
// - "at POINT stop", "at POINT kill": stops or kills itself at a point of the protocol;
// - "nth N kill": kills itself at the Nth point;
// - "hold": prints "holding" and waits for the end of its input;
// - "say": prints "waiting" and the reason when it has to wait;
// - "within S": waits at most S seconds;
// - "alone": uses no lease, as an unmanaged process.
// Without arguments it prints the free memory; with "who", the memory of each lease; with "signals", each SIGINT until
// SIGUSR1.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "glint/gpu/buffer.hpp"
#include "gpu/lease/lease_state.hpp"

namespace {

using namespace glint::gpu;

constexpr std::uint64_t mib = std::uint64_t(1) << 20;

void say(const std::string& words) {
    std::printf("%s\n", words.c_str());
    std::fflush(stdout);
}

struct Commands {
    std::string point;
    int nth = 0, signal = 0;
    double timeout_s = 600;
    bool hold = false, tell = false, alone = false;

    Commands(int argc, char** argv) {
        for (int k = 3; k < argc; ++k) {
            const std::string word = argv[k];
            if (word == "hold") hold = true;
            if (word == "say") tell = true;
            if (word == "within" && k + 1 < argc) timeout_s = std::atof(argv[k + 1]);
            if (word == "alone") alone = true;
            if ((word != "at" && word != "nth") || k + 2 >= argc) continue;
            point = argv[k + 1];
            if (word == "nth") nth = std::atoi(argv[k + 1]);
            signal = std::string(argv[k + 2]) == "stop" ? SIGSTOP : SIGKILL;
            k += 2;
        }
    }
    void come_to(const char* here) {
        if (!signal || (nth ? --nth != 0 : point != here)) return;
        ::raise(std::exchange(signal, 0));
    }
};

void wait_for_end_of_input() {
    char c;
    while (::read(0, &c, 1) > 0) {
    }
}

void fill_without_a_lease(std::uint64_t bytes, const Commands& commands) {
    const Context context(0, {.limit_bytes = bytes});
    const Stream stream(context);
    const Buffer<char> all(stream, bytes - 64 * mib);
    stream.synchronize();
    if (commands.hold) say("holding"), wait_for_end_of_input();
}

void one_round(std::uint64_t bytes, Commands& commands) {
    if (commands.alone) return fill_without_a_lease(bytes, commands);
    lease::Dependencies deps = lease::machine_dependencies();
    deps.test_point = [&](const char* point) { commands.come_to(point); };
    bool told = false;
    LeaseRequest request{.bytes = bytes, .timeout_s = commands.timeout_s};
    request.log = [&](const std::string& words) {
        if (commands.tell) say(words);
    };
    request.on_wait = [&](double, std::uint64_t, std::uint64_t) {
        if (commands.tell && !std::exchange(told, true)) say("waiting");
    };
    const Lease lease = lease::acquire_in(deps, request);
    if (!lease.visible()) throw glint::Error("the directory of leases is not used");
    commands.come_to("leased");
    if (commands.point == "turn") {
        const Lease::CreationLock creation_lock = lease.lock_context_creation();
        commands.come_to("turn");
    }
    const Context context = lease.create_context();
    commands.come_to("context");
    const Stream stream(context);
    const Buffer<char> all(stream, bytes - 64 * mib);  // within the pool's granules
    stream.synchronize();
    commands.come_to("allocated");
    lease.publish_held(bytes);
    commands.come_to("published");
    if (commands.hold) say("holding"), wait_for_end_of_input();
    lease.publish_held(0);
    commands.come_to("ending");
}

/// Prints the numbers of holders and waiters, and the free memory.
void print_state() {
    const LeaseSnapshot seen = snapshot_leases();
    std::size_t holders = 0;
    std::uint64_t free = 0;
    for (const LeaseGpu& gpu : seen.gpus) holders += gpu.holders.size(), free += gpu.free_bytes;
    say(std::to_string(holders) + " holders, " + std::to_string(seen.waiters.size()) + " waiters, " +
        std::to_string(free / mib) + " MiB free");
}

void print_holders() {
    for (const LeaseGpu& gpu : snapshot_leases().gpus) {
        for (const LeaseHolder& holder : gpu.holders)
            say(std::to_string(holder.reserved_bytes / mib) + " reserved, " + std::to_string(holder.held_bytes / mib) +
                " held, " + std::to_string(holder.contexts) + " contexts");
        say(std::to_string(gpu.available_bytes / mib) + " available, " + std::to_string(gpu.foreign_count) +
            " strangers");
    }
}

volatile sig_atomic_t interrupts = 0, ended = 0;

void print_signals() {
    ::signal(SIGINT, [](int) { interrupts = interrupts + 1; });
    ::signal(SIGUSR1, [](int) { ended = 1; });
    say("ready");
    for (int told = 0; !ended || told < interrupts;)
        if (told < interrupts)
            ++told, say("interrupted");
        else
            ::usleep(1000);
    say("done");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) return print_state(), 0;
        if (argc < 3) return std::string(argv[1]) == "who" ? print_holders() : print_signals(), 0;
        Commands commands(argc, argv);
        for (int round = 0; round < std::atoi(argv[2]); ++round)
            one_round(std::strtoull(argv[1], nullptr, 10) * mib, commands);
        say("done");
        return 0;
    } catch (const std::exception& error) {
        say(std::string("FAILED: ") + error.what());
        return 1;
    }
}
