// A new backend is a line here and a declaration in backends/create/create.h.
#include "engine/backend_list.h"

#include "create/create.h"

namespace takt {

std::vector<BackendEntry> make_backends(const BackendContext& context) {
    struct Line {
        const char* name;
        Result<std::unique_ptr<Backend>> (*create)(const BackendContext&);
    };
    const Line lines[] = {
        {"cpu", create_cpu_backend},
        {"reference", create_reference_backend},
    };
    std::vector<BackendEntry> entries;
    for (const Line& line : lines) {
        auto backend = line.create(context);
        BackendEntry entry;
        entry.name = line.name;
        if (backend.ok()) {
            entry.backend = std::move(*backend);
        } else {
            entry.why_not = backend.status().message();
            entry.why_not_code = backend.status().code();
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace takt
