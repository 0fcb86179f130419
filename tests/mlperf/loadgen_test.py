#!/usr/bin/env python3
"""examples/mlperf on the tiny model under the real LoadGen: four valid scenarios, outputs that end early, failures.

Environment: TAKT_LIBRARY, libtakt.so; TAKT_TEST_DATA_DIR, tests/data; TAKT_CACHE, whose test-python has mlcommons-loadgen.
Ends with 77, which ctest counts as skipped, where no Python has it. Nothing here is timed: LoadGen's bounds are wide.
"""
import json, os, pathlib, re, subprocess, sys, tempfile, unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/mlperf"
DATA = pathlib.Path(os.environ["TAKT_TEST_DATA_DIR"])
MODEL = DATA / "golden/tiny/llama.gguf"
LIMIT_SECONDS = 120
SKIPPED = 77
WIDE = ["--ttft-ms", "60000", "--tpot-ms", "60000", "--step-gap-ms", "0"]
# Prompts of the tiny llama whose greedy tokens begin like this; 382 and 380 end a generation.
EARLY_ENDS = [([106, 0, 16, 295], [382, 382]), ([81, 295, 253, 333], [151, 382]), ([42, 223, 218, 266], [382, 29, 338, 382]),
              ([42, 289, 285, 214], [382, 43, 51, 349, 128, 261, 24, 57])]


def become_a_python_with_loadgen():
    cache = pathlib.Path(os.environ.get("TAKT_CACHE") or pathlib.Path.home() / ".cache" / "takt")
    for python in (sys.executable, str(cache / "test-python/bin/python")):
        probe = [python, "-c", "import mlperf_loadgen"]
        if os.path.exists(python) and subprocess.run(probe, capture_output=True).returncode == 0:
            if python != sys.executable:
                os.execv(python, [python, "-B", *sys.argv])
            return
    print("skipped: no Python has mlcommons-loadgen (./dev test installs it)")
    sys.exit(SKIPPED)


class LoadGenTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def arguments(self, scenario, *more):
        return ["--model", str(MODEL), "--library", os.environ["TAKT_LIBRARY"], "--output", str(self.folder / "logs"),
                "--scenario", scenario, *WIDE, *more]

    def command(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(EXAMPLE / "run.py"), *arguments], capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)

    def data_set(self, prompts):
        path = self.folder / "prompts.jsonl"
        path.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
        return ["--data-set", str(path)]

    def valid(self, scenario, *more):
        done = self.command(*self.arguments(scenario, *more))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["result"], result["num_errors"], result["failed"]), ("VALID", 0, 0))
        self.assertGreaterEqual(result["min_tokens"], 2)
        # LoadGen starts before takt does and stops after it. Its clock is the system's, which may be slewed by 500 ppm.
        self.assertGreaterEqual(1.001 * result["ttft_p50_ns_without_delay"], result["takt"]["ttft_p50_ns"])
        return result

    def reports_its_trace(self, result):
        """What the adapter reads from the trace is what LoadGen reports."""
        for name in ("ttft_p50_ns", "tpot_p50_ns"):
            self.assertEqual(result["trace"][name], result["loadgen"][name])

    def test_single_stream(self):
        result = self.valid("single-stream")
        self.assertEqual(result["samples"], 64)
        self.reports_its_trace(result)

    def test_offline(self):
        result = self.valid("offline", "--count", "200", "--ignore-eos")
        self.assertEqual((result["samples"], result["tokens"]), (200, 200 * 16))

    def test_offline_for_a_duration(self):
        self.assertGreater(self.valid("offline", "--duration-ms", "1", "--qps", "200000", "--count", "1")["samples"], 200)

    def test_server(self):
        result = self.valid("server", "--qps", "400")
        self.assertEqual(result["samples"], 459)
        self.reports_its_trace(result)

    def test_interactive(self):
        self.reports_its_trace(self.valid("interactive", "--qps", "400", "--ignore-eos", "--max-tokens", "2"))

    def test_a_server_with_too_few_queries_is_invalid(self):
        done = self.command(*self.arguments("server", "--qps", "400", "--count", "100"))
        self.assertEqual((done.returncode, json.loads(done.stdout)["result"]), (1, "INVALID"))

    def test_outputs_that_would_have_one_token_go_on(self):
        import run
        prompts = [prompt for prompt, _ in EARLY_ENDS]
        options = run.parse(self.arguments("offline", "--count", "40", "--max-tokens", "8", *self.data_set(prompts)))
        system = run.system_of(options)
        try:
            run.test(options, system)
            outputs = {tuple(sample.tokens) for sample in system.issued}
            self.assertEqual({sample.failure for sample in system.issued}, {None})
        finally:
            system.destroy()
        self.assertEqual(outputs, {tuple(tokens) for _, tokens in EARLY_ENDS})
        result = self.valid("single-stream", "--max-tokens", "8", *self.data_set(prompts[:2]))
        self.assertEqual((result["min_tokens"], result["max_tokens"]), (2, 2))

    def test_one_token_is_an_error_and_never_passed_on(self):
        for scenario in ("single-stream", "offline", "server"):
            done = self.command(*self.arguments(scenario, "--qps", "400", "--count", "70", "--max-tokens", "1"))
            result = json.loads(done.stdout)
            self.assertEqual((done.returncode, result["failed"], result["num_errors"]), (1, 70, 70), scenario)
            self.assertIn("an output of 1 token", done.stderr)
            detail = (self.folder / "logs/mlperf_log_detail.txt").read_text()
            self.assertIn("0 as number of tokens", detail)
            self.assertNotIn("need to be greater than 1", detail)

    def test_requests_that_takt_refuses_are_errors(self):
        done = self.command(*self.arguments("offline", "--count", "60", *self.data_set([[1, 2, 3], [99999], []])))
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, result["failed"], result["num_errors"]), (1, 40, 40), result)
        self.assertRegex(done.stderr, "a sample failed: TAKT_ERROR_PROMPT_EMPTY")
        self.assertRegex(done.stderr, "a sample failed: TAKT_ERROR_INVALID_ARGUMENT: .*99999")

    def test_wrong_usage(self):
        for more in (["server"], ["offline", "--duration-ms", "1000"], ["single-stream", "--max-tokens", "0"], ["multi-stream"]):
            self.assertEqual(self.command(*self.arguments(*more)).returncode, 2, more)
        done = self.command(*self.arguments("single-stream"), "--model", str(self.folder / "none.gguf"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("TAKT_ERROR_FILE_NOT_FOUND", done.stderr)

    def test_structs_are_those_of_the_header(self):
        """Field by field against what tests/api/layout_test.c freezes."""
        import takt_ffi
        text = (ROOT / "tests/api/layout_test.c").read_text()
        frozen = {}
        for name, field, offset, size in re.findall(r"^AT\((\w+), (\w+), (\d+), (\d+)\);", text, re.M):
            frozen.setdefault(name, {})[field] = int(offset), int(size)
        for made in takt_ffi.STRUCTS:
            fields = {name: (getattr(made, name).offset, getattr(made, name).size) for name, _ in made._fields_}
            name = "takt_distribution" if made is takt_ffi.Distribution else made.__name__
            self.assertEqual(fields, frozen[name], name)


if __name__ == "__main__":
    become_a_python_with_loadgen()
    sys.path.insert(0, str(EXAMPLE))
    unittest.main()
