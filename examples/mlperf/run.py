#!/usr/bin/env python3
"""One MLPerf scenario on takt, by MLCommons' LoadGen: prints one JSON line with LoadGen's verdict and both sides' times.

  run.py --model MODEL.gguf --scenario single-stream|offline|server|interactive [--qps N] [--count N] …

Exit status 0: VALID, no errors, no failed sample; 1: anything else that ran, or takt failed; 2: wrong usage.
"""
import argparse, json, pathlib, random, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# scenario: LoadGen's, least number of samples that can be valid, bounds of TTFT and TPOT in ms (llama3.1-8b in mlperf.conf)
SCENARIOS = {"single-stream": ("SingleStream", 64, None, None), "offline": ("Offline", 64, None, None),
             "server": ("Server", 459, 2000, 100), "interactive": ("Server", 459, 500, 30)}
# Seeds of mlperf.conf, round 6: sample choice, order, schedule.
SEEDS = 2085463073848966840, 2747215439041700203, 16159082839903944936


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="Runs takt under MLCommons' LoadGen.")
    parser.add_argument("--model", required=True, type=pathlib.Path, help="a GGUF file")
    parser.add_argument("--library", type=pathlib.Path, default=HERE.parents[1] / "build/release/lib/libtakt.so")
    parser.add_argument("--scenario", required=True, choices=SCENARIOS)
    parser.add_argument("--qps", type=float,
                        help="server: arrivals a second; offline, with a duration: more than the machine reaches")
    parser.add_argument("--count", type=int, help="least number of samples; default: the least that can be valid")
    parser.add_argument("--duration-ms", type=int, default=0, help="least duration (600000 in the benchmark)")
    parser.add_argument("--data-set", type=pathlib.Path,
                        help="prompts: a text a line; .jsonl: a JSON string or a list of token ids a line")
    parser.add_argument("--prompt-tokens", type=int, default=32,
                        help="without a data set: random prompts of so many tokens")
    parser.add_argument("--max-tokens", type=int, default=16,
                        help="generated at most (128 in the benchmark for llama3.1-8b)")
    parser.add_argument("--ignore-eos", action="store_true", help="every output has max-tokens tokens")
    parser.add_argument("--ttft-ms", type=float, help="bound of the server scenarios, instead of llama3.1-8b's")
    parser.add_argument("--tpot-ms", type=float)
    parser.add_argument("--max-sequences", type=int, default=0, help="requests that run at once; 0: takt's default")
    parser.add_argument("--step-gap-ms", type=float,
                        help="takt_engine_options.step_gap_ns, what a step should take at most while prompts join; 0: takt's "
                        "default; without it half the bound of TPOT in the server scenarios")
    parser.add_argument("--threads", type=int, default=0, help="0: takt's default")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("mlperf-output"), help="folder for LoadGen's logs")
    options = parser.parse_args(arguments)
    loadgen_name, least, ttft_ms, tpot_ms = SCENARIOS[options.scenario]
    options.count = least if options.count is None else options.count
    options.ttft_ms, options.tpot_ms = options.ttft_ms or ttft_ms, options.tpot_ms or tpot_ms
    if options.step_gap_ms is None:
        options.step_gap_ms = (options.tpot_ms or 0) / 2
    for name in ("count", "prompt_tokens", "max_tokens"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if options.qps is None and (loadgen_name == "Server" or (loadgen_name == "Offline" and options.duration_ms > 0)):
        parser.error(f"--scenario {options.scenario} needs --qps here")
    return options


def system_of(options):
    import sut, takt_ffi
    return sut.SystemUnderTest(takt_ffi.Library(options.library), options.model, prompts_of(options), options.max_tokens,
                               options.ignore_eos, options.max_sequences, options.threads, int(options.step_gap_ms * 1e6))


def prompts_of(options):
    def read(line):
        return json.loads(line) if options.data_set.suffix == ".jsonl" else line

    def make(takt, model):
        from takt_ffi import ModelInfo
        if options.data_set:
            prompts = [read(line) for line in options.data_set.read_text(encoding="utf-8").splitlines() if line.strip()]
            return [takt.tokenize(model, prompt) if isinstance(prompt, str) else prompt for prompt in prompts]
        vocab_size = takt.filled("takt_model_get_info", model, ModelInfo).vocab_size
        draw = random.Random(1)
        return [[draw.randrange(vocab_size) for _ in range(options.prompt_tokens)] for _ in range(256)]
    return make


def settings_of(options):
    import mlperf_loadgen as loadgen
    name = SCENARIOS[options.scenario][0]
    settings = loadgen.TestSettings()
    settings.scenario, settings.mode = getattr(loadgen.TestScenario, name), loadgen.TestMode.PerformanceOnly
    settings.use_token_latencies = True
    settings.min_query_count, settings.min_duration_ms = options.count, options.duration_ms
    settings.qsl_rng_seed, settings.sample_index_rng_seed, settings.schedule_rng_seed = SEEDS
    if name == "SingleStream":
        settings.single_stream_expected_latency_ns = 1_000_000  # only says how many queries are prepared for the duration
        settings.single_stream_target_latency_percentile = 0.9
    elif name == "Offline":
        settings.offline_expected_qps = options.qps or 1
    else:
        settings.server_target_qps = options.qps
        settings.server_target_latency_ns = 0  # judged by TTFT and TPOT instead
        settings.server_target_latency_percentile = 0.99
        settings.ttft_latency, settings.tpot_latency = int(options.ttft_ms * 1e6), int(options.tpot_ms * 1e6)
    return settings


def test(options, system):
    import mlperf_loadgen as loadgen
    options.output.mkdir(parents=True, exist_ok=True)
    logs = loadgen.LogSettings()
    logs.log_output.outdir, logs.enable_trace = str(options.output), True
    n_prompts = len(system.prompts)  # all of them are token ids in memory already
    handles = (loadgen.ConstructSUT(system.issue_queries, system.flush_queries),
               loadgen.ConstructQSL(n_prompts, n_prompts, lambda _: None, lambda _: None))
    try:
        loadgen.StartTestWithLogSettings(*handles, settings_of(options), logs)
    finally:
        loadgen.DestroyQSL(handles[1])
        loadgen.DestroySUT(handles[0])
    system.collect()


def main():
    options = parse()
    try:
        import report, sut, takt_ffi  # noqa: F401: sut needs LoadGen
    except ImportError as missing:
        sys.exit(f"mlperf: {missing}; pip install mlcommons-loadgen==6.0.17")
    try:
        system = system_of(options)
        try:
            system.warm_up()
            test(options, system)
        finally:
            system.destroy()
    except (takt_ffi.Failure, OSError, ValueError) as failure:
        sys.exit(f"mlperf: {failure}")
    result = {"scenario": options.scenario, **report.of(options.output, system.issued)}
    print(json.dumps(result))
    for failure in result["failures"]:
        print(f"mlperf: a sample failed: {failure}", file=sys.stderr)
    sys.exit(0 if result["result"] == "VALID" and result["num_errors"] == 0 and result["failed"] == 0 else 1)


if __name__ == "__main__":
    main()
