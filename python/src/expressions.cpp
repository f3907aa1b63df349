// Bindings of element-wise expressions (glint/offload/expressions.py).
// SPDX-License-Identifier: MIT
#include "glint/arrays/expression.hpp"

#include <nanobind/stl/vector.h>

#include <map>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using arrays::Expression;
using Operands = std::vector<Expression>;
using Unary = Expression (*)(const Expression&);
using Binary = Expression (*)(const Expression&, const Expression&);

// Steps of expressions, by the names of NumPy's ufuncs.
const std::map<std::string, Unary>& unary() {
    static const std::map<std::string, Unary> all{{
        "negative",
        arrays::operator- },
        {"absolute", arrays::abs},
        {"fabs", arrays::abs},
        {"square", arrays::square},
        {"sqrt", arrays::sqrt},
        {"reciprocal", arrays::reciprocal},
        {"exp", arrays::exp},
        {"expm1", arrays::expm1},
        {"log", arrays::log},
        {"log2", arrays::log2},
        {"log10", arrays::log10},
        {"log1p", arrays::log1p},
        {"sin", arrays::sin},
        {"cos", arrays::cos},
        {"tan", arrays::tan},
        {"arcsin", arrays::asin},
        {"arccos", arrays::acos},
        {"arctan", arrays::atan},
        {"sinh", arrays::sinh},
        {"cosh", arrays::cosh},
        {"tanh", arrays::tanh},
        {"erf", arrays::erf},
        {"floor", arrays::floor},
        {"ceil", arrays::ceil},
        {"rint", arrays::round},
        {"trunc", arrays::trunc},
        {"sign", arrays::sign},
        {"isnan", arrays::is_nan},
    };
    return all;
}

const std::map<std::string, Binary>& binary() {
    static const std::map<std::string, Binary> all{
        {"add", arrays::operator+ },
         {"subtract", arrays::operator- },
          {"multiply", arrays::operator* },
           {"divide", arrays::operator/ }, {"power", arrays::pow}, {"minimum", arrays::minimum},
            {"maximum", arrays::maximum}, {"remainder", arrays::remainder}, {"arctan2", arrays::atan2},
            {"hypot", arrays::hypot},
            {"less", arrays::operator<},
             {"less_equal", arrays::operator<= },
              {"greater", arrays::operator> },
               {
                   "greater_equal",
                   arrays::operator>= },
                   {"equal", arrays::equal},
                   {"not_equal", arrays::not_equal},
              };
    return all;
}

Expression step(const std::string& name, const Operands& x) {
    if (const auto found = unary().find(name); found != unary().end() && x.size() == 1) return found->second(x[0]);
    if (const auto found = binary().find(name); found != binary().end() && x.size() == 2)
        return found->second(x[0], x[1]);
    if (name == "where" && x.size() == 3) return arrays::select(x[0], x[1], x[2]);
    if (name == "fma" && x.size() == 3) return arrays::fma(x[0], x[1], x[2]);
    throw OptionError("an expression knows no " + name + " of " + std::to_string(x.size()) + " operands");
}

}  // namespace

void bind_expressions(nb::module_& m) {
    m.def("expression_input", &arrays::input, "k"_a);
    m.def(
        "expression_constant", [](double value) { return Expression(value); }, "value"_a);
    m.def("expression_step", &step, "name"_a, "operands"_a);
    m.def("expression_steps", [] {
        std::vector<std::string> names;
        for (const auto& [name, function] : unary()) names.push_back(name);
        for (const auto& [name, function] : binary()) names.push_back(name);
        return names;
    });
    m.def(
        "expression_inputs", [](const Expression& expression) { return arrays::compile(expression).inputs; },
        "expression"_a);
}

}  // namespace glint::python
