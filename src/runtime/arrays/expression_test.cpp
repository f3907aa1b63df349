// Expressions as steps on registers: what they compute, and how many steps it takes.
// SPDX-License-Identifier: MIT
#include "glint/arrays/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arrays/evaluate.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays {
namespace {

double run(const Program& program, std::initializer_list<double> inputs) {
    double registers[max_registers] = {}, last = 0;
    for (int i = 0; i < program.count; ++i) {
        const Instruction& it = program.instructions[i];
        const double a = it.step == Step::input ? inputs.begin()[it.a] : registers[it.a];
        last = registers[it.to] = apply(it.step, a, registers[it.b], registers[it.c], it.value);
    }
    return last;
}

double run(const Expression& expression, std::initializer_list<double> inputs) {
    return run(compile(expression), inputs);
}

/// Returns the sum of k x^k, which has 48 steps from 15 terms on unless written in Horner's form.
Expression polynomial(const Expression& x, int degree) {
    Expression sum = degree;
    for (int k = degree - 1; k >= 0; --k) sum = sum * x + k;
    return sum;
}

TEST(Expression, computes_what_is_written) {
    const Expression x = input(0), y = input(1);
    EXPECT_DOUBLE_EQ(run(sqrt(x * x + y * y), {3, 4}), 5);
    EXPECT_DOUBLE_EQ(run((x - y) / (x + y) - (y - x), {3, 4}), -1 / 7. - 1);
    EXPECT_DOUBLE_EQ(run(select(x > y, x, -y), {3, 4}), -4);
    EXPECT_DOUBLE_EQ(run(fma(x, y, 2), {3, 4}), 14);
    EXPECT_DOUBLE_EQ(run(polynomial(x, 10), {0.5}), 2 - 12 / 1024.);
    EXPECT_DOUBLE_EQ(run(x, {7}), 7);
    EXPECT_DOUBLE_EQ(run(Expression(7), {}), 7);
}

TEST(Expression, follows_numpy_at_the_edges) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const Expression x = input(0), y = input(1);
    EXPECT_TRUE(std::isnan(run(minimum(x, y), {nan, 1})) && std::isnan(run(minimum(x, y), {1, nan})));
    EXPECT_TRUE(std::isnan(run(maximum(x, y), {nan, 1})) && std::isnan(run(maximum(x, y), {1, nan})));
    EXPECT_EQ(run(remainder(x, y), {-7, 3}), 2);
    EXPECT_EQ(run(remainder(x, y), {7, -3}), -2);
    EXPECT_EQ(run(remainder(x, y), {-5, inf}), inf);
    EXPECT_TRUE(std::isnan(run(remainder(x, y), {5, 0})));
    EXPECT_TRUE(std::signbit(run(remainder(x, y), {6, -3})));
    EXPECT_EQ(run(round(x), {2.5}), 2);
    EXPECT_EQ(run(round(x), {-3.5}), -4);
    EXPECT_TRUE(std::isnan(run(sign(x), {nan})));
    EXPECT_EQ(run(sign(x), {-inf}), -1);
    EXPECT_EQ(run(equal(x, y), {nan, nan}), 0);
    EXPECT_EQ(run(not_equal(x, y), {nan, nan}), 1);
    EXPECT_EQ(run(x >= y, {nan, 0}), 0);
    EXPECT_EQ(run(select(x, 1, 2), {nan}), 1) << "NaN is not 0";
}

TEST(Expression, computes_once_what_occurs_twice) {
    const Expression x = input(0);
    EXPECT_EQ(compile(exp(x) + exp(x)).count, 3) << "input, exp, add";
    EXPECT_EQ(compile((x + 1) * (x + 1)).count, 4) << "input, constant, add, multiply";
    Expression power = x;
    for (int k = 0; k < 40; ++k) power = power * power;  // 2^40 paths
    EXPECT_EQ(compile(power).count, 41);
}

TEST(Expression, computes_constants_beforehand) {
    EXPECT_EQ(compile(input(0) * (exp(Expression(0)) + 2 * Expression(3))).count, 3);
    EXPECT_EQ(compile(pow(input(0), 2)).instructions[1].step, Step::square);
}

TEST(Expression, gets_by_with_few_registers) {
    Expression sum = 0.5;
    for (int k = 1; k <= 10; ++k) sum = sum + double(k) * input(k % max_inputs);
    double expected = 0.5;
    for (int k = 1; k <= 10; ++k) expected += k * (k % max_inputs + 1);
    const Program program = compile(sum + 0);
    EXPECT_LE(program.registers, max_registers);
    EXPECT_DOUBLE_EQ(run(program, {1, 2, 3, 4, 5, 6}), expected);
}

/// A tree of sums of products of depth n, whose leaves all differ.
Expression tree(int n, int& leaf) {
    if (n == 0) return ++leaf, sin(input(leaf % 2) * double(leaf));
    const Expression left = tree(n - 1, leaf), right = tree(n - 1, leaf);
    return n % 2 ? left + right : left * right;
}

TEST(Expression, says_what_is_too_much) {
    int leaf = 0;
    EXPECT_LE(compile(tree(3, leaf)).registers, 6);
    leaf = 0;
    test::expect_error<OptionError>([&] { compile(tree(4, leaf)); }, {"more than 48 steps"});
    Expression deep = input(0);
    for (int k = 0; k < 10000; ++k) deep = sin(deep);
    test::expect_error<OptionError>([&] { compile(deep); }, {"more than 48 steps"});
    // Nine results, each of which is needed again after all have been computed.
    std::vector<Expression> kept{sin(input(0))};
    for (int k = 1; k < 9; ++k) kept.push_back(sin(kept.back()));
    Expression sum = kept[0];
    for (int k = 8; k > 0; --k) sum = k % 2 ? sum * kept[k] : sum + kept[k];
    test::expect_error<OptionError>([&] { compile(sum); }, {"more than 8 simultaneous results"});
    test::expect_error<OptionError>([] { input(max_inputs); }, {"input 6 of an expression: there are 0 to 5"});
    test::expect_error<OptionError>([] { input(-1); }, {"input -1"});
}

}  // namespace
}  // namespace glint::arrays
