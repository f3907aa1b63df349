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

struct Errors {
    double excess = 1;   ///< variance over 1 / information
    double lasting = 0;  ///< share of it that lasts
    double frames = 1;   ///< for how long
};

/// Mean of the variances of the frames around: blinks come and go, and the error that lasts is theirs together.
std::vector<double> around(const std::vector<double>& variance) {
    const std::size_t n = variance.size(), reach = std::max<std::size_t>(50, n / 50);
    std::vector<double> sum(n + 1, 0), count(n + 1, 0), to(n, 0);
    for (std::size_t f = 0; f < n; ++f) {
        sum[f + 1] = sum[f] + variance[f];
        count[f + 1] = count[f] + (variance[f] > 0 ? 1 : 0);
    }
    for (std::size_t f = 0; f < n; ++f) {
        const std::size_t from = f > reach ? f - reach : 0, end = std::min(n, f + reach + 1);
        if (count[end] > count[from]) to[f] = (sum[end] - sum[from]) / (count[end] - count[from]);
    }
    return to;
}

/// The difference of the halves in the frames in which it is known, its variance by the information, and that of the frames around.
struct Difference {
    std::vector<double> value, variance, mean_variance;
    std::vector<int> frame;
};

/// Takes out the mean of each so many values: halves that move apart slowly are another matter.
void remove_slow(Difference& d, std::size_t width) {
    for (std::size_t begin = 0, n = d.value.size(); begin < n;) {
        const std::size_t end = n < begin + 2 * width ? n : begin + width;
        double mean = 0, weights = 0;
        for (std::size_t k = begin; k < end; ++k) mean += d.value[k] / d.variance[k], weights += 1 / d.variance[k];
        for (std::size_t k = begin; k < end; ++k) d.value[k] -= mean / weights;
        begin = end;
    }
}

/// -2 log likelihood, the best variance in `of`.
double cost(const Difference& d, Errors& of) {
    double a = 0, p = 1, squares = 0, logs = 0;
    const double lasts = std::exp(-1 / of.frames);
    for (std::size_t k = 0; k < d.value.size(); ++k) {
        if (k) {
            const double keep =
                d.frame[k] == d.frame[k - 1] + 1 ? lasts : std::exp(-(d.frame[k] - d.frame[k - 1]) / of.frames);
            a *= keep, p = keep * keep * p + 1 - keep * keep;
        }
        const double lasting = of.lasting * d.mean_variance[k], h = std::sqrt(lasting);
        const double f = lasting * p + (1 - of.lasting) * d.variance[k], v = d.value[k] - h * a;
        squares += v * v / f, logs += std::log(f);
        const double gain = h * p / f;
        a += gain * v, p -= gain * h * p;
    }
    const double n = double(d.value.size());
    of.excess = squares / n;
    return n * std::log(squares / n) + logs;
}

Errors errors_of(const SeenByHalves& seen, double blink_frames) {
    constexpr std::size_t fewest = 40;
    const std::size_t frames = seen.all.value.size();
    Difference d;
    std::vector<double> variance(frames, 0);
    for (std::size_t f = 0; f < frames; ++f)
        if (seen.half[0].information[f] > 0 && seen.half[1].information[f] > 0)
            variance[f] = 1 / seen.half[0].information[f] + 1 / seen.half[1].information[f];
    const std::vector<double> mean_variance = around(variance);
    for (std::size_t f = 0; f < frames; ++f) {
        if (!(variance[f] > 0)) continue;
        d.value.push_back(seen.half[0].value[f] - seen.half[1].value[f]), d.frame.push_back(int(f));
        d.variance.push_back(variance[f]), d.mean_variance.push_back(mean_variance[f]);
    }
    Errors best;
    if (d.value.size() < fewest) {
        best.lasting = blink_frames > 1 ? 0.8 : 0, best.frames = std::max(1.0, blink_frames);
        return best;
    }
    remove_slow(d, std::max<std::size_t>(30, frames / 30));
    double lowest = cost(d, best);
    for (const double lasting : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95})
        for (const double lasts : {0.8, 1.5, 2.5, 4.0, 6.5, 10.0, 16.0, 25.0, 40.0}) {
            if (lasts > 3 * blink_frames) continue;
            Errors other{1, lasting, lasts};
            if (const double c = cost(d, other); c < lowest) lowest = c, best = other;
        }
    return best;
}

/// Mean square difference of the halves' means of many frames over what their errors say.
double excess_of_means(const SeenByHalves& seen) {
    constexpr std::size_t means = 30, fewest = 10;
    const int width = int(std::max<std::size_t>(1, seen.all.value.size() / means));
    const Seen half[] = {means_of(seen.half[0], width), means_of(seen.half[1], width)};
    double squares = 0, count = 0, mean = 0, weights = 0;
    for (const bool to_add : {false, true})
        for (std::size_t k = 0; k < half[0].value.size(); ++k) {
            if (!(half[0].information[k] > 0 && half[1].information[k] > 0)) continue;
            const double by = half[0].value[k] - half[1].value[k],
                         variance = 1 / half[0].information[k] + 1 / half[1].information[k];
            if (to_add)
                squares += (by - mean / weights) * (by - mean / weights) / variance, ++count;
            else
                mean += by / variance, weights += 1 / variance;
        }
    return count > fewest ? squares / (count - 1) : 1;
}

void scale_errors(SeenByHalves& seen, double by) {
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]}) {
        for (double& information : s->information) information /= by;
        for (double& lasting : s->lasting) lasting *= by;
    }
}

}  // namespace

void set_errors(SeenByHalves& seen, double blink_frames) {
    const Errors errors = errors_of(seen, blink_frames);
    for (Seen* s : {&seen.all, &seen.half[0], &seen.half[1]}) {
        std::vector<double> variance(s->value.size(), 0);
        for (std::size_t f = 0; f < variance.size(); ++f)
            if (s->information[f] > 0) variance[f] = errors.excess / s->information[f];
        s->lasting_frames = errors.frames;
        s->lasting = around(variance);
        for (std::size_t f = 0; f < variance.size(); ++f) {
            s->lasting[f] *= errors.lasting;
            if (variance[f] > 0) s->information[f] = 1 / (s->lasting[f] + (1 - errors.lasting) * variance[f]);
        }
    }
    const double more = excess_of_means(seen);
    seen.apart = std::sqrt(std::max(1.0, more));
    scale_errors(seen, std::max(1.0, more));
}

void add_seen(Seen& to, const Seen& more) {
    for (std::size_t f = 0; f < to.value.size(); ++f) {
        const double information = to.information[f] + more.information[f];
        if (!(information > 0)) continue;
        const double part = to.information[f] / information;
        to.value[f] = to.value[f] * part + more.value[f] * (1 - part);
        if (!to.lasting.empty()) to.lasting[f] *= part * part;  // `more` has none, or the same errors are set later
        to.information[f] = information;
    }
}

}  // namespace glint::drift
