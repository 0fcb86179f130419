// Includes the header the way a C++ program does, and uses the initializers.
#include <takt/takt.h>

int main() {
    takt_runtime_options runtime = TAKT_RUNTIME_OPTIONS_INIT;
    takt_model_options model = TAKT_MODEL_OPTIONS_INIT;
    takt_engine_options engine = TAKT_ENGINE_OPTIONS_INIT;
    takt_request_options request = TAKT_REQUEST_OPTIONS_INIT;
    return runtime.n_threads != 0 || model.descriptor != -1 || engine.chunk_tokens != 0 ||
           request.max_tokens != 256;
}
