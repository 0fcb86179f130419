// The values of the template language: what Python's objects are to Jinja2, immutable but for namespaces.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace takt::jinja {

// Python's integers have no end; 128 bits hold every number templates write, and what passes them is an
// error.
__extension__ typedef __int128 Int;

struct Text;
struct List;
struct Dict;
struct Object;

struct Undefined {
    std::shared_ptr<const std::string> why;  // "'foo' is undefined"
};
struct None {};

enum class Kind : uint8_t { undefined, none, boolean, integer, floating, text, list, dict, object };

class Value {
public:
    Value() = default;  // undefined without a reason
    Value(Undefined v) : data_(std::move(v)) {}
    Value(None v) : data_(v) {}
    Value(bool v) : data_(v) {}
    Value(Int v) : data_(v) {}
    Value(int v) : data_(static_cast<Int>(v)) {}
    Value(size_t v) : data_(static_cast<Int>(v)) {}
    Value(double v) : data_(v) {}
    Value(std::shared_ptr<const Text> v) : data_(std::move(v)) {}
    Value(std::shared_ptr<const List> v) : data_(std::move(v)) {}
    Value(std::shared_ptr<const Dict> v) : data_(std::move(v)) {}
    Value(std::shared_ptr<Object> v) : data_(std::move(v)) {}
    Value(const char*) = delete;  // would become a bool
    template <typename T>
    Value(T*) = delete;

    Kind kind() const { return static_cast<Kind>(data_.index()); }
    bool is(Kind k) const { return kind() == k; }
    bool is_undefined() const { return is(Kind::undefined); }
    bool is_none() const { return is(Kind::none); }
    bool is_text() const { return is(Kind::text); }
    bool is_list() const { return is(Kind::list); }
    bool is_dict() const { return is(Kind::dict); }
    bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::floating); }
    bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }

    // Each asks for its kind to be there; boolean counts as integer.
    bool boolean() const { return *std::get_if<bool>(&data_); }
    Int integer() const {
        return is(Kind::boolean) ? static_cast<Int>(boolean()) : *std::get_if<Int>(&data_);
    }
    double floating() const { return *std::get_if<double>(&data_); }
    double number() const { return is(Kind::floating) ? floating() : static_cast<double>(integer()); }
    const Undefined& undefined() const { return *std::get_if<Undefined>(&data_); }
    const Text& text() const { return **std::get_if<std::shared_ptr<const Text>>(&data_); }
    const List& list() const { return **std::get_if<std::shared_ptr<const List>>(&data_); }
    const Dict& dict() const { return **std::get_if<std::shared_ptr<const Dict>>(&data_); }
    Object& object() const { return **std::get_if<std::shared_ptr<Object>>(&data_); }
    std::string_view str() const;
    const std::shared_ptr<const List>& list_ref() const {
        return *std::get_if<std::shared_ptr<const List>>(&data_);
    }

    // Same object: the `sameas` test.
    bool same(const Value& other) const;

private:
    friend void dismantle(std::vector<Value>&& items) noexcept;
    std::variant<Undefined, None, bool, Int, double, std::shared_ptr<const Text>, std::shared_ptr<const List>,
                 std::shared_ptr<const Dict>, std::shared_ptr<Object>>
        data_;
};

using Values = std::vector<Value>;
// Frees nested containers in a loop: a chain of them must not recurse on a small stack.
void dismantle(Values&& items) noexcept;

// UTF-8, always valid.
struct Text {
    std::string bytes;
    size_t n_chars = 0;  // code points
    bool safe = false;   // Markup: already escaped
    bool ascii() const { return n_chars == bytes.size(); }
};

enum class Flavour : uint8_t { list, tuple, group, range, keys, values, items, generator };

struct List {
    List(Values v, Flavour f, uint32_t d) : items(std::move(v)), flavour(f), depth(d) {}
    List(const List&) = delete;
    List& operator=(const List&) = delete;
    ~List() {
        if (depth > 1) dismantle(std::move(items));
    }

    Values items;
    Flavour flavour;
    uint32_t depth;                         // of nesting; 1 without containers inside
    mutable size_t n_taken = 0;             // generators: items already given away
    int64_t start = 0, stop = 0, step = 1;  // range alone

    bool tuple() const { return flavour == Flavour::tuple || flavour == Flavour::group; }
    bool sized() const { return flavour != Flavour::generator; }
    bool indexed() const { return flavour <= Flavour::range; }
};

// Insertion ordered. Texts are found through a tree, which no chosen keys can slow down; other keys one by
// one.
struct Dict {
    Dict() = default;
    Dict(const Dict&) = delete;
    Dict& operator=(const Dict&) = delete;
    ~Dict();

    std::vector<std::pair<Value, Value>> items;
    uint32_t depth = 1;

    const Value* find(std::string_view key) const;
    const Value* find(const Value& key) const;
    // A key that is there keeps its place. The key must be hashable (require_hashable).
    void set(Value key, Value value);

private:
    size_t index_of(const Value& key) const;  // items.size(): not there
    std::map<std::string_view, size_t> texts_;
    std::vector<size_t> others_;
};

// Namespaces and everything that can be called.
struct Object {
    enum class Type : uint8_t { name_space, function, method, macro, loop, loop_method };
    explicit Object(Type t) : type(t) {}
    virtual ~Object() = default;
    Type type;
};

struct Namespace : Object {
    Namespace() : Object(Type::name_space) {}
    Dict members;
};

uint32_t depth_of(const Value& value);
// As Python names it: "str", "int", "NoneType".
std::string_view type_name(const Value& value);
// As Jinja2 writes it in "… has no attribute": "dict object", "None".
std::string described(const Value& value);
bool truthy(const Value& value);
// Numbers compare across kinds, exactly.
bool number_equal(const Value& a, const Value& b);
bool number_less(const Value& a, const Value& b);
void require_hashable(const Value& key);

}  // namespace takt::jinja
