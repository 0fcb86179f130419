#!/usr/bin/env python3
"""handover_test.py HANDOVER HELLO MODEL: a prompt that is prefilled in one process is answered in another as in one alone.

With MODEL, and SmolLM2 where it was fetched. Both ways of starting it, and a peer that goes away.
"""
import os, pathlib, re, socket, subprocess, sys, tempfile, time

handover, hello, tiny = sys.argv[1:]
cache = os.environ.get("TAKT_MODEL_DIR") or os.environ.get("TAKT_CACHE") or os.path.expanduser("~/.cache/takt")
models = [tiny, os.path.join(cache, "smollm2-135m-instruct-q4_1.gguf")]
TEXT = "Once upon a time, in a land far away, there lived"
LIMIT_SECONDS = 120


def run(*command, wanted=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=LIMIT_SECONDS)
    if done.returncode != wanted:
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


def check_report(errors, side):
    found = re.search(side + r", \w+.*: (\d+) bytes in ([\d.]+) s, (\d+) tokens, (\d+) bytes and [\d.]+ us per token", errors)
    assert found and int(found[1]) > int(found[3]) * int(found[4]) * 0.9 > 0, f"no numbers of {side}:\n{errors}"
    return found[1]


def two_programs(folder, model):
    path = os.path.join(folder, "socket")
    decoder = subprocess.Popen([handover, "--decode", path, model], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + LIMIT_SECONDS
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)  # between bind and listen
    _, sent = run(handover, "--prefill", path, model, TEXT)
    text, received = decoder.communicate(timeout=LIMIT_SECONDS)
    assert decoder.returncode == 0, received
    assert check_report(sent, "prefill") == check_report(received.decode(), "decode")
    return text


def peer_that_goes_away(folder, model):
    path = os.path.join(folder, "gone")
    decoder = subprocess.Popen([handover, "--decode", path, model], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not os.path.exists(path):
        time.sleep(0.01)
    time.sleep(0.05)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.recv(1)
        peer.sendall(b"rTAKTSTAT")
    _, errors = decoder.communicate(timeout=LIMIT_SECONDS)
    assert decoder.returncode == 1 and b"decode: " in errors, errors


with tempfile.TemporaryDirectory() as folder:
    for model in models:
        if not pathlib.Path(model).is_file():
            print(f"skipped: no {model}")
            continue
        lines, _ = run(hello, model, TEXT)
        wanted = b"".join(part.removesuffix(b"\n") for part in re.split(rb"^ *\d+\.\d\d ms  ", lines, flags=re.M)[1:])
        assert wanted, "hello said nothing"
        text, errors = run(handover, model, TEXT)
        assert text == wanted + b"\n", (text, wanted)
        assert check_report(errors, "prefill") == check_report(errors, "decode")
        assert two_programs(folder, model) == wanted + b"\n"
    peer_that_goes_away(folder, tiny)
    _, errors = run(handover, wanted=2)
    assert "usage" in errors
