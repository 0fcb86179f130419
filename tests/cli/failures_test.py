#!/usr/bin/env python3
"""Exit statuses and sentences: wrong usage is 2, a failure is 1, and nothing ends by a signal."""
import os, platform, signal, subprocess, tempfile, time, unittest

from command import LLAMA, TAKT, TINY, Done, TaktTest, takt


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1 == 1


class Usage(TaktTest):
    def test_wrong_usage_is_2(self):
        for arguments in ([], ["fly"], ["run"], ["run", "-m", LLAMA], ["run", "-m", LLAMA, "-p", "a", "--ids", "1"], ["run", "-p", "a"],
                          ["run", "-m", LLAMA, "-p", "a", "-n", "many"], ["run", "-m", LLAMA, "-p", "a", "-n", "-1"],
                          ["run", "-m", LLAMA, "-p", "a", "--seed", "-1"], ["run", "-m", LLAMA, "-p", "a", "-t", "0"],
                          ["run", "-m", LLAMA, "-p", "a", "-t", "two"], ["run", "-m", LLAMA, "-p", "a", "--kv", "q3"],
                          ["run", "-m", LLAMA, "-p", "a", "--wings"], ["run", "-m", LLAMA, "--ids", "1,,x"], ["run", "-m", LLAMA, "-p"],
                          ["logits", "-m", LLAMA, "--ids", "1"], ["perplexity", "-m", LLAMA], ["tokenize"], ["plan", "-m", LLAMA, "--sequences", "0"],
                          ["run", "-m", LLAMA, "--raw", "-p", "a", "--system", "b"]):
            with self.subTest(arguments=arguments):
                self.fails([], *arguments, status=2)

    def test_what_is_wrong_is_named(self):
        self.fails(["no command fly"], "fly", status=2)
        self.fails(["--sequences", "at least 1"], "plan", "-m", LLAMA, "--sequences", "0", status=2)
        self.fails(["18446744073709551616", "whole number"], "run", "-m", LLAMA, "-p", "a", "--seed", "18446744073709551616", status=2)
        for number in ("0x10", "1e3", "+1", " 1", "", "4294967296"):
            self.fails(["whole number"], "run", "-m", LLAMA, "-p", "a", "-n", number, status=2)
        self.fails(["1,2,", "comma"], "run", "-m", LLAMA, "--ids", "1,2,", status=2)
        self.fails(["--ids is empty"], "run", "-m", LLAMA, "--ids", "", status=2)
        self.fails(["byte"], "template", "-m", LLAMA, stdin=b'{"messages":[],"x":1e999}')

    def test_numbers_are_decimal(self):
        done = self.well("run", "-m", LLAMA, "--raw", "-p", "ab", "-n", "010", "--ignore-eos", "--json")
        self.assertEqual(done.lines[-1]["timing"]["generated_tokens"], 10)

    def test_help_and_version_are_0(self):
        for arguments in (["--help"], ["run", "--help"], ["bench", "-h"], ["--version"]):
            self.assertGreater(len(self.well(*arguments).stdout), 4)
        self.assertEqual(self.well("--version").stdout.strip(), b"0.1.0")

    def test_a_prompt_may_look_like_a_flag_or_be_empty(self):
        self.well("run", "-m", LLAMA, "--raw", "-p", "--json", "-n", 1)
        self.well("run", "-m", LLAMA, "--raw", "-p", "-5", "-n", 1)
        self.well("run", "-m", LLAMA, "--raw", "-p", "", "-n", 1)   # BOS alone

    def test_what_this_build_lacks_is_named(self):
        self.fails(["q8_0", "16", "32", "blk.0"], "run", "--raw", "-m", str(TINY / "gemma3.gguf"), "-p", "a", "--kv", "q8_0")   # heads of 16
        self.fails(["abacus", "reference"], "run", "-m", LLAMA, "-p", "a", "--backend", "abacus")
        self.fails(["abacus"], "run", "-m", LLAMA, "-p", "a", "--isa", "abacus")
        if platform.machine() == "x86_64":
            self.fails(["neon", "avx_vnni"], "run", "-m", LLAMA, "-p", "a", "--isa", "neon")


class Files(TaktTest):
    def test_models_that_are_no_files(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            empty = os.path.join(folder, "Загрузки 模型.gguf")
            open(empty, "wb").close()
            for path, words in (("/no/such.gguf", ["/no/such.gguf"]), (folder, [folder]), (fifo, [fifo]), ("/dev/zero", ["/dev/zero"]),
                                (empty, ["模型.gguf"]), ("x" * 5000, []), (os.path.join(LLAMA, "x"), [])):
                with self.subTest(path=path[:60]):
                    self.fails(words, "run", "-m", path, "-p", "a")
        self.fails([], "run", "-m", "", "-p", "a", status=1)

    def test_closed_and_full_outputs(self):
        for arguments in (["run", "-m", LLAMA, "--raw", "-p", "ab", "-n", "20", "--ignore-eos"], ["run", "-m", LLAMA, "--raw", "-p", "ab", "--json"],
                          ["tokenize", "-m", LLAMA], ["template", "-m", LLAMA], ["inspect", "-m", LLAMA], ["devices"], ["--help"], ["--version"],
                          ["plan", "-m", LLAMA], ["bench", "-m", LLAMA, "-p", "4", "-n", "1", "-r", "1"], ["chat", "-m", LLAMA]):
            chat = b'{"messages":[{"role":"user","content":"a"}]}' if arguments[0] == "template" else b"hi\n"
            with self.subTest(arguments=arguments):
                with open("/dev/full", "wb") as full:
                    self.fails(["No space left"], *arguments, stdin=chat, stdout=full)
                reader, writer = os.pipe()
                os.close(reader)
                try:
                    self.fails(["Broken pipe"], *arguments, stdin=chat, stdout=writer)
                finally:
                    os.close(writer)

    def test_a_closed_stderr_changes_nothing(self):
        done = subprocess.run([TAKT, "run", "-m", LLAMA, "--raw", "-p", "ab", "-n", "2"], stdout=subprocess.PIPE, stderr=None,
                              preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, 0)

    def test_a_closed_stdin_is_an_empty_one(self):
        for arguments, out in ((["tokenize"], b'{"ids":[]}'), (["chat", "-t", "1"], b"")):
            done = subprocess.run([TAKT, *arguments, "-m", LLAMA], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                  preexec_fn=lambda: os.close(0))
            self.assertEqual((done.returncode, done.stdout.strip()), (0, out), done.stderr)

    def test_interrupting_a_long_evaluation(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "x.npy")
            ids = ",".join(["5"] * 256)
            for seconds in (0, 0.05, 0.3):
                process = subprocess.Popen([TAKT, "logits", "-m", LLAMA, "--backend", "reference", "--chunk", "1", "--ids", ids, "-o", out],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                while not catches_interrupts(process.pid):
                    time.sleep(0.01)
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                done = Done("logits", process, *process.communicate(timeout=60))
                # After the end there is nothing to stop.
                self.assertIn(done.status, (0, 1))
                self.assertEqual([f for f in os.listdir(folder) if f.endswith(".tmp")], [])

    def test_broken_utf8_on_the_command_line(self):
        process = subprocess.Popen([TAKT.encode(), b"run", b"-m", LLAMA.encode(), b"--raw", b"-n", b"2", b"--json", b"-p", b"a\xff\xfe"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done = Done("run", process, *process.communicate())
        self.assertEqual(done.status, 0)
        self.assertEqual(done.lines[-1]["event"], "finished")
        process = subprocess.Popen([TAKT.encode(), b"run", b"-m", LLAMA.encode(), b"-p", b"a\xff"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done = Done("run", process, *process.communicate())
        self.assertEqual(done.status, 1)
        self.assertIn("UTF-8", done.sentences[0])


if __name__ == "__main__":
    unittest.main()
