// Messages and shared memory between processes, including broken and hostile ones.
// SPDX-License-Identifier: MIT
#include "warm_worker/connection.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "glint/error.hpp"
#include "warm_worker/shared_memory.hpp"

namespace glint::warm_worker {
namespace {

struct MessageConnection : ::testing::Test {
    int ends[2] = {-1, -1};
    Connection here, there;
    MessageConnection() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        here = Connection(Descriptor(ends[0])), there = Connection(Descriptor(ends[1]));
    }
    static int open_files() {
        int count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
        return count;
    }
};

Hello hello_of(const char* build) {
    Hello hello;
    hello.build = build;
    return hello;
}

}  // namespace

TEST_F(MessageConnection, messages_arrive_whole_and_in_order) {
    ASSERT_TRUE(here.send(hello_of("one")));
    ASSERT_TRUE(here.send(hello_of("two")));
    Hello hello;
    ASSERT_EQ(there.receive(hello, 0), Arrival::message);
    EXPECT_EQ(hello.build.str(), "one");
    ASSERT_EQ(there.receive(hello, 0), Arrival::message);
    EXPECT_EQ(hello.build.str(), "two");
    EXPECT_EQ(there.receive(hello, 0.01), Arrival::nothing_yet);
    EXPECT_EQ(there.own_peer(), ::getpid());
}

TEST_F(MessageConnection, the_end_of_the_other_side_is_reported) {
    Hello hello;
    there = {};
    EXPECT_EQ(here.receive(hello, 10), Arrival::gone);
    EXPECT_FALSE(here.send(hello));
}

TEST_F(MessageConnection, a_stop_ends_a_wait) {
    Hello hello;
    const StopFlag stop{true};
    EXPECT_THROW(here.receive(hello, 10, &stop), Cancelled);
}

TEST_F(MessageConnection, what_is_shorter_or_longer_is_no_message) {
    std::vector<char> bytes(3 * sizeof(Hello));
    for (const std::size_t size : {std::size_t(1), sizeof(Hello) - 1, sizeof(Hello) + 1, bytes.size()}) {
        ASSERT_EQ(::send(ends[0], bytes.data(), size, 0), ssize_t(size));
        Hello hello;
        EXPECT_EQ(there.receive(hello, 0), Arrival::gone) << size;
    }
}

// The kernel limits the queue of messages, and the worker does not wait for a client that does not read.
TEST_F(MessageConnection, a_client_that_does_not_read_is_noticed) {
    int sent = 0;
    while (sent < 100000 && here.send(Greeting())) ++sent;
    EXPECT_GT(sent, 0);
    EXPECT_LT(sent, 100000);
}

TEST_F(MessageConnection, one_descriptor_goes_along_and_no_more) {
    const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Hello hello;
    Descriptor came;
    ASSERT_TRUE(here.send(hello, file.get()));
    ASSERT_EQ(there.receive(hello, 0, nullptr, &came), Arrival::message);
    ASSERT_TRUE(came);
    EXPECT_TRUE(::fcntl(came.get(), F_GETFD) & FD_CLOEXEC);
    came = Descriptor();
    const int before = open_files();
    ASSERT_TRUE(here.send(hello, file.get()));
    EXPECT_EQ(there.receive(hello, 0), Arrival::gone) << "none was expected";
    for (const int count : {2, 8}) {
        char control[CMSG_SPACE(8 * sizeof(int))] = {};
        iovec part{&hello, sizeof hello};
        msghdr header{};
        header.msg_iov = &part, header.msg_iovlen = 1, header.msg_control = control;
        header.msg_controllen = CMSG_LEN(std::size_t(count) * sizeof(int));
        cmsghdr* first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET, first->cmsg_type = SCM_RIGHTS, first->cmsg_len = header.msg_controllen;
        for (int k = 0; k < count; ++k) {
            const int number = file.get();
            std::memcpy(CMSG_DATA(first) + std::size_t(k) * sizeof(int), &number, sizeof number);
        }
        ASSERT_GT(::sendmsg(ends[0], &header, 0), 0);
        EXPECT_EQ(there.receive(hello, 0, nullptr, &came), Arrival::gone) << count;
    }
    EXPECT_EQ(open_files(), before) << "a descriptor that came along stayed open";
}

TEST_F(MessageConnection, a_process_of_another_user_is_no_peer) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
    const Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;  // an abstract name chosen by the kernel
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    ASSERT_EQ(::listen(listener.get(), 4), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        const bool good = ::setuid(12345) == 0 && ::connect(socket, reinterpret_cast<sockaddr*>(&address), size) == 0;
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    const Connection other(Descriptor(::accept(listener.get(), nullptr, nullptr)));
    ASSERT_TRUE(other);
    EXPECT_EQ(other.own_peer(), std::nullopt);
}

TEST(WorkerMemory, is_what_the_other_side_sees) {
    const auto mine = SharedMemory::create(10000);
    ASSERT_TRUE(mine);
    const auto same = SharedMemory::open(Descriptor(::dup(mine->descriptor())), 10000);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->size(), 10000u);
    mine->data()[9999] = std::byte(7);
    EXPECT_EQ(same->data()[9999], std::byte(7));
    EXPECT_NE(::ftruncate(mine->descriptor(), 10), 0) << "it can be cut off under the other side";
    EXPECT_NE(::ftruncate(mine->descriptor(), 20000), 0);
}

TEST(WorkerMemory, that_could_be_cut_off_or_is_too_large_is_refused) {
    const auto mine = SharedMemory::create(10000);
    ASSERT_TRUE(mine);
    EXPECT_FALSE(SharedMemory::open(Descriptor(::dup(mine->descriptor())), 9999));
    Descriptor open_ended(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(open_ended.get(), 10000), 0);
    ASSERT_EQ(::fcntl(open_ended.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_FALSE(SharedMemory::open(std::move(open_ended), 10000));
    EXPECT_FALSE(SharedMemory::open(Descriptor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), std::size_t(1) << 40));
    EXPECT_FALSE(SharedMemory::open(Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)), std::size_t(1) << 40));
    EXPECT_FALSE(SharedMemory::open(Descriptor(), 10000));
}

}  // namespace glint::warm_worker
