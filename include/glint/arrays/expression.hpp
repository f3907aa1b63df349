// Element-wise arithmetic: built as an expression first, then evaluated in one pass over memory, on a CPU or a GPU.
//
//     const Expression x = input(0), y = input(1);
//     map(session, sqrt(x * x + y * y), {a, b}, out);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace glint::arrays {

/// The operation of one step on its operands a, b, c.
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

/// An expression as steps on registers; the last step's result is the value. A plain struct, so that it can be a
/// kernel's parameter.
struct Program {
    Instruction instructions[max_instructions];
    int count = 0, inputs = 0, registers = 0;
};

/// A tree of steps. Cheap to copy. Subexpressions that occur twice are computed once.
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

struct Expression::Node {
    Step step;
    double value;  // the constant, or the number of the input
    std::vector<Expression> operands;
};

/// The k-th input, from 0 to max_inputs - 1. Throws OptionError if k is outside this range.
Expression input(int k);

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator-(const Expression& a);
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator>(const Expression& a, const Expression& b);
Expression operator>=(const Expression& a, const Expression& b);
Expression equal(const Expression& a, const Expression& b);
Expression not_equal(const Expression& a, const Expression& b);
Expression pow(const Expression& a, const Expression& b);
Expression minimum(const Expression& a, const Expression& b);    ///< NaN if one is
Expression maximum(const Expression& a, const Expression& b);    ///< NaN if one is
Expression remainder(const Expression& a, const Expression& b);  ///< has the divisor's sign, as Python's %
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
Expression round(const Expression& a);  ///< halves to even
Expression trunc(const Expression& a);
Expression sign(const Expression& a);    ///< -1, 0 or 1; NaN of NaN
Expression is_nan(const Expression& a);  ///< 1 or 0
Expression select(const Expression& condition, const Expression& where_true, const Expression& where_false);
Expression fma(const Expression& a, const Expression& b, const Expression& c);

/// Converts the tree to steps. Throws OptionError if it needs more instructions or registers than a Program has.
Program compile(const Expression& expression);

}  // namespace glint::arrays
