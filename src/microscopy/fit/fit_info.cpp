// Adds up the records of a fit's parts.
// SPDX-License-Identifier: MIT
#include "fit/fit_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace glint {
namespace {

/// Combines the fields of `group` by the rule that each field states.
void combine(FitInfo& sum, const FitInfo& more, InfoGroup group) {
    for_each_info_field([&](const auto& field) {
        if (field.group != group) return;
        auto& to = sum.*field.value;
        const auto& from = more.*field.value;
        using Value = std::decay_t<decltype(to)>;
        if constexpr (std::is_arithmetic_v<Value>) {
            if (field.combined == Combined::total) to += from;
            if (field.combined == Combined::largest) to = std::max(to, from);
        } else if constexpr (std::is_same_v<Value, std::string>) {
            if (field.combined == Combined::first && to.empty()) to = from;
        }
    });
}

/// Returns the GPUs as "4x NVIDIA H200 + NVIDIA L4".
std::string names_of(const std::vector<GpuPart>& gpus) {
    std::vector<std::pair<std::string, int>> counts;
    for (const GpuPart& part : gpus) {
        const auto same = std::find_if(counts.begin(), counts.end(), [&](auto& c) { return c.first == part.name; });
        same == counts.end() ? void(counts.emplace_back(part.name, 1)) : void(++same->second);
    }
    std::string text;
    for (const auto& [name, count] : counts)
        text += fmt::format("{}{}{}", text.empty() ? "" : " + ", count > 1 ? fmt::format("{}x ", count) : "", name);
    return text;
}

}  // namespace

void add_gpu_part(FitInfo& sum, const FitInfo& more) {
    combine(sum, more, InfoGroup::gpu);
    sum.events.insert(sum.events.end(), more.events.begin(), more.events.end());
    for (const GpuPart& part : more.gpus) {
        const auto same = std::find_if(sum.gpus.begin(), sum.gpus.end(),
                                       [&](const GpuPart& known) { return known.uuid == part.uuid; });
        if (same == sum.gpus.end())
            sum.gpus.push_back(part);
        else
            same->fits += part.fits, same->seconds += part.seconds;
    }
    std::int64_t all = sum.cpu_fits;
    for (const GpuPart& part : sum.gpus) all += part.fits;
    for (GpuPart& part : sum.gpus) part.share = all > 0 ? double(part.fits) / double(all) : 0;
    if (!more.gpus.empty() && sum.gpus.size() > 1) sum.device = names_of(sum.gpus);
}

void add(FitInfo& sum, const FitInfo& more) {
    if (more.fits == 0) return;
    sum.backend = more.backend, sum.device = more.device;
    combine(sum, more, InfoGroup::fit);
    add_gpu_part(sum, more);
}

}  // namespace glint
