"""Rows of promise, wanted, measured, verdict; and what every topic needs: the command, the models, a Python with numpy.

A promise holds, is short, or is not here (with the reason). The exit status is 0 if none is short.
"""
import functools, json, os, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAKT = ROOT / "build/release/bin/takt"
DATA = ROOT / "tests/data"
CACHE = pathlib.Path(os.environ.get("TAKT_CACHE") or pathlib.Path.home() / ".cache" / "takt")
MODELS = ["smollm2-135m-instruct-q4_1", "gemma-3-270m-q4_k_m", "qwen2.5-coder-0.5b-instruct-q4_k_m",
          "qwen2.5-coder-1.5b-instruct-q4_k_m"]


class NotHere(Exception):
    """The promise cannot be measured on this machine; the text says why."""


class Topic:
    def __init__(self, name):
        self.name, self.rows = name, []
        print(f"{'verdict':<9} {'promise':<66} {'wanted':<22} measured", flush=True)

    def row(self, promise, wanted, measure):
        """measure() returns (holds, text) or raises NotHere."""
        try:
            holds, measured = measure()
            verdict = "holds" if holds else "short"
        except NotHere as reason:
            verdict, measured = "not here", str(reason)
        except subprocess.CalledProcessError as error:
            verdict, measured = "short", f"{error.cmd[0]} ended with {error.returncode}: {(error.stderr or '')[-300:]}"
        except subprocess.TimeoutExpired as error:
            verdict, measured = "short", f"{error.cmd[0]} was not through in {error.timeout:.0f} s"
        self.rows.append(verdict)
        print(f"{verdict:<9} {promise:<66} {wanted:<22} {measured}", flush=True)

    def finish(self):
        counts = {v: self.rows.count(v) for v in ("holds", "short", "not here")}
        print(f"{self.name}: {counts['holds']} hold, {counts['short']} short, {counts['not here']} not here")
        sys.exit(1 if counts["short"] else 0)


def run(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **options)


def takt_json_lines(*arguments, **options):
    return [json.loads(line) for line in run(TAKT, *arguments, **options).stdout.splitlines() if line.startswith("{")]


def model_path(name):
    path = CACHE / f"{name}.gguf"
    if not path.is_file():
        raise NotHere(f"{name} is not fetched; ./dev model {name}")
    return path


def ctest(pattern):
    """(all passed, summary) of the tests whose names match."""
    out = subprocess.run(["ctest", "--test-dir", str(ROOT / "build/release"), "-R", pattern], capture_output=True, text=True)
    lines = [line for line in out.stdout.splitlines() if "tests passed" in line]
    if not lines or "out of 0" in lines[0]:
        raise NotHere(f"no test matches {pattern}; build with tests first")
    return out.returncode == 0, lines[0].strip()


def python_with(*packages):
    """A Python of the cache folder's own environment that has the packages; installs what is missing."""
    folder = CACHE / "prove-python"
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, stdout=sys.stderr)
    def name_of(package):
        return package.split("==")[0].lower().replace("_", "-")

    have = {name_of(line) for line in run(python, "-m", "pip", "freeze").stdout.splitlines()}
    missing = [p for p in packages if name_of(p) not in have]
    if missing:
        print(f"installing {', '.join(missing)}; the first time this can take a quarter of an hour", file=sys.stderr)
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", *missing], stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise NotHere(f"pip could not install {', '.join(missing)}")
    return python


PACKAGES = {"llama.cpp": ("numpy", "gguf", "llama-cpp-python==0.3.36"), "openvino": ("numpy", "openvino-genai==2026.4.1.0")}


@functools.cache
def peers_run(model, rival):
    """One run of takt beside a rival, turn about."""
    python = python_with(*PACKAGES[rival])
    out = run(python, ROOT / "tests/promises/peers.py", model_path(model), "--takt", TAKT, "--threads", "2", "--json", "--peers", rival)
    return json.loads(out.stdout.splitlines()[-1])


def peers(model, rival="llama.cpp"):
    """A row an engine, takt's and the rival's."""
    result = peers_run(model, rival)
    if rival in result["errors"]:
        raise NotHere(f"{rival} can't run this file: …{result['errors'][rival][-100:]}")
    return result["engines"]
