// Reads and validates the environment variables GLINT_*; the names of the choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#include "glint/environment.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string>

#include "glint/backend.hpp"
#include "glint/error.hpp"
#include "glint/isa.hpp"
#include "glint/units.hpp"

namespace glint::environment {
namespace {

constexpr std::uint64_t default_threshold_bytes = 10'000'000;
constexpr double default_quantum_s = 30;
constexpr int default_worker_idle_s = 5;
constexpr const char* default_lease_directory = "/dev/shm/glint-lease";

std::string value_of(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// Keywords are case-insensitive: True, AUTO.
std::string word_of(const char* name) {
    std::string word = value_of(name);
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word;
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& expected) {
    throw OptionError(std::string(name) + "=" + value + ": expected " + expected);
}

bool is_one_of(const std::string& value, std::initializer_list<const char*> words) {
    return std::find(words.begin(), words.end(), value) != words.end();
}

bool is_on(const char* name, bool by_default) {
    const std::string word = word_of(name);
    if (word.empty()) return by_default;
    if (is_one_of(word, {"true", "1", "yes", "on"})) return true;
    if (is_one_of(word, {"false", "0", "no", "off"})) return false;
    refuse(name, value_of(name), "true or false (also 1 or 0, yes or no, on or off)");
}

/// Returns 0 if the variable is not set.
int number_of(const char* name, int most, const char* expected) {
    const std::string value = value_of(name);
    if (value.empty()) return 0;
    int number = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || rest != end || number < 1 || number > most) refuse(name, value, expected);
    return number;
}

std::string words(bool on) { return on ? "true" : "false"; }

std::string number_or(int number, const char* otherwise) { return number ? std::to_string(number) : otherwise; }

/// Returns the validated value as written; the default if the variable is not set.
template <class Check>
std::string written(const char* name, const char* otherwise, const Check& check) {
    check();
    const std::string value = value_of(name);
    return value.empty() ? otherwise : value;
}

struct Variable {
    const char* name;
    std::string (*in_force)();  ///< throws OptionError
};

constexpr Variable variables[] = {
    {"GLINT_BACKEND", [] { return std::string(to_name(backend())); }},
    {"GLINT_THREADS", [] { return std::to_string(threads()); }},
    {"GLINT_ISA", [] { return active_isa(); }},
    {"GLINT_OFFLOAD_THRESHOLD",
     [] { return written("GLINT_OFFLOAD_THRESHOLD", "10MB", [] { offload_threshold_bytes(); }); }},
    {"GLINT_GPU_ENABLED", [] { return words(gpu_enabled()); }},
    {"GLINT_GPU_MEMORY_LIMIT",
     [] {
         constexpr std::uint64_t of_any_gpu = std::uint64_t(1) << 40;
         return written("GLINT_GPU_MEMORY_LIMIT", "auto", [] { gpu_memory_limit_bytes(of_any_gpu); });
     }},
    {"GLINT_GPU_EARLY_RECLAIM", [] { return words(gpu_early_reclaim()); }},
    {"GLINT_GPU_LOG", [] { return words(gpu_log()); }},
    {"GLINT_GPU_UNIFIED", [] { return words(gpu_unified()); }},
    {"GLINT_GPU_QUANTUM", [] { return written("GLINT_GPU_QUANTUM", "30", [] { gpu_quantum_s(); }); }},
    {"GLINT_GPU_WORKER", [] { return std::string(gpu_worker() ? "auto" : "off"); }},
    {"GLINT_GPU_WORKER_IDLE", [] { return std::to_string(gpu_worker_idle_s()); }},
    {"GLINT_LEASE_DIR", [] { return lease_directory(); }},
    {"GLINT_LEASES_PER_USER", [] { return number_or(leases_per_user(), "any number"); }},
    {"GLINT_MPI_LIBRARY", [] { return mpi_library().empty() ? "the one that is found" : mpi_library(); }},
    {"GLINT_LEASE", [] { return inherited_lease().empty() ? "none" : inherited_lease(); }},
};

}  // namespace

bool gpu_enabled() { return is_on("GLINT_GPU_ENABLED", true); }

std::uint64_t gpu_memory_limit_bytes(std::uint64_t total_bytes) {
    constexpr const char* name = "GLINT_GPU_MEMORY_LIMIT";
    const std::string value = value_of(name);
    return value.empty() || word_of(name) == "auto" ? 0 : parse_bytes(value, name, total_bytes);
}

bool gpu_early_reclaim() { return is_on("GLINT_GPU_EARLY_RECLAIM", true); }
bool gpu_log() { return is_on("GLINT_GPU_LOG", false); }
bool gpu_unified() { return is_on("GLINT_GPU_UNIFIED", false); }

double gpu_quantum_s() {
    constexpr const char* name = "GLINT_GPU_QUANTUM";
    if (word_of(name) == "never") return std::numeric_limits<double>::infinity();
    const int asked = number_of(name, 86400, "seconds from 1 to 86400, or never");
    return asked ? asked : default_quantum_s;
}

bool gpu_worker() {
    constexpr const char* name = "GLINT_GPU_WORKER";
    const std::string word = word_of(name);
    if (word.empty() || word == "off") return false;
    if (word == "auto") return true;
    refuse(name, value_of(name), "auto or off");
}

int gpu_worker_idle_s() {
    const int asked = number_of("GLINT_GPU_WORKER_IDLE", 86400, "seconds from 1 to 86400");
    return asked ? asked : default_worker_idle_s;
}

std::uint64_t offload_threshold_bytes() {
    constexpr const char* name = "GLINT_OFFLOAD_THRESHOLD";
    const std::string value = value_of(name);
    if (value == "0") return 0;
    return value.empty() ? default_threshold_bytes : parse_bytes(value, name);
}

Backend backend(Backend asked) {
    if (asked != Backend::automatic) return asked;
    constexpr const char* name = "GLINT_BACKEND";
    const std::string value = value_of(name);
    if (value.empty()) return Backend::automatic;
    if (const std::optional<Backend> named = backend_named(value)) return *named;
    refuse(name, value, "auto, cpu, gpu (also cuda) or prefer-gpu");
}

int threads() {
    const int asked = number_of("GLINT_THREADS", 4096, "a number of threads from 1 to 4096");
    if (asked) return asked;
    static const int usable = usable_threads();
    return usable;
}

int leases_per_user() { return number_of("GLINT_LEASES_PER_USER", 1 << 30, "a number of at least 1"); }

std::string lease_directory() {
    constexpr const char* name = "GLINT_LEASE_DIR";
    const std::string value = value_of(name);
    if (value.empty()) return default_lease_directory;
    if (value[0] != '/')
        refuse(name, value, "a directory written from the root on, or it is another one in each folder");
    return value;
}

std::string mpi_library() { return value_of("GLINT_MPI_LIBRARY"); }
std::string inherited_lease() { return value_of("GLINT_LEASE"); }
std::string isa() { return value_of("GLINT_ISA"); }

std::vector<Setting> settings() {
    std::vector<Setting> all;
    for (const Variable& variable : variables) {
        Setting setting{variable.name, value_of(variable.name), false, ""};
        setting.is_set = !setting.value.empty();
        try {
            setting.value = variable.in_force();
        } catch (const OptionError& error) {
            setting.problem = error.what();
        }
        all.push_back(std::move(setting));
    }
    return all;
}

void check() {
    for (const Setting& setting : settings())
        if (!setting.problem.empty()) throw OptionError(setting.problem);
}

}  // namespace glint::environment

namespace glint {

const char* to_name(Backend backend) {
    constexpr const char* names[] = {"auto", "cpu", "gpu", "prefer-gpu"};
    return names[int(backend)];
}

std::optional<Backend> backend_named(std::string_view word) {
    std::string name(word);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const Backend backend : {Backend::automatic, Backend::cpu, Backend::gpu, Backend::prefer_gpu})
        if (name == to_name(backend)) return backend;
    return name == "cuda" ? std::optional(Backend::gpu) : std::nullopt;
}

}  // namespace glint
