"""The takt command under test: how the tests call it, and what every call must keep to.

Environment: TAKT_COMMAND, the program; TAKT_TEST_DATA_DIR, tests/data.
"""
import json, os, pathlib, subprocess, unittest

TAKT = os.environ["TAKT_COMMAND"]
DATA = pathlib.Path(os.environ["TAKT_TEST_DATA_DIR"])
TINY = DATA / "golden/tiny"
LLAMA = str(TINY / "llama.gguf")
LIMIT_SECONDS = 120

# The golden prompt of the tiny llama and its greedy answer.
GOLDEN = json.loads((TINY / "llama.json").read_text())["greedy"]
GOLDEN_PROMPT = ",".join(map(str, GOLDEN["prompt"]))


class Done:
    def __init__(self, arguments, process, stdout, stderr):
        self.arguments, self.status = arguments, process.returncode
        self.stdout, self.stderr = stdout, stderr.decode("utf-8", "replace")
        if self.status not in (0, 1, 2) or "Sanitizer" in self.stderr or "runtime error" in self.stderr:
            raise AssertionError(f"takt {arguments} ended with {self.status}: {self.stderr[-2000:]}")

    @property
    def sentences(self):
        """What stderr says besides notes."""
        return [line for line in self.stderr.splitlines() if line.startswith("takt: ") and not line.startswith("takt: note: ")]

    @property
    def lines(self):
        """stdout as JSON lines; strict UTF-8, and no NaN."""
        def refuse(constant):
            raise ValueError(f"{constant} is no JSON")
        return [json.loads(line, parse_constant=refuse) for line in self.stdout.decode("utf-8").splitlines()]


def takt(*arguments, stdin=b"", stdout=subprocess.PIPE, cwd=None):
    process = subprocess.Popen([TAKT, *map(str, arguments)], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE, cwd=cwd)
    try:
        out, err = process.communicate(stdin, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"takt {arguments} did not end within {LIMIT_SECONDS} s")
    return Done(arguments, process, out or b"", err)


class TaktTest(unittest.TestCase):
    maxDiff = None

    def well(self, *arguments, **options):
        done = takt(*arguments, **options)
        self.assertEqual(done.status, 0, f"takt {arguments}: {done.stderr}")
        self.assertEqual(done.sentences, [])
        return done

    def fails(self, words, *arguments, status=1, **options):
        """Ends with the status and one sentence that holds all the words."""
        done = takt(*arguments, **options)
        self.assertEqual(done.status, status, f"takt {arguments}: {done.stderr}")
        self.assertEqual(len(done.sentences), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.sentences[0])
        return done
