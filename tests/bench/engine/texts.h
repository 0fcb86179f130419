// The code that drafts are measured on.
#pragma once

#include <string>
#include <vector>

namespace bench {

// Beginnings, for a model to go on with.
std::vector<std::string> code_texts();
// JSON for takt::Model::render_chat(): a function, to be repeated with one word changed.
std::string rewrite_chat();

}  // namespace bench
