"""What LoadGen wrote of a run: results from mlperf_log_detail.txt, the times of each sample from mlperf_log_trace.json.

The trace knows what the results don't: when a sample was due, when LoadGen issued it and, Offline too, its first token.
It isn't quite JSON (keys of logged messages stand in two pairs of quotes), hence the patterns.
"""
import json, re

PREFIX = ":::MLLOG "
# Both lines of a sample begin at the time it was due. In the Server scenario the first token is a counter instead.
SPAN = re.compile(r'"name":"(Sample|Token)".*"ph":"b".*"ts":([\d.]+),"args":\{"sample_seq":(\d+),.*'
                  r'"issue_start_ns":(-?\d+),"complete_ns":(\d+)\}')
COUNTER = re.compile(r'"name":"Token_Latency".*"ts":([\d.]+),"args":\{ ?"issue_delay":(-?\d+),"issue_to_done":(\d+)\}')


class Times:
    """One sample, in ns since it was due."""

    def __init__(self):
        self.issued_ns = self.first_token_ns = self.completed_ns = None

    def tpot_ns(self, n_tokens):
        return (self.completed_ns - self.first_token_ns) / (n_tokens - 1)


def read_detail(folder):
    """The results by key; a key that comes several times, such as an error, as its last value."""
    lines = (folder / "mlperf_log_detail.txt").read_text().splitlines()
    entries = [json.loads(line[len(PREFIX):]) for line in lines if line.startswith(PREFIX)]
    return {entry["key"]: entry["value"] for entry in entries}


def read_trace(folder):
    """The times of every sample in the order of issue."""
    samples, due, firsts = {}, {}, {}
    with open(folder / "mlperf_log_trace.json") as lines:
        for line in lines:
            if span := SPAN.search(line):
                name, ts, sequence, issued, completed = span.groups()
                times = samples.setdefault(int(sequence), Times())
                times.issued_ns = int(issued)
                if name == "Token":
                    times.first_token_ns = int(completed)
                else:
                    times.completed_ns, due[int(sequence)] = int(completed), ts
            elif counter := COUNTER.search(line):
                firsts[counter[1]] = int(counter[2]) + int(counter[3])
    for sequence, times in samples.items():
        if times.first_token_ns is None:
            times.first_token_ns = firsts[due[sequence]]
    return [samples[sequence] for sequence in sorted(samples)]


def percentile(values, share):
    """By LoadGen's rule: the value at this place of the sorted ones; None of none."""
    values = sorted(values)
    return values[int(len(values) * share)] if values else None
