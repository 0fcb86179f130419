// Expressions, by precedence. One level of brackets costs few and small frames: the stack may be small.
#include <algorithm>

#include "tokenizer/jinja/parser.h"

namespace takt::jinja {

namespace {

enum Level : int { kOr, kAnd, kNot, kCompare, kSum, kConcat, kProduct, kPower };

}  // namespace

Expr* Parser::make(ExprKind kind, size_t offset, std::vector<const Expr*> parts) {
    Expr& made = out_.expressions.emplace_back();
    made.kind = kind;
    made.offset = offset;
    made.parts = std::move(parts);
    deepen(made);
    return &made;
}

// The evaluator recurses as deep as the tree: a chain of operators that is too long is refused here, not at a
// render.
void Parser::deepen(Expr& expr) {
    for (const Expr* part : expr.parts) {
        if (part) expr.depth = std::max(expr.depth, part->depth + 1);
    }
    for (const Argument& argument : expr.arguments)
        expr.depth = std::max(expr.depth, argument.value->depth + 1);
    if (expr.depth > limits_.max_depth)
        fail_at(expr.offset, "nesting passes the limit of {} levels", limits_.max_depth);
}

bool Parser::tuple_ends(std::string_view end_name) const {
    const TokenKind kind = peek().kind;
    return kind == TokenKind::block_end || kind == TokenKind::variable_end || at_symbol(")") ||
           (!end_name.empty() && at_name(end_name));
}

const Expr* Parser::tuple(bool conditional, bool parentheses, std::string_view end_name) {
    const size_t offset = peek().offset;
    const Expr* first = nullptr;
    if (!tuple_ends(end_name)) {
        first = conditional ? expression() : binary(kOr);
        if (!at_symbol(",")) return first;
    } else if (!parentheses) {
        unexpected("an expression");
    }
    std::vector<const Expr*> parts;
    if (first) parts.push_back(first);
    while (skip_symbol(",")) {
        if (tuple_ends(end_name)) break;
        parts.push_back(conditional ? expression() : binary(kOr));
    }
    return make(ExprKind::tuple, offset, std::move(parts));
}

const Expr* Parser::expression() {
    const Expr* value = binary(kOr);
    while (at_name("if")) {
        const Nest nest(depth_);
        const size_t offset = take().offset;
        const Expr* condition = binary(kOr);
        const Expr* otherwise = skip_name("else") ? expression() : nullptr;
        value = make(ExprKind::conditional, offset, {condition, value, otherwise});
    }
    return value;
}

const Expr* Parser::binary(int lowest) {
    const Nest nest(depth_);
    const Expr* left;
    if (lowest <= kNot && at_name("not")) {
        const size_t offset = take().offset;
        const Expr* operand = binary(kNot);
        left = make(ExprKind::logical_not, offset, {operand});
    } else {
        left = unary(true);
    }
    while (true) {
        Comparison ignored{};
        const Token& token = peek();
        const std::string_view t = token.text;
        if (token.kind == TokenKind::symbol && t == "**") {
            left = arithmetic(left, kPower);
        } else if (token.kind == TokenKind::symbol && lowest <= kProduct &&
                   (t == "*" || t == "/" || t == "//" || t == "%")) {
            left = arithmetic(left, kProduct);
        } else if (token.kind == TokenKind::symbol && lowest <= kConcat && t == "~") {
            left = concat(left);
        } else if (token.kind == TokenKind::symbol && lowest <= kSum && (t == "+" || t == "-")) {
            left = arithmetic(left, kSum);
        } else if (const size_t before = next_; lowest <= kCompare && comparison(ignored)) {
            next_ = before;
            left = comparisons(left);
        } else if (lowest <= kAnd && at_name("and")) {
            left = chain(ExprKind::logical_and, "and", left, kNot);
        } else if (lowest <= kOr && at_name("or")) {
            left = chain(ExprKind::logical_or, "or", left, kAnd);
        } else {
            return left;
        }
    }
}

const Expr* Parser::chain(ExprKind kind, std::string_view name, const Expr* left, int level) {
    std::vector<const Expr*> parts{left};
    const size_t offset = peek().offset;
    while (skip_name(name)) parts.push_back(binary(level));
    return make(kind, offset, std::move(parts));
}

const Expr* Parser::concat(const Expr* left) {
    std::vector<const Expr*> parts{left};
    const size_t offset = peek().offset;
    while (skip_symbol("~")) parts.push_back(binary(kProduct));
    return make(ExprKind::concat, offset, std::move(parts));
}

const Expr* Parser::arithmetic(const Expr* left, int level) {
    static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
    const Token& token = take();
    const auto* found = std::find(std::begin(kSymbols), std::end(kSymbols), token.text);
    // ** binds to the left here, unlike in Python.
    const Expr* right = level == kPower ? unary(true) : binary(level + 1);
    Expr* made = make(ExprKind::arithmetic, token.offset, {left, right});
    made->operation = static_cast<Operator>(found - std::begin(kSymbols));
    return made;
}

bool Parser::comparison(Comparison& out) {
    static constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">="};
    if (peek().kind == TokenKind::symbol) {
        const auto* found = std::find(std::begin(kSymbols), std::end(kSymbols), peek().text);
        if (found == std::end(kSymbols)) return false;
        out = static_cast<Comparison>(found - std::begin(kSymbols));
        take();
        return true;
    }
    if (skip_name("in")) {
        out = Comparison::in;
        return true;
    }
    if (!at_name("not") || peek(1).kind != TokenKind::name || peek(1).text != "in") return false;
    take();
    take();
    out = Comparison::not_in;
    return true;
}

const Expr* Parser::comparisons(const Expr* left) {
    const size_t offset = peek().offset;
    std::vector<const Expr*> parts{left};
    std::vector<Comparison> operators;
    for (Comparison one{}; comparison(one);) {
        operators.push_back(one);
        parts.push_back(binary(kSum));
    }
    Expr* made = make(ExprKind::compare, offset, std::move(parts));
    made->comparisons = std::move(operators);
    return made;
}

const Expr* Parser::unary(bool with_filters) {
    const Expr* value;
    if (at_symbol("-") || at_symbol("+")) {
        const Nest nest(depth_);
        const Token& sign = take();
        const Expr* operand = unary(false);
        value = make(sign.text == "-" ? ExprKind::negate : ExprKind::positive, sign.offset, {operand});
    } else {
        value = primary();
    }
    value = postfix(value);
    return with_filters ? filters(value) : value;
}

}  // namespace takt::jinja
