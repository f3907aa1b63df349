// Whether the frames of localizations and of their truth are counted from different numbers.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <initializer_list>

#include "glint/score.hpp"

namespace glint {

std::string frames_warning(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options,
                           double recall) {
    constexpr double looks_below = 0.9, more_by = 0.1, more_times = 1.2;
    if (!(recall < looks_below)) return "";
    for (const int by : {-1, 1}) {
        Localizations shifted = localizations;
        for (std::uint32_t& frame : shifted.frame) frame += std::uint32_t(by);  // of frame 0, one that no truth has
        const double then = score(shifted, truth, options).recall;
        if (then > recall + more_by && then > more_times * recall)
            return fmt::format(
                "with all frames of the localizations {}, {:.0f} % of the truth would be found in place of "
                "{:.0f} %: "
                "does one of the tables count them from 0 and the other from 1?",
                by < 0 ? "1 less" : "1 greater", 100 * then, 100 * recall);
    }
    return "";
}

}  // namespace glint
