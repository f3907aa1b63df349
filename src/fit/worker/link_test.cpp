// A client's link to what stands at the socket.
// SPDX-License-Identifier: MIT
#include "fit/worker/link.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/build_identity.hpp"
#include "glint/environment.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::worker {

// It is the child of nobody here whom the socket would name: this process has made it, as who starts a worker does.
TEST(WorkerLink, does_not_wait_for_a_process_that_is_stopped) {
    const test::TemporaryFolder leases;
    const char* before = std::getenv("GLINT_LEASE_DIR");
    const std::optional<std::string> set = before ? std::optional<std::string>(before) : std::nullopt;
    ::setenv("GLINT_LEASE_DIR", leases.path().c_str(), 1);
    const FitOptions options;
    const std::string name = name_of({options.gpu_memory_bytes, options.gpu_batch_size});
    const Rendezvous rendezvous(environment::lease_directory());
    const Descriptor lock = rendezvous.lock(name), listener = rendezvous.listen(name);
    ASSERT_TRUE(lock && listener);
    const pid_t child = ::fork();
    if (child == 0) {
        pollfd wait{listener.get(), POLLIN, 0};
        ::poll(&wait, 1, 60000);
        const Connection client(Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
        Hello hello;
        Greeting greeting;
        greeting.build = build_identity(), greeting.pid = std::uint32_t(::getpid());
        if (client.receive(hello, 60) == Arrival::message) client.send(greeting);
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    Link link;
    ASSERT_TRUE(link.connect(options, Wish::fits, true)) << link.why_not();
    const auto began = std::chrono::steady_clock::now();
    FitReply reply;
    EXPECT_THROW(link.receive(reply, nullptr), WorkerFailed);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(int(reply_s) / 2));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    rendezvous.remove(name);
    set ? ::setenv("GLINT_LEASE_DIR", set->c_str(), 1) : ::unsetenv("GLINT_LEASE_DIR");
}

}  // namespace glint::worker
