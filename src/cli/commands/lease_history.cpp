// Past leases as a table and as JSON.
// SPDX-License-Identifier: MIT
#include "cli/commands/lease_history.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/system_clock.hpp"
#include "cli/commands/lease_table.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "cli/printable.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "gpu/lease/history.hpp"

namespace glint::cli {
namespace {

using gpu::lease::PastLease;

/// Unknown for a process that was killed.
std::optional<double> lasted_s(const PastLease& lease) {
    if (!lease.lasts && !lease.ended_ns) return {};
    const std::int64_t until_ns = lease.ended_ns.value_or(system_clock_ns());
    return double(std::max<std::int64_t>(until_ns - lease.began_ns, 0)) / 1e9;
}

const char* history_state_of(const PastLease& lease) {
    return lease.lasts ? "lasts" : lease.ended_ns ? "ended" : "killed";
}

struct OfUser {
    std::size_t leases = 0;
    double gpu_s = 0;
};

using Users = std::map<std::uint32_t, OfUser>;

Users sums_of(const std::vector<PastLease>& leases) {
    Users users;
    for (const PastLease& lease : leases) {
        OfUser& user = users[lease.uid];
        ++user.leases;
        user.gpu_s += lasted_s(lease).value_or(0);
    }
    return users;
}

void print_history_table(const std::vector<PastLease>& leases) {
    if (leases.empty()) return tell("glint: no lease in the last {} days\n", gpu::lease::history_days);
    put("{:<12}  {:>8}  {:<15}  {:<15}  {:>10}  {:>9}  {}\n", "user", "pid", "program", "began", "lasted", "reserved",
        "GPU");
    for (const PastLease& lease : leases) {
        const auto lasted = lasted_s(lease);
        put("{:<12}  {:>8}  {:<15}  {:%d %b %H:%M:%S}  {:>10}  {:>9}  {}\n", user_name(lease.uid), lease.pid,
            printable(lease.program), fmt::localtime(std::time_t(lease.began_ns / 1'000'000'000)),
            lasted ? clock_text(*lasted) + (lease.lasts ? "+" : "") : "killed", amount(lease.reserved_bytes),
            printable(lease.gpu));
    }
    put("\n");
    for (const auto& [uid, user] : sums_of(leases))
        put("{:<12}  {} of a GPU in {} leases\n", user_name(uid), clock_text(user.gpu_s),
            with_commas(std::int64_t(user.leases)));
}

void print_history_json(const std::vector<PastLease>& leases) {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array(), users = Json::array();
    for (const PastLease& lease : leases) {
        const auto lasted = lasted_s(lease);
        rows.push_back({{"user", user_name(lease.uid)},
                        {"uid", lease.uid},
                        {"pid", lease.pid},
                        {"program", lease.program},
                        {"gpu", lease.gpu},
                        {"reserved_bytes", lease.reserved_bytes},
                        {"began_s", double(lease.began_ns) / 1e9},
                        {"lasted_s", lasted ? Json(*lasted) : Json()},
                        {"state", history_state_of(lease)}});
    }
    for (const auto& [uid, user] : sums_of(leases))
        users.push_back({{"user", user_name(uid)}, {"uid", uid}, {"leases", user.leases}, {"gpu_s", user.gpu_s}});
    print_json({{"leases", rows}, {"users", users}});
}

}  // namespace

void print_history(bool json) {
    const gpu::lease::StateDir directory(environment::lease_directory());
    if (!directory.why_not().empty()) throw InputError(directory.why_not());
    const std::vector<PastLease> leases = gpu::lease::past_leases(directory);
    json ? print_history_json(leases) : print_history_table(leases);
}

}  // namespace glint::cli
