#!/usr/bin/env python3
"""takt run and chat: tokens, JSON, times, what a person and a shell can do to them."""
import json, os, pty, select, signal, subprocess, tempfile, time, unittest

from command import DATA, GOLDEN, GOLDEN_PROMPT, LLAMA, TAKT, TINY, TaktTest, takt

TIMES = ["queue_ns", "prefill_ns", "preempted_ns", "decode_ns", "finish_ns", "e2e_ns", "ttft_ns", "tpot_ns", "tpot_n1_ns", "step_gap_ns",
         "itl_ns", "prompt_tokens", "cached_tokens", "generated_tokens", "prefill_tokens_per_second", "decode_tokens_per_second", "backend",
         "threads"]


class Run(TaktTest):
    def test_json_lines_hold_what_the_contract_says(self):
        lines = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 24, "--ignore-eos", "--json").lines
        tokens, end = lines[:-1], lines[-1]
        self.assertEqual([t["event"] for t in tokens], ["token"] * 24)
        self.assertEqual([t["index"] for t in tokens], list(range(24)))
        self.assertEqual([t["id"] for t in tokens], GOLDEN["ids"])
        self.assertEqual(sorted(t["ready_ns"] for t in tokens), [t["ready_ns"] for t in tokens])
        self.assertEqual((end["event"], end["reason"]), ("finished", "length"))
        self.assertEqual((end["prompt_ids"], end["ids"]), (GOLDEN["prompt"], GOLDEN["ids"]))
        self.assertTrue(end["text"].startswith("".join(t["text"] for t in tokens)))
        for key in TIMES:
            self.assertIn(key, end["timing"])
        self.assertEqual(set(end["timing"]["step_gap_ns"]), {"p50", "p95", "p99", "max"})

    def test_phases_sum_up_to_the_nanosecond(self):
        for n in (0, 1, 2, 17):
            t = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", n, "--ignore-eos", "--json").lines[-1]["timing"]
            self.assertEqual(t["queue_ns"] + t["prefill_ns"] + t["decode_ns"] + t["finish_ns"], t["e2e_ns"])
            self.assertEqual(t["generated_tokens"], n)

    def test_gaps_are_told_by_cause(self):
        lines = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--json").lines
        timing, tokens = lines[-1]["timing"], lines[:-1]
        self.assertNotIn("gap", tokens[0])
        parts = [name for name in timing["gaps"] if name.endswith("_ns") and name not in ("total_ns", "stalled_by_ns")]
        for before, token in zip(tokens, tokens[1:]):
            self.assertEqual(token["gap"]["total_ns"], token["ready_ns"] - before["ready_ns"])
            self.assertEqual(sum(token["gap"][part] for part in parts), token["gap"]["total_ns"])
        for part in ["total_ns", *parts]:
            self.assertEqual(timing["gaps"][part], sum(token["gap"][part] for token in tokens[1:]))
        self.assertEqual(timing["gaps"]["total_ns"], timing["decode_ns"])
        self.assertEqual(timing["longest_gap"]["total_ns"], timing["step_gap_ns"]["max"])
        self.assertIsNone(timing["slo"])

    def test_a_timeline_has_a_bar_for_each_token(self):
        done = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--timeline", "--ignore-eos", "--slo", "guidellm-agent")
        bars = [line for line in done.stderr.splitlines() if " ms |" in line]
        self.assertEqual([line.split()[0] for line in bars], ["queue", "prefill", "decode", "finish", *map(str, range(1, 8))])
        self.assertTrue(all("#" in line for line in bars[4:]))
        self.assertIn("SLO kept", done.stderr)
        self.assertIn("smooth goodput", done.stderr)
        self.assertIn("(n<100)", done.stderr)
        self.assertEqual(len(done.stdout), len(self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--ignore-eos").stdout))

    def test_a_trace_shows_every_step_and_the_request(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/trace.json"
            done = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--ignore-eos", "--trace", path, "--json")
            with open(path) as file:
                events = json.load(file)["traceEvents"]
            self.fails(["/dev/full"], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 2, "--trace", "/dev/full")
            self.fails([folder], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 2, "--trace", folder)
        steps = [event for event in events if event.get("cat") == "step"]
        self.assertEqual(len(steps), 8)  # the prompt's gives the first token
        self.assertTrue(all(event["dur"] >= 0 for event in events if event["ph"] == "X"))
        phases = {event["name"]: event for event in events if event.get("cat") == "phase"}
        timing = done.lines[-1]["timing"]
        for phase in ("queue", "prefill", "decode"):
            self.assertAlmostEqual(phases[phase]["dur"], timing[phase + "_ns"] / 1e3, places=2)
        self.fails(["guidellm-chat"], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "--slo", "none", status=2)
        for flag in ("--slo", "--trace"):
            self.fails([flag], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, flag, "", status=2)

    def test_what_is_undefined_is_null(self):
        none = self.well("run", "-m", LLAMA, "--ids", "1,2", "-n", 0, "--json").lines[-1]["timing"]
        self.assertIsNone(none["ttft_ns"])
        one = self.well("run", "-m", LLAMA, "--ids", "1,2", "-n", 1, "--ignore-eos", "--json").lines[-1]["timing"]
        self.assertIsNotNone(one["ttft_ns"])
        for key in ("tpot_ns", "tpot_n1_ns", "decode_tokens_per_second"):
            self.assertIsNone(one[key])
        self.assertIsNone(one["step_gap_ns"]["p50"])

    def test_packed_weights_that_are_kept_give_the_same_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            ask = ["run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 24, "--ignore-eos", "--json", "--backend", "cpu",
                   "--packed-cache", folder + "/packed"]
            first = self.well(*ask)
            (name,) = os.listdir(folder + "/packed")
            kept = os.stat(folder + "/packed/" + name)
            identity = lambda stat: (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            second = self.well(*ask)
            self.assertEqual(identity(os.stat(folder + "/packed/" + name)), identity(kept))  # used, not written again
            for answer in (first, second):
                self.assertEqual(answer.lines[-1]["ids"], GOLDEN["ids"])
                self.assertEqual(answer.stderr, "")
            os.truncate(folder + "/packed/" + name, kept.st_size // 2)
            third = self.well(*ask)
            self.assertEqual(third.lines[-1]["ids"], GOLDEN["ids"])
            self.assertIn(f"it has {kept.st_size // 2} bytes", third.stderr)
            self.assertEqual(third.stderr.count("\n"), 1)

    def test_text_goes_to_stdout_and_times_to_stderr(self):
        arguments = ["run", "-m", LLAMA, "--raw", "-p", "Hello, world!", "-n", 6, "--ignore-eos"]
        plain = self.well(*arguments)
        lines = self.well(*arguments, "--json")
        self.assertEqual(plain.stdout.decode("utf-8", "replace"), lines.lines[-1]["text"])
        self.assertEqual(lines.stderr, "")
        for word in ("queue", "prefill", "TTFT", "TPOT", "p50", "p95", "p99", "max"):
            self.assertIn(word, plain.stderr)

    def test_raw_adds_bos_and_parses_no_special_tokens(self):
        golden = json.loads((TINY / "llama.json").read_text())["tokenize"]
        plain = next(c for c in golden if not c["add_special"])
        with_bos = next(c for c in golden if c["add_special"])
        self.assertEqual(plain["text"], with_bos["text"])
        end = self.well("run", "-m", LLAMA, "--raw", "-p", plain["text"], "-n", 1, "--json").lines[-1]
        self.assertEqual(end["prompt_ids"], with_bos["ids"])

    def test_a_chat_prompt_is_rendered_with_exactly_one_bos(self):
        ids = self.well("run", "-m", LLAMA, "-p", "hi", "-n", 1, "--json").lines[-1]["prompt_ids"]
        self.assertEqual(ids.count(380), 1)
        self.assertEqual(ids[0], 380)
        longer = self.well("run", "-m", LLAMA, "-p", "hi", "--system", "Be brief.", "-n", 1, "--json").lines[-1]["prompt_ids"]
        self.assertGreaterEqual(len(longer), len(ids))

    def test_seeds_repeat_and_differ(self):
        def ids(seed):
            return self.well("run", "-m", LLAMA, "--ids", "1,2,3", "-n", 16, "--temp", "1.5", "--seed", seed, "--ignore-eos", "--json").lines[-1]["ids"]
        self.assertEqual(ids(0), ids(0))
        self.assertEqual(ids(2**64 - 1), ids(2**64 - 1))
        self.assertGreater(len({tuple(ids(s)) for s in (0, 1, 2, 2**32 - 1, 2**64 - 1)}), 3)

    def test_a_stop_string_is_not_printed(self):
        arguments = ["run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 24, "--ignore-eos", "--json"]
        text = self.well(*arguments).lines[-1]["text"]
        stop = ",er"
        self.assertIn(stop, text)
        end = self.well(*arguments, "--stop", "never there", "--stop", stop).lines[-1]
        self.assertEqual(end["reason"], "stop")
        self.assertEqual(end["text"], text[:text.index(stop)])

    def test_a_full_context_ends_the_answer(self):
        end = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 100, "--ctx", 16, "--ignore-eos", "--json").lines[-1]
        self.assertEqual(end["reason"], "context_full")
        self.assertEqual(len(end["ids"]) + len(end["prompt_ids"]), 16)
        self.assertIn("it holds 16 tokens", end["message"])
        self.fails(["12", "12"], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "--ctx", 12)
        self.fails(["257", "256"], "run", "-m", LLAMA, "--ids", ",".join(["1"] * 257))

    def test_a_full_context_slides_where_asked(self):
        end = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 100, "--ctx", 32, "--ignore-eos", "--slide", "--pinned", 2,
                        "--json").lines[-1]
        self.assertEqual((end["reason"], len(end["ids"])), ("length", 100))
        self.assertGreater(end["timing"]["n_slides"], 2)
        self.assertEqual(end["timing"]["dropped_tokens"], 15 * end["timing"]["n_slides"])
        self.fails(["pinned_tokens is 31"], "run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "--ctx", 32, "--slide", "--pinned", 31)

    def test_backends_agree_and_are_named(self):
        for line in self.well("devices", "--json").lines:
            if line["available"]:
                end = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 5, "--ignore-eos", "--backend", line["backend"], "--json").lines[-1]
                self.assertEqual(end["timing"]["backend"], line["backend"])
                self.assertEqual(end["ids"], GOLDEN["ids"][:5])

    def test_threads_and_modes_change_no_token(self):
        for flags in (["-t", "1"], ["-t", "auto"], ["-t", "3"], ["--deterministic"], ["--kv", "f16"], ["--kv", "f32"]):
            end = self.well("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--ignore-eos", "--json", *flags).lines[-1]
            self.assertEqual(end["ids"], GOLDEN["ids"][:8])

    def test_sigint_ends_a_long_answer_with_a_sentence(self):
        process = subprocess.Popen([TAKT, "run", "-m", LLAMA, "--ids", "1,2,3", "-n", "250", "--ignore-eos", "--backend", "reference",
                                    "--temp", "1", "--top-k", "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 1), err)   # 0 if it was done by then
        if process.returncode == 1:
            self.assertIn(b"Interrupted.", err)


class Chat(TaktTest):
    ARGUMENTS = ["chat", "-m", LLAMA, "-n", 5, "--ignore-eos"]

    def test_a_piped_conversation(self):
        done = self.well(*self.ARGUMENTS, "--json", stdin=b"hi\n/stats\nhi\n/reset\nhi\n/quit\nnot read\n")
        ends = [line for line in done.lines if line["event"] == "finished"]
        self.assertEqual(len(ends), 3)
        prompts = [end["timing"]["prompt_tokens"] for end in ends]
        self.assertGreater(prompts[1], prompts[0])
        self.assertEqual(prompts[2], prompts[0])
        self.assertIn("TTFT", done.stderr)

    def test_the_last_line_needs_no_end(self):
        self.assertEqual(len([x for x in self.well(*self.ARGUMENTS, "--json", stdin=b"hi").lines if x["event"] == "finished"]), 1)

    def test_a_message_that_does_not_fit_is_refused_and_the_rest_goes_on(self):
        done = takt(*self.ARGUMENTS, "--json", stdin=b"z" * 5000 + b"\nhi\n")
        self.assertEqual(done.status, 1)
        self.assertIn("256", done.sentences[0])
        self.assertEqual(len([x for x in done.lines if x["event"] == "finished"]), 1)

    def test_zero_bytes_and_broken_utf8_in_a_message(self):
        self.well(*self.ARGUMENTS, "--json", stdin=b"a\0b \xff\xfe\n")

    def test_ctrl_c_at_the_prompt_ends_it_with_status_0(self):
        process = subprocess.Popen([TAKT, *map(str, self.ARGUMENTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"hi\n")
        process.stdin.flush()
        process.stdout.read(1)
        time.sleep(0.5)   # the five tokens are long over
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        self.assertEqual(process.returncode, 0)
        process.communicate()

    def test_ctrl_c_stops_the_answer_and_a_second_one_the_program(self):
        main, child = pty.openpty()
        process = subprocess.Popen([TAKT, "chat", "-m", LLAMA, "-n", "200", "--ignore-eos", "--temp", "1"], stdin=child, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        os.close(child)
        os.write(main, b"hi\n")
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        # Whether the answer was cut or done, the program lives on and is left by a second one.
        time.sleep(0.5)
        alive = process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        os.close(main)
        self.assertIn(process.returncode, (0, 1), err)
        self.assertTrue(alive or process.returncode == 0, err)

    def test_a_file_without_a_template_says_so(self):
        for command in (["chat"], ["run", "-p", "hi"]):
            done = takt(*command, "-m", DATA / "bad_gguf/154_no_template.gguf") if (DATA / "bad_gguf/154_no_template.gguf").exists() else None
            if done is not None:
                self.assertEqual(done.status, 1)
                self.assertIn("template", done.sentences[0])


if __name__ == "__main__":
    unittest.main()
