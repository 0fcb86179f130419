#!/usr/bin/env python3
"""takt logits, perplexity, bench: numbers against golden ones, and the shape of what they print."""
import array, json, math, os, re, signal, struct, subprocess, sys, tempfile, unittest, unittest.mock

from command import DATA, GOLDEN, GOLDEN_PROMPT, LLAMA, TAKT, TINY, TaktTest


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack("<H", data[8:10])
    head = data[10:10 + length].decode("ascii")
    assert (10 + length) % 64 == 0 and head.endswith("\n") and "'descr': '<f4'" in head and "'fortran_order': False" in head, head
    rows, columns = map(int, re.search(r"'shape': \((\d+), (\d+)\)", head).groups())
    values = array.array("f", data[10 + length:])
    assert len(values) == rows * columns
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


def golden(name):
    data = json.loads((TINY / f"{name}.json").read_text())
    values = array.array("f", (TINY / f"{name}.logits.f32").read_bytes())
    columns, row, sequences = data["vocab_size"], 0, []
    for sequence in data["sequences"]:
        rows = {p: values[(row + i) * columns:(row + i + 1) * columns] for i, p in enumerate(sequence["logit_positions"])}
        row += len(rows)
        sequences.append((sequence["ids"], rows))
    return sequences


class Logits(TaktTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.out = folder.name, os.path.join(folder.name, "out.npy")

    def logits(self, ids, *flags):
        self.well("logits", "-m", LLAMA, "--ids", ",".join(map(str, ids)), "-o", self.out, *flags)
        return read_npy(self.out)

    def test_reference_logits_are_the_golden_ones(self):
        for ids, rows in golden("llama"):
            for chunk in ([], ["--chunk", 1], ["--chunk", 5]):
                have = self.logits(ids, "--all", "--backend", "reference", *chunk)
                self.assertEqual(len(have), len(ids))
                for position, want in rows.items():
                    self.assertLess(max(abs(a - b) for a, b in zip(want, have[position])), 1e-4)

    def test_without_all_it_is_the_last_row(self):
        ids = golden("llama")[0][0]
        everything = self.logits(ids, "--all")
        self.assertEqual([list(row) for row in self.logits(ids)], [list(everything[-1])])
        self.assertEqual(len(self.logits(ids[:1])), 1)

    def test_wrong_ids(self):
        self.fails(["ids[1] is 384"], "logits", "-m", LLAMA, "--ids", "1,384", "-o", self.out)
        self.fails(["x"], "logits", "-m", LLAMA, "--ids", "1,x", "-o", self.out, status=2)
        self.fails(["empty"], "logits", "-m", LLAMA, "--ids", "", "-o", self.out, status=2)
        self.fails(["257", "256"], "logits", "-m", LLAMA, "--ids", ",".join(["1"] * 257), "-o", self.out)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_output_that_can_not_be_written(self):
        self.fails(["/no/such/folder/x.npy", "No such file"], "logits", "-m", LLAMA, "--ids", "1", "-o", "/no/such/folder/x.npy")
        self.fails(["/dev/full", "No space left"], "logits", "-m", LLAMA, "--ids", "1", "-o", "/dev/full")
        self.fails([self.folder], "logits", "-m", LLAMA, "--ids", "1", "-o", self.folder)

    def test_a_full_disk_leaves_the_old_file_whole(self):
        limit = "import resource,os,sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); os.execv(sys.argv[1], sys.argv[1:])"
        with open(self.out, "w") as file:
            file.write("old")
        done = subprocess.run([sys.executable, "-c", limit, TAKT, "logits", "-m", LLAMA, "--ids", "1,2,3", "--all", "-o", self.out],
                              capture_output=True, text=True, preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["out.npy"])
        with open(self.out) as file:
            self.assertEqual(file.read(), "old")


class Perplexity(TaktTest):
    def test_it_is_what_the_logits_say(self):
        with tempfile.TemporaryDirectory() as folder:
            text, out = os.path.join(folder, "t.txt"), os.path.join(folder, "o.npy")
            words = (DATA / "golden/quality.txt").read_bytes()[:700]
            with open(text, "wb") as file:
                file.write(words)
            ids = self.well("tokenize", "-m", LLAMA, "--add-special", stdin=words).lines[0]["ids"]
            window = 40
            nll, tokens = 0.0, 0
            for begin in range(0, len(ids) - window + 1, window):
                part = [380] + ids[begin + 1:begin + window]
                self.well("logits", "-m", LLAMA, "--all", "--ids", ",".join(map(str, part)), "-o", out)
                rows = read_npy(out)
                for i in range(window // 2, window):
                    row = rows[i - 1]
                    top = max(row)
                    nll += math.log(sum(math.exp(x - top) for x in row)) + top - row[part[i]]
                    tokens += 1
            (have,) = self.well("perplexity", "-m", LLAMA, "-f", text, "--ctx", window).lines
            self.assertEqual(have["tokens"], tokens)
            self.assertAlmostEqual(have["nll"], nll, delta=1e-6 * abs(nll))
            self.assertAlmostEqual(have["perplexity"], math.exp(nll / tokens), delta=1e-5 * have["perplexity"])
            (all_of_it,) = self.well("perplexity", "-m", LLAMA, "-f", text, "--ctx", window, "--score-all", "--chunk", 7).lines
            self.assertEqual(all_of_it["tokens"], (len(ids) // window) * (window - 1))
            (one,) = self.well("perplexity", "-m", LLAMA, "-f", text, "--score-all").lines   # the text is shorter than the context
            self.assertEqual(one["windows"], max(1, len(ids) // 256))

    def test_a_text_that_is_not_there_or_empty(self):
        self.fails(["/no/such.txt"], "perplexity", "-m", LLAMA, "-f", "/no/such.txt")
        self.fails(["/dev/null", "1 tokens"], "perplexity", "-m", LLAMA, "-f", "/dev/null")
        self.fails(["/"], "perplexity", "-m", LLAMA, "-f", "/")


class Bench(TaktTest):
    def test_json_lines(self):
        prefill, decode = self.well("bench", "-m", LLAMA, "-p", 32, "-n", 8, "-r", 2, "--json").lines
        self.assertEqual((prefill["test"], prefill["tokens"], prefill["depth"], prefill["sequences"]), ("prefill", 32, 0, 1))
        self.assertEqual((decode["test"], decode["tokens"], decode["depth"], decode["sequences"]), ("decode", 8, 32, 1))
        for line in (prefill, decode):
            self.assertEqual(len(line["tokens_per_second"]), 2)
            self.assertGreater(min(line["tokens_per_second"]), 0)
            self.assertGreaterEqual(line["median"], min(line["tokens_per_second"]))
            for key in ("backend", "isa", "cpu", "threads", "model", "fingerprint", "chunk_tokens", "takt", "kv"):
                self.assertIn(key, line)

    def test_depth_and_sequences(self):
        prefill, decode = self.well("bench", "-m", LLAMA, "-p", 32, "-n", 4, "-d", 16, "-b", 3, "-r", 1, "--json").lines
        self.assertEqual((prefill["depth"], decode["depth"], decode["sequences"]), (16, 48, 3))

    def test_one_test_alone(self):
        (prefill,) = self.well("bench", "-m", LLAMA, "-p", 16, "-n", 0, "-r", 1, "--json").lines
        self.assertEqual(prefill["test"], "prefill")
        (decode,) = self.well("bench", "-m", LLAMA, "-p", 0, "-n", 4, "-r", 1, "--json").lines
        self.assertEqual((decode["test"], decode["depth"]), ("decode", 0))

    def test_other_forms(self):
        flags = ["bench", "-m", LLAMA, "-p", 8, "-n", 2, "-r", 1]
        self.assertIn("tokens/s", self.well(*flags).stdout.decode())
        csv = self.well(*flags, "--csv").stdout.decode().splitlines()
        self.assertEqual(len(csv), 3)
        self.assertTrue(all(len(line.split(",")) == 7 for line in csv))
        self.assertIn("|---|", self.well(*flags, "--markdown").stdout.decode())

    def test_threads_are_measured_once_and_remembered(self):
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, {"TAKT_CACHE": folder}):
                arguments = ("run", "-m", LLAMA, "--ids", GOLDEN_PROMPT, "-n", 8, "--ignore-eos", "-t", "auto", "--json")
                first = self.well(*arguments).lines[-1]
                self.assertEqual(first["ids"], GOLDEN["ids"][:8])
                path = os.path.join(folder, "threads.json")
                if first["timing"]["threads"] == 1:
                    return
                (key, threads), = json.load(open(path)).items()
                self.assertIn("cpu", key)
                self.assertTrue(1 <= threads["prefill"] <= first["timing"]["threads"])
                for text in (json.dumps({key: {"prefill": 1, "decode": 1}}), json.dumps({key: {"prefill": 0}}), "[", "[]", ""):
                    with open(path, "w") as file:
                        file.write(text)
                    self.assertEqual(self.well(*arguments).lines[-1]["ids"], first["ids"])
                    self.assertEqual(list(json.load(open(path))), [key])

    def test_wrong_usage(self):
        self.fails(["-p", "-n"], "bench", "-m", LLAMA, "-p", 0, "-n", 0, status=2)
        self.fails([], "bench", "-m", LLAMA, "-r", 0, status=2)
        self.fails([], "bench", "-m", LLAMA, "--json", "--csv", status=2)
        self.fails(["256"], "bench", "-m", LLAMA, "-p", 1000, "-n", 1)


if __name__ == "__main__":
    unittest.main()
