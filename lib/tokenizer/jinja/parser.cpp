// Statements.
#include "tokenizer/jinja/parser.h"

#include <algorithm>

namespace takt::jinja {

Parser::Parser(Template& out, const ChatTemplateLimits& limits, Machine& machine)
    : out_(out),
      limits_(limits),
      machine_(machine),
      depth_(limits.max_depth),
      tokens_(tokenize(out.source)) {}

void Parser::run() {
    try {
        out_.body = body({});
    } catch (Error& error) {
        if (error.offset == kNoOffset) error.offset = peek().offset;
        throw;
    }
}

const Token& Parser::take() {
    const Token& token = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
}

bool Parser::at_symbol(std::string_view text) const {
    return peek().kind == TokenKind::symbol && peek().text == text;
}
bool Parser::at_name(std::string_view text) const {
    return peek().kind == TokenKind::name && peek().text == text;
}

bool Parser::skip_symbol(std::string_view text) {
    if (!at_symbol(text)) return false;
    take();
    return true;
}

bool Parser::skip_name(std::string_view text) {
    if (!at_name(text)) return false;
    take();
    return true;
}

void Parser::expect_symbol(std::string_view text) {
    if (!skip_symbol(text)) unexpected(fmt::format("'{}'", text));
}

void Parser::expect_name(std::string_view text) {
    if (!skip_name(text)) unexpected(fmt::format("'{}'", text));
}

void Parser::expect_end(TokenKind kind) {
    if (peek().kind != kind) unexpected(kind == TokenKind::block_end ? "'%}'" : "'}}'");
    take();
}

std::string_view Parser::expect_any_name() {
    if (peek().kind != TokenKind::name) unexpected("a name");
    return take().text;
}

void Parser::unexpected(std::string_view wanted) const {
    const Token& token = peek();
    switch (token.kind) {
        case TokenKind::end:
            fail_at(token.offset, "expected {}, got the end of the template", wanted);
        case TokenKind::block_end:
            fail_at(token.offset, "expected {}, got the end of the statement", wanted);
        case TokenKind::variable_end:
            fail_at(token.offset, "expected {}, got the end of the expression", wanted);
        case TokenKind::data:
            fail_at(token.offset, "expected {}, got text", wanted);
        default:
            fail_at(token.offset, "expected {}, got '{}'", wanted, token.text);
    }
}

bool Parser::EndNames::has(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Stmt& Parser::statement(StmtKind kind, size_t offset) {
    Stmt& made = out_.statements.emplace_back();
    made.kind = kind;
    made.offset = offset;
    return made;
}

Body Parser::body(EndNames ends) {
    const Nest nest(depth_);
    Body statements;
    while (peek().kind != TokenKind::end) {
        const Token& token = take();
        if (token.kind == TokenKind::data) {
            Stmt& text = statement(StmtKind::text, token.offset);
            text.literal = token.text;
            statements.push_back(&text);
        } else if (token.kind == TokenKind::variable_begin) {
            Stmt& print = statement(StmtKind::print, token.offset);
            print.expressions.push_back(tuple(true));
            expect_end(TokenKind::variable_end);
            statements.push_back(&print);
        } else {
            if (peek().kind == TokenKind::name && ends.has(peek().text)) return statements;
            block(statements);
            expect_end(TokenKind::block_end);
        }
    }
    if (ends.names.size() > 0) unexpected(fmt::format("'{}'", ends.first()));
    return statements;
}

Body Parser::block_body(EndNames ends) {
    skip_symbol(":");
    expect_end(TokenKind::block_end);
    return body(ends);
}

void Parser::block(Body& out) {
    const size_t offset = peek().offset;
    if (peek().kind != TokenKind::name) unexpected("a statement's name");
    const std::string_view name = take().text;
    struct Entry {
        std::string_view name;
        Stmt& (Parser::*parse)(size_t);
    };
    static constexpr Entry kStatements[] = {
        {"if", &Parser::parse_if},           {"for", &Parser::parse_for},
        {"set", &Parser::parse_set},         {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call_block}, {"filter", &Parser::parse_filter_block},
        {"with", &Parser::parse_with},       {"generation", &Parser::parse_generation},
        {"print", &Parser::parse_print},
    };
    for (const Entry& entry : kStatements) {
        if (entry.name == name) {
            out.push_back(&(this->*entry.parse)(offset));
            return;
        }
    }
    if (name != "break" && name != "continue") refuse(name, offset);
    if (n_loops_ == 0) fail_at(offset, "'{}' outside of a loop", name);
    out.push_back(&statement(name == "break" ? StmtKind::loop_break : StmtKind::loop_continue, offset));
}

void Parser::refuse(std::string_view name, size_t offset) const {
    static constexpr std::string_view kKnown[] = {"block", "extends",    "include", "import",
                                                  "from",  "autoescape", "do",      "trans"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) {
        fail_at(offset, "the statement '{}' is not supported in chat templates", name);
    }
    if (name.starts_with("end") || name == "else" || name == "elif") {
        fail_at(offset, "unexpected '{}': nothing that it could end or continue is open here", name);
    }
    fail_at(offset, "unknown statement '{}'", name);
}

Stmt& Parser::parse_if(size_t offset) {
    Stmt& out = statement(StmtKind::conditional, offset);
    do {
        const Expr* test = tuple(false);
        Body branch = block_body({{"endif", "elif", "else"}});
        out.branches.push_back({test, std::move(branch)});
    } while (skip_name("elif"));
    if (skip_name("else")) out.body = block_body({{"endif"}});
    expect_name("endif");
    return out;
}

Stmt& Parser::parse_for(size_t offset) {
    Stmt& out = statement(StmtKind::loop, offset);
    out.targets = {parse_target(false)};
    expect_name("in");
    out.expressions.push_back(tuple(false, false, "recursive"));
    out.expressions.push_back(skip_name("if") ? expression() : nullptr);
    out.recursive = skip_name("recursive");
    ++n_loops_;
    out.body = block_body({{"endfor", "else"}});
    --n_loops_;
    if (skip_name("else")) out.otherwise = block_body({{"endfor"}});
    expect_name("endfor");
    return out;
}

Stmt& Parser::parse_set(size_t offset) {
    Stmt& out = statement(StmtKind::assign, offset);
    out.targets = {parse_target(true)};
    if (skip_symbol("=")) {
        out.expressions.push_back(tuple(true));
        return out;
    }
    out.kind = StmtKind::assign_block;
    const Expr* chain = nullptr;
    while (at_symbol("|")) {
        take();
        chain = filter(chain);
    }
    out.expressions.push_back(chain);
    if (peek().kind != TokenKind::block_end && !at_symbol(":")) unexpected("'=' or '%}'");
    out.body = block_body({{"endset"}});
    expect_name("endset");
    return out;
}

void Parser::parse_parameters(Stmt& out) {
    expect_symbol("(");
    bool defaults = false;
    while (!at_symbol(")")) {
        if (!out.parameters.empty()) expect_symbol(",");
        const size_t offset = peek().offset;
        const std::string name(expect_any_name());
        const Expr* otherwise = skip_symbol("=") ? expression() : nullptr;
        if (defaults && !otherwise)
            fail_at(offset, "parameter '{}' without a default follows one with a default", name);
        defaults = otherwise != nullptr;
        out.parameters.push_back({name, otherwise});
    }
    expect_symbol(")");
}

Body Parser::macro_body(Stmt& out, std::string_view end) {
    macros_.push_back(&out);
    const uint32_t outside = std::exchange(n_loops_, 0);  // break can't leave a macro
    Body statements = block_body({{end}});
    n_loops_ = outside;
    macros_.pop_back();
    expect_name(end);
    return statements;
}

Stmt& Parser::parse_macro(size_t offset) {
    Stmt& out = statement(StmtKind::macro, offset);
    out.name = expect_any_name();
    parse_parameters(out);
    out.body = macro_body(out, "endmacro");
    return out;
}

Stmt& Parser::parse_call_block(size_t offset) {
    Stmt& out = statement(StmtKind::call_block, offset);
    out.name = "caller";
    if (at_symbol("(")) parse_parameters(out);
    const Expr* call = expression();
    if (call->kind != ExprKind::call) fail_at(call->offset, "expected a call after 'call'");
    out.expressions.push_back(call);
    out.body = macro_body(out, "endcall");
    return out;
}

Stmt& Parser::parse_filter_block(size_t offset) {
    Stmt& out = statement(StmtKind::filter_block, offset);
    const Expr* chain = filter(nullptr);
    while (skip_symbol("|")) chain = filter(chain);
    out.expressions.push_back(chain);
    out.body = block_body({{"endfilter"}});
    expect_name("endfilter");
    return out;
}

Stmt& Parser::parse_with(size_t offset) {
    Stmt& out = statement(StmtKind::scope, offset);
    while (peek().kind != TokenKind::block_end) {
        if (!out.targets.empty()) expect_symbol(",");
        out.targets.push_back(parse_target(false));
        expect_symbol("=");
        out.expressions.push_back(expression());
    }
    out.body = block_body({{"endwith"}});
    expect_name("endwith");
    return out;
}

Stmt& Parser::parse_generation(size_t offset) {
    Stmt& out = statement(StmtKind::generation, offset);
    const uint32_t outside = std::exchange(n_loops_, 0);  // transformers runs the block as a macro
    out.body = block_body({{"endgeneration"}});
    n_loops_ = outside;
    expect_name("endgeneration");
    return out;
}

Stmt& Parser::parse_print(size_t offset) {
    Stmt& out = statement(StmtKind::print, offset);
    while (peek().kind != TokenKind::block_end) {
        if (!out.expressions.empty()) expect_symbol(",");
        out.expressions.push_back(expression());
    }
    return out;
}

const Expr* Parser::parse_target(bool members) {
    const size_t offset = peek().offset;
    std::vector<const Expr*> parts;
    bool is_tuple = false;
    do {
        if (is_tuple && (at_name("in") || at_symbol(")") || peek().kind == TokenKind::block_end)) break;
        if (skip_symbol("(")) {
            const Nest nest(depth_);
            parts.push_back(parse_target(members));
            expect_symbol(")");
        } else {
            const Token& token = peek();
            const std::string_view name = expect_any_name();
            static constexpr std::string_view kReserved[] = {"true", "false", "none",
                                                             "True", "False", "None"};
            if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
                fail_at(token.offset, "can't assign to '{}'", name);
            }
            const bool member = members && skip_symbol(".");
            Expr* target = make(member ? ExprKind::member : ExprKind::name, token.offset);
            target->text = name;
            if (member) target->attribute = expect_any_name();
            parts.push_back(target);
        }
        if (at_symbol(",")) is_tuple = true;
    } while (skip_symbol(","));
    return is_tuple ? make(ExprKind::tuple, offset, std::move(parts)) : parts[0];
}

}  // namespace takt::jinja
