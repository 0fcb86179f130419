// A parsed template: expressions and statements, owned by one object, pointing at each other.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/value.h"

namespace takt::jinja {

enum class ExprKind : uint8_t {
    constant,
    name,  // text
    list,
    tuple,
    dict,       // parts: key, value, key, value, …
    attribute,  // parts[0].text
    item,       // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]:parts[3]], null where open
    call,       // parts[0](arguments)
    filter,     // parts[0] | text(arguments); parts[0] is null in a filter block
    test,       // parts[0] is text(arguments)
    negate,
    positive,
    arithmetic,  // parts[0] operation parts[1]
    concat,      // ~ of all parts
    compare,     // parts[0] comparisons[0] parts[1] comparisons[1] …
    logical_and,
    logical_or,
    logical_not,
    conditional,  // parts: test, then, else (null if there is none)
    member,       // target of set: text.attribute of a namespace
};

enum class Comparison : uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

struct Expr;

struct Argument {
    enum class Kind : uint8_t { positional, named, list, dict };  // x, name=x, *x, **x
    Kind kind;
    std::string name;
    const Expr* value;
};

struct Expr {
    ExprKind kind = ExprKind::constant;
    Operator operation = Operator::add;
    uint32_t depth = 1;
    size_t offset = 0;
    std::string text;
    std::string attribute;
    Value constant;
    std::vector<const Expr*> parts;
    std::vector<Comparison> comparisons;
    std::vector<Argument> arguments;
    FilterFunction filter = nullptr;
    TestFunction test = nullptr;
};

enum class StmtKind : uint8_t {
    text,          // literal
    print,         // expressions
    conditional,   // branches, body is the else
    loop,          // for targets in expressions[0] if expressions[1]: body, otherwise
    assign,        // targets = expressions[0]
    assign_block,  // targets = body through expressions[0], a chain of filters or null
    macro,         // name(parameters): body
    call_block,    // expressions[0] is the call; parameters and body are its caller
    filter_block,  // expressions[0] is the chain of filters
    scope,         // with: targets[i] = expressions[i]
    generation,
    loop_break,
    loop_continue,
};

struct Stmt;
using Body = std::vector<const Stmt*>;

struct Branch {
    const Expr* test;
    Body body;
};

struct Parameter {
    std::string name;
    const Expr* otherwise;  // null: none
};

struct Stmt {
    StmtKind kind = StmtKind::text;
    bool recursive = false;                                                  // loop
    bool wants_varargs = false, wants_kwargs = false, wants_caller = false;  // macro, call_block
    size_t offset = 0;
    std::string_view literal;  // inside the template's source
    std::string name;
    std::vector<const Expr*> expressions;
    std::vector<const Expr*> targets;
    std::vector<Branch> branches;
    std::vector<Parameter> parameters;
    Body body;
    Body otherwise;
};

// Deques: nodes stay where they are, and freeing a long chain of them doesn't recurse.
struct Template {
    std::string source;
    std::deque<Expr> expressions;
    std::deque<Stmt> statements;
    Body body;
};

}  // namespace takt::jinja
