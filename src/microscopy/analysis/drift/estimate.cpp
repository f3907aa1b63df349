// The drift of the sample during a movie, from its localizations alone (docs/theory.md, "Drift").
// SPDX-License-Identifier: MIT
#include <functional>

#include "analysis/drift/improve.hpp"
#include "analysis/drift/sample.hpp"
#include "analysis/drift/stated.hpp"
#include "analysis/require_table.hpp"
#include "base/arena.hpp"
#include "glint/drift.hpp"
#include "glint/error.hpp"

namespace glint {
namespace drift {
namespace {

Drift estimated(const Localizations& localizations, const DriftOptions& options) {
    require_whole_frames(localizations, "the drift");
    constexpr int steps = 7;
    int done = 0;
    const std::function<void()> stopped = [&] {
        if (options.stop && *options.stop) throw Cancelled("stopped");
    };
    const auto step_done = [&] {
        stopped();
        if (options.progress) options.progress(++done, steps, -1);
    };
    Sample sample = sample_of(localizations, options);
    Drift to;
    to.blinks = std::int64_t(sample.molecules.blinks.size());
    const auto refused = [&](const std::string& why) {
        finish(to, sample, localizations.pixel_size_nm);
        refuse(to, sample, why);
        return to;
    };
    step_done();
    std::string why = find_start(sample, to, stopped);
    if (!why.empty() && !sample.beads_suffice()) return refused(why);
    step_done();
    MotionEstimate e;
    constexpr auto all = ~std::size_t(0) / 2;
    const bool molecules_tell = why.empty();
    for (const Turn& turn : {Turn{25, 30000}, Turn{8, 60000}, Turn{2, all}, Turn{0.5, all, true}}) {
        if (why = improve(sample, e, turn, molecules_tell); !why.empty()) return refused(why);
        step_done();
    }
    if (why = state(e, sample, to); !why.empty()) return refused(why);
    warn_of_doubts(to, e, sample, options.warn);
    finish(to, sample, localizations.pixel_size_nm);
    step_done();
    return to;
}

}  // namespace
}  // namespace drift

Drift estimate_drift(const Localizations& localizations, const DriftOptions& options) {
    Drift to;
    in_own_arena([&] { to = drift::estimated(localizations, options); });
    return to;
}

}  // namespace glint
