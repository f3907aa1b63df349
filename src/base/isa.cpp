// Selects the instruction set of this process.
// SPDX-License-Identifier: MIT
#include "base/isa.hpp"

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/isa.hpp"

namespace glint {
namespace {

struct Entry {
    const char* name;
    Isa id;
    bool (*runs_here)();
};

#if defined(__x86_64__)
constexpr Entry entries[] = {
    {"avx512", Isa::avx512,
     [] {
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
     }},
    {"avx2", Isa::avx2,
     [] {
         return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2");
     }},
    {"sse2", Isa::sse2, [] { return true; }},
};
#else
constexpr Entry entries[] = {{"neon", Isa::neon, [] { return true; }}};
#endif

Isa choose() {
    const std::string forced = environment::isa();
    for (const Entry& entry : entries)
        if (entry.runs_here() && (forced.empty() || forced == entry.name)) return entry.id;
    std::string names;
    for (const std::string& name : available_isas()) names += (names.empty() ? "" : ", ") + name;
    throw OptionError("GLINT_ISA=" + forced + ": this CPU runs " + names + "; unset it to take the best");
}

}  // namespace

Isa active_isa_id() {
    static const Isa isa = choose();
    return isa;
}

std::string active_isa() {
    for (const Entry& entry : entries)
        if (entry.id == active_isa_id()) return entry.name;
    return "";
}

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const Entry& entry : entries)
        if (entry.runs_here()) names.push_back(entry.name);
    return names;
}

}  // namespace glint
