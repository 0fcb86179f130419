// The C++ face of an installed takt: streams an answer, then says how fast it came.
#include <iostream>

#include <takt/takt.hpp>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: consumer MODEL.gguf TEXT\n";
        return 2;
    }
    try {
        const takt::Runtime runtime;
        const takt::Model model(runtime, argv[1]);
        takt::Engine engine(model);
        takt::RequestOptions options;
        options.prompt = argv[2];
        options.max_tokens = 32;
        options.on_event = [](const takt::Event& event) {
            std::cout << event.text << std::flush;
            return true;
        };
        const takt_timing timing = engine.generate(options);
        std::cout << '\n' << timing.decode_tokens_per_second << " tokens/s\n";
    } catch (const takt::Error& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
