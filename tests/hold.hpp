// Lets a program wait in its middle, so that a test stops or kills it at a point of its work however fast it is.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/run_program.hpp"

namespace glint::test {

/// Looks until it is so, or the program has ended: false.
inline bool become(Program& program, const std::function<bool()>& so) {
    while (!so()) {
        if (!program.running()) return so();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Each process that is started with it waits when it has written so many records of finished frames, and holds up
/// those of its threads that would write the next one.
class Hold {
  public:
    explicit Hold(int records) : records_(records) {}
    /// To go before a command.
    std::string variables() const {
        const std::string library =
            std::filesystem::read_symlink("/proc/self/exe").replace_filename("libhold_records.so").string();
        return "export HOLD_AFTER_RECORDS=" + std::to_string(records_) + " HOLD_IN=" + folder_.path().string() +
               " ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" + library + "; ";
    }
    /// Waits for the first process that waits; false: the program ended without.
    bool reached(Program& program) const {
        return become(program, [&] { return !folder_.names().empty(); });
    }
    void go_on() const { folder_.write("go_on", ""); }

  private:
    int records_;
    TemporaryFolder folder_;
};

/// Runs `glint COMMAND` or the like and sends it the signal after so many records; it goes on when it has noticed.
inline Ended stop_after(int records, int signal, const TemporaryFolder& folder, const std::string& command) {
    const Hold hold(records);
    Program program(folder, hold.variables() + "exec " + command);
    if (hold.reached(program)) program.signal(signal);
    become(program, [&] { return read_bytes(folder / ".err").find("glint: stopping") != std::string::npos; });
    hold.go_on();
    return program.ended();
}

}  // namespace glint::test
