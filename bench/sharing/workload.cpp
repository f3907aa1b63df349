// Reads a workload file, and draws jobs and foreign processes from its distributions.
// SPDX-License-Identifier: MIT
#include "bench/sharing/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/sharing/context_costs.hpp"
#include "bench/sharing/random_numbers.hpp"
#include "glint/error.hpp"
#include "io/camera/toml_section.hpp"

namespace glint::sharing {
namespace {

constexpr double gib = 1 << 30, mib = 1 << 20;
constexpr double min_gib = 0.001, max_gib = 1024, shortest_s = 0.001, longest_s = 1e7;

using Range = std::pair<double, double>;

Range range(const TomlSection& group, std::string_view key, double low, double high) {
    const auto value = group.range(key, low, high);
    if (!value) group.refuse(key, "is missing");
    return *value;
}

int whole(const TomlSection& section, std::string_view key, int by_default, int most) {
    const double value = section.number(key, 1, most).value_or(by_default);
    if (value != std::floor(value)) section.refuse(key, fmt::format("is {}: a whole number is expected", value));
    return int(value);
}

class WorkloadReader {
  public:
    WorkloadReader(const std::string& name, const toml::table& table, std::uint64_t seed, const ServerOptions& server)
        : name_(name),
          table_(table),
          file_(table, name, {"about", "gpus", "memory_gib", "jobs", "strangers"}),
          random_(seed) {
        out_.name = std::filesystem::path(name).stem().string();
        out_.about = file_.text("about").value_or("");
        const int gpus = whole(file_, "gpus", 8, max_gpus);
        const double memory_gib = file_.number("memory_gib", 1, max_gib).value_or(140);
        out_.gpus = server.gpus.value_or(gpus);
        out_.gpu_bytes = server.gpu_bytes.value_or(std::uint64_t(memory_gib * gib));
    }

    Workload read() {
        for_each("jobs", [&](const toml::table& group) { add_jobs(group); });
        for_each("strangers", [&](const toml::table& group) { add_foreign_processes(group); });
        if (out_.jobs.empty()) file_.refuse("jobs", "must hold at least one group");
        std::stable_sort(out_.jobs.begin(), out_.jobs.end(),
                         [](const SimulatedJob& a, const SimulatedJob& b) { return a.arrives_s < b.arrives_s; });
        return std::move(out_);
    }

  private:
    template <class F>
    void for_each(std::string_view key, F add) {
        const toml::node* node = table_.get(key);
        if (!node) return;
        if (!node->is_array_of_tables()) file_.refuse(key, "must be a list of groups, as in [{count = 3, ...}]");
        for (const toml::node& group : *node->as_array()) add(*group.as_table());
    }

    void add_jobs(const toml::table& table) {
        const TomlSection group(table, name_,
                                {"user", "users", "count", "at_s", "gpus", "memory_gib", "compute_s", "gives_way"});
        const int users = whole(group, "users", 1, max_jobs), count = whole(group, "count", 1, max_jobs);
        if (std::int64_t(out_.jobs.size()) + std::int64_t(users) * count > max_jobs)
            group.refuse("count", fmt::format("makes more than {} jobs, the most that are simulated", max_jobs));
        const Range at_s = range(group, "at_s", 0, longest_s);
        const Range memory_gib = range(group, "memory_gib", min_gib, max_gib);
        const Range compute_s = range(group, "compute_s", shortest_s, longest_s);
        const int gpus = whole(group, "gpus", 1, max_gpus);
        check_fits(group, gpus, memory_gib.second);
        const bool gives_way = group.yes_or_no("gives_way").value_or(false);
        const std::string name = group.text("user").value_or("somebody");
        for (int u = 1; u <= users; ++u) {
            const int user = index_of(users > 1 ? fmt::format("{} {}", name, u) : name);
            for (int k = 0; k < count; ++k) {
                const double arrives_s = uniform_s(at_s);
                const std::uint64_t bytes = drawn_bytes(memory_gib);
                out_.jobs.push_back({user, arrives_s, gpus, bytes, log_uniform_s(compute_s), gives_way});
            }
        }
    }

    void add_foreign_processes(const toml::table& table) {
        const TomlSection group(table, name_, {"count", "at_s", "for_s", "memory_gib", "computes"});
        const int count = whole(group, "count", 1, max_jobs);
        if (std::int64_t(out_.foreign_processes.size()) + count > max_jobs)
            group.refuse("count", fmt::format("makes more than {} strangers, the most that are simulated", max_jobs));
        const Range at_s = range(group, "at_s", 0, longest_s), for_s = range(group, "for_s", shortest_s, longest_s);
        const Range memory_gib = range(group, "memory_gib", min_gib, max_gib);
        const bool computes = group.yes_or_no("computes").value_or(false);
        for (int k = 0; k < count; ++k) {
            const double comes_s = uniform_s(at_s), goes_s = comes_s + log_uniform_s(for_s);
            const int gpu = int(random_.uniform(0, out_.gpus));
            out_.foreign_processes.push_back({comes_s, goes_s, gpu, drawn_bytes(memory_gib), computes});
        }
    }

    void check_fits(const TomlSection& group, int gpus, double memory_gib) const {
        if (gpus > out_.gpus)
            group.refuse("gpus", fmt::format("is {}, and the server has {}: ask for fewer, or take a larger server",
                                             gpus, out_.gpus));
        if (memory_gib * gib + double(context_bytes) > double(out_.gpu_bytes))
            group.refuse("memory_gib", fmt::format("goes to {}, and a GPU has {:.4g}, of which a context takes {:.2f}: "
                                                   "ask for less, or take larger GPUs",
                                                   memory_gib, double(out_.gpu_bytes) / gib, context_bytes / gib));
    }

    int index_of(const std::string& user) {
        const auto found = std::find(out_.users.begin(), out_.users.end(), user);
        const int index = int(found - out_.users.begin());
        if (found == out_.users.end()) out_.users.push_back(user);
        return index;
    }

    // Rounds to milliseconds, so that results do not depend on the last digit of a C library's pow().
    static double in_ms(double seconds) { return std::round(seconds * 1000) / 1000; }
    double uniform_s(const Range& r) { return in_ms(random_.uniform(r.first, r.second)); }
    double log_uniform_s(const Range& r) { return in_ms(random_.log_uniform(r.first, r.second)); }
    std::uint64_t drawn_bytes(const Range& gibibytes) {
        return std::uint64_t(random_.log_uniform(gibibytes.first, gibibytes.second) * gib / mib) << 20;
    }

    const std::string& name_;
    const toml::table& table_;
    TomlSection file_;
    RandomNumbers random_;
    Workload out_;
};

std::string names_of_builtin() {
    std::string names;
    for (const BuiltinWorkload& w : builtin_workloads()) names += (names.empty() ? "" : ", ") + std::string(w.name);
    return names;
}

}  // namespace

Workload draw_workload(const std::string& name_or_path, std::uint64_t seed, const ServerOptions& server) {
    for (const BuiltinWorkload& w : builtin_workloads())
        if (w.name == name_or_path)
            return WorkloadReader(name_or_path, parse_toml(w.text, name_or_path), seed, server).read();
    std::error_code ignored;
    if (!std::filesystem::exists(name_or_path, ignored))
        throw OptionError(
            fmt::format("{} is neither a file nor a workload that is built in: {}", name_or_path, names_of_builtin()));
    return WorkloadReader(name_or_path, parse_toml(std::filesystem::path(name_or_path)), seed, server).read();
}

}  // namespace glint::sharing
