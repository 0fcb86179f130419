// Tokens to a Template. Unknown statements, filters and tests are refused here, with their place.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/lexer.h"
#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

class Parser {
public:
    Parser(Template& out, const ChatTemplateLimits& limits, Machine& machine);
    void run();

private:
    // Tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
    const Token& take();
    bool at_symbol(std::string_view text) const;
    bool at_name(std::string_view text) const;
    bool skip_symbol(std::string_view text);
    bool skip_name(std::string_view text);
    void expect_symbol(std::string_view text);
    void expect_name(std::string_view text);
    void expect_end(TokenKind kind);
    std::string_view expect_any_name();
    [[noreturn]] void unexpected(std::string_view wanted) const;

    // Statements: parser.cpp
    struct EndNames {
        std::initializer_list<std::string_view> names;
        bool has(std::string_view name) const;
        std::string_view first() const { return *names.begin(); }
    };
    // Until a block whose name is one of the ends; that name is the next token then. No names: to the
    // template's end.
    Body body(EndNames ends);
    // The block's end, a body, and the end block's name.
    Body block_body(EndNames ends);
    Stmt& statement(StmtKind kind, size_t offset);
    void block(Body& out);
    void refuse(std::string_view name, size_t offset) const;
    Stmt& parse_if(size_t offset);
    Stmt& parse_for(size_t offset);
    Stmt& parse_set(size_t offset);
    Stmt& parse_macro(size_t offset);
    Stmt& parse_call_block(size_t offset);
    Stmt& parse_filter_block(size_t offset);
    Stmt& parse_with(size_t offset);
    Stmt& parse_generation(size_t offset);
    Stmt& parse_print(size_t offset);
    void parse_parameters(Stmt& out);
    Body macro_body(Stmt& out, std::string_view end);
    const Expr* parse_target(bool members);

    // Expressions: expression_parser.cpp
    Expr* make(ExprKind kind, size_t offset, std::vector<const Expr*> parts = {});
    void deepen(Expr& expr);
    const Expr* tuple(bool conditional, bool parentheses = false, std::string_view end_name = {});
    bool tuple_ends(std::string_view end_name) const;
    const Expr* expression();
    const Expr* binary(int lowest);
    const Expr* chain(ExprKind kind, std::string_view name, const Expr* left, int level);
    const Expr* comparisons(const Expr* left);
    bool comparison(Comparison& out);
    const Expr* arithmetic(const Expr* left, int level);
    const Expr* concat(const Expr* left);
    const Expr* unary(bool with_filters);
    // operand_parser.cpp
    const Expr* primary();
    const Expr* primary_name();
    const Expr* number(const Token& token);
    const Expr* list();
    const Expr* dict();
    const Expr* postfix(const Expr* left);
    const Expr* subscript(const Expr* left);
    const Expr* bracket(const Expr* left, size_t offset);
    const Expr* subscribed(const Expr* left, bool& slice);
    const Expr* call(const Expr* callee);
    std::vector<Argument> call_arguments();
    const Expr* filters(const Expr* left);
    const Expr* filter(const Expr* left);
    const Expr* test(const Expr* left);
    std::string dotted_name();

    Template& out_;
    const ChatTemplateLimits& limits_;
    Machine& machine_;  // makes the constants
    DepthGuard depth_;
    std::vector<Token> tokens_;
    size_t next_ = 0;
    uint32_t n_loops_ = 0;       // around the statement, within its macro
    std::vector<Stmt*> macros_;  // around the expression
};

}  // namespace takt::jinja
