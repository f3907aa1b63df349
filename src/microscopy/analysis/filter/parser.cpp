// Parses a condition by recursive descent. From the lowest to the highest precedence:
// or, and, not, comparisons, + -, * /, signs, **.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "analysis/filter/tree.hpp"

namespace glint::conditions {
namespace {

constexpr int deepest = 100;  ///< maximum levels of parentheses, signs and operations

struct Word {
    std::string_view text;
    Operation operation;
};
constexpr Word comparisons[] = {
    {"<", Operation::less},           {"<=", Operation::less_equal}, {">", Operation::greater},
    {">=", Operation::greater_equal}, {"==", Operation::equal},      {"!=", Operation::not_equal},
};
constexpr Word functions[] = {
    {"abs", Operation::absolute}, {"sqrt", Operation::square_root},    {"log", Operation::logarithm},
    {"min", Operation::smallest}, {"max", Operation::largest},         {"percentile", Operation::percentile},
    {"mode", Operation::mode},    {"neighbors", Operation::neighbors},
};
constexpr std::string_view reserved[] = {"and", "or", "not", "within", "of"};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

    std::vector<Node> clauses() {
        if (here().kind == Token::Kind::end) refuse(text_, here().place, "the condition is empty");
        Node whole = condition(alternatives());
        if (here().is(")")) fail("this ) has no ( before it");
        if (here().kind != Token::Kind::end) fail("`and`, `or` or the end is expected after this condition");
        if (whole.operation != Operation::all_of) return {std::move(whole)};
        return std::move(whole.operands);
    }

  private:
    const Token& here() const { return tokens_[next_]; }
    bool take(std::string_view word) {
        if (!here().is(word)) return false;
        ++next_;
        return true;
    }
    [[noreturn]] void fail(const std::string& message) const {
        refuse(text_, here().place,
               here().is("%")
                   ? "a % is allowed only in `within 10% of`: write a share as 0.1 * photons, and the lowest 10 % as "
                     "photons < percentile(photons, 10)"
                   : message);
    }
    [[noreturn]] void fail(const Node& node, const std::string& message) const { refuse(text_, node.place, message); }

    Node node(Operation operation, std::vector<Node> operands, TextRange place) const {
        Node out;
        out.operation = operation, out.place = place, out.operands = std::move(operands);
        for (const Node& operand : out.operands) {
            out.height = std::max(out.height, operand.height + 1);
            out.place = {std::min(out.place.begin, operand.place.begin), std::max(out.place.end, operand.place.end)};
        }
        if (out.height > deepest) fail(out, fmt::format("this is nested in more than {} levels", deepest));
        return out;
    }
    Node joined(Operation operation, Node left, Node right) const {
        const TextRange place = left.place;
        std::vector<Node> both;
        both.push_back(std::move(left)), both.push_back(std::move(right));
        return node(operation, std::move(both), place);
    }

    Node condition(Node given) const {
        if (!is_condition(given.operation) && here().is("%")) fail("");
        if (!is_condition(given.operation))
            fail(given, "this is a number, but a comparison is needed, as in photons > 500");
        return given;
    }
    Node number(Node given) const {
        if (is_condition(given.operation)) fail(given, "this is a condition, but a number is needed");
        return given;
    }

    /// Parses operands joined by `word` into one node.
    Node list(std::string_view word, Operation operation, Node (Parser::*part)()) {
        Node first = (this->*part)();
        if (!here().is(word)) return first;
        std::vector<Node> all;
        all.push_back(condition(std::move(first)));
        while (take(word)) {
            Node next = condition((this->*part)());
            // A chain (a < b < c) or a list in parentheses stays one clause.
            all.push_back(std::move(next));
        }
        const TextRange place = all.front().place;
        return node(operation, std::move(all), place);
    }
    Node alternatives() { return list("or", Operation::any_of, &Parser::conjunction); }
    Node conjunction() { return list("and", Operation::all_of, &Parser::negation); }

    Node negation() {
        const TextRange place = here().place;
        if (!take("not")) return comparison();
        const Deeper deeper(*this);
        std::vector<Node> operand;
        operand.push_back(condition(negation()));
        return node(Operation::negation, std::move(operand), place);
    }

    /// Parses a < b <= c, which means a < b and b <= c, or a within 10% of b.
    Node comparison() {
        Node left = sum();
        std::vector<Node> all;
        while (const Word* word = find(comparisons)) {
            ++next_;
            left = number(std::move(left));
            Node right = number(sum());
            Node again = right;
            all.push_back(joined(word->operation, std::move(left), std::move(right)));
            left = std::move(again);
        }
        if (here().is("within")) {
            if (!all.empty()) fail("`within` is a comparison itself: write `and` between the two");
            return within(number(std::move(left)));
        }
        if (all.empty()) return left;
        if (all.size() == 1) return std::move(all.front());
        const TextRange place = all.front().place;
        return node(Operation::all_of, std::move(all), place);
    }

    /// Returns abs(left - target) <= 0.1 * abs(target), or abs(left - target) <= a number without %.
    Node within(Node left) {
        const TextRange place = here().place;
        take("within");
        Node distance = number(sum());
        if (distance.operation == Operation::negative)
            fail(distance, "a distance cannot be negative: write it without the sign");
        const bool is_share = take("%");
        if (!take("of")) fail("`of` is expected here, as in sx within 10% of mode");
        const bool is_mode = here().is("mode") && !tokens_[next_ + 1].is("(");
        Node target;
        if (is_mode) {
            target = node(Operation::mode, {left}, here().place);
            ++next_;
        } else {
            target = number(sum());
        }
        if (is_share) {
            Node percent;
            percent.number = 0.01, percent.place = distance.place;
            distance = joined(Operation::times, joined(Operation::times, std::move(percent), std::move(distance)),
                              node(Operation::absolute, {target}, target.place));
        }
        Node apart = node(Operation::absolute, {joined(Operation::minus, std::move(left), std::move(target))}, place);
        return joined(Operation::less_equal, std::move(apart), std::move(distance));
    }

    Node sum() {
        Node left = product();
        while (here().is("+") || here().is("-")) {
            const Operation operation = here().is("+") ? Operation::plus : Operation::minus;
            ++next_;
            left = joined(operation, number(std::move(left)), number(product()));
        }
        return left;
    }
    Node product() {
        Node left = signed_number();
        while (here().is("*") || here().is("/")) {
            const Operation operation = here().is("*") ? Operation::times : Operation::over;
            ++next_;
            left = joined(operation, number(std::move(left)), number(signed_number()));
        }
        return left;
    }
    Node signed_number() {
        const TextRange place = here().place;
        const Deeper deeper(*this);
        if (take("+")) return number(signed_number());
        if (!take("-")) return raised();
        std::vector<Node> operand;
        operand.push_back(number(signed_number()));
        return node(Operation::negative, std::move(operand), place);
    }
    Node raised() {
        Node base = atom();
        if (!take("**")) return base;
        return joined(Operation::power, number(std::move(base)), number(signed_number()));
    }

    Node atom() {
        const Token token = here();
        const Deeper deeper(*this);
        ++next_;
        if (token.kind == Token::Kind::number) return literal(token);
        if (token.is("(")) {
            Node inner = alternatives();
            close(token.place);
            inner.place = {token.place.begin, tokens_[next_ - 1].place.end};
            return inner;
        }
        if (token.kind == Token::Kind::name && here().is("(")) return call(token);
        const bool is_word = std::find(std::begin(reserved), std::end(reserved), token.text) != std::end(reserved);
        if (token.kind == Token::Kind::quoted_name || (token.kind == Token::Kind::name && !is_word)) {
            Node out = node(Operation::column, {}, token.place);
            out.name = std::string(token.text);
            return out;
        }
        --next_;
        fail(token.kind == Token::Kind::end ? "a number or the name of a column is missing at the end"
                                            : "a number or the name of a column is expected here");
    }

    Node literal(const Token& token) const {
        if (here().kind == Token::Kind::name && here().place.begin == token.place.end)
            refuse(text_, {token.place.begin, here().place.end},
                   "numbers have no units: write the unit into the column's name, as in lpx_nm < 20 or x_um > 1.5");
        Node out = node(Operation::number, {}, token.place);
        out.number = token.number;
        return out;
    }

    void close(TextRange open) {
        if (take(")")) return;
        if (here().kind == Token::Kind::end) refuse(text_, open, "this ( has no ) after it");
        fail(here().is(",") ? "this comma is not in a function" : "`)` is expected here");
    }

    Node call(const Token& name) {
        const auto found = std::find_if(std::begin(functions), std::end(functions),
                                        [&](const Word& word) { return word.text == name.text; });
        if (found == std::end(functions))
            refuse(text_, name.place,
                   fmt::format("there is no function {}. Functions: abs, sqrt, log, min, max, percentile, mode, "
                               "neighbors",
                               name.text));
        const TextRange open = here().place;
        ++next_;
        Node out =
            found->operation == Operation::neighbors ? radius(name) : node(found->operation, arguments(), name.place);
        if (found->operation == Operation::percentile) take_share(out);
        const std::size_t given = out.operands.size();
        const bool is_list = found->operation == Operation::smallest || found->operation == Operation::largest;
        const std::size_t wanted = found->operation == Operation::neighbors ? 0 : 1;
        if (is_list ? given < 2 : given != wanted)
            refuse(text_, name.place,
                   is_list
                       ? fmt::format("{}() compares two or more numbers; for a whole column write percentile({}, {})",
                                     name.text, "COLUMN", found->operation == Operation::smallest ? 0 : 100)
                       : fmt::format("{}() needs one argument, not {}", name.text, given));
        close(open);
        out.place = {name.place.begin, tokens_[next_ - 1].place.end};
        return out;
    }

    std::vector<Node> arguments() {
        std::vector<Node> all;
        if (here().is(")")) return all;
        do all.push_back(number(alternatives()));
        while (take(","));
        return all;
    }

    /// Moves the second argument of percentile() to `number`.
    void take_share(Node& out) const {
        const bool is_number = out.operands.size() == 2 && out.operands[1].operation == Operation::number;
        if (!is_number || !(out.operands[1].number <= 100))
            fail(out, "percentile() needs a column and a number from 0 to 100, as in percentile(photons, 5)");
        out.number = out.operands[1].number;
        out.operands.pop_back();
    }

    Node radius(const Token& name) {
        Node out = node(Operation::neighbors, {}, name.place);
        const Token number = here(), unit = number.kind == Token::Kind::end ? number : tokens_[next_ + 1];
        const bool is_unit = unit.is("nm") || unit.is("um") || unit.is("px");
        if (number.kind != Token::Kind::number || !is_unit || !(number.number > 0))
            fail("neighbors() needs a distance with its unit (nm, um, px), as in neighbors(50nm) >= 5");
        out.number = number.number, out.name = std::string(unit.text);
        next_ += 2;
        return out;
    }

    const Word* find(std::span<const Word> words) const {
        for (const Word& word : words)
            if (here().is(word.text)) return &word;
        return nullptr;
    }

    /// One level of recursion.
    class Deeper {
      public:
        explicit Deeper(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > 3 * deepest)
                parser_.fail(fmt::format("this is nested in more than {} levels", deepest));
        }
        ~Deeper() { --parser_.depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

      private:
        Parser& parser_;
    };

    std::string_view text_;
    std::vector<Token> tokens_;
    std::size_t next_ = 0;
    int depth_ = 0;
};

}  // namespace

std::vector<Node> parse(std::string_view text) { return Parser(text).clauses(); }

}  // namespace glint::conditions
