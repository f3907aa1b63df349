// A client's connection to the process that listens at the socket.
// SPDX-License-Identifier: MIT
#include "warm_worker/worker_connection.hpp"

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

namespace glint::warm_worker {

namespace {

/// A child process takes over the socket after the first connection, as a worker does. It is stopped at the end.
class ConnectionToWorker : public ::testing::Test {
  protected:
    void SetUp() override {
        ::setenv("GLINT_LEASE_DIR", leases.path().c_str(), 1);
        sockets.emplace(environment::lease_directory());
        lock = sockets->lock(name), listener = sockets->listen(name);
        ASSERT_TRUE(lock && listener);
    }
    void TearDown() override {
        if (child > 0) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
        sockets->remove(name);
        before ? ::setenv("GLINT_LEASE_DIR", before->c_str(), 1) : ::unsetenv("GLINT_LEASE_DIR");
    }
    template <class Greet>
    void start_child(const Greet& greet) {
        child = ::fork();
        if (child != 0) return;
        pollfd wait{listener.get(), POLLIN, 0};
        ::poll(&wait, 1, 60000);
        ::listen(listener.get(), 8);
        const Connection kept = greet();
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    static std::optional<std::string> lease_directory_of_the_test() {
        const char* set = std::getenv("GLINT_LEASE_DIR");
        return set ? std::optional<std::string>(set) : std::nullopt;
    }

    const test::TemporaryFolder leases;
    const std::optional<std::string> before = lease_directory_of_the_test();
    const FitOptions options;
    const std::string name = to_name({options.gpu_memory_bytes, options.batch_size});
    std::optional<WorkerSockets> sockets;
    Descriptor lock, listener;
    pid_t child = -1;
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

}  // namespace

TEST_F(ConnectionToWorker, does_not_wait_for_a_process_that_is_stopped) {
    start_child([&] {
        Connection client(Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
        Hello hello;
        Greeting greeting;
        greeting.build = build_identity(), greeting.pid = std::uint32_t(::getpid());
        if (client.receive(hello, 60) == Arrival::message) client.send(greeting);
        return client;
    });
    WorkerConnection worker;
    ASSERT_TRUE(worker.connect(options, nullptr, RequestKind::fits, true)) << worker.why_not();
    FitReply reply;
    EXPECT_THROW(worker.receive(reply, nullptr), WorkerFailed);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(int(reply_s) / 2));
}

// As while the worker opens its GPU. The first connection is older than its hold on the socket.
TEST_F(ConnectionToWorker, does_not_wait_for_the_greeting_of_a_process_that_is_stopped) {
    start_child([] { return Connection(); });
    for (int k = 0; k < 2; ++k) {
        WorkerConnection worker;
        EXPECT_FALSE(worker.connect(options, nullptr, RequestKind::fits, true));
        EXPECT_EQ(worker.why_not(), "it does not answer");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15)) << "of twice 30 s for a greeting";
}

}  // namespace glint::warm_worker
