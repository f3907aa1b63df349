// Element-wise arithmetic: built as an expression first, then evaluated in one pass over memory, on a CPU or a GPU.
//
//     using namespace glint::arrays;
//     std::vector<float> a(1000, 3), b(1000, 4), lengths(1000);
//     const Shape shape{1000};
//     const Expression x = input(0), y = input(1);
//     glint::offload::Session session;
//     const View<const float> in_a(a.data(), shape), in_b(b.data(), shape);
//     map<float>(session, sqrt(x * x + y * y), {in_a, in_b}, View<float>(lengths.data(), shape));
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace glint::arrays {

/// The operation of a step on its operands a, b, c.
enum class Step : std::uint8_t {
    constant,
    input,
    add,
    subtract,
    multiply,
    divide,
    power,
    minimum,
    maximum,
    remainder,
    atan2,
    hypot,
    negate,
    absolute,
    square,
    square_root,
    reciprocal,
    exp,
    log,
    log2,
    log10,
    log1p,
    expm1,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    erf,
    floor,
    ceil,
    round,
    trunc,
    sign,
    is_nan,
    less,
    less_equal,
    equal,
    not_equal,           // 1 or 0
    select,              // a != 0 ? b : c
    fused_multiply_add,  // a * b + c
};

/// A step of a Program: its result replaces register `to`.
struct Instruction {
    Step step = Step::constant;
    std::uint8_t to = 0, a = 0, b = 0, c = 0;  ///< registers; for Step::input, `a` is the number of the input
    std::uint8_t unused[3] = {};
    double value = 0;  ///< of Step::constant
};

constexpr int max_instructions = 48, max_registers = 8, max_inputs = 6;

/// An expression as steps on registers. The value is the result of the last step. A trivially copyable struct, so that
/// it can be a parameter of a kernel.
struct Program {
    Instruction instructions[max_instructions];
    int count = 0, inputs = 0, registers = 0;
};

/// A tree of steps. Cheap to copy: copies share the nodes. Repeated subexpressions are computed once. A number converts
/// to a constant.
class Expression {
  public:
    struct Node;
    Expression(double constant);
    explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    const Node& node() const { return *node_; }
    const std::shared_ptr<const Node>& shared() const { return node_; }

  private:
    std::shared_ptr<const Node> node_;
};

/// A step and its operands.
struct Expression::Node {
    Step step;
    double value;  // the constant, or the number of the input
    std::vector<Expression> operands;
};

/// Returns the k-th input, from 0 to max_inputs - 1. Throws OptionError if k is outside this range.
Expression input(int k);

/// Returns the sum, difference, product, quotient or negative value. Integer quotients are truncated, and 0 for a
/// divisor of 0.
Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator-(const Expression& a);
/// Returns 1 if the comparison is true, else 0.
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator>(const Expression& a, const Expression& b);
Expression operator>=(const Expression& a, const Expression& b);
Expression equal(const Expression& a, const Expression& b);
Expression not_equal(const Expression& a, const Expression& b);
/// Returns a to the power of b.
Expression pow(const Expression& a, const Expression& b);
/// Returns the smaller or the larger of two values; NaN if one is NaN.
Expression minimum(const Expression& a, const Expression& b);
Expression maximum(const Expression& a, const Expression& b);
/// Returns the remainder of a / b with the sign of b, as Python's %.
Expression remainder(const Expression& a, const Expression& b);
/// Returns the function of the C++ library with the same name, or the square or reciprocal.
Expression atan2(const Expression& y, const Expression& x);
Expression hypot(const Expression& a, const Expression& b);
Expression abs(const Expression& a);
Expression square(const Expression& a);
Expression sqrt(const Expression& a);
Expression reciprocal(const Expression& a);
Expression exp(const Expression& a);
Expression expm1(const Expression& a);
Expression log(const Expression& a);
Expression log2(const Expression& a);
Expression log10(const Expression& a);
Expression log1p(const Expression& a);
Expression sin(const Expression& a);
Expression cos(const Expression& a);
Expression tan(const Expression& a);
Expression asin(const Expression& a);
Expression acos(const Expression& a);
Expression atan(const Expression& a);
Expression sinh(const Expression& a);
Expression cosh(const Expression& a);
Expression tanh(const Expression& a);
Expression erf(const Expression& a);
Expression floor(const Expression& a);
Expression ceil(const Expression& a);
/// Returns the nearest integer. Halves are rounded to even.
Expression round(const Expression& a);
/// Returns the integer part.
Expression trunc(const Expression& a);
/// Returns -1, 0 or 1; NaN for NaN.
Expression sign(const Expression& a);
/// Returns 1 for NaN, else 0.
Expression is_nan(const Expression& a);
/// Returns `where_true` if `condition` is not 0, else `where_false`.
Expression select(const Expression& condition, const Expression& where_true, const Expression& where_false);
/// Returns a * b + c.
Expression fma(const Expression& a, const Expression& b, const Expression& c);

/// Returns the expression as steps. Throws OptionError if it needs more instructions or registers than a Program has.
Program compile(const Expression& expression);

}  // namespace glint::arrays
