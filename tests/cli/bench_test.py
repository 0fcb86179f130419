#!/usr/bin/env python3
"""takt bench: sweeps, files that a run goes on with, comparisons, scenarios, plots. Nothing here depends on how fast it is."""
import json, os, random, signal, subprocess, tempfile, time, unittest, xml.etree.ElementTree

from command import LLAMA, TAKT, TaktTest

SVG = "{http://www.w3.org/2000/svg}"
KEY = ("test", "tokens", "depth", "sequences", "threads")


class BenchTest(TaktTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def bench(self, *arguments):
        return self.well("bench", "-m", LLAMA, *arguments, "--json")

    def write(self, name, lines):
        with open(self.path(name), "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


def key(line):
    return tuple(line[k] for k in KEY)


class Sweeps(BenchTest):
    def test_all_combinations_one_line_each(self):
        lines = self.bench("-p", "8,16", "-n", "2,3", "-d", "0,16", "-b", "1,2", "-t", "1,2", "-r", 1).lines
        prefill = {("prefill", p, d, b, t) for p in (8, 16) for d in (0, 16) for b in (1, 2) for t in (1, 2)}
        decode = {("decode", n, d + p, b, t) for n in (2, 3) for p in (8, 16) for d in (0, 16) for b in (1, 2) for t in (1, 2)}
        self.assertEqual({key(line) for line in lines}, prefill | decode)
        self.assertEqual(len(lines), len(prefill) + len({k for k in decode}))

    def test_zero_leaves_out_a_test(self):
        lines = self.bench("-p", "0,8", "-n", "0,2", "-r", 1, "-t", 1).lines
        self.assertEqual({key(line) for line in lines}, {("prefill", 8, 0, 1, 1), ("decode", 2, 0, 1, 1), ("decode", 2, 8, 1, 1)})

    def test_tables_say_the_threads_of_a_sweep_over_them(self):
        csv = self.well("bench", "-m", LLAMA, "-p", 8, "-n", 2, "-r", 1, "-t", "1,2", "--csv").stdout.decode().splitlines()
        self.assertEqual(csv[0].split(",")[-1], "threads")
        self.assertEqual(sorted(line.split(",")[-1] for line in csv[1:]), ["1", "1", "2", "2"])

    def test_wrong_lists(self):
        for flags in (["-p", "8,"], ["-d", "1,x"], ["-b", "1,0"], ["-n", ""], ["-b", "-1"], ["-p", "4294967296"], ["-t", "1,x"], ["-t", "0"]):
            self.fails([], "bench", "-m", LLAMA, "-r", 1, *flags, status=2)


class Files(BenchTest):
    flags = ("-p", "8,16", "-n", 2, "-r", 2, "-t", 1)

    def test_a_second_run_measures_nothing_again(self):
        out = self.path("a.jsonl")
        first = self.bench(*self.flags, "-o", out)
        before = self.read("a.jsonl")
        self.assertEqual([json.loads(line) for line in before.splitlines()], first.lines)
        again = self.bench(*self.flags, "-o", out)
        self.assertEqual(again.lines, first.lines)
        self.assertIn("4 results were there already", again.stderr)
        self.assertEqual(self.read("a.jsonl"), before)

    def test_another_condition_is_another_test(self):
        out = self.path("a.jsonl")
        self.bench("-p", 8, "-n", 0, "-r", 2, "-o", out)
        for n, change in enumerate((["-r", 3], ["--chunk", 4], ["--kv", "q8_0"], ["-d", 8], ["--isa", "scalar"], ["--page-tokens", 64],
                                    ["--slowdown", 1], ["--deterministic"]), start=2):
            done = self.bench("-p", 8, "-n", 0, *([] if change[0] == "-r" else ["-r", 2]), "-o", out, *change)
            self.assertNotIn("already", done.stderr, change)
            self.assertEqual(len(self.read("a.jsonl").splitlines()), n)

    def test_a_cut_last_line_is_measured_again(self):
        out = self.path("a.jsonl")
        self.bench(*self.flags, "-o", out)
        whole = self.read("a.jsonl")
        lines = whole.splitlines(keepends=True)
        last = len(whole) - len(lines[-1])
        for cut in (last + 1, last + 5, last + len(lines[-1]) // 2, len(whole) - 2):
            with open(out, "wb") as file:
                file.write(whole[:cut])
            done = self.bench(*self.flags, "-o", out)
            self.assertIn("cut short", done.stderr)
            self.assertTrue(self.read("a.jsonl").startswith(whole[:last]))
            self.assertEqual([key(json.loads(line)) for line in self.read("a.jsonl").splitlines()], [key(json.loads(line)) for line in lines])
        with open(out, "wb") as file:
            file.write(whole[:-1])   # only its line end is missing
        self.bench(*self.flags, "-o", out)
        self.assertEqual(self.read("a.jsonl"), whole)

    def test_a_killed_run_is_gone_on_with(self):
        out = self.path("a.jsonl")
        flags = ["bench", "-m", LLAMA, "-p", "0", "-n", ",".join(map(str, range(1, 60))), "-r", "20", "-t", "1", "-o", out]
        process = subprocess.Popen([TAKT, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not os.path.exists(out) or not self.read("a.jsonl")):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = self.read("a.jsonl")
        kept = kept[:kept.rindex(b"\n") + 1]
        self.well(*flags)
        lines = self.read("a.jsonl")
        self.assertTrue(lines.startswith(kept))
        self.assertEqual([json.loads(line)["tokens"] for line in lines.splitlines()], list(range(1, 60)))

    def test_files_of_others_are_refused_and_stay(self):
        for name, content in (("text", b"old\n"), ("noend", b"old"), ("json", b'{"a":1}\n'), ("array", b"[]"), ("binary", bytes(range(256)))):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.fails([self.path(name), "line 1"], "bench", "-m", LLAMA, *self.flags, "-o", self.path(name))
            self.assertEqual(self.read(name), content)
        self.fails([self.folder], "bench", "-m", LLAMA, *self.flags, "-o", self.folder)
        self.fails(["/dev/null", "regular"], "bench", "-m", LLAMA, *self.flags, "-o", "/dev/null")


class Versus(BenchTest):
    def test_both_sides_and_a_verdict(self):
        first, second = self.path("a.jsonl"), self.path("b.jsonl")
        lines = self.bench("-p", 8, "-n", 2, "-r", 3, "-o", first, "--versus", "--kv q8_0 -t 1", "--versus-output", second).lines
        self.assertEqual([line.get("test", "verdict") for line in lines], ["prefill", "prefill", "verdict", "decode", "decode", "verdict"])
        self.assertEqual([(line["kv"], line.get("versus")) for line in lines if "test" in line], [("f16", None), ("q8_0", "--kv q8_0 -t 1")] * 2)
        for line in lines[2::3]:
            self.assertEqual(line["verdict"], "too few repetitions")
            self.assertEqual(line["differs"]["kv"], ["f16", "q8_0"])
        a, b = ([json.loads(line) for line in self.read(name).splitlines()] for name in ("a.jsonl", "b.jsonl"))
        self.assertEqual([line["kv"] for line in a + b], ["f16", "f16", "q8_0", "q8_0"])
        self.assertEqual([line["turn_about"] for line in a], [line["turn_about"] for line in b])
        again = self.bench("-p", 8, "-n", 2, "-r", 3, "-o", first, "--versus", "--kv q8_0 -t 1", "--versus-output", second)
        self.assertEqual(again.lines, lines)
        self.assertIn("4 results were there already", again.stderr)

    def test_what_the_sides_may_differ_in(self):
        for options in ("", "--chunk 4", "--isa scalar", "--backend reference", "--page-tokens 64", "--deterministic", "--slowdown 5", "-t 2"):
            lines = self.bench("-p", 8, "-n", 2, "-d", 8, "-b", 2, "-r", 8, "-t", 1, "--versus", options).lines
            self.assertEqual(len(lines), 6, options)
            for line in lines[2::3]:
                self.assertEqual((line["method"], line["first_repetitions"], line["second_repetitions"]), ("signed_rank", 8, 8))
                self.assertIn(line["verdict"], ("faster", "slower", "no difference"))
                self.assertEqual(line["differs"] == {}, options == "", options)

    def test_a_large_slowdown_is_seen(self):
        (first, second, verdict) = self.bench("-p", 0, "-n", 40, "-r", 30, "--versus", "--slowdown 1000").lines
        self.assertEqual(verdict["verdict"], "slower")
        self.assertLess(verdict["ratio_high"], 1)
        self.assertEqual((first["slowdown_percent"], second["slowdown_percent"]), (0, 1000))

    def test_wrong_usage(self):
        for flags in (["-o", self.path("p"), "--plot", self.path("./p")], ["--versus", "--nothing"], ["--versus", "-t x"], ["--versus", "-t 1,2"], ["--versus", "--json"], ["--versus", "", "--csv"],
                      ["--versus-output", "x"], ["-o", self.path("x"), "--versus", "", "--versus-output", self.path("./x")],
                      ["--slowdown", "-1"], ["--slowdown", "nan"], ["--versus", "--slowdown nan"], ["--versus", "--kv f17"], ["--versus", "--help"]):
            self.fails([], "bench", "-m", LLAMA, "-p", 8, "-n", 2, "-r", 1, *flags, status=2)


def result(rates, **conditions):
    return {"test": "decode", "tokens": 16, "depth": 0, "sequences": 1, "tokens_per_second": rates, "threads": 2, "cpu": "A", "fingerprint": "f0",
            **conditions}


class Compare(BenchTest):
    def compare(self, first, second, *flags):
        return self.well("bench", "--compare", self.write("a", first), self.write("b", second), "--json", *flags)

    def test_verdicts(self):
        noise = random.Random(7)
        base = [100 * noise.gauss(1, 0.03) for _ in range(15)]
        for factor, want in ((1.1, "faster"), (0.9, "slower"), (1, "no difference")):
            other = [100 * factor * noise.gauss(1, 0.03) for _ in range(15)]
            (line,) = self.compare([result(base)], [result(other)]).lines
            self.assertEqual(line["verdict"], want)
            self.assertLessEqual(line["ratio_low"], line["ratio"])
            self.assertLessEqual(line["ratio"], line["ratio_high"])
            self.assertLess(line["ratio_low"], factor)
            self.assertLess(factor, line["ratio_high"])
            self.assertEqual((line["compare"], line["tokens"], line["method"]), ("decode", 16, "rank_sum"))
            self.assertIn(want, self.well("bench", "--compare", self.path("a"), self.path("b")).stdout.decode())

    def test_exact_values(self):
        (line,) = self.compare([result([1, 2, 3, 4, 5])], [result([6, 7, 8, 9, 10])]).lines
        self.assertAlmostEqual(line["p_value"], 2 / 252)
        self.assertEqual((line["verdict"], line["first_median"], line["second_median"]), ("faster", 3, 8))
        pairs = [result([1, 2, 3, 4, 5, 6, 7, 8], turn_about="x")], [result([2, 4, 6, 8, 10, 12, 14, 16], turn_about="x")]
        (line,) = self.compare(*pairs).lines
        self.assertEqual((line["method"], line["p_value"]), ("signed_rank", 2 / 256))
        self.assertAlmostEqual(line["ratio"], 2)

    def test_too_few_repetitions_are_no_verdict(self):
        (line,) = self.compare([result([1, 2, 3, 4])], [result([11, 12, 13, 14])]).lines
        self.assertEqual((line["verdict"], line["ratio_low"], line["ratio_high"]), ("too few repetitions", None, None))
        (line,) = self.compare([result([1, 2, 3, 4])], [result([11, 12, 13, 14])], "--confidence", 0.95).lines
        self.assertEqual((line["verdict"], line["confidence"]), ("faster", 0.95))
        self.assertIn("-r 5", self.well("bench", "--compare", self.path("a"), self.path("b")).stdout.decode())

    def test_other_conditions_are_told(self):
        (line,) = self.compare([result([1] * 9)], [result([1] * 9, threads=4, cpu="B", fingerprint="f1", isa="avx2")]).lines
        self.assertEqual(line["differs"], {"threads": [2, 4], "isa": [None, "avx2"], "cpu": ["A", "B"], "fingerprint": ["f0", "f1"]})
        self.assertIn("not under the same conditions", self.well("bench", "--compare", self.path("a"), self.path("b")).stdout.decode())

    def test_tests_are_matched_by_their_key(self):
        first = [result([1] * 9, threads=t) for t in (1, 2)] + [result([2] * 9, depth=512)]
        second = [result([1] * 9, threads=t) for t in (2, 1)] + [result([2] * 9, depth=64)]
        done = self.compare(first, second)
        self.assertEqual([line["differs"] for line in done.lines], [{}, {}])
        self.assertIn("512", done.stderr)
        self.assertIn("64", done.stderr)
        self.fails(["in common"], "bench", "--compare", self.write("a", first[2:]), self.write("b", second[2:]))

    def test_wrong_files_and_usage(self):
        good = self.write("a", [result([1])])
        self.fails(["/no/such"], "bench", "--compare", good, "/no/such")
        with open(self.path("bad"), "w") as file:
            file.write("{}\n")
        self.fails([self.path("bad"), "line 1"], "bench", "--compare", good, self.path("bad"))
        self.fails(["no result"], "bench", "--compare", good, "/dev/null")
        for zero in ([0], [-1], [], ["x"], None):
            self.fails(["line 1"], "bench", "--compare", good, self.write("zero", [result(zero)]))
        self.fails([], "bench", "--compare", good, status=2)
        for confidence in (1, "nan", "inf", "0.99x", "-0.99"):
            self.fails([], "bench", "--compare", good, good, "--confidence", confidence, status=2)
        self.fails(["--model"], "bench", "-p", 8, status=2)

    def test_a_measured_file_is_not_different_from_itself(self):
        out = self.path("m.jsonl")
        self.bench("-p", 8, "-n", 2, "-r", 6, "-o", out)
        for line in self.well("bench", "--compare", out, out, "--json").lines:
            self.assertEqual((line["verdict"], line["ratio"], line["differs"]), ("no difference", 1, {}))


class Scenarios(BenchTest):
    def scenario(self, name, *flags):
        (line,) = self.bench("--scenario", name, *flags).lines
        self.check(line)
        return line

    def check(self, r):
        self.assertEqual(r["requests"], r["completed"] + r["failed"] + r["cancelled"])
        for name in ("ttft_ns", "ttft_takt_ns", "tpot_ns", "itl_ns", "step_gap_ns", "e2e_ns", "issue_delay_ns", "query_ns"):
            p = r[name]
            if p["n"]:
                ordered = [p[k] for k in ("p50", "p90", "p95", "p99", "max")]
                self.assertEqual(ordered, sorted(ordered), name)
                self.assertGreaterEqual(ordered[0], 0)
            self.assertEqual(p["p99_mark"], "n<100" if p["n"] < 100 else None)
        self.assertEqual(r["ttft_ns"]["n"], r["completed"])
        self.assertEqual(r["itl_ns"]["n"], r["output_tokens"] - r["completed"])   # no drafts: a step is a token
        self.assertEqual(r["adj"]["ttft_ns"]["n"], r["completed"] + r["failed"])
        self.assertGreaterEqual(r["e2e_ns"]["max"], r["ttft_ns"]["max"])
        self.assertAlmostEqual(r["requests_per_second"] * r["seconds"], r["completed"])
        self.assertAlmostEqual(r["output_tokens_per_second"] * r["seconds"], r["output_tokens"])
        self.assertLessEqual(r["smooth_goodput"]["tokens_per_second"], r["output_tokens_per_second"] * (1 + 1e-9))
        if r["slo"]:
            self.assertLessEqual(r["attainment_low"], r["attainment"])
            self.assertLessEqual(r["attainment"], r["attainment_high"])
            self.assertAlmostEqual(r["goodput_requests_per_second"] * r["seconds"], r["good"])
            self.assertLessEqual(r["goodput_tokens_per_second"], r["output_tokens_per_second"] * (1 + 1e-9))
        for key in ("backend", "isa", "cpu", "threads", "fingerprint", "chunk_tokens", "kv", "takt"):
            self.assertIn(key, r)

    def test_single_stream(self):
        r = self.scenario("single-stream", "--lengths", "20/8", "--requests", 70)
        self.assertEqual((r["requests"], r["completed"], r["output_tokens"], r["prompt_tokens"]), (70, 70, 560, 1400))
        self.assertEqual((r["mlperf"]["percentile"], r["early_stopping"]["query"]["valid"], r["valid"]), (0.9, True, True))
        self.assertLessEqual(r["mlperf"]["query_ns"], r["early_stopping"]["query"]["estimate_ns"])
        r = self.scenario("single-stream", "--lengths", "20/1", "--requests", 10)
        self.assertEqual((r["early_stopping"]["query"]["more_queries"], r["valid"]), (54, False))
        self.assertEqual((r["tpot_ns"]["n"], r["tpot_ns"]["p50"]), (0, None))

    def test_multi_stream(self):
        r = self.scenario("multi-stream", "-b", 4, "--lengths", "20/4", "--requests", 12)
        self.assertEqual((r["requests"], r["query_ns"]["n"], r["sequences"]), (12, 3, 4))
        self.assertEqual(r["query_ns"]["max"], r["e2e_ns"]["max"])
        self.assertEqual(r["early_stopping"]["query"]["more_queries"], 662 - 3)

    def test_offline(self):
        r = self.scenario("offline", "--lengths", "10-30/2-6", "--requests", 20)
        self.assertTrue(200 <= r["prompt_tokens"] <= 600 and 40 <= r["output_tokens"] <= 120)
        self.assertEqual((r["requests"], r["valid"], r["early_stopping"]), (20, True, {}))
        again = self.scenario("offline", "--lengths", "10-30/2-6", "--requests", 20)
        self.assertEqual((r["prompt_tokens"], r["output_tokens"]), (again["prompt_tokens"], again["output_tokens"]))
        other = self.scenario("offline", "--lengths", "10-30/2-6", "--requests", 20, "--seed", 2)
        self.assertNotEqual((r["prompt_tokens"], r["output_tokens"]), (other["prompt_tokens"], other["output_tokens"]))

    def test_server_and_interactive(self):
        for name, bounds in (("server", (2_000_000_000, 100_000_000)), ("interactive", (500_000_000, 30_000_000))):
            r = self.scenario(name, "--rate", 2000, "--lengths", "8/3", "--requests", 30)
            self.assertEqual((r["requests"], r["rate"], r["slo"]["name"]), (30, 2000, f"mlperf-llama3.1-8b-{name}"))
            self.assertEqual((r["slo"]["ttft_ns"], r["slo"]["tpot_ns"]), bounds)
            self.assertEqual(set(r["early_stopping"]), {"ttft", "tpot"})
            self.assertEqual(r["mlperf"]["percentile"], 0.99)
            self.assertEqual(r["judged"], 30)
            if r["early_stopping"]["ttft"]["over"] == 0:
                self.assertEqual(r["early_stopping"]["ttft"]["more_queries"], 459 - 30)

    def test_a_duration(self):
        r = self.scenario("single-stream", "--lengths", "8/2", "--duration", 0.2)
        self.assertGreater(r["seconds"], 0.05)   # the last ends about when it is over
        r = self.scenario("server", "--lengths", "8/2", "--duration", 0.3, "--rate", 100)
        self.assertGreater(r["requests"], 5)

    def test_objectives(self):
        impossible = self.scenario("offline", "--lengths", "8/3", "--requests", 10, "--slo-ttft", 0.000001)
        self.assertEqual((impossible["good"], impossible["attainment"], impossible["goodput_tokens_per_second"]), (0, 0, 0))
        easy = self.scenario("offline", "--lengths", "8/3", "--requests", 10, "--slo-e2e", 1e8, "--slo-itl", 1e8)
        self.assertEqual((easy["good"], easy["attainment"], easy["goodput_tokens_per_second"]), (10, 1, easy["output_tokens_per_second"]))
        named = self.scenario("offline", "--lengths", "8/3", "--requests", 10, "--slo", "guidellm-rag", "--slo-ttft", 7)
        self.assertEqual(named["slo"], {"name": "guidellm-rag, changed", "ttft_ns": 7_000_000, "tpot_ns": None, "itl_ns": 100_000_000, "e2e_ns": 3_000_000_000})
        smooth = self.scenario("offline", "--lengths", "8/3", "--requests", 4, "--smooth-v", 0.000001, "--smooth-alpha", 1e6, "--smooth-origin", "first_token")
        self.assertLess(smooth["smooth_goodput"]["tokens_per_second"], 0)
        floored = self.scenario("offline", "--lengths", "8/3", "--requests", 4, "--smooth-v", 0.000001, "--smooth-alpha", 1e9, "--floor-zero")
        self.assertEqual(floored["smooth_goodput"]["tokens_per_second"], 0)

    def test_percentile_rules(self):
        for rule in ("nearest_rank", "loadgen", "linear"):
            r = self.scenario("offline", "--lengths", "8/2", "--requests", 10, "--percentile-rule", rule)
            self.assertEqual(r["percentile_rule"], rule)
        self.assertLessEqual(r["e2e_ns"]["p99"], r["e2e_ns"]["max"])

    def test_data_sets(self):
        sizes = self.write("sizes.jsonl", [{"prompt_tokens": 5, "output_tokens": 2}, {"prompt_tokens": 7, "output_tokens": 3}])
        r = self.scenario("single-stream", "--lengths", sizes, "--requests", 3)
        self.assertEqual((r["prompt_tokens"], r["output_tokens"]), (5 + 7 + 5, 2 + 3 + 2))
        text = "the quick brown fox"
        ids = self.well("tokenize", "-m", LLAMA, "--add-special", stdin=text.encode()).lines[0]["ids"]
        r = self.scenario("single-stream", "--lengths", self.write("texts.jsonl", [{"prompt": text, "output_tokens": 2}]), "--requests", 2)
        self.assertEqual(r["prompt_tokens"], 2 * len(ids))
        for bad, words in (([{"prompt_tokens": 5}], "output_tokens"), ([{"output_tokens": 5}], "prompt"), ([{"prompt_tokens": 0, "output_tokens": 1}], "prompt"),
                           ([[]], "object"), ([], "no request")):
            self.fails([words], "bench", "-m", LLAMA, "--scenario", "offline", "--lengths", self.write("bad.jsonl", bad))

    def test_text(self):
        text = self.well("bench", "-m", LLAMA, "--scenario", "server", "--rate", 1000, "--lengths", "8/3", "--requests", 9).stdout.decode()
        for word in ("9 requests: 9 completed", "TTFT from schedule", "step gap", "n<100", "Wilson", "goodput", "alpha 2.5", "early stopping", "target"):
            self.assertIn(word, text)

    def test_wrong_usage(self):
        run = ("bench", "-m", LLAMA, "--lengths", "8/2", "--scenario")
        for flags in (["server"], ["interactive"], ["offline", "--rate", 5], ["offline", "--duration", 1], ["none"], ["offline", "--slo", "x"],
                      ["offline", "-b", "1,2"], ["offline", "-b", 0], ["offline", "-o", "x"], ["offline", "--versus", ""], ["offline", "--csv"],
                      ["offline", "-t", "1,2"], ["server", "--rate", 0], ["offline", "--slo-ttft", "-1"], ["offline", "--percentile-rule", "x"],
                      ["offline", "-p", 0], ["server", "--rate", "nan"], ["server", "--rate", 2, "--duration", "nan"],
                      ["offline", "--slo-ttft", "nan"], ["offline", "--smooth-v", "nan"], ["offline", "--smooth-alpha", "inf"]):
            self.fails([], *run, *flags, status=2)
        self.fails(["306", "256"], "bench", "-m", LLAMA, "--scenario", "offline", "--lengths", "300/5")
        self.fails(["/no/such"], "bench", "-m", LLAMA, "--scenario", "offline", "--lengths", "/no/such")
        for lengths in ("8/0", "0/8", "8-4/4-8", "8/9999999999"):
            self.fails(["--lengths"], "bench", "-m", LLAMA, "--scenario", "offline", "--lengths", lengths, status=2)
        for flags in (["offline", "--requests", 2**64 - 1], ["server", "--rate", "1e9", "--duration", "1e9"]):
            self.fails(["at most" if "--rate" in flags else "--requests"], *run, *flags, status=2)

    def test_an_interrupt_ends_it(self):
        process = subprocess.Popen([TAKT, "bench", "-m", LLAMA, "--scenario", "server", "--rate", "0.01", "--lengths", "8/2"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, b""))
        self.assertIn(b"Interrupted", err)


class Plots(BenchTest):
    def svg(self, *flags):
        self.bench(*flags, "--plot", self.path("p.svg"))
        root = xml.etree.ElementTree.parse(self.path("p.svg")).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual({e.tag for e in root.iter()} - {SVG + t for t in ("svg", "rect", "title", "text", "line", "polyline", "circle")}, set())
        return root, [text.text for text in root.iter(SVG + "text")]

    def test_samples_and_medians(self):
        root, texts = self.svg("-p", 8, "-n", 2, "-d", "0,16,32", "-b", "1,2", "-r", 3, "-t", 1)
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 2 * 3 * 2 * 3)
        self.assertEqual([len(line.get("points").split()) for line in root.iter(SVG + "polyline")], [3] * 4)
        for word in ("0", "16", "32", "tokens in front", "tokens/s"):
            self.assertIn(word, texts)
        self.assertEqual(texts.count("2 sequences"), 2)

    def test_one_test_and_two_sides(self):
        root, texts = self.svg("-p", 0, "-n", 2, "-r", 3, "--versus", "--kv q8_0")
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 6)
        self.assertIn("with --kv q8_0", texts)

    def test_distributions_with_their_bounds(self):
        root, texts = self.svg("--scenario", "offline", "--lengths", "8/4", "--requests", 5, "--slo-ttft", 100, "--slo-itl", 50)
        self.assertIn("TTFT bound 100 ms", texts)
        self.assertIn("ITL bound 50 ms", texts)
        self.assertEqual([len(line.get("points").split()) for line in root.iter(SVG + "polyline")], [2 * 5, 2 * 5 * 3])

    def test_a_file_that_can_not_be_written(self):
        self.fails(["/no/such/x.svg"], "bench", "-m", LLAMA, "-p", 8, "-n", 0, "-r", 1, "--plot", "/no/such/x.svg")


if __name__ == "__main__":
    unittest.main()
