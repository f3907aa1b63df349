// Builds expressions, and compiles them to steps on registers.
// SPDX-License-Identifier: MIT
#include "glint/arrays/expression.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <string>
#include <unordered_map>

#include "arrays/evaluate.hpp"
#include "glint/error.hpp"

namespace glint::arrays {
namespace {

using NodePointer = std::shared_ptr<const Expression::Node>;

bool is_constant(const Expression& a) { return a.node().step == Step::constant; }

Expression of(Step step, std::initializer_list<Expression> operands) {
    if (std::all_of(operands.begin(), operands.end(), is_constant)) {  // constants are folded in double precision
        double at[3] = {};
        std::transform(operands.begin(), operands.end(), at, [](const Expression& a) { return a.node().value; });
        return apply(step, at[0], at[1], at[2], 0.0);
    }
    return Expression(std::make_shared<const Expression::Node>(Expression::Node{step, 0, operands}));
}

/// A value of a register. Common subexpressions share one value.
struct Value {
    Step step;
    double constant_or_input;
    int operands[3] = {-1, -1, -1};
    int needs = 1;  // registers, at least: Sethi and Ullman's number
};

bool same(const Value& a, const Value& b) {
    return a.step == b.step &&
           std::bit_cast<std::uint64_t>(a.constant_or_input) == std::bit_cast<std::uint64_t>(b.constant_or_input) &&
           std::equal(a.operands, a.operands + 3, b.operands);
}

[[noreturn]] void refuse(const std::string& needs) {
    throw OptionError("the expression needs " + needs + ": evaluate a part of it into an array first");
}

/// The values of an expression, operands before the values that need them.
class Values {
  public:
    explicit Values(const Expression& root) { add(root.shared(), 0); }

    const Value& operator[](int k) const { return values_[k]; }
    int count() const { return int(values_.size()); }

  private:
    int add(const NodePointer& node, int depth) {
        if (!node) throw OptionError("an expression without a node");
        // The nodes of a path are all different values, so a longer path has too many of them.
        if (depth > max_instructions) too_many();
        if (const auto known = visited_.find(node.get()); known != visited_.end()) return known->second;
        Value value{node->step, node->operands.empty() ? node->value : 0};
        const int n = operands_of(node->step);
        if (int(node->operands.size()) != n)
            throw OptionError("a step of " + std::to_string(n) + " operands was given " +
                              std::to_string(node->operands.size()));
        if (node->step == Step::input) input(int(node->value));  // throws for an invalid number
        for (int k = 0; k < n; ++k) value.operands[k] = add(node->operands[k].shared(), depth + 1);
        value.needs = registers_for(value, n);
        const int k = number_of(value);
        visited_[node.get()] = k;
        return k;
    }

    int number_of(const Value& value) {
        for (int k = 0; k < count(); ++k)
            if (same(values_[k], value)) return k;
        if (count() == max_instructions) too_many();
        values_.push_back(value);
        return count() - 1;
    }

    /// In the best order, k results are kept while the k-th operand is computed.
    int registers_for(const Value& value, int n) const {
        int needs[3] = {};
        for (int k = 0; k < n; ++k) needs[k] = values_[value.operands[k]].needs;
        std::sort(needs, needs + n, std::greater<>());
        int most = 1;
        for (int k = 0; k < n; ++k) most = std::max(most, needs[k] + k);
        return most;
    }

    [[noreturn]] static void too_many() { refuse("more than " + std::to_string(max_instructions) + " steps"); }

    std::vector<Value> values_;
    std::unordered_map<const Expression::Node*, int> visited_;
};

/// Returns the order of steps: the operand that needs the most registers is computed first.
std::vector<int> order_of(const Values& values) {
    std::vector<int> order;
    std::vector<bool> done(values.count());
    const auto visit = [&](const auto& self, int k) -> void {
        if (done[k]) return;
        done[k] = true;
        const Value& value = values[k];
        int operands[3];
        std::copy(value.operands, value.operands + 3, operands);
        const auto needs = [&](int operand) { return operand < 0 ? 0 : values[operand].needs; };
        std::stable_sort(operands, operands + 3, [&](int a, int b) { return needs(a) > needs(b); });
        for (const int operand : operands)
            if (operand >= 0) self(self, operand);
        order.push_back(k);
    };
    visit(visit, values.count() - 1);
    return order;
}

/// Emits steps in order. When registers run out, evicts the input or constant whose next use is farthest, and reloads
/// it later.
class Allocator {
  public:
    Allocator(const Values& values, const std::vector<int>& order) : values_(values), order_(order) {
        std::fill(held_, held_ + max_registers, -1);
    }

    Program run() {
        for (now_ = 0; now_ < int(order_.size()); ++now_) {
            const int k = order_[now_];
            const bool last = now_ + 1 == int(order_.size());
            if (operands_of(values_[k].step) > 0)
                compute(k);
            else if (last)  // inputs and constants are loaded when needed
                load(k);
        }
        return program_;
    }

  private:
    void compute(int k) {
        const Value& value = values_[k];
        std::uint8_t from[3] = {};
        for (int i = 0; i < 3 && value.operands[i] >= 0; ++i) load(value.operands[i]);
        for (int i = 0; i < 3 && value.operands[i] >= 0; ++i) from[i] = std::uint8_t(register_of(value.operands[i]));
        ++now_;  // the result may reuse the register of a value that is not needed after this step
        const int to = free_register();
        --now_;
        emit({value.step, std::uint8_t(to), from[0], from[1], from[2]});
        held_[to] = k;
    }

    void load(int k) {
        if (register_of(k) >= 0) return;
        const Value& value = values_[k];
        const int to = free_register();
        Instruction instruction{value.step, std::uint8_t(to)};
        if (value.step == Step::input) {
            instruction.a = std::uint8_t(value.constant_or_input);
            program_.inputs = std::max(program_.inputs, instruction.a + 1);
        } else {
            instruction.value = value.constant_or_input;
        }
        emit(instruction);
        held_[to] = k;
    }

    int register_of(int k) const {
        const int* found = std::find(held_, held_ + max_registers, k);
        return found == held_ + max_registers ? -1 : int(found - held_);
    }

    int free_register() {
        int latest = -1, latest_use = now_;  // an operand of this step must stay
        for (int r = 0; r < max_registers; ++r) {
            if (held_[r] < 0) return r;
            const int use = next_use(held_[r]);
            if (use == never) return r;
            if (operands_of(values_[held_[r]].step) == 0 && use > latest_use) latest = r, latest_use = use;
        }
        if (latest < 0) refuse("more than " + std::to_string(max_registers) + " simultaneous results");
        return latest;
    }

    int next_use(int k) const {
        for (int at = now_; at < int(order_.size()); ++at) {
            const int* operands = values_[order_[at]].operands;
            if (std::find(operands, operands + 3, k) != operands + 3) return at;
        }
        return never;
    }

    void emit(const Instruction& instruction) {
        if (program_.count == max_instructions) refuse("more than " + std::to_string(max_instructions) + " steps");
        program_.instructions[program_.count++] = instruction;
        program_.registers = std::max(program_.registers, instruction.to + 1);
    }

    static constexpr int never = std::numeric_limits<int>::max();
    const Values& values_;
    const std::vector<int>& order_;
    int now_ = 0;
    int held_[max_registers];  // values, -1: none
    Program program_;
};

}  // namespace

Expression::Expression(double constant) : node_(std::make_shared<const Node>(Node{Step::constant, constant, {}})) {}

Expression input(int k) {
    if (k < 0 || k >= max_inputs)
        throw OptionError("input " + std::to_string(k) + " of an expression: there are 0 to " +
                          std::to_string(max_inputs - 1));
    return Expression(std::make_shared<const Expression::Node>(Expression::Node{Step::input, double(k), {}}));
}

Expression operator+(const Expression& a, const Expression& b) { return of(Step::add, {a, b}); }
Expression operator-(const Expression& a, const Expression& b) { return of(Step::subtract, {a, b}); }
Expression operator*(const Expression& a, const Expression& b) { return of(Step::multiply, {a, b}); }
Expression operator/(const Expression& a, const Expression& b) { return of(Step::divide, {a, b}); }
Expression operator-(const Expression& a) { return of(Step::negate, {a}); }
Expression operator<(const Expression& a, const Expression& b) { return of(Step::less, {a, b}); }
Expression operator<=(const Expression& a, const Expression& b) { return of(Step::less_equal, {a, b}); }
Expression operator>(const Expression& a, const Expression& b) { return of(Step::less, {b, a}); }
Expression operator>=(const Expression& a, const Expression& b) { return of(Step::less_equal, {b, a}); }
Expression equal(const Expression& a, const Expression& b) { return of(Step::equal, {a, b}); }
Expression not_equal(const Expression& a, const Expression& b) { return of(Step::not_equal, {a, b}); }
Expression pow(const Expression& a, const Expression& b) {
    if (is_constant(b) && b.node().value == 2) return square(a);  // the same to half a unit in the last place
    return of(Step::power, {a, b});
}
Expression minimum(const Expression& a, const Expression& b) { return of(Step::minimum, {a, b}); }
Expression maximum(const Expression& a, const Expression& b) { return of(Step::maximum, {a, b}); }
Expression remainder(const Expression& a, const Expression& b) { return of(Step::remainder, {a, b}); }
Expression atan2(const Expression& y, const Expression& x) { return of(Step::atan2, {y, x}); }
Expression hypot(const Expression& a, const Expression& b) { return of(Step::hypot, {a, b}); }
Expression abs(const Expression& a) { return of(Step::absolute, {a}); }
Expression square(const Expression& a) { return of(Step::square, {a}); }
Expression sqrt(const Expression& a) { return of(Step::square_root, {a}); }
Expression reciprocal(const Expression& a) { return of(Step::reciprocal, {a}); }
Expression exp(const Expression& a) { return of(Step::exp, {a}); }
Expression expm1(const Expression& a) { return of(Step::expm1, {a}); }
Expression log(const Expression& a) { return of(Step::log, {a}); }
Expression log2(const Expression& a) { return of(Step::log2, {a}); }
Expression log10(const Expression& a) { return of(Step::log10, {a}); }
Expression log1p(const Expression& a) { return of(Step::log1p, {a}); }
Expression sin(const Expression& a) { return of(Step::sin, {a}); }
Expression cos(const Expression& a) { return of(Step::cos, {a}); }
Expression tan(const Expression& a) { return of(Step::tan, {a}); }
Expression asin(const Expression& a) { return of(Step::asin, {a}); }
Expression acos(const Expression& a) { return of(Step::acos, {a}); }
Expression atan(const Expression& a) { return of(Step::atan, {a}); }
Expression sinh(const Expression& a) { return of(Step::sinh, {a}); }
Expression cosh(const Expression& a) { return of(Step::cosh, {a}); }
Expression tanh(const Expression& a) { return of(Step::tanh, {a}); }
Expression erf(const Expression& a) { return of(Step::erf, {a}); }
Expression floor(const Expression& a) { return of(Step::floor, {a}); }
Expression ceil(const Expression& a) { return of(Step::ceil, {a}); }
Expression round(const Expression& a) { return of(Step::round, {a}); }
Expression trunc(const Expression& a) { return of(Step::trunc, {a}); }
Expression sign(const Expression& a) { return of(Step::sign, {a}); }
Expression is_nan(const Expression& a) { return of(Step::is_nan, {a}); }
Expression select(const Expression& condition, const Expression& where_true, const Expression& where_false) {
    return of(Step::select, {condition, where_true, where_false});
}
Expression fma(const Expression& a, const Expression& b, const Expression& c) {
    return of(Step::fused_multiply_add, {a, b, c});
}

Program compile(const Expression& expression) {
    const Values values(expression);
    return Allocator(values, order_of(values)).run();
}

}  // namespace glint::arrays
