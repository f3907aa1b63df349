// Makes a program wait at a given point of its work, so that a test can stop or kill it there on any machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/run_program.hpp"

namespace glint::test {

/// Polls until `so` returns true. Returns false if the program ends first.
inline bool become(Program& program, const std::function<bool()>& so) {
    while (!so()) {
        if (!program.running()) return so();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Each process that is started with these variables waits when it has written a given number of records of finished
/// frames. Threads that would write the next record are blocked.
class Hold {
  public:
    explicit Hold(int records) : records_(records) {}
    /// Returns the variables to write before a command.
    std::string variables() const {
        const std::string library =
            std::filesystem::read_symlink("/proc/self/exe").replace_filename("libhold_records.so").string();
        return "export HOLD_AFTER_RECORDS=" + std::to_string(records_) + " HOLD_IN=" + folder_.path().string() +
               " ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" + library + "; ";
    }
    /// Waits until a process has reached the point. Returns false if the program ends first.
    bool reached(Program& program) const {
        return become(program, [&] { return !folder_.names().empty(); });
    }
    void go_on() const { folder_.write("go_on", ""); }

  private:
    int records_;
    TemporaryFolder folder_;
};

/// Runs a command such as `glint COMMAND` and sends it the signal after the given number of records. The command
/// continues when it has printed that it is stopping.
inline Ended stop_after(int records, int signal, const TemporaryFolder& folder, const std::string& command) {
    const Hold hold(records);
    Program program(folder, hold.variables() + "exec " + command);
    if (hold.reached(program)) program.signal(signal);
    become(program, [&] { return read_bytes(folder / ".err").find("glint: stopping") != std::string::npos; });
    hold.go_on();
    return program.ended();
}

}  // namespace glint::test
