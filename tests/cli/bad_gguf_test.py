#!/usr/bin/env python3
"""Every file of bad_gguf ends as its row of cases.tsv says, with the words it demands, and never by a signal."""
import csv, os, tempfile, unittest

from command import DATA, LLAMA, TaktTest, takt

FOLDER = DATA / "bad_gguf"
CHAT = b'{"messages":[{"role":"user","content":"ab"}]}'


def has_words(text, words):
    """a|b: any of them; a;b: all of them."""
    text = text.lower()
    return all(any(word.lower() in text for word in part.split("|")) for part in words.split(";")) if words else True


class BadGguf(TaktTest):
    def check_error(self, case, done):
        self.assertEqual(done.status, 1, f"{case['file']} ({case['condition']}): {done.stderr}")
        self.assertEqual(len(done.sentences), 1, f"{case['file']}: {done.stderr}")
        self.assertTrue(has_words(done.sentences[0], case["words"]), f"{case['file']} wants {case['words']}: {done.stderr}")

    def check(self, case):
        path = FOLDER / case["file"]
        raw = takt("run", "-m", path, "--raw", "-p", "ab", "-n", 4)
        expect = case["expect"]
        if expect in ("error", "decode_error"):
            self.check_error(case, raw)
        elif expect == "load_or_error" and raw.status != 0:
            self.check_error(case, raw)
        else:
            self.assertEqual(raw.status, 0, f"{case['file']} ({case['condition']}): {raw.stderr}")
        if case["group"] == "chat template" and expect != "error":
            for done in (takt("run", "-m", path, "-p", "ab", "-n", 4), takt("template", "-m", path, stdin=CHAT)):
                if expect == "template_error" or done.status != 0:
                    self.check_error(case, done)

    def test_every_file_of_the_list(self):
        with open(FOLDER / "cases.tsv", newline="", encoding="utf-8") as file:
            cases = [case for case in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if (FOLDER / case["file"]).exists()]
        self.assertGreater(len(cases), 100)
        for case in cases:
            with self.subTest(file=case["file"]):
                self.check(case)

    def test_all_commands_refuse_a_broken_file(self):
        path = FOLDER / "003_bad_magic.gguf"
        for arguments in (["run", "-p", "a"], ["chat"], ["tokenize"], ["detokenize"], ["template"], ["logits", "--ids", "1", "-o", "x.npy"],
                          ["perplexity", "-f", LLAMA], ["bench"], ["inspect"], ["plan"]):
            with self.subTest(command=arguments[0]):
                self.fails(["magic"], *arguments, "-m", path)
        self.assertFalse(os.path.exists("x.npy"))

    def test_a_file_truncated_anywhere(self):
        with open(LLAMA, "rb") as file:
            whole = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cut.gguf")
            for n in list(range(0, 64)) + list(range(64, len(whole), len(whole) // 40)) + [len(whole) - 1]:
                with self.subTest(bytes=n):
                    with open(path, "wb") as file:
                        file.write(whole[:n])
                    self.fails([], "run", "-m", path, "--raw", "-p", "ab", "-n", "2")


if __name__ == "__main__":
    unittest.main()
