// Sums of session statistics, and their JSON.
// SPDX-License-Identifier: MIT
#include "glint/offload/statistics.hpp"

#include <nlohmann/json.hpp>

namespace glint::offload {
namespace {

nlohmann::ordered_json of_side(const SideStatistics& side) {
    return {{"calls", side.calls},
            {"timed_calls", side.timed_calls},
            {"mean_seconds", side.timed_calls ? side.seconds / double(side.timed_calls) : 0},
            {"bytes_up", side.bytes_up},
            {"bytes_down", side.bytes_down},
            {"transfers", side.transfers}};
}

nlohmann::ordered_json of_both_sides(const OperationStatistics& of) {
    return {{"operation", of.name},        {"cpu", of_side(of.cpu)},      {"gpu", of_side(of.gpu)},
            {"gpu_share", of.gpu_share()}, {"decisions_right", of.right}, {"decisions_wrong", of.wrong}};
}

void add(SideStatistics& to, const SideStatistics& more) {
    to.calls += more.calls, to.timed_calls += more.timed_calls, to.seconds += more.seconds;
    to.bytes_up += more.bytes_up, to.bytes_down += more.bytes_down, to.transfers += more.transfers;
}

}  // namespace

OperationStatistics Statistics::total() const {
    OperationStatistics all;
    all.name = "all";
    for (const OperationStatistics& of : operations) {
        add(all.cpu, of.cpu), add(all.gpu, of.gpu);
        all.right += of.right, all.wrong += of.wrong;
    }
    add(all.gpu, copies);
    return all;
}

std::string as_json(const Statistics& statistics) {
    nlohmann::ordered_json operations = nlohmann::ordered_json::array(), fallbacks = operations;
    for (const OperationStatistics& of : statistics.operations) operations.push_back(of_both_sides(of));
    for (const Fallback& fallback : statistics.last_fallbacks)
        fallbacks.push_back({{"operation", fallback.operation},
                             {"why", fallback.why},
                             {"bytes_asked", fallback.bytes_asked},
                             {"bytes_free", fallback.bytes_free}});
    return nlohmann::ordered_json{{"operations", operations},
                                  {"total", of_both_sides(statistics.total())},
                                  {"failures", statistics.failures},
                                  {"fallbacks", statistics.fallbacks},
                                  {"last_fallbacks", fallbacks}}
        .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace glint::offload
