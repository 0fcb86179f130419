// Plain functions, as they are written every day.
#include "texts.h"

namespace bench {
namespace {

constexpr const char* kInventory = R"(class Inventory:
    def __init__(self):
        self.items = {}

    def add(self, name, quantity, price):
        if quantity <= 0:
            raise ValueError("quantity must be positive")
        if name in self.items:
            self.items[name]["quantity"] += quantity
            self.items[name]["price"] = price
        else:
            self.items[name] = {"quantity": quantity, "price": price}

    def remove(self, name, quantity):
        if name not in self.items:
            raise KeyError(f"{name} is not in the inventory")
        if self.items[name]["quantity"] < quantity:
            raise ValueError(f"not enough of {name}")
        self.items[name]["quantity"] -= quantity
        if self.items[name]["quantity"] == 0:
            del self.items[name]

    def total_value(self):
        total = 0
        for name, item in self.items.items():
            total += item["quantity"] * item["price"]
        return total
)";

std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '\n') {
            json += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    return json + '"';
}

}  // namespace

std::vector<std::string> code_texts() {
    return {
        "import math\n\n\ndef is_prime(n):\n    \"\"\"Returns True if n is a prime number.\"\"\"\n",
        "#include <string>\n#include <vector>\n\n// Splits text at every comma.\n"
        "std::vector<std::string> split_at_commas(const std::string& text) {\n",
        "class Stack:\n    \"\"\"A stack with push, pop, peek, is_empty and size.\"\"\"\n\n"
        "    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n",
        "def binary_search(numbers, wanted):\n    \"\"\"Index of wanted in the sorted list numbers, or "
        "-1.\"\"\"\n",
    };
}

std::string rewrite_chat() {
    const std::string ask =
        "Repeat this class exactly, with one change: rename the method total_value to worth. Give only the "
        "code.\n\n```python\n" +
        std::string(kInventory) + "```\n";
    return "{\"messages\":[{\"role\":\"user\",\"content\":" + quoted(ask) + "}]}";
}

}  // namespace bench
