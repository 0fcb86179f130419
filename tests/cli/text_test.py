#!/usr/bin/env python3
"""takt tokenize, detokenize, template, inspect, plan, devices."""
import json, platform, unittest

from command import DATA, LLAMA, TINY, TaktTest


class Text(TaktTest):
    def test_golden_ids(self):
        for name in ("llama", "gemma3", "qwen2"):
            for case in json.loads((TINY / f"{name}.json").read_text())["tokenize"]:
                flags = [flag for flag, key in (("--add-special", "add_special"), ("--parse-special", "parse_special")) if case[key]]
                done = self.well("tokenize", "-m", TINY / f"{name}.gguf", *flags, stdin=case["text"].encode())
                self.assertEqual(done.lines, [{"ids": case["ids"]}])

    def test_bytes_come_back_as_they_went(self):
        for data in (b"", b"a\0b\0", b"\xff\xfe\x80 \xf4\x90\x80\x80", "Grüße, 漢字 🙂\n".encode(), bytes(range(256)) * 20):
            ids = self.well("tokenize", "-m", LLAMA, stdin=data).stdout
            self.assertEqual(self.well("detokenize", "-m", LLAMA, stdin=ids).stdout, data)

    def test_special_tokens_are_written_unless_left_out(self):
        self.assertNotEqual(self.well("detokenize", "-m", LLAMA, stdin=b"[380]").stdout, b"")
        self.assertEqual(self.well("detokenize", "-m", LLAMA, "--skip-special", stdin=b"[380]").stdout, b"")

    def test_what_is_no_list_of_ids(self):
        self.fails(["JSON"], "detokenize", "-m", LLAMA, stdin=b"[1,2")
        self.fails(["list"], "detokenize", "-m", LLAMA, stdin=b"5")
        self.fails(["Item 1", "1.5"], "detokenize", "-m", LLAMA, stdin=b"[1,1.5]")
        self.fails(["ids[1] is 384"], "detokenize", "-m", LLAMA, stdin=b"[1,384]")
        self.fails(["ids[0] is -1"], "detokenize", "-m", LLAMA, stdin=b"[-1]")
        self.fails([], "detokenize", "-m", LLAMA, stdin=b"[" * 100000)

    def test_a_template_is_rendered(self):
        chat = json.dumps({"messages": [{"role": "user", "content": "{{ 7*7 }} \u00fc"}]}).encode()
        with_turn = self.well("template", "-m", LLAMA, stdin=chat).stdout
        without = self.well("template", "-m", LLAMA, "--no-generation-prompt", stdin=chat).stdout
        self.assertIn("{{ 7*7 }} \u00fc".encode(), with_turn)
        self.assertTrue(with_turn.startswith(without))

    def test_json_that_is_no_chat(self):
        self.fails(["byte"], "template", "-m", LLAMA, stdin=b'{"messages":[')
        for text in (b"", b"5", b"{}", b'{"messages":5}', b'{"messages":[5]}'):
            self.fails([], "template", "-m", LLAMA, stdin=text)


class Inspect(TaktTest):
    def test_inspect_shows_metadata_tensors_and_plan(self):
        text = self.well("inspect", "-m", LLAMA).stdout.decode()
        for word in ("llama", "tokenizer.ggml.tokens", "token_embd.weight", "matmul", "fingerprint"):
            self.assertIn(word, text)
        (json_line,) = self.well("inspect", "-m", LLAMA, "--json").lines
        self.assertEqual(json_line["metadata"]["tokenizer.ggml.tokens"]["value"]["count"], 384)
        self.assertEqual(json_line["config"]["vocab_size"], 384)
        tensor = next(t for t in json_line["tensors"] if t["name"] == "token_embd.weight")
        self.assertEqual((tensor["type"], tensor["shape"], tensor["bytes"]), ("f32", [64, 384], 64 * 384 * 4))

    def test_inspect_tells_what_each_type_runs_as(self):
        model = DATA / "golden" / "tiny" / "quant-iq4_xs.gguf"
        (json_line,) = self.well("inspect", "-m", model, "--json").lines
        types = {t["type"]: t for t in json_line["types"]}
        self.assertEqual((types["iq4_xs"]["runs_as"], types["iq4_xs"]["precision"]), ("q8_0", "scales rounded"))
        self.assertEqual((types["q6_k"]["runs_as"], types["q6_k"]["precision"]), ("q6_k", "exact"))
        self.assertEqual(sum(t["bytes"] for t in types.values()), json_line["weights"]["bytes"])
        self.assertIn("runs as q8_0 (scales rounded)", self.well("inspect", "-m", model).stdout.decode())

    def test_inspect_survives_odd_metadata(self):
        for path in sorted((DATA / "bad_gguf").glob("1[45]*.gguf")):
            if not path.name.startswith("140"):
                self.well("inspect", "-m", path)
                self.well("inspect", "-m", path, "--json").lines

    def test_plan_adds_up_and_grows_with_context_and_sequences(self):
        (small,) = self.well("plan", "-m", LLAMA, "--ctx", 64, "--sequences", 1, "--json").lines
        (large,) = self.well("plan", "-m", LLAMA, "--ctx", 128, "--sequences", 4, "--json").lines
        for plan in (small, large):
            self.assertEqual(plan["weight_bytes"] + plan["kv_bytes"] + plan["scratch_bytes"], plan["total_bytes"])
        self.assertGreaterEqual(large["kv_bytes"], 6 * small["kv_bytes"])
        self.assertIn(str(small["total_bytes"]), self.well("plan", "-m", LLAMA, "--ctx", 64, "--sequences", 1).stdout.decode())

    def test_plan_says_which_options_it_is_for(self):
        (plan,) = self.well("plan", "-m", LLAMA, "--ctx", 100, "--sequences", 2, "--kv-tokens", 150, "--chunk", 20, "--page-tokens", 64,
                            "--json").lines
        self.assertEqual([plan[key] for key in ("context_tokens", "sequences", "kv_tokens", "chunk_tokens", "page_tokens")],
                         [100, 2, 150, 20, 64])
        self.assertIn("pages of 64", self.well("plan", "-m", LLAMA, "--page-tokens", 64).stdout.decode())
        self.fails(["page_tokens is 48"], "plan", "-m", LLAMA, "--page-tokens", 48)

    def test_plan_keeps_a_limit(self):
        (open_plan,) = self.well("plan", "-m", LLAMA, "--json").lines
        limit = open_plan["total_bytes"] - open_plan["scratch_bytes"] // 4
        (plan,) = self.well("plan", "-m", LLAMA, "--memory-limit", limit, "--json").lines
        self.assertLessEqual(plan["total_bytes"], limit)
        self.assertEqual(plan["context_tokens"], open_plan["context_tokens"])
        self.assertLess(plan["chunk_tokens"], open_plan["chunk_tokens"])
        self.fails(["weights need", "memory_limit_bytes is 1000"], "plan", "-m", LLAMA, "--memory-limit", 1000)
        self.fails(["weights need", "memory_limit_bytes is 1000"], "run", "-m", LLAMA, "--memory-limit", 1000, "--raw", "-p", "a")

    def test_devices_lists_every_backend(self):
        lines = self.well("devices", "--json").lines
        self.assertIn("reference", [line["backend"] for line in lines])
        for line in lines:
            self.assertEqual(line["available"], line["why_not"] == "")
        self.well("devices")

    def test_a_cap_leaves_the_best_level_not_above_it(self):
        def cpu(*arguments):
            return next(line for line in self.well("devices", "--json", *arguments).lines if line["backend"] == "cpu")
        levels = cpu()["isa_levels"].split()
        for level in levels:
            self.assertEqual(cpu("--isa", level)["isa"], level)
        if platform.machine() == "x86_64":   # a CPU may have AVX-512 VNNI without AVX-VNNI
            self.assertEqual(cpu("--isa", "avx_vnni")["isa"], next(level for level in levels if level in ("avx_vnni", "avx2", "scalar")))


if __name__ == "__main__":
    unittest.main()
