// What molecules show of the drift a frame, by two halves of the field, which have none in common.
// SPDX-License-Identifier: MIT
#include "analysis/drift/halves.hpp"

#include <algorithm>
#include <cmath>

namespace glint::drift {

bool second_half(float x_nm, float y_nm) {
    constexpr double block_nm = 2000;
    return (int(std::floor(x_nm / block_nm)) + int(std::floor(y_nm / block_nm))) & 1;
}

SeenByHalves seen_by_halves(const Table& t, const Blinks& blinks, const Points& points, const Pulls& pulls,
                            const std::vector<double>& drift, std::size_t a) {
    const auto frames = std::size_t(t.frames);
    SeenByHalves to;
    Seen* parts[] = {&to.half[0], &to.half[1]};
    for (Seen* s : parts) s->value.assign(frames, 0), s->information.assign(frames, 0);
    for (std::size_t b = 0; b < blinks.size(); ++b) {
        const double information = pulls.information[a][b];
        if (!(information > 0)) continue;
        Seen& s = *parts[second_half(points.nm[0][b], points.nm[1][b])];
        // More than its own precision no blink is worth; a rescale below puts all errors right.
        const double total = std::min(information, 1.0 / double(points.variance[a][b]));
        for (std::uint32_t k = blinks.begin[b]; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k];
            const auto f = std::size_t(t.frame[i]);
            const double weight =
                total * double(points.variance[a][b]) / (double(t.precision_nm[a][i]) * t.precision_nm[a][i]);
            const double within = t.nm[a][i] - drift[f] - points.nm[a][b];
            s.value[f] += weight * (within + pulls.offset_nm[a][b] + drift[f]);
            s.information[f] += weight;
        }
    }
    for (Seen* s : parts)
        for (std::size_t f = 0; f < frames; ++f)
            if (s->information[f] > 0) s->value[f] /= s->information[f];
    to.all = to.half[0];
    add_seen(to.all, to.half[1]);
    return to;
}

namespace {

/// Mean square difference of the halves' means of `width` frames over what their errors say; of few means nearer to 1.
double excess_of_means(const SeenByHalves& seen, std::size_t width) {
    constexpr double as_many_of_one = 10;
    const Seen half[] = {means_of(seen.half[0], width), means_of(seen.half[1], width)};
    double weights = 0, sum = 0, squares = 0, count = 0;
    for (std::size_t k = 0; k < half[0].value.size(); ++k) {
        if (!(half[0].information[k] > 0 && half[1].information[k] > 0)) continue;
        const double by = half[0].value[k] - half[1].value[k];
        const double weight = 1 / (1 / half[0].information[k] + 1 / half[1].information[k]);
        weights += weight, sum += weight * by, squares += weight * by * by;
        ++count;
    }
    if (count < 2) return 1;
    return (squares - sum * sum / weights + as_many_of_one) / (count - 1 + as_many_of_one);
}

void scale_errors(SeenByHalves& seen, double by) {
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]})
        for (double& information : s->information) information /= by;
}

}  // namespace

void set_errors(SeenByHalves& seen, double blink_frames) {
    constexpr double least = 0.25, chance_of_long = 1.5;
    constexpr std::size_t long_means = 30;
    const std::size_t frames = seen.all.value.size();
    seen.lasting_frames = blink_frames;
    // Of means longer than a blink, whose error is the same in all its frames.
    scale_errors(seen, std::max(least, excess_of_means(seen, std::max(frames / 400, std::size_t(4 * blink_frames)))));
    const double apart =
        std::max(1.0, excess_of_means(seen, std::max<std::size_t>(1, frames / long_means)) / chance_of_long);
    scale_errors(seen, apart);
    seen.apart = std::sqrt(apart);
}

void add_seen(Seen& to, const Seen& more) {
    for (std::size_t f = 0; f < to.value.size(); ++f) {
        const double information = to.information[f] + more.information[f];
        if (!(information > 0)) continue;
        to.value[f] = (to.value[f] * to.information[f] + more.value[f] * more.information[f]) / information;
        to.information[f] = information;
    }
}

}  // namespace glint::drift
