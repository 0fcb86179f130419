"""takt bench against itself: a comparison must find a slowdown that is there and none that isn't.

Each comparison goes the way a user's does: two files, measured turn about, then compared.
"""
import collections, pathlib, tempfile

from promise import MODELS, TAKT, model_path, run, takt_json_lines

SMOL = MODELS[0]
COMPARISONS, WANTED = 10, 9
LIMIT_SECONDS = 120   # of one comparison; on two quiet cores it takes 3 s, with four other programs on them 12 s
# Decode steps of 2 ms in repetitions of 4: a noisy moment of the machine spoils few of them, and both sides' alike.
TEST = ("-p", "0", "-n", "4", "-r", "150", "-t", "1")


def comparison(options, folder):
    """The verdict on a run with these options too."""
    first, second = pathlib.Path(folder) / "first.jsonl", pathlib.Path(folder) / "second.jsonl"
    for path in (first, second):
        path.unlink(missing_ok=True)
    run(TAKT, "bench", "-m", model_path(SMOL), *TEST, "-o", first, "--versus", options, "--versus-output", second, timeout=LIMIT_SECONDS)
    (line,) = takt_json_lines("bench", "--compare", first, second, "--json")
    return line


def comparisons(options, want):
    with tempfile.TemporaryDirectory() as folder:
        lines = [comparison(options, folder) for _ in range(COMPARISONS)]
    counts = collections.Counter(line["verdict"] for line in lines)
    ratios = sorted(line["ratio"] for line in lines)
    text = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    return counts[want] >= WANTED, f"{text}; ratios {ratios[0]:.3f} to {ratios[-1]:.3f}"


def comparison_rows(t):
    t.row("bench, takt against itself, 10 comparisons at 99 %", ">= 9 no difference", lambda: comparisons("", "no difference"))
    t.row("bench, one side with --slowdown 10, 10 comparisons at 99 %", ">= 9 slower", lambda: comparisons("--slowdown 10", "slower"))
