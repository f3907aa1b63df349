// Element-wise programs and reductions on a GPU against loops.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "arrays/evaluate.hpp"
#include "arrays/gpu_arrays_fixture.hpp"

namespace glint::arrays::test {
namespace {

template <class T>
struct GpuMap : GpuArraysTest {
    using Operands = std::vector<Operand<const T>>;
    static constexpr double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;

    void map(const Expression& expression, const Operands& inputs, const Operand<T>& out) {
        on_gpu->map<T>(compile(expression), inputs, out);
    }
    double reduce(Reduction reduction, const Expression& expression, const Operands& inputs, const Shape& shape) {
        return on_gpu->reduce<T>(reduction, compile(expression), inputs, shape);
    }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMap, Types);

const Expression x = input(0), y = input(1);

}  // namespace

TYPED_TEST(GpuMap, of_arrays_and_single_elements_from_the_host_and_there) {
    using T = TypeParam;
    for (const std::int64_t n : {1, 7, 256, 1024, 1025, 5000}) {
        const auto a = random_values<T>(n, 1), b = random_values<T>(n, 2);
        const std::vector<T> three{3};
        const View<const T> here(a.data(), {n}), single(three.data(), {1});
        const auto there = this->to_device(b, {n});
        std::vector<T> expected(a.size()), found(a.size());
        for (std::size_t k = 0; k < a.size(); ++k) expected[k] = std::sqrt(a[k] * a[k] + b[k] * b[k]) + 3 * a[k];
        const Expression expression = sqrt(x * x + y * y) + input(2) * x;
        this->map(expression, {here, there, single}, View<T>(found.data(), {n}));
        EXPECT_LE(distance(found, expected), this->tolerance) << n;
        const auto out = this->template empty<T>({n});
        this->map(expression, {here, there, this->to_device(three, {1})}, out);
        EXPECT_LE(distance(this->values_of(out), expected), this->tolerance) << n;
    }
}

TYPED_TEST(GpuMap, every_step_does_as_on_the_cpu) {
    using T = TypeParam;
    const std::vector<T> a{-2, T(-0.5), 0, T(0.25), 1, T(1.5), 2, std::numeric_limits<T>::quiet_NaN()};
    const std::vector<T> b{3, 2, T(0.5), -1, 1, T(0.75), -2, 1}, c{1, 0, -1, 2, T(0.5), 3, 0, 1};
    const Shape shape{std::int64_t(a.size())};
    for (int step = int(Step::add); step < step_count; ++step) {
        Program program;
        program.instructions[0] = {Step::input, 0, 0};
        program.instructions[1] = {Step::input, 1, 1};
        program.instructions[2] = {Step::input, 2, 2};
        program.instructions[3] = {Step(step), 0, 0, 1, 2};
        program.count = 4, program.inputs = 3, program.registers = 3;
        std::vector<T> found(a.size());
        const typename TestFixture::Operands inputs{View<const T>(a.data(), shape), View<const T>(b.data(), shape),
                                                    View<const T>(c.data(), shape)};
        this->on_gpu->template map<T>(program, inputs, View<T>(found.data(), shape));
        for (std::size_t k = 0; k < a.size(); ++k) {
            const T expected = apply<T>(Step(step), a[k], b[k], c[k], 0);
            if (std::isfinite(expected))
                EXPECT_NEAR(found[k], expected, (1 + std::abs(double(expected))) * 4 * this->tolerance)
                    << "step " << step << " of " << a[k] << ", " << b[k];
            else
                EXPECT_TRUE(found[k] == expected || (found[k] != found[k] && expected != expected)) << "step " << step;
        }
    }
}

TYPED_TEST(GpuMap, all_registers_and_inputs) {
    using T = TypeParam;
    std::vector<std::vector<T>> values;
    typename TestFixture::Operands inputs;
    for (unsigned k = 0; k < max_inputs; ++k) values.push_back(random_values<T>(3000, k + 1));
    for (const auto& value : values) inputs.push_back(View<const T>(value.data(), {3000}));
    // A tree that keeps many results simultaneously.
    const auto pair = [](int k) { return (input(k) + 1.5) * (input(k + 1) - 0.5); };
    const Expression expression = (pair(0) - pair(2)) * (pair(4) - pair(1)) - (pair(3) + pair(0)) * pair(2);
    std::vector<T> found(3000), expected(3000);
    this->map(expression, inputs, View<T>(found.data(), {3000}));
    for (std::size_t k = 0; k < 3000; ++k) {
        const auto p = [&](int i) {
            return (values[std::size_t(i)][k] + T(1.5)) * (values[std::size_t(i + 1)][k] - T(0.5));
        };
        expected[k] = (p(0) - p(2)) * (p(4) - p(1)) - (p(3) + p(0)) * p(2);
    }
    EXPECT_LE(distance(found, expected), 40 * this->tolerance);
}

TYPED_TEST(GpuMap, in_place_and_in_pieces) {
    using T = TypeParam;
    this->open(mib / 8);
    const std::int64_t n = 100000;
    auto a = random_values<T>(n);
    std::vector<T> expected(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) expected[k] = 2 * a[k] + 1;
    this->map(2 * x + 1, {View<const T>(a.data(), {n})}, View<T>(a.data(), {n}));
    EXPECT_LE(distance(a, expected), this->tolerance);
    EXPECT_LE(this->context->statistics().peak_bytes, mib / 8);
}

TYPED_TEST(GpuMap, of_views_with_gaps) {
    using T = TypeParam;
    const auto a = random_values<T>(6 * 10);
    std::vector<T> out(15 * 2, T(7));
    this->map(-x, {View<const T>(a.data() + 59, {3, 5}, {-20, -4})}, View<T>(out.data(), {3, 5}, {2, 6}));
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j)
            EXPECT_EQ(out[std::size_t(2 * i + 6 * j)], -a[std::size_t(59 - 20 * i - 4 * j)]) << i << ", " << j;
    EXPECT_EQ(out[1], T(7));
}

TYPED_TEST(GpuMap, reductions) {
    using T = TypeParam;
    for (const std::int64_t n : {1, 100, 1025, 300000}) {
        const auto a = random_values<T>(n);
        double sum = 0, min_of_all = 2, greatest_of_all = -2;
        for (const T value : a) {
            const double squared = double(T(value * value));
            sum += squared;
            min_of_all = std::min(min_of_all, double(value)),
            greatest_of_all = std::max(greatest_of_all, double(value));
        }
        for (const bool there : {false, true}) {
            const typename TestFixture::Operands inputs{there ? Operand<const T>(this->to_device(a, {n}))
                                                              : Operand<const T>(View<const T>(a.data(), {n}))};
            EXPECT_NEAR(this->reduce(Reduction::sum, x * x, inputs, {n}), sum, 1e-9);
            EXPECT_NEAR(this->reduce(Reduction::mean, x * x, inputs, {n}), sum / double(n), 1e-12);
            EXPECT_EQ(this->reduce(Reduction::minimum, x, inputs, {n}), min_of_all);
            EXPECT_EQ(this->reduce(Reduction::maximum, x, inputs, {n}), greatest_of_all);
            EXPECT_EQ(this->reduce(Reduction::sum, x, inputs, {n}), this->reduce(Reduction::sum, x, inputs, {n}));
        }
    }
}

TYPED_TEST(GpuMap, reductions_in_pieces_and_of_nan) {
    using T = TypeParam;
    this->open(mib / 8);
    const std::int64_t n = 100000;
    std::vector<T> a(std::size_t(n), T(1));
    const View<const T> here(a.data(), {n});
    EXPECT_EQ(this->reduce(Reduction::sum, x, {here}, {n}), double(n));
    a[77777] = std::numeric_limits<T>::quiet_NaN();
    for (const Reduction reduction : {Reduction::sum, Reduction::mean, Reduction::minimum, Reduction::maximum})
        EXPECT_TRUE(std::isnan(this->reduce(reduction, x, {here}, {n})));
}

}  // namespace glint::arrays::test
