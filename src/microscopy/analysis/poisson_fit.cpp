// Fisher scoring with Levenberg's damping. Rejects steps that do not lower the deviance.
// SPDX-License-Identifier: MIT
#include "analysis/poisson_fit.hpp"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

constexpr int max_fit_steps = 200;
constexpr double min_expected = 1e-9;  // of a bin: keeps the logarithm finite
constexpr double longest_step = 1;     // of a logarithm
constexpr double enough = 1e-5;        // the fit ends if the deviance decreases by less

double deviance_of(std::span<const double> counts, std::span<const double> expected) {
    double sum = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const double m = std::max(expected[k], min_expected);
        sum += m - counts[k] + (counts[k] > 0 ? counts[k] * std::log(counts[k] / m) : 0);
    }
    return 2 * sum;
}

/// Solves the n x n system in place by Gaussian elimination. The damping makes the matrix positive definite.
void solve(std::vector<double>& matrix, std::vector<double>& right) {
    const std::size_t n = right.size();
    for (std::size_t c = 0; c < n; ++c)
        for (std::size_t r = c + 1; r < n; ++r) {
            const double share = matrix[r * n + c] / matrix[c * n + c];
            for (std::size_t k = c; k < n; ++k) matrix[r * n + k] -= share * matrix[c * n + k];
            right[r] -= share * right[c];
        }
    for (std::size_t r = n; r-- > 0;) {
        for (std::size_t k = r + 1; k < n; ++k) right[r] -= matrix[r * n + k] * right[k];
        right[r] /= matrix[r * n + r];
    }
}

}  // namespace

PoissonFit poisson_fit(std::span<const double> counts, const ExpectedCounts& expected, std::vector<double> start,
                       std::span<const double> low, std::span<const double> high) {
    const std::size_t n = start.size(), bins = counts.size();
    std::vector<double> at = std::move(start), model(bins), moved(bins);
    std::vector<std::vector<double>> slopes(n, std::vector<double>(bins));
    for (std::size_t i = 0; i < n; ++i) at[i] = std::clamp(at[i], low[i], high[i]);
    expected(at, model);
    double deviance = deviance_of(counts, model), damping = 1e-3;
    for (int step = 0; step < max_fit_steps; ++step) {
        std::vector<double> gradient(n, 0), information(n * n, 0);
        for (std::size_t i = 0; i < n; ++i) {
            if (low[i] == high[i]) continue;  // fixed: its slope stays 0
            std::vector<double> beside = at;
            constexpr double difference = 1e-5;
            beside[i] *= std::exp(difference);
            expected(beside, moved);
            for (std::size_t k = 0; k < bins; ++k) slopes[i][k] = (moved[k] - model[k]) / difference;
        }
        for (std::size_t k = 0; k < bins; ++k) {
            const double m = std::max(model[k], min_expected);
            for (std::size_t i = 0; i < n; ++i) {
                gradient[i] += (counts[k] / m - 1) * slopes[i][k];
                for (std::size_t j = 0; j < n; ++j) information[i * n + j] += slopes[i][k] * slopes[j][k] / m;
            }
        }
        bool better = false;
        double gain = 0;
        for (; damping < 1e8 && !better; damping *= 8) {
            std::vector<double> matrix = information, move = gradient, to = at;
            for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += damping * (information[i * n + i] + 1e-3);
            solve(matrix, move);
            for (std::size_t i = 0; i < n; ++i)
                to[i] = std::clamp(at[i] * std::exp(std::clamp(move[i], -longest_step, longest_step)), low[i], high[i]);
            expected(to, moved);
            const double there = deviance_of(counts, moved);
            if (!(there < deviance)) continue;
            better = true, gain = deviance - there;
            at = to, deviance = there, model = moved;
            damping = std::max(damping / 64, 1e-9);
        }
        if (!better || gain < enough) break;
    }
    return {at, deviance};
}

}  // namespace glint
