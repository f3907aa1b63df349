// Tests of random numbers: published Philox vectors, and each distribution against its exact probabilities.
// SPDX-License-Identifier: MIT
#include "simulate/random.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <functional>
#include <vector>

using namespace glint;

namespace {

struct Moments {
    double mean = 0, variance = 0;
};

Moments moments(int n, const std::function<double()>& draw) {
    double sum = 0, squares = 0;
    for (int k = 0; k < n; ++k) {
        const double value = draw();
        sum += value;
        squares += value * value;
    }
    const double mean = sum / n;
    return {mean, squares / n - mean * mean};
}

/// Returns the p value of `n` Poisson draws against the exact probabilities, in bins of at least 10 expected draws.
double poisson_chi_squared_p(double mean, int n, std::uint64_t index) {
    Random random(7, Stream::frame_noise, index);
    std::vector<int> counts(std::size_t(mean + 12 * std::sqrt(mean) + 30), 0);
    for (int k = 0; k < n; ++k) ++counts.at(std::size_t(random.poisson(mean)));
    const boost::math::poisson exact(mean);
    double statistic = 0, expected = 0, seen = 0, left = n, left_seen = n;
    int bins = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        expected += n * boost::math::pdf(exact, double(k)), seen += counts[k];
        if (expected < 10 || left - expected < 10) continue;
        statistic += (seen - expected) * (seen - expected) / expected;
        left -= expected, left_seen -= seen;
        expected = seen = 0;
        ++bins;
    }
    statistic += (left_seen - left) * (left_seen - left) / left;
    return boost::math::cdf(complement(boost::math::chi_squared(double(bins)), statistic));
}

}  // namespace

TEST(Random, philox_gives_the_published_answers) {
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t ones = 0xffffffff;
    EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
              (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, streams_differ_and_repeat) {
    Random a(1, Stream::births, 5), again(1, Stream::births, 5);
    const double first = a.uniform();
    EXPECT_EQ(first, again.uniform());
    EXPECT_NE(first, Random(2, Stream::births, 5).uniform());
    EXPECT_NE(first, Random(1, Stream::molecule, 5).uniform());
    EXPECT_NE(first, Random(1, Stream::births, 6).uniform());
    EXPECT_NE(first, Random(1, Stream::births, 5, 1).uniform());
}

TEST(Random, uniform_and_normal_have_their_moments) {
    const int n = 200000;
    Random random(3, Stream::frame_noise, 1);
    const Moments uniform = moments(n, [&] { return random.uniform(); });
    EXPECT_NEAR(uniform.mean, 0.5, 4 * std::sqrt(1.0 / 12 / n));
    EXPECT_NEAR(uniform.variance, 1.0 / 12, 4 * std::sqrt(1.0 / 180 / n));
    const Moments normal = moments(n, [&] { return random.normal(); });
    EXPECT_NEAR(normal.mean, 0, 4 / std::sqrt(n));
    EXPECT_NEAR(normal.variance, 1, 4 * std::sqrt(2.0 / n));
    const Moments fourth = moments(n, [&] { return std::pow(random.normal(), 4); });
    EXPECT_NEAR(fourth.mean, 3, 4 * std::sqrt(96.0 / n));
}

// Means on both sides of the change of method, and far from it.
TEST(Random, poisson_follows_its_distribution) {
    std::uint64_t index = 0;
    for (double mean : {0.01, 0.7, 5.0, 9.99, 10.0, 11.5, 37.0, 400.0}) {
        EXPECT_GT(poisson_chi_squared_p(mean, 100000, ++index), 1e-4) << mean;
    }
    EXPECT_EQ(Random(1, Stream::births, 1).poisson(0), 0);
}

TEST(Random, poisson_of_a_large_mean_has_its_moments) {
    const int n = 100000;
    for (double mean : {1e4, 1e8}) {
        Random random(5, Stream::frame_noise, 2);
        const Moments found = moments(n, [&] { return random.poisson(mean) - mean; });
        EXPECT_NEAR(found.mean, 0, 4 * std::sqrt(mean / n));
        EXPECT_NEAR(found.variance, mean, 4 * mean * std::sqrt(2.0 / n));
    }
}

TEST(Random, gamma_has_its_moments) {
    const int n = 200000;
    for (double shape : {1.0, 2.0, 30.0, 1000.0}) {
        Random random(9, Stream::frame_noise, std::uint64_t(shape));
        const Moments found = moments(n, [&] { return random.gamma(shape); });
        EXPECT_NEAR(found.mean, shape, 4 * std::sqrt(shape / n)) << shape;
        EXPECT_NEAR(found.variance, shape, 4 * shape * std::sqrt((2 + 6 / shape) / n)) << shape;
    }
    EXPECT_EQ(Random(1, Stream::births, 1).gamma(0), 0);
}

// A gamma distribution of shape 1 is exponential, whose tail has a closed form.
TEST(Random, gamma_of_shape_one_is_exponential) {
    const int n = 200000;
    Random random(11, Stream::frame_noise, 1);
    int above_one = 0, above_five = 0;
    for (int k = 0; k < n; ++k) {
        const double value = random.gamma(1);
        above_one += value > 1, above_five += value > 5;
    }
    EXPECT_NEAR(above_one, n * std::exp(-1), 4 * std::sqrt(n * std::exp(-1)));
    EXPECT_NEAR(above_five, n * std::exp(-5), 4 * std::sqrt(n * std::exp(-5)));
}

TEST(Random, geometric_has_its_mean_and_share_of_ones) {
    const int n = 100000;
    Random random(13, Stream::frame_noise, 1);
    int ones = 0;
    const Moments found = moments(n, [&] {
        const double value = random.geometric(4);
        ones += value == 1;
        return value;
    });
    EXPECT_NEAR(found.mean, 4, 4 * std::sqrt(12.0 / n));
    EXPECT_NEAR(ones, n * 0.25, 4 * std::sqrt(n * 0.25 * 0.75));
    EXPECT_EQ(random.geometric(1), 1);
}
