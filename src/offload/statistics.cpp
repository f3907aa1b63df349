// Formats session statistics as JSON.
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

}  // namespace

std::string as_json(const Statistics& statistics) {
    nlohmann::ordered_json operations = nlohmann::ordered_json::array(), fallbacks = operations;
    for (const OperationStatistics& of : statistics.operations)
        operations.push_back({{"operation", of.name},
                              {"cpu", of_side(of.cpu)},
                              {"gpu", of_side(of.gpu)},
                              {"gpu_share", of.gpu_share()},
                              {"decisions_right", of.right},
                              {"decisions_wrong", of.wrong}});
    for (const Fallback& fallback : statistics.last_fallbacks)
        fallbacks.push_back({{"operation", fallback.operation},
                             {"why", fallback.why},
                             {"bytes_asked", fallback.bytes_asked},
                             {"bytes_free", fallback.bytes_free}});
    return nlohmann::ordered_json{
        {"operations", operations}, {"fallbacks", statistics.fallbacks}, {"last_fallbacks", fallbacks}}
        .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace glint::offload
