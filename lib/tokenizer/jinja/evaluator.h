// Runs a parsed template over a context.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/loop.h"
#include "tokenizer/jinja/machine.h"
#include "tokenizer/jinja/print.h"

namespace takt::jinja {

// Names set in a block. Names are views of the template's own texts, which outlive the render.
class Scope : public std::enable_shared_from_this<Scope> {
public:
    explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

    void set(std::string_view name, Value value) { names_[name] = std::move(value); }
    const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope; scope = scope->parent_.get()) {
            const auto found = scope->names_.find(name);
            if (found != scope->names_.end()) return &found->second;
        }
        return nullptr;
    }

private:
    std::shared_ptr<Scope> parent_;
    std::map<std::string_view, Value> names_;
};

struct Macro : Object {
    Macro(const Stmt& s, std::shared_ptr<Scope> c)
        : Object(Object::Type::macro), statement(s), closure(std::move(c)) {}
    const Stmt& statement;
    std::shared_ptr<Scope> closure;
};

class Evaluator : public Machine {
public:
    Evaluator(const Template& source, const ChatTemplateLimits& bounds, int64_t now, Value context)
        : Machine(bounds, now), template_(source), context_(std::move(context)) {}

    std::string run();
    Value call(const Value& callee, const Args& args) override;

private:
    enum class Flow : uint8_t { next, loop_break, loop_continue };

    // Statements: evaluator.cpp
    Flow execute(const Body& body, Scope& scope, Sink& out);
    Flow execute(const Stmt& stmt, Scope& scope, Sink& out);
    Flow conditional(const Stmt& stmt, Scope& scope, Sink& out);
    void loop(const Stmt& stmt, Scope& scope, Sink& out);
    void run_loop(const Stmt& stmt, const Value& iterable, Scope& outer, uint32_t level, Sink& out);
    Values filtered(const Stmt& stmt, const Value& iterable, Scope& outer);
    void assign(const Expr& target, const Value& value, Scope& scope);
    void assign_tuple(const Expr& target, const Value& value, Scope& scope);
    void assign_member(const Expr& target, const Value& value, Scope& scope);
    void assign_block(const Stmt& stmt, Scope& scope);
    void filter_block(const Stmt& stmt, Scope& scope, Sink& out);
    void call_block(const Stmt& stmt, Scope& scope, Sink& out);
    Flow with(const Stmt& stmt, Scope& scope, Sink& out);
    void print_all(const Stmt& stmt, Scope& scope, Sink& out);
    Value captured(const Body& body, Scope& scope);
    Value macro_value(const Stmt& stmt, Scope& scope);

    // Calls: calls.cpp
    Value call_expr(const Expr& expr, Scope& scope);
    void arguments(const Expr& expr, Scope& scope, Args& out);
    void spread(const Argument& argument, const Value& value, Args& out);
    Value call_method_of(const Expr& callee, const Expr& expr, Scope& scope);
    Value call_macro(const Macro& macro, const Args& args);
    void bind_named(const Macro& macro, const Args& args, Scope& scope, std::vector<bool>& given);
    Value call_loop(Loop& loop, const Args& args);
    Value call_loop_method(Loop& loop, bool cycle, const Args& args);

    // Expressions: expressions.cpp
    Value eval(const Expr& expr, Scope& scope);
    Value lookup(const Expr& expr, Scope& scope);
    Value sequence(const Expr& expr, Scope& scope);
    Value dict_expr(const Expr& expr, Scope& scope);
    Value attribute(const Expr& expr, Scope& scope);
    Value item(const Expr& expr, Scope& scope);
    Value slice(const Expr& expr, Scope& scope);
    Value filter(const Expr& expr, Scope& scope, const Value* input);
    Value test(const Expr& expr, Scope& scope);
    Value unary(const Expr& expr, Scope& scope);
    Value arithmetic(const Expr& expr, Scope& scope);
    Value concat(const Expr& expr, Scope& scope);
    Value compare(const Expr& expr, Scope& scope);
    bool holds(Comparison comparison, const Value& a, const Value& b);
    Value junction(const Expr& expr, Scope& scope);
    Value choice(const Expr& expr, Scope& scope);

    const Template& template_;
    Value context_;  // a dict
};

// range, dict, namespace, raise_exception, strftime_now; undefined if it is none of them.
Value global_function(std::string_view name);
struct Function : Object {
    using Body = Value (*)(Machine&, const Args&);
    explicit Function(Body b) : Object(Object::Type::function), body(b) {}
    Body body;
};
std::string format_time(std::string_view format, int64_t unix_seconds);

}  // namespace takt::jinja
