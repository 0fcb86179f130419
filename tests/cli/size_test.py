#!/usr/bin/env python3
"""takt size: every calculator as text and as JSON, what it refuses, and users within an SLO from a bench file."""
import json, math, os, tempfile, unittest

from command import DATA, LLAMA, TaktTest, takt

VECTORS = json.loads((DATA / "metric_vectors.json").read_text())


class Size(TaktTest):
    def answer(self, *arguments):
        (object,) = self.well("size", *arguments, "--json").lines
        # As text every figure has its line.
        text = self.well("size", *arguments).stdout.decode()
        self.assertEqual(len(text.splitlines()), len([key for key in object if key != "notes"]))
        return object

    def near(self, value, wanted, digits=12):
        self.assertTrue(math.isclose(value, wanted, rel_tol=10.0 ** -digits), f"{value} is not {wanted}")


class Calculators(Size):
    def test_limit_and_band(self):
        self.assertEqual(self.answer("limit", "--concurrency", 8, "--band", 850)["tokens_per_second"], 1700)
        band = self.answer("band", "--band", 5600)
        self.assertEqual((band["request_tokens"], band["whole_requests_per_second"], band["seconds_per_request"]), (2304, 2, 0.5))
        self.near(band["requests_per_second"], 5600 / 2304)
        self.assertEqual(self.answer("band", "--band", 20000, "--cap", 8000)["band_tokens_per_second"], 8000)
        self.assertIsNone(self.answer("band", "--band", 100)["seconds_per_request"])

    def test_batch(self):
        for entry in VECTORS["batch_time"]:
            inp, expect = entry["inp"], entry["expect"]
            got = self.answer("batch", "--rows", inp["rows"], "--in", inp["in_tokens"], "--out", inp["out_tokens"], "--band", inp["band_tok_s"])
            self.assertEqual(got["plain_seconds"], expect["naive_seconds"])
            self.near(got["weighted_seconds"], expect["weighted_seconds_rho4"])
        self.assertEqual(self.answer("batch", "--rows", 1, "--band", 1, "--prefill-rate", 900, "--decode-rate", 100)["rho"], 9)
        self.fails(["--decode-rate"], "size", "batch", "--rows", 1, "--band", 1, "--prefill-rate", 900, status=2)

    def test_e2e_says_that_a_sum_of_percentiles_is_an_estimate(self):
        got = self.answer("e2e", "--ttft", 240, "--tpot", 19, "-n", 256)
        self.near(got["e2e_seconds"], 5.085)
        self.near(got["e2e_estimate_seconds"], 5.104)
        self.assertIn("estimate", got["notes"]["e2e_seconds"])
        lines = self.well("size", "e2e", "--published", "-n", 256, "--json").lines
        self.assertEqual(len(lines), 9)
        self.near(lines[-1]["e2e_seconds"], 91.135)
        self.fails(["--ttft"], "size", "e2e", "--tpot", 3, status=2)

    def test_words_at_both_factors(self):
        got = self.answer("words", "--words", 10, "--rate", 119, "--tpot", 100)
        self.near(got["tokens_at_0.75"], 10 / 0.75)
        self.near(got["words_per_second_at_0.75"], 89.25)
        self.near(got["words_per_minute_at_0.8"], 480)
        self.near(got["words_per_minute_at_0.75"], 450)
        self.assertEqual(list(self.answer("words", "--rate", 2, "--words-per-token", 0.5)), ["words_per_second_at_0.5", "notes"])
        self.fails(["--words"], "size", "words", status=2)

    def test_costs_say_which_tokens(self):
        for row in VECTORS["cost_per_million"]["rows"]:
            if row["tok_s"]:
                got = self.answer("cost", "--usd-per-hour", row["check_price_usd_per_h"], "--rate", row["tok_s"])
                self.assertEqual(round(got["usd_per_million_all_tokens"], 2), row["expect_rounded"])
                self.assertIsNone(got["usd_per_million_output_tokens"])
        got = self.answer("cost", "--usd-per-hour", 3.6, "--rate", 1000, "--output-rate", 100, "--slo-output-rate", 50)
        self.assertEqual([round(got[f"usd_per_million_{kind}_tokens"], 9) for kind in ("all", "output", "slo_output")], [1, 10, 20])
        self.near(self.answer("cost", "--cost-per-million", 0.19, "--rate", 4200)["usd_per_hour_all_tokens"], 2.8728)
        self.fails(["--rate"], "size", "cost", "--usd-per-hour", 1, status=2)
        self.fails(["--cost-per-million"], "size", "cost", "--rate", 1, status=2)
        self.fails(["faster"], "size", "cost", "--usd-per-hour", 1, "--rate", 1, "--output-rate", 2, status=2)
        self.assertEqual(self.answer("breakeven", "--price", 18090, "--rent", 2.5, "--running", 0.5)["hours"], 9045)
        self.assertIsNone(self.answer("breakeven", "--price", 1, "--rent", 1, "--running", 2)["hours"])

    def test_roofline(self):
        got = self.answer("roofline", "--params", "70e9", "--bandwidth", 3350, "--teraops", 989.4, "--prompt", 1024)
        self.assertEqual(got["weight_read_bytes"], 140e9)
        self.assertEqual(round(got["decode_tokens_per_second_at_most"], 3), 23.929)
        self.assertEqual(round(got["ridge_operations_per_byte"], 2), 295.34)
        self.assertEqual((got["prefill_operations_per_byte"], got["attention_scores"]), (1024, 1024 ** 2))
        self.fails(["--params"], "size", "roofline", status=2)

    def test_machine(self):
        got = self.answer("machine", "--params", "70e9", "--rate", 20, "--prefill-rate", 1000,
                          "--machine", "small:1000:10", "--machine", "wide:5000")
        self.near(got["gigabytes_per_second"], 2800)
        self.near(got["teraoperations_per_second"], 140)
        self.assertEqual((got["machine small"], got["machine H100 SXM"]), ("bandwidth too small", "suffices"))
        self.assertIn("operations not given", got["machine wide"])
        self.near(self.answer("machine", "--params", "70e9", "--rate", 20, "--share", 0.7)["gigabytes_per_second"], 4000)
        own = self.answer("machine", "-m", LLAMA, "--rate", 1000, "--depth", 128)
        self.assertGreater(own["weight_bytes"], 0)
        self.assertGreater(own["kv_bytes"], 0)
        self.near(own["gigabytes_per_second"], 1000 * (own["weight_bytes"] + own["kv_bytes"]) / 1e9)
        self.fails(["-m", "--params"], "size", "machine", "--rate", 1, status=2)
        self.fails(["-m"], "size", "machine", "--rate", 1, "-m", LLAMA, "--params", 5, status=2)
        for text in ("a", ":1", "a:0", "a:nan", "a:1:2:3", "a:-1"):
            self.fails(["--machine"], "size", "machine", "--rate", 1, "--params", 5, "--machine", text, status=2)
        self.fails(["/no/such"], "size", "machine", "--rate", 1, "-m", "/no/such")

    def test_speculation_gain_factors(self):
        for row in VECTORS["speculative"]["rows"]:
            got = self.answer("speculation", "--alpha", row["alpha"], "--gamma", row["gamma"], "--c", row["c"])
            self.near(got["tokens_per_step"], row["expect_tokens_per_step"])
            self.near(got["speedup"], row["expect_speedup"], 8)
        seen = self.answer("speculation", "--histogram", "0,0,0,4")
        self.assertEqual((seen["steps"], seen["accepted"], seen["drafted"], seen["mean_acceptance_length"]), (4, 12, 12, 4))
        self.assertIsNone(self.answer("speculation", "--histogram", "0,0")["draft_acceptance_rate"])
        self.fails(["--alpha"], "size", "speculation", status=2)
        self.fails(["--histogram"], "size", "speculation", "--histogram", 3, status=2)
        self.assertEqual(self.answer("gain", "--continuous", 85, "--static", 25)["gain"], 3.4)
        self.near(self.answer("factors", "--of", 1)["ppd_turn2_ttft_leaves"], 0.32)

    def test_amounts_that_are_none(self):
        for value in ("0", "-1", "nan", "inf", "1e19", "1e999", "x", "", "1 ", "0x10", "+5"):
            self.fails(["--band", value.strip()[:5]], "size", "band", f"--band={value}", status=2)
        self.fails(["--alpha", "1.5"], "size", "speculation", "--alpha", 1.5, "--gamma", 1, status=2)
        self.fails(["--share"], "size", "machine", "--params", 1, "--rate", 1, "--share", 2, status=2)
        self.fails(["--running"], "size", "breakeven", "--price", 1, "--rent", 1, "--running=-1", status=2)
        self.fails(["--rows"], "size", "batch", "--band", 1, status=2)
        self.fails([], "size", status=2)
        self.fails([], "size", "nothing", status=2)


def bench_line(test, tokens, step_ms, sequences=1, depth=0, **more):
    rows = sequences if test == "decode" else tokens
    return {"test": test, "tokens": tokens, "depth": depth, "sequences": sequences, "median": rows * 1e3 / step_ms, **more}


# decode(1) = 10 ms, decode(4) = 16 ms, prefill(32) = 72 ms.
STEPS = [bench_line("decode", 8, 10), bench_line("decode", 8, 16, 4), bench_line("prefill", 32, 72)]


class Users(Size):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "bench.jsonl")
        self.write(STEPS)
        self.flags = ["users", "-m", LLAMA, "--bench", self.path, "--lengths", "32/11"]

    def write(self, lines):
        with open(self.path, "w") as file:
            file.writelines(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)

    def test_a_slow_rate_is_one_request_after_another(self):
        got = self.answer(*self.flags, "--slo-ttft", 72.1, "--rate", 0.001, "--requests", 50)
        for quantile in ("p50", "p95", "p99"):
            self.near(got[f"ttft_{quantile}_ms"], 72)
            self.near(got[f"tpot_{quantile}_ms"], 10)
            self.near(got[f"e2e_{quantile}_ms"], 172)
        self.assertEqual((got["attainment"], got["meets_target"], got["refused"]), (1, "yes", 0))
        self.assertTrue(0.9 < got["attainment_low"] < 1 == got["attainment_high"])
        self.assertIn("n < 100", got["notes"]["ttft_p99_ms"])
        self.near(got["users"], 0.001 * 0.172)
        self.near(self.answer(*self.flags, "--slo-ttft", 72.1, "--rate", 0.001, "--requests", 50, "--think", 10)["users"], 0.01 + 0.000172)
        self.assertEqual(self.answer(*self.flags, "--slo-ttft", 1000, "--slo-tpot", 1e-9, "--rate", 0.001, "--requests", 5)["attainment"], 0)
        self.assertEqual(self.answer(*self.flags, "--slo-ttft", 71.9, "--rate", 0.001, "--requests", 50)["attainment"], 0)

    def test_the_rate_that_is_found_meets_the_target_and_a_larger_one_does_not(self):
        flags = [*self.flags, "--slo-ttft", 400, "--slo-tpot", 40, "--target", 0.9]
        found = self.answer(*flags)
        self.assertGreaterEqual(found["attainment"], 0.9)
        self.assertTrue(1 < found["requests_per_second"] < 12, found["requests_per_second"])
        rate = found["requests_per_second"]
        self.assertEqual(self.answer(*flags, "--rate", rate)["attainment"], found["attainment"])
        self.assertLess(self.answer(*flags, "--rate", 1.02 * rate)["attainment"], 0.9)
        self.assertEqual(self.answer(*flags), found)   # the same seed
        self.assertNotEqual(self.answer(*flags, "--seed", 2)["requests_per_second"], rate)
        self.assertGreater(found["output_tokens_per_second"], found["slo_output_tokens_per_second"])
        # Who may wait longer leaves room for more.
        self.assertGreater(self.answer(*self.flags, "--slo-ttft", 2000, "--slo-tpot", 40, "--target", 0.9)["requests_per_second"], rate)

    def test_ranges_presets_and_limits_of_the_engine(self):
        flags = ["users", "-m", LLAMA, "--bench", self.path, "--rate", 3, "--requests", 300]
        mixed = self.answer(*flags, "--lengths", "8-64/4-16", "--slo", "mlperf-llama3.1-8b-interactive")
        self.assertGreater(mixed["ttft_p95_ms"], mixed["ttft_p50_ms"])
        alone = self.answer(*flags, "--lengths", "32/11", "--slo-e2e", 500, "--sequences", 1)
        together = self.answer(*flags, "--lengths", "32/11", "--slo-e2e", 500)
        self.assertLess(alone["attainment"], together["attainment"])

    def test_what_is_refused(self):
        self.fails(["bound"], "size", *self.flags, status=2)
        self.fails(["--slo", "nobody"], "size", *self.flags, "--slo", "nobody", status=2)
        flags = ["size", *self.flags, "--slo-ttft", 100]
        for flag, value in (("--rate", 0), ("--rate", "nan"), ("--rate", "1e7"), ("--target", 0), ("--target", 1.1), ("--think", -1),
                            ("--requests", 0), ("--requests", 1000001), ("--sequences", 0)):
            self.fails([flag], *flags, f"{flag}={value}", status=2)
        for lengths in ("0/4", "a", "4/", "9-8/1", "5"):
            words = ["--lengths"] if lengths != "5" else []
            self.fails(words, *flags[:-4], "--lengths", lengths, "--slo-ttft", 100, status=2)
        self.fails(["--step-gap-us"], *flags, "--step-gap-us", 2 ** 64 - 1, status=2)
        self.fails(["requests[0].arrival_ns"], *flags, "--rate", "1e-17")
        self.fails(["max_sequences is 5000"], *flags, "--sequences", 5000)
        self.fails(["prompt_tokens is 32"], *flags, "--ctx", 32)
        self.fails(["No rate", "0.99"], "size", *self.flags, "--slo-ttft", 71, "--requests", 20)
        self.fails(["/no/such"], "size", "users", "-m", LLAMA, "--bench", "/no/such", "--slo-ttft", 1)

    def test_bench_files_that_are_none(self):
        flags = ["size", *self.flags, "--slo-ttft", 100]
        for lines, words in (([], ["no decode"]), ([STEPS[0]], ["no prefill"]), (["{\n"], ["line 1"]), (["\xff\n"], ["line 1"]),
                             ([STEPS[0], bench_line("prefill", 32, 72, threads=3)], ["line 2", "threads 3"]),
                             ([dict(line, fingerprint="00") for line in STEPS], ["fingerprint is 00"]),
                             ([dict(STEPS[0], median=None)], ["median"])):
            self.write(lines)
            self.fails([self.path, *words], *flags)

    def test_a_file_of_takt_bench(self):
        lines = [line for b in (1, 2) for line in self.well("bench", "-m", LLAMA, "-p", 16, "-n", 8, "-b", b, "-r", 1, "--json").lines]
        self.write(lines)
        got = self.answer("users", "-m", LLAMA, "--bench", self.path, "--lengths", "16/8", "--slo-e2e", 60000, "--rate", 1, "--requests", 20)
        self.assertEqual(got["attainment"], 1)


if __name__ == "__main__":
    unittest.main()
