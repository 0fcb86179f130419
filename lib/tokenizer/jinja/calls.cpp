// Calls: macros, methods, functions and recursive loops.
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/evaluator.h"

namespace takt::jinja {

void Evaluator::spread(const Argument& argument, const Value& value, Args& out) {
    if (argument.kind == Argument::Kind::list) {
        for (Value& item : iterate(*this, value)) out.positional.push_back(std::move(item));
        return;
    }
    if (!value.is_dict()) fail("argument after ** must be a mapping, not {}", type_name(value));
    for (const auto& [key, item] : value.dict().items) {
        if (!key.is_text()) fail("keywords must be strings");
        step();
        out.named.emplace_back(key.str(), item);
    }
}

void Evaluator::arguments(const Expr& expr, Scope& scope, Args& out) {
    for (const Argument& argument : expr.arguments) {
        Value value = eval(*argument.value, scope);
        if (argument.kind == Argument::Kind::positional) {
            out.positional.push_back(std::move(value));
        } else if (argument.kind == Argument::Kind::named) {
            out.named.emplace_back(argument.name, std::move(value));
        } else {
            spread(argument, value, out);
        }
    }
}

Value Evaluator::call_expr(const Expr& expr, Scope& scope) {
    const Expr& callee = *expr.parts[0];
    if (callee.kind == ExprKind::attribute) return call_method_of(callee, expr, scope);
    const Value function = eval(callee, scope);
    Args args;
    arguments(expr, scope, args);
    offset = expr.offset;
    return call(function, args);
}

Value Evaluator::call_method_of(const Expr& callee, const Expr& expr, Scope& scope) {
    const Value self = eval(*callee.parts[0], scope);
    offset = callee.offset;
    const MethodFunction method = find_method(self, callee.text);
    const Value function = method ? Value() : get_attribute(*this, self, callee.text);
    Args args;
    arguments(expr, scope, args);
    offset = expr.offset;
    return method ? method(*this, self, args) : call(function, args);
}

Value Evaluator::call(const Value& callee, const Args& args) {
    step();
    if (callee.is_undefined()) fail_undefined(callee);
    if (!callee.is(Kind::object)) fail("'{}' object is not callable", type_name(callee));
    Object& object = callee.object();
    switch (object.type) {
        case Object::Type::function:
            return static_cast<Function&>(object).body(*this, args);
        case Object::Type::method: {
            auto& method = static_cast<Method&>(object);
            return method.function(*this, method.self, args);
        }
        case Object::Type::macro:
            return call_macro(static_cast<Macro&>(object), args);
        case Object::Type::loop:
            return call_loop(static_cast<Loop&>(object), args);
        case Object::Type::loop_method: {
            auto& method = static_cast<LoopMethod&>(object);
            return call_loop_method(method.loop, method.cycle, args);
        }
        case Object::Type::name_space:
            break;
    }
    fail("'Namespace' object is not callable");
}

void Evaluator::bind_named(const Macro& macro, const Args& args, Scope& scope, std::vector<bool>& given) {
    const Stmt& stmt = macro.statement;
    auto rest = std::make_shared<Dict>();
    bool caller = false;
    for (const auto& [name, value] : args.named) {
        size_t i = 0;
        while (i < stmt.parameters.size() && stmt.parameters[i].name != name) ++i;
        if (i < stmt.parameters.size()) {
            if (given[i]) fail("macro '{}' got two values for '{}'", stmt.name, name);
            given[i] = true;
            scope.set(stmt.parameters[i].name, value);
        } else if (name == "caller" && stmt.wants_caller) {
            caller = true;
            scope.set("caller", value);
        } else if (stmt.wants_kwargs) {
            rest->set(text(name), value);
        } else {
            fail("macro '{}' takes no keyword argument '{}'", stmt.name, name);
        }
    }
    if (stmt.wants_kwargs) scope.set("kwargs", dict(std::move(rest)));
    bool named_caller = false;
    for (const Parameter& parameter : stmt.parameters)
        named_caller = named_caller || parameter.name == "caller";
    if (stmt.wants_caller && !caller && !named_caller && stmt.kind == StmtKind::macro) {
        scope.set("caller", undefined("'caller' is undefined: the macro wasn't called by a call block"));
    }
}

Value Evaluator::call_macro(const Macro& macro, const Args& args) {
    const Nest nest(depth);
    const Stmt& stmt = macro.statement;
    const auto scope = std::make_shared<Scope>(macro.closure);
    const size_t n = stmt.parameters.size();
    std::vector<bool> given(n, false);
    for (size_t i = 0; i < std::min(n, args.positional.size()); ++i) {
        scope->set(stmt.parameters[i].name, args.positional[i]);
        given[i] = true;
    }
    if (args.positional.size() > n && !stmt.wants_varargs) {
        fail("macro '{}' takes not more than {} argument(s), {} were given", stmt.name, n,
             args.positional.size());
    }
    if (stmt.wants_varargs) {
        Values rest;
        for (size_t i = n; i < args.positional.size(); ++i) rest.push_back(args.positional[i]);
        scope->set("varargs", list(std::move(rest), Flavour::tuple));
    }
    bind_named(macro, args, *scope, given);
    for (size_t i = 0; i < n; ++i) {
        const Parameter& parameter = stmt.parameters[i];
        if (given[i]) continue;
        scope->set(
            parameter.name,
            parameter.otherwise
                ? eval(*parameter.otherwise, *scope)
                : undefined(fmt::format("parameter '{}' was not provided: it is undefined", parameter.name)));
    }
    Sink out(*this);
    execute(stmt.body, *scope, out);
    return text(out.take());
}

Value Evaluator::call_loop(Loop& loop, const Args& args) {
    const Nest nest(depth);
    if (!loop.statement) fail("loop() needs a loop that is marked 'recursive'");
    const Bound bound(args, "loop()", {"iterable"}, 1);
    Sink out(*this);
    const auto outer = loop.outer;
    run_loop(*loop.statement, bound.at(0), *outer, loop.level + 1, out);
    return text(out.take());
}

Value Evaluator::call_loop_method(Loop& loop, bool cycle, const Args& args) {
    if (cycle) {
        if (args.positional.empty()) fail("loop.cycle() needs values to choose from");
        return args.positional[loop.index % args.positional.size()];
    }
    bool same = loop.changed_before && loop.last_changed.size() == args.positional.size();
    for (size_t i = 0; same && i < args.positional.size(); ++i) {
        same = equals(*this, loop.last_changed[i], args.positional[i]);
    }
    loop.changed_before = true;
    loop.last_changed = args.positional;
    return !same;
}

}  // namespace takt::jinja
