// Expressions. eval only dispatches, so that a level of nesting costs two small frames.
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/evaluator.h"

namespace takt::jinja {

Value Evaluator::eval(const Expr& expr, Scope& scope) {
    const Nest nest(depth);
    step();
    switch (expr.kind) {
        case ExprKind::constant:
            return expr.constant;
        case ExprKind::name:
        case ExprKind::member:
            return lookup(expr, scope);
        case ExprKind::list:
        case ExprKind::tuple:
            return sequence(expr, scope);
        case ExprKind::dict:
            return dict_expr(expr, scope);
        case ExprKind::attribute:
            return attribute(expr, scope);
        case ExprKind::item:
            return item(expr, scope);
        case ExprKind::slice:
            return slice(expr, scope);
        case ExprKind::call:
            return call_expr(expr, scope);
        case ExprKind::filter:
            return filter(expr, scope, nullptr);
        case ExprKind::test:
            return test(expr, scope);
        case ExprKind::negate:
        case ExprKind::positive:
        case ExprKind::logical_not:
            return unary(expr, scope);
        case ExprKind::arithmetic:
            return arithmetic(expr, scope);
        case ExprKind::concat:
            return concat(expr, scope);
        case ExprKind::compare:
            return compare(expr, scope);
        case ExprKind::logical_and:
        case ExprKind::logical_or:
            return junction(expr, scope);
        case ExprKind::conditional:
            return choice(expr, scope);
    }
    return {};
}

Value Evaluator::lookup(const Expr& expr, Scope& scope) {
    offset = expr.offset;
    if (const Value* found = scope.find(expr.text)) return *found;
    if (const Value* found = context_.dict().find(expr.text)) return *found;
    Value function = global_function(expr.text);
    if (!function.is_undefined()) return function;
    return undefined(fmt::format("'{}' is undefined", expr.text));
}

Value Evaluator::sequence(const Expr& expr, Scope& scope) {
    Values items;
    for (const Expr* part : expr.parts) items.push_back(eval(*part, scope));
    offset = expr.offset;
    return list(std::move(items), expr.kind == ExprKind::tuple ? Flavour::tuple : Flavour::list);
}

Value Evaluator::dict_expr(const Expr& expr, Scope& scope) {
    auto made = std::make_shared<Dict>();
    for (size_t i = 0; i < expr.parts.size(); i += 2) {
        Value key = eval(*expr.parts[i], scope);
        Value value = eval(*expr.parts[i + 1], scope);
        offset = expr.parts[i]->offset;
        require_hashable(key);
        step(key.is_text() ? 1 : i / 2);  // keys that aren't texts are found one by one
        made->set(std::move(key), std::move(value));
    }
    return dict(std::move(made));
}

Value Evaluator::attribute(const Expr& expr, Scope& scope) {
    const Value value = eval(*expr.parts[0], scope);
    offset = expr.offset;
    return get_attribute(*this, value, expr.text);
}

Value Evaluator::item(const Expr& expr, Scope& scope) {
    const Value value = eval(*expr.parts[0], scope);
    const Value key = eval(*expr.parts[1], scope);
    offset = expr.offset;
    return get_item(*this, value, key);
}

Value Evaluator::slice(const Expr& expr, Scope& scope) {
    const Value value = eval(*expr.parts[0], scope);
    Value bounds[3] = {None{}, None{}, None{}};
    for (size_t i = 0; i < 3; ++i) {
        if (expr.parts[i + 1]) bounds[i] = eval(*expr.parts[i + 1], scope);
    }
    offset = expr.offset;
    return get_slice(*this, value, bounds[0], bounds[1], bounds[2]);
}

Value Evaluator::filter(const Expr& expr, Scope& scope, const Value* input) {
    const Nest nest(depth);  // a chain over a block calls itself
    const Value value = !expr.parts[0] ? *input
                        : input        ? filter(*expr.parts[0], scope, input)
                                       : eval(*expr.parts[0], scope);
    Args args;
    arguments(expr, scope, args);
    offset = expr.offset;
    return expr.filter(*this, value, args);
}

Value Evaluator::test(const Expr& expr, Scope& scope) {
    const Value value = eval(*expr.parts[0], scope);
    Args args;
    arguments(expr, scope, args);
    offset = expr.offset;
    return expr.test(*this, value, args);
}

Value Evaluator::unary(const Expr& expr, Scope& scope) {
    const Value value = eval(*expr.parts[0], scope);
    offset = expr.offset;
    if (expr.kind == ExprKind::logical_not) return !truthy(value);
    return expr.kind == ExprKind::negate ? negate(*this, value) : positive(value);
}

Value Evaluator::arithmetic(const Expr& expr, Scope& scope) {
    const Value left = eval(*expr.parts[0], scope);
    const Value right = eval(*expr.parts[1], scope);
    offset = expr.offset;
    return apply(*this, expr.operation, left, right);
}

Value Evaluator::concat(const Expr& expr, Scope& scope) {
    Sink out(*this);
    for (const Expr* part : expr.parts) print(out, eval(*part, scope));
    offset = expr.offset;
    return text(out.take());
}

bool Evaluator::holds(Comparison comparison, const Value& a, const Value& b) {
    switch (comparison) {
        case Comparison::equal:
            return equals(*this, a, b);
        case Comparison::unequal:
            return !equals(*this, a, b);
        case Comparison::less:
            return less(*this, a, b);
        case Comparison::greater:
            return less(*this, b, a);
        case Comparison::less_equal:
            return less(*this, a, b) || equals(*this, a, b);
        case Comparison::greater_equal:
            return less(*this, b, a) || equals(*this, a, b);
        case Comparison::in:
            return contains(*this, b, a);
        case Comparison::not_in:
            return !contains(*this, b, a);
    }
    return false;
}

Value Evaluator::compare(const Expr& expr, Scope& scope) {
    Value left = eval(*expr.parts[0], scope);
    for (size_t i = 0; i < expr.comparisons.size(); ++i) {
        Value right = eval(*expr.parts[i + 1], scope);
        offset = expr.offset;
        if (!holds(expr.comparisons[i], left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Evaluator::junction(const Expr& expr, Scope& scope) {
    const bool wanted = expr.kind == ExprKind::logical_or;
    for (size_t i = 0; i + 1 < expr.parts.size(); ++i) {
        Value value = eval(*expr.parts[i], scope);
        if (truthy(value) == wanted) return value;
    }
    return eval(*expr.parts.back(), scope);
}

Value Evaluator::choice(const Expr& expr, Scope& scope) {
    if (truthy(eval(*expr.parts[0], scope))) return eval(*expr.parts[1], scope);
    if (expr.parts[2]) return eval(*expr.parts[2], scope);
    offset = expr.offset;
    return undefined("the inline if-expression evaluated to false and has no else: its value is undefined");
}

}  // namespace takt::jinja
