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

double excess_of_halves(const SeenByHalves& seen, int width) {
    double sum = 0, count = 0;
    const std::size_t n = seen.all.value.size();
    for (std::size_t begin = 0; begin < n; begin += std::size_t(width)) {
        double value[2] = {}, information[2] = {};
        for (std::size_t f = begin; f < std::min(n, begin + std::size_t(width)); ++f)
            for (int h = 0; h < 2; ++h) {
                value[h] += seen.half[h].value[f] * seen.half[h].information[f];
                information[h] += seen.half[h].information[f];
            }
        if (!(information[0] > 0 && information[1] > 0)) continue;
        const double by = value[0] / information[0] - value[1] / information[1];
        sum += by * by / (1 / information[0] + 1 / information[1]);
        ++count;
    }
    return count > 10 ? sum / count : 1;
}

void scale_information(SeenByHalves& seen, double by) {
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]})
        for (double& information : s->information) information *= by;
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
