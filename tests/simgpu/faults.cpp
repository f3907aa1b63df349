// Fault injection: parses SIMGPU_FAULT and counts calls.
// SPDX-License-Identifier: MIT
#include "faults.hpp"

#include <signal.h>
#include <unistd.h>

#include <vector>

#include "settings.hpp"

namespace simgpu {
namespace {

struct Plan {
    std::string function;
    long call = 0;
    bool from_there_on = false;
    Fault fault;
};

bool take(std::string& text, const std::string& end) {
    if (!text.ends_with(end)) return false;
    text.resize(text.size() - end.size());
    return true;
}

Plan parse(const std::string& all) {
    Plan plan;
    std::string text = all;
    plan.fault.kill = take(text, "!kill");
    auto parts = split(text, ':');
    if (parts.size() != (plan.fault.kill ? 2u : 3u)) broken("SIMGPU_FAULT=%s: write FUNCTION:N:CODE", all.c_str());
    if (!plan.fault.kill) {
        plan.fault.sticky = take(parts[2], "s");
        plan.fault.result = std::stoi(parts[2]);
        plan.fault.sticky |= is_sticky(plan.fault.result);
    }
    plan.fault.at_execution = take(parts[1], "~");
    plan.from_there_on = take(parts[1], "+");
    plan.function = parts[0];
    plan.call = std::stol(parts[1]);
    return plan;
}

const std::vector<Plan>& plans() {
    static const auto& all = *[] {
        auto* v = new std::vector<Plan>;  // never destroyed, because calls may come until the process ends
        for (const std::string& text : split(setting("SIMGPU_FAULT"), ',')) v->push_back(parse(text));
        return v;
    }();
    return all;
}

std::map<std::string, long>& counts() {
    static auto& map = *new std::map<std::string, long>;
    return map;
}

}  // namespace

Fault count_call(const char* function) {
    const long own = ++counts()[function], any = ++counts()["*"];
    for (const Plan& plan : plans()) {
        if (plan.function != function && plan.function != "*") continue;
        const long n = plan.function == "*" ? any : own;
        if (n == plan.call || (plan.from_there_on && n > plan.call)) return plan.fault;
    }
    return {};
}

const std::map<std::string, long>& call_counts() { return counts(); }

bool is_sticky(cu::Result result) {
    // illegal address, launch timeout, assert, hardware stack error ... launch failed
    return result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
}

void kill_this_process() {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

}  // namespace simgpu
