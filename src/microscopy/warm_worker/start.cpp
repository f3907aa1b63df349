// Starts the worker through a process that ends immediately, so that no client is the worker's parent.
// SPDX-License-Identifier: MIT
#include "warm_worker/start.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "base/system.hpp"
#include "glint/environment.hpp"

extern char** environ;

namespace glint::warm_worker {
namespace {

constexpr int listener_number = 3, lock_number = 4, first_other = 5;

struct SpawnActions {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    bool good;
    SpawnActions() : good(::posix_spawn_file_actions_init(&actions) == 0 && ::posix_spawnattr_init(&attributes) == 0) {}
    ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions), ::posix_spawnattr_destroy(&attributes); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;

    void all_of(std::initializer_list<int> results) {
        for (const int result : results) good = good && result == 0;
    }
};

}  // namespace

bool start(const std::string& program, const std::string& name, const WorkerSettings& settings,
           const Descriptor& listener, const Descriptor& lock) {
    // Avoids the descriptor numbers that the worker expects.
    const Descriptor socket(::fcntl(listener.get(), F_DUPFD_CLOEXEC, first_other + 5));
    const Descriptor held(::fcntl(lock.get(), F_DUPFD_CLOEXEC, first_other + 5));
    if (!socket || !held) return false;
    std::vector<std::string> words{"glint",
                                   worker_command,
                                   name,
                                   "--gpu-memory",
                                   std::to_string(settings.gpu_memory_bytes),
                                   "--batch-size",
                                   std::to_string(settings.batch_size),
                                   "--idle",
                                   std::to_string(environment::gpu_worker_idle_s())};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    SpawnActions how;
    sigset_t none, all;
    ::sigemptyset(&none), ::sigfillset(&all);
    how.all_of({::posix_spawn_file_actions_addopen(&how.actions, 0, "/dev/null", O_RDONLY, 0),
                ::posix_spawn_file_actions_addopen(&how.actions, 1, "/dev/null", O_WRONLY, 0),
                ::posix_spawn_file_actions_addopen(&how.actions, 2, "/dev/null", O_WRONLY, 0),
                ::posix_spawn_file_actions_adddup2(&how.actions, socket.get(), listener_number),
                ::posix_spawn_file_actions_adddup2(&how.actions, held.get(), lock_number),
                ::posix_spawnattr_setsigmask(&how.attributes, &none),
                ::posix_spawnattr_setsigdefault(&how.attributes, &all),
                ::posix_spawnattr_setflags(&how.attributes,
                                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)});
    pid_t pid = 0;
    if (!how.good ||
        ::posix_spawn(&pid, program.c_str(), &how.actions, &how.attributes, arguments.data(), environ) != 0)
        return false;
    // The child ends as soon as it has started the worker. If the program ignores SIGCHLD, there is no child to wait
    // for (ECHILD).
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return true;
}

std::optional<Inherited> inherited() {
    int domain = 0, listens = 0;
    socklen_t size = sizeof domain, same = sizeof listens;
    struct stat status {};
    if (::getsockopt(listener_number, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX ||
        ::getsockopt(listener_number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &same) != 0 || !listens ||
        ::fstat(lock_number, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
        return {};
    Inherited mine{Descriptor(listener_number), Descriptor(lock_number)};
    for (const int number : {listener_number, lock_number}) ::fcntl(number, F_SETFD, FD_CLOEXEC);
    return mine;
}

void detach() {
    if (const pid_t pid = ::fork(); pid != 0) ::_exit(pid < 0);
    close_from(first_other);
    (void)::chdir("/");
    (void)::prctl(PR_SET_NAME, "glint-worker");
}

}  // namespace glint::warm_worker
