// Statements.
#include "tokenizer/jinja/evaluator.h"

#include "tokenizer/jinja/access.h"

namespace takt::jinja {

std::string Evaluator::run() {
    const auto root = std::make_shared<Scope>(nullptr);
    Sink out(*this);
    execute(template_.body, *root, out);
    return out.take();
}

Evaluator::Flow Evaluator::execute(const Body& body, Scope& scope, Sink& out) {
    const Nest nest(depth);
    for (const Stmt* stmt : body) {
        const Flow flow = execute(*stmt, scope, out);
        if (flow != Flow::next) return flow;
    }
    return Flow::next;
}

Evaluator::Flow Evaluator::execute(const Stmt& stmt, Scope& scope, Sink& out) {
    offset = stmt.offset;
    step();
    switch (stmt.kind) {
        case StmtKind::text:
            out.add(stmt.literal);
            break;
        case StmtKind::print:
            print_all(stmt, scope, out);
            break;
        case StmtKind::conditional:
            return conditional(stmt, scope, out);
        case StmtKind::loop:
            loop(stmt, scope, out);
            break;
        case StmtKind::assign:
            assign(*stmt.targets[0], eval(*stmt.expressions[0], scope), scope);
            break;
        case StmtKind::assign_block:
            assign_block(stmt, scope);
            break;
        case StmtKind::macro:
            scope.set(stmt.name, macro_value(stmt, scope));
            break;
        case StmtKind::call_block:
            call_block(stmt, scope, out);
            break;
        case StmtKind::filter_block:
            filter_block(stmt, scope, out);
            break;
        case StmtKind::scope:
            return with(stmt, scope, out);
        case StmtKind::generation: {
            const auto inner = std::make_shared<Scope>(scope.shared_from_this());
            return execute(stmt.body, *inner, out);
        }
        case StmtKind::loop_break:
            return Flow::loop_break;
        case StmtKind::loop_continue:
            return Flow::loop_continue;
    }
    return Flow::next;
}

void Evaluator::print_all(const Stmt& stmt, Scope& scope, Sink& out) {
    for (const Expr* expr : stmt.expressions) {
        const Value value = eval(*expr, scope);
        offset = stmt.offset;
        print(out, value);
    }
}

Evaluator::Flow Evaluator::conditional(const Stmt& stmt, Scope& scope, Sink& out) {
    for (const Branch& branch : stmt.branches) {
        if (truthy(eval(*branch.test, scope))) return execute(branch.body, scope, out);
    }
    return execute(stmt.body, scope, out);
}

void Evaluator::loop(const Stmt& stmt, Scope& scope, Sink& out) {
    const Value iterable = eval(*stmt.expressions[0], scope);
    offset = stmt.expressions[0]->offset;
    run_loop(stmt, iterable, scope, 0, out);
}

Values Evaluator::filtered(const Stmt& stmt, const Value& iterable, Scope& outer) {
    Values items = iterate(*this, iterable);
    if (!stmt.expressions[1]) return items;
    Values kept;
    for (Value& item : items) {
        const auto scope = std::make_shared<Scope>(outer.shared_from_this());
        assign(*stmt.targets[0], item, *scope);
        if (truthy(eval(*stmt.expressions[1], *scope))) kept.push_back(std::move(item));
    }
    return kept;
}

void Evaluator::run_loop(const Stmt& stmt, const Value& iterable, Scope& outer, uint32_t level, Sink& out) {
    Loop& loop = keep(std::make_unique<Loop>());
    loop.items = filtered(stmt, iterable, outer);
    loop.level = level;
    if (stmt.recursive) {
        loop.statement = &stmt;
        loop.outer = outer.shared_from_this();
    }
    const Value self = borrowed(loop);
    bool any_whole = false;  // Jinja2 runs the else unless some round got to its end
    for (; loop.index < loop.items.size(); ++loop.index) {
        const auto scope = std::make_shared<Scope>(outer.shared_from_this());
        scope->set("loop", self);
        assign(*stmt.targets[0], loop.items[loop.index], *scope);
        const Flow flow = execute(stmt.body, *scope, out);
        if (flow == Flow::loop_break) break;
        any_whole = any_whole || flow == Flow::next;
        offset = stmt.offset;
    }
    if (!any_whole) {
        const auto scope = std::make_shared<Scope>(outer.shared_from_this());
        execute(stmt.otherwise, *scope, out);
    }
}

void Evaluator::assign(const Expr& target, const Value& value, Scope& scope) {
    if (target.kind == ExprKind::name) {
        scope.set(target.text, value);
    } else if (target.kind == ExprKind::tuple) {
        assign_tuple(target, value, scope);
    } else {
        assign_member(target, value, scope);
    }
}

void Evaluator::assign_tuple(const Expr& target, const Value& value, Scope& scope) {
    offset = target.offset;
    const Values items = iterate(*this, value);
    const size_t n = target.parts.size();
    if (items.size() > n) fail("too many values to unpack (expected {}, got {})", n, items.size());
    if (items.size() < n) fail("not enough values to unpack (expected {}, got {})", n, items.size());
    for (size_t i = 0; i < n; ++i) assign(*target.parts[i], items[i], scope);
}

void Evaluator::assign_member(const Expr& target, const Value& value, Scope& scope) {
    const Value object = lookup(target, scope);
    offset = target.offset;
    if (object.is_undefined()) fail_undefined(object);
    if (!object.is(Kind::object) || object.object().type != Object::Type::name_space) {
        fail("cannot assign attribute '{}': '{}' is no namespace", target.attribute, target.text);
    }
    static_cast<Namespace&>(object.object()).members.set(text(target.attribute), value);
}

Value Evaluator::captured(const Body& body, Scope& scope) {
    Sink out(*this);
    const auto inner = std::make_shared<Scope>(scope.shared_from_this());
    execute(body, *inner, out);
    return text(out.take());
}

void Evaluator::assign_block(const Stmt& stmt, Scope& scope) {
    Value value = captured(stmt.body, scope);
    if (stmt.expressions[0]) value = filter(*stmt.expressions[0], scope, &value);
    assign(*stmt.targets[0], value, scope);
}

void Evaluator::filter_block(const Stmt& stmt, Scope& scope, Sink& out) {
    const Value inside = captured(stmt.body, scope);
    print(out, filter(*stmt.expressions[0], scope, &inside));
}

Value Evaluator::macro_value(const Stmt& stmt, Scope& scope) {
    return borrowed(keep(std::make_unique<Macro>(stmt, scope.shared_from_this())));
}

void Evaluator::call_block(const Stmt& stmt, Scope& scope, Sink& out) {
    const Expr& expr = *stmt.expressions[0];
    const Value callee = eval(*expr.parts[0], scope);
    Args args;
    arguments(expr, scope, args);
    args.named.emplace_back("caller", macro_value(stmt, scope));
    offset = expr.offset;
    print(out, call(callee, args));
}

Evaluator::Flow Evaluator::with(const Stmt& stmt, Scope& scope, Sink& out) {
    const auto inner = std::make_shared<Scope>(scope.shared_from_this());
    Values values;
    for (const Expr* expr : stmt.expressions) values.push_back(eval(*expr, scope));
    for (size_t i = 0; i < values.size(); ++i) assign(*stmt.targets[i], values[i], *inner);
    return execute(stmt.body, *inner, out);
}

}  // namespace takt::jinja
