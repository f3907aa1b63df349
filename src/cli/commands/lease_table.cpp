// Processes that hold GPUs or wait for them, and past leases, as tables and as JSON.
// SPDX-License-Identifier: MIT
#include "cli/commands/lease_table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "gpu/lease/history.hpp"
#include "gpu/process.hpp"

namespace glint::cli {
namespace {

using Lines = std::vector<std::string>;
using Workers = std::vector<warm_worker::RunningWorker>;

std::string since(double seconds) {
    const auto now = std::chrono::system_clock::now();
    const auto then = now - std::chrono::duration_cast<std::chrono::seconds>(std::chrono::duration<double>(seconds));
    const std::tm local = fmt::localtime(std::chrono::system_clock::to_time_t(then));
    return fmt::format("since {:%d %b %H:%M:%S} ({})", local, clock_text(seconds));
}

std::string state_of(const gpu::LeaseHolder& holder) {
    if (holder.elsewhere) return ", in another container";
    if (!holder.ended) return holder.stopped ? ", stopped" : "";
    std::string left;
    for (const unsigned pid : holder.kept_by) {
        const auto info = gpu::process_info(pid);
        left += fmt::format(" {}{}", pid, info ? fmt::format(" ({})", printable(info->name)) : "");
    }
    return ", ended; kept by processes that it left running:" + (left.empty() ? " ?" : left);
}

void add_holder(const gpu::LeaseHolder& holder, Lines& lines) {
    const std::string taken = holder.contexts == 0 ? "not in use yet"
                              : holder.contexts == 1
                                  ? amount(holder.held_bytes) + " held"
                                  : fmt::format("{} held by {} processes", amount(holder.held_bytes), holder.contexts);
    lines.push_back(fmt::format("  {:<12} pid {:<8} {} reserved, {}, {}{}", user_name(holder.uid), holder.pid,
                                amount(holder.reserved_bytes), taken, since(holder.since_s), state_of(holder)));
}

/// Returns the warm worker that this holder is; null if it is none.
const warm_worker::RunningWorker* worker_of(const gpu::LeaseHolder& holder, const Workers& workers) {
    if (holder.elsewhere) return nullptr;
    const auto found = std::find_if(workers.begin(), workers.end(), [&](const auto& w) { return w.pid == holder.pid; });
    return found == workers.end() ? nullptr : &*found;
}

std::span<const warm_worker::ClientFacts> listed(const warm_worker::Facts& facts) {
    return {facts.clients.data(), std::min<std::size_t>(facts.count, facts.clients.size())};
}

void add_worker(const warm_worker::RunningWorker& running, Lines& lines) {
    const warm_worker::Facts& facts = running.facts;
    lines.push_back(fmt::format("    warm worker: {} fits, idle for {:.1f} s, {} client{}", facts.fits, facts.idle_s,
                                facts.count, facts.count == 1 ? "" : "s"));
    for (const warm_worker::ClientFacts& client : listed(facts)) {
        const auto info = gpu::process_info(client.pid);
        lines.push_back(fmt::format("      pid {:<8} {} fits{}", client.pid, client.fits,
                                    info ? fmt::format(" ({})", printable(info->name)) : ""));
    }
}

void add_unmanaged_processes(const gpu::LeaseGpu& gpu, Lines& lines) {
    for (const gpu::DeviceProcess& process : gpu.foreign_processes) {
        const auto info = gpu::process_info(process.pid);
        const std::string name = info ? printable(info->name) : "in another container, or ended";
        lines.push_back(fmt::format("  {:<12} pid {:<8} {} used by an unmanaged process: {}",
                                    info ? user_name(info->uid) : std::string("?"), process.pid,
                                    process.used_bytes ? amount(process.used_bytes) : "? GiB", name));
    }
    if (const int more = gpu.foreign_count - int(gpu.foreign_processes.size()); more > 0)
        lines.push_back(fmt::format("  {} more unmanaged process{}", more, more == 1 ? "" : "es"));
}

void add_gpu(const gpu::LeaseGpu& gpu, const Workers& workers, Lines& lines) {
    lines.push_back(gpu.uuid + "  " + gpu.name);
    lines.push_back(
        fmt::format("  {} available of {}: {} free, {} of that promised{}{}", amount(gpu.available_bytes),
                    amount(gpu.total_bytes), amount(gpu.free_bytes), amount(gpu.free_bytes - gpu.available_bytes),
                    gpu.utilization_percent < 0 ? "" : fmt::format(", {} % busy", gpu.utilization_percent),
                    gpu.processes ? fmt::format(", {} process{}", gpu.processes, gpu.processes > 1 ? "es" : "") : ""));
    for (const gpu::LeaseHolder& holder : gpu.holders) {
        add_holder(holder, lines);
        if (const auto* running = worker_of(holder, workers)) add_worker(*running, lines);
    }
    add_unmanaged_processes(gpu, lines);
}

void add_waiter(std::size_t place, const gpu::LeaseWaiter& waiter, std::size_t gpus, Lines& lines) {
    std::string where;
    if (waiter.candidates.size() < gpus)
        for (const std::string& uuid : waiter.candidates) where += (where.empty() ? ", of " : " ") + uuid;
    lines.push_back(
        fmt::format("  {:>2}. {:<12} pid {:<8} {}{}, {}{}{}{}", place, user_name(waiter.uid), waiter.pid,
                    amount(waiter.bytes), waiter.gpus > 1 ? fmt::format(" on each of {} GPUs", waiter.gpus) : "",
                    since(waiter.since_s), waiter.passes ? fmt::format(", passed {} times", waiter.passes) : "",
                    waiter.awake ? "" : ", asleep (stopped?): others pass it", where));
}

/// Returns null if there is no worker.
nlohmann::ordered_json as_json(const warm_worker::RunningWorker* running) {
    if (!running) return nullptr;
    nlohmann::ordered_json clients = nlohmann::ordered_json::array();
    for (const warm_worker::ClientFacts& c : listed(running->facts))
        clients.push_back({{"pid", c.pid}, {"fits", c.fits}});
    return {{"fits", running->facts.fits},
            {"idle_s", running->facts.idle_s},
            {"client_count", running->facts.count},
            {"clients", clients}};
}

nlohmann::ordered_json as_json(const gpu::LeaseGpu& gpu, const Workers& workers) {
    nlohmann::ordered_json holders = nlohmann::ordered_json::array(), strangers = nlohmann::ordered_json::array();
    for (const gpu::LeaseHolder& h : gpu.holders)
        holders.push_back({{"user", user_name(h.uid)},
                           {"uid", h.uid},
                           {"pid", h.pid},
                           {"reserved_bytes", h.reserved_bytes},
                           {"held_bytes", h.held_bytes},
                           {"contexts", h.contexts},
                           {"since_s", h.since_s},
                           {"stopped", h.stopped},
                           {"elsewhere", h.elsewhere},
                           {"ended", h.ended},
                           {"kept_by", h.kept_by},
                           {"worker", as_json(worker_of(h, workers))}});
    for (const gpu::DeviceProcess& p : gpu.foreign_processes) {
        const auto info = gpu::process_info(p.pid);
        strangers.push_back({{"pid", p.pid},
                             {"name", info ? info->name : ""},
                             {"user", info ? user_name(info->uid) : ""},
                             {"used_bytes", p.used_bytes}});
    }
    return {{"uuid", gpu.uuid},
            {"name", gpu.name},
            {"total_bytes", gpu.total_bytes},
            {"free_bytes", gpu.free_bytes},
            {"available_bytes", gpu.available_bytes},
            {"utilization_percent", gpu.utilization_percent},
            {"processes", gpu.processes},
            {"holders", holders},
            {"strangers", gpu.foreign_count},
            {"stranger_processes", strangers}};
}

using gpu::lease::PastLease;

/// Returns the duration of the lease. Empty if the process was killed.
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

std::string user_name(std::uint32_t uid) {
    const passwd* entry = ::getpwuid(uid);
    return entry && entry->pw_name ? printable(entry->pw_name) : fmt::format("{}", uid);
}

std::string amount(std::uint64_t bytes) { return fmt::format("{:.1f} GiB", double(bytes) / (1024.0 * 1024 * 1024)); }

LeasesAndWorkers see_leases() { return {gpu::snapshot_leases(), warm_worker::running_workers()}; }

nlohmann::ordered_json lease_json(const LeasesAndWorkers& all) {
    const gpu::LeaseSnapshot& seen = all.leases;
    nlohmann::ordered_json gpus = nlohmann::ordered_json::array(), waiters = nlohmann::ordered_json::array();
    for (const gpu::LeaseGpu& gpu : seen.gpus) gpus.push_back(as_json(gpu, all.workers));
    for (const gpu::LeaseWaiter& w : seen.waiters)
        waiters.push_back({{"user", user_name(w.uid)},
                           {"uid", w.uid},
                           {"pid", w.pid},
                           {"bytes", w.bytes},
                           {"gpus", w.gpus},
                           {"candidates", w.candidates},
                           {"since_s", w.since_s},
                           {"passes", w.passes},
                           {"awake", w.awake}});
    return {{"directory", seen.directory},
            {"why_no_directory", seen.why_no_directory},
            {"why_no_gpu", seen.why_no_gpu},
            {"gpus", gpus},
            {"waiters", waiters}};
}

std::vector<std::string> lease_table(const LeasesAndWorkers& all) {
    const gpu::LeaseSnapshot& seen = all.leases;
    Lines lines;
    if (!seen.why_no_directory.empty())
        lines.push_back(seen.why_no_directory + "; leases cannot be seen");
    else
        lines.push_back("leases in " + seen.directory);
    if (!seen.why_no_gpu.empty()) lines.push_back("no GPU can be used by this process: " + seen.why_no_gpu);
    for (const gpu::LeaseGpu& gpu : seen.gpus) add_gpu(gpu, all.workers, lines);
    if (!seen.waiters.empty()) lines.push_back("waiting");
    for (std::size_t k = 0; k < seen.waiters.size(); ++k) add_waiter(k + 1, seen.waiters[k], seen.gpus.size(), lines);
    return lines;
}

void print_history(bool json) {
    const gpu::lease::StateDir directory(environment::lease_directory());
    if (!directory.why_not().empty()) throw InputError(directory.why_not());
    const std::vector<PastLease> leases = gpu::lease::past_leases(directory);
    json ? print_history_json(leases) : print_history_table(leases);
}

}  // namespace glint::cli
