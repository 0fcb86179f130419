// Operands of expressions: literals, names, and what follows them (attributes, items, calls, filters, tests).
#include <algorithm>
#include <charconv>

#include "tokenizer/jinja/parser.h"

namespace takt::jinja {

const Expr* Parser::primary() {
    const Token& token = peek();
    if (token.kind == TokenKind::name) return primary_name();
    if (token.kind == TokenKind::integer || token.kind == TokenKind::floating) return number(take());
    if (token.kind == TokenKind::string) {
        std::string text;
        while (peek().kind == TokenKind::string) text += unescape(take());
        Expr* made = make(ExprKind::constant, token.offset);
        made->constant = machine_.text(std::move(text));
        return made;
    }
    if (skip_symbol("(")) {
        const Expr* inner = tuple(true, true);
        expect_symbol(")");
        return inner;
    }
    if (at_symbol("[")) return list();
    if (at_symbol("{")) return dict();
    unexpected("an expression");
}

const Expr* Parser::primary_name() {
    static constexpr std::string_view kReserved[] = {"and", "or", "not", "in", "is", "if", "else"};
    const Token& token = take();
    if (std::find(std::begin(kReserved), std::end(kReserved), token.text) != std::end(kReserved)) {
        fail_at(token.offset, "expected an expression, got '{}'", token.text);
    }
    Expr* made = make(ExprKind::constant, token.offset);
    if (token.text == "true" || token.text == "True") {
        made->constant = Value(true);
    } else if (token.text == "false" || token.text == "False") {
        made->constant = Value(false);
    } else if (token.text == "none" || token.text == "None") {
        made->constant = None{};
    } else {
        made->kind = ExprKind::name;
        made->text = token.text;
        for (Stmt* macro : macros_) {
            macro->wants_varargs = macro->wants_varargs || token.text == "varargs";
            macro->wants_kwargs = macro->wants_kwargs || token.text == "kwargs";
            macro->wants_caller = macro->wants_caller || token.text == "caller";
        }
    }
    return made;
}

const Expr* Parser::number(const Token& token) {
    std::string digits(token.text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    Expr* made = make(ExprKind::constant, token.offset);
    if (token.kind == TokenKind::floating) {
        double value = 0;
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (end.ec != std::errc()) fail_at(token.offset, "the number {} doesn't fit a float", token.text);
        made->constant = value;
        return made;
    }
    const char letter = digits.size() > 1 ? static_cast<char>(digits[1] | 0x20) : '0';
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) digits.erase(0, 2);
    const std::optional<Int> value = parse_integer(digits, base);
    if (!value) fail_at(token.offset, "the integer {} doesn't fit 128 bits", token.text);
    made->constant = *value;
    return made;
}

const Expr* Parser::list() {
    const size_t offset = take().offset;
    std::vector<const Expr*> parts;
    while (!at_symbol("]")) {
        if (!parts.empty()) expect_symbol(",");
        if (at_symbol("]")) break;
        parts.push_back(expression());
    }
    expect_symbol("]");
    return make(ExprKind::list, offset, std::move(parts));
}

const Expr* Parser::dict() {
    const size_t offset = take().offset;
    std::vector<const Expr*> parts;
    while (!at_symbol("}")) {
        if (!parts.empty()) expect_symbol(",");
        if (at_symbol("}")) break;
        parts.push_back(expression());
        expect_symbol(":");
        parts.push_back(expression());
    }
    expect_symbol("}");
    return make(ExprKind::dict, offset, std::move(parts));
}

const Expr* Parser::postfix(const Expr* left) {
    while (true) {
        if (at_symbol(".") || at_symbol("[")) {
            left = subscript(left);
        } else if (at_symbol("(")) {
            left = call(left);
        } else {
            return left;
        }
    }
}

const Expr* Parser::subscript(const Expr* left) {
    const Token& token = take();
    if (token.text == "[") return bracket(left, token.offset);
    if (peek().kind == TokenKind::integer) {
        const Expr* index = number(take());
        return make(ExprKind::item, token.offset, {left, index});
    }
    if (peek().kind != TokenKind::name) unexpected("a name or number after '.'");
    const Token& name = take();
    Expr* made = make(ExprKind::attribute, name.offset, {left});
    made->text = name.text;
    return made;
}

const Expr* Parser::bracket(const Expr* left, size_t offset) {
    std::vector<const Expr*> keys;
    while (!at_symbol("]")) {
        if (!keys.empty()) expect_symbol(",");
        bool slice = false;
        keys.push_back(subscribed(left, slice));
        if (slice) {
            expect_symbol("]");  // a slice among several keys fits no value
            return keys.back();
        }
    }
    expect_symbol("]");
    if (keys.empty()) fail_at(offset, "expected an expression between '[' and ']'");
    const Expr* key = keys.size() == 1 ? keys[0] : make(ExprKind::tuple, offset, std::move(keys));
    return make(ExprKind::item, offset, {left, key});
}

const Expr* Parser::subscribed(const Expr* left, bool& slice) {
    const size_t offset = peek().offset;
    std::vector<const Expr*> parts{left, nullptr, nullptr, nullptr};
    if (!at_symbol(":")) {
        parts[1] = expression();
        if (!at_symbol(":")) return parts[1];
    }
    slice = true;
    for (size_t i = 2; i < 4 && skip_symbol(":"); ++i) {
        if (!at_symbol(":") && !at_symbol("]") && !at_symbol(",")) parts[i] = expression();
    }
    return make(ExprKind::slice, offset, std::move(parts));
}

const Expr* Parser::call(const Expr* callee) {
    const size_t offset = callee->kind == ExprKind::name || callee->kind == ExprKind::attribute
                              ? callee->offset
                              : peek().offset;
    Expr* made = make(ExprKind::call, offset, {callee});
    made->arguments = call_arguments();
    deepen(*made);
    return made;
}

std::vector<Argument> Parser::call_arguments() {
    std::vector<Argument> arguments;
    expect_symbol("(");
    Argument::Kind last = Argument::Kind::positional;
    while (!at_symbol(")")) {
        if (!arguments.empty()) expect_symbol(",");
        if (at_symbol(")")) break;  // a trailing comma
        const size_t offset = peek().offset;
        Argument argument{Argument::Kind::positional, {}, nullptr};
        if (skip_symbol("*")) {
            argument.kind = Argument::Kind::list;
        } else if (skip_symbol("**")) {
            argument.kind = Argument::Kind::dict;
        } else if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::symbol &&
                   peek(1).text == "=") {
            argument.kind = Argument::Kind::named;
            argument.name = take().text;
            take();
        }
        const bool repeated =
            argument.kind == last && (last == Argument::Kind::list || last == Argument::Kind::dict);
        const bool late = last == Argument::Kind::dict ||
                          (argument.kind == Argument::Kind::positional && last != argument.kind);
        if (repeated || late) fail_at(offset, "invalid order of the arguments of a call");
        last = argument.kind;
        argument.value = expression();
        arguments.push_back(std::move(argument));
    }
    expect_symbol(")");
    return arguments;
}

const Expr* Parser::filters(const Expr* left) {
    while (true) {
        if (skip_symbol("|")) {
            left = filter(left);
        } else if (at_name("is")) {
            left = test(left);
        } else if (at_symbol("(")) {
            left = call(left);
        } else {
            return left;
        }
    }
}

std::string Parser::dotted_name() {
    std::string name(expect_any_name());
    while (skip_symbol(".")) name.append(".").append(expect_any_name());
    return name;
}

const Expr* Parser::filter(const Expr* left) {
    const size_t offset = peek().offset;
    const std::string name = dotted_name();
    const FilterFunction function = find_filter(name);
    if (!function) fail_at(offset, "unknown filter '{}'", name);
    Expr* made = make(ExprKind::filter, offset, {left});
    made->text = name;
    made->filter = function;
    if (at_symbol("(")) made->arguments = call_arguments();
    deepen(*made);
    return made;
}

const Expr* Parser::test(const Expr* left) {
    take();  // is
    const size_t not_offset = peek().offset;
    const bool negated = skip_name("not");
    const size_t offset = peek().offset;
    const std::string name = dotted_name();
    const TestFunction function = find_test(name);
    if (!function) fail_at(offset, "unknown test '{}'", name);
    Expr* made = make(ExprKind::test, offset, {left});
    made->text = name;
    made->test = function;
    const TokenKind kind = peek().kind;
    const bool value = kind == TokenKind::name || kind == TokenKind::string || kind == TokenKind::integer ||
                       kind == TokenKind::floating || at_symbol("[") || at_symbol("{");
    if (at_symbol("(")) {
        made->arguments = call_arguments();
    } else if (at_name("is")) {
        unexpected("no second test: tests can't be chained");
    } else if (value && !at_name("else") && !at_name("or") && !at_name("and")) {
        const Expr* operand = postfix(primary());
        made->arguments.push_back({Argument::Kind::positional, {}, operand});
    }
    deepen(*made);
    return negated ? make(ExprKind::logical_not, not_offset, {made}) : made;
}

}  // namespace takt::jinja
