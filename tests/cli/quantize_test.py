#!/usr/bin/env python3
"""takt quantize: files that run, what is said of them, and what is refused."""
import pathlib, resource, subprocess, tempfile, unittest

from command import DATA, LLAMA, TAKT, TINY, TaktTest, takt

F16 = TINY / "quant-f16.gguf"


class Quantize(TaktTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def top(self, model):
        (last,) = [line for line in self.well("run", "-m", model, "--ids", "5,6,7,8", "-n", 8, "--json").lines
                   if line["event"] == "finished"]
        return last["ids"]

    def test_each_type_gives_a_file_that_runs(self):
        for kind in ("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q6_k", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M"):
            with self.subTest(kind):
                path = self.folder / f"{kind}.gguf"
                (line,) = self.well("quantize", F16, path, kind, "--json").lines
                self.assertEqual(line["output_bytes"], path.stat().st_size)
                self.assertEqual(len(self.top(path)), 8)
                if kind in ("f32", "f16"):
                    self.assertEqual(self.top(path), self.top(F16))
                (inspected,) = self.well("inspect", "-m", path, "--json").lines
                self.assertEqual(inspected["config"]["vocab_size"], 384)
        self.assertEqual(sorted(p.suffix for p in self.folder.iterdir()), [".gguf"] * 13)

    def test_what_is_refused_leaves_nothing(self):
        out = self.folder / "out.gguf"
        self.fails(["q9", "q4_k_m"], "quantize", F16, out, "q9")
        self.fails(["same file"], "quantize", F16, F16, "q8_0")
        self.fails(["quantized already", "requantize"], "quantize", TINY / "quant-q6_k.gguf", out, "q4_0")
        self.fails(["none.gguf"], "quantize", self.folder / "none.gguf", out, "q4_0")
        self.fails(["no importance matrix"], "quantize", F16, out, "q4_0", "--importance", LLAMA)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.well("quantize", TINY / "quant-q6_k.gguf", out, "q4_0", "--requantize")

    def test_calibration_writes_an_importance_matrix_or_uses_it_at_once(self):
        text = self.folder / "text.txt"
        text.write_text("The quick brown fox jumps over the lazy dog. " * 20)
        matrix, out, again, plain = (self.folder / n for n in ("i.gguf", "out.gguf", "again.gguf", "plain.gguf"))
        self.well("quantize", F16, out, "q4_0", "--calibrate", text, "--importance", matrix, "--ctx", 64)
        self.assertTrue(matrix.exists())
        self.well("quantize", F16, again, "q4_0", "--importance", matrix)
        self.well("quantize", F16, plain, "q4_0")
        self.assertEqual(out.read_bytes(), again.read_bytes())
        self.assertNotEqual(out.read_bytes(), plain.read_bytes())
        again.unlink()
        self.well("quantize", F16, again, "q4_0", "--calibrate", text, "--ctx", 64)
        self.assertEqual(out.read_bytes(), again.read_bytes())
        self.fails(["at least 2"], "quantize", F16, plain, "q4_0", "--calibrate", "/dev/null")
        self.assertEqual(len(list(self.folder.iterdir())), 5)

    def test_no_room_and_no_way_to_write_are_errors(self):
        self.fails(["Creating a file"], "quantize", F16, "/proc/out.gguf", "q4_0")
        out = self.folder / "out.gguf"
        done = subprocess.run([TAKT, "quantize", F16, out, "q4_0"], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("over the limit of 50000", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_hostile_files_are_refused_or_taken_but_do_no_harm(self):
        for path in sorted((DATA / "bad_gguf").glob("*.gguf")):
            out = self.folder / "out.gguf"
            done = takt("quantize", path, out, "q4_0", "--requantize")
            self.assertIn(done.status, (0, 1), path.name)
            self.assertEqual(out.exists(), done.status == 0, path.name)
            out.unlink(missing_ok=True)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
