"""takt as LoadGen's system under test: a query is a submitted request, its first token event FirstTokenComplete, its
finished event QuerySamplesComplete.

Events come on takt's engine thread, one at a time; ctypes takes the GIL for each. LoadGen's calls give it back meanwhile
and lock nothing that an issued query could hold, so neither waits for the other.

LoadGen divides by n_tokens - 1 and refuses one token. So an end-of-generation token that comes first doesn't end an output:
takt is told to ignore these tokens (ignore_eos), and on_event stops the request at the first one behind token 0. It counts
as a token, here and in takt's times. A sample that has one token even so has failed.

LoadGen has no call for a sample that failed, and waits for ever for one that never completes. Such a sample is completed
with 0 tokens, which LoadGen counts in num_errors, and its reason is kept here. FirstTokenComplete comes before even then:
without it LoadGen reads a time that isn't there.
"""
import array, collections, sys
from ctypes import byref, c_int32, c_void_p, cast, string_at

import mlperf_loadgen as loadgen

import takt_ffi as ffi


class Sample:
    """One query's request from issue to end."""

    def __init__(self, key, response_id):
        self.key, self.response_id = key, response_id
        self.tokens = array.array("i")
        self.told_first = self.completed = self.stopped = False
        self.failure = self.handle = self.timing = None
        self.adapter_ns = 0  # from LoadGen's call to the entry of takt_engine_submit


class SystemUnderTest:
    """The engine, the prompts (lists of ids) and every sample in the order of its issue."""

    def __init__(self, library, model_path, prompts_of, max_tokens, ignore_eos=False, max_sequences=0, threads=0, step_gap_ns=0):
        """prompts_of(library, model) makes the prompts once the model is there."""
        self.takt, self.max_tokens, self.ignore_eos = library, max_tokens, ignore_eos
        self.runtime = self.model = self.engine = None
        self.issued, self.running, self.ended = [], {}, collections.deque()
        self.n_keys = 0
        self.callback = ffi.EventCallback(self._on_event)  # must outlive every request
        try:
            self._create(model_path, prompts_of, max_sequences, threads, step_gap_ns)
        except BaseException:
            self.destroy()
            raise

    def _create(self, model_path, prompts_of, max_sequences, threads, step_gap_ns):
        takt = self.takt
        self.runtime = takt.create("takt_runtime_create", byref(takt.options(ffi.RuntimeOptions, n_threads=threads)))
        load = takt.options(ffi.ModelOptions, path=str(model_path).encode())
        self.model = takt.create("takt_model_load", self.runtime, byref(load))
        self.ends = frozenset() if self.ignore_eos else frozenset(takt.inspect(self.model)["tokenizer"]["end_of_generation_ids"])
        prompts = prompts_of(takt, self.model)
        self.prompts = [(c_int32 * len(ids))(*ids) for ids in prompts]
        # The benchmark forbids to keep results from one query to the next. Offline all samples wait at once.
        engine = takt.options(ffi.EngineOptions, context_tokens=max(map(len, prompts)) + self.max_tokens, step_gap_ns=step_gap_ns,
                              max_sequences=max_sequences, max_waiting=1 << 24, no_prefix_reuse=1)
        self.engine = takt.create("takt_engine_create", self.model, byref(engine))

    def destroy(self):
        """The engine first: it ends what runs and waits for its last callback."""
        if self.engine:
            self.takt.call("takt_engine_destroy", self.engine)
        for sample in self.running.values():
            self.takt.c.takt_request_destroy(sample.handle)
        self.takt.c.takt_model_destroy(self.model)
        self.takt.c.takt_runtime_destroy(self.runtime)
        self.engine = self.model = self.runtime = None

    def warm_up(self, count=8):
        """Samples that LoadGen doesn't know of, as the benchmark allows before its start; their failures count nowhere."""
        for index in range(count):
            self._submit(None, index % len(self.prompts), self._now())
        for sample in list(self.running.values()):
            if sample.handle:
                self.takt.call("takt_request_wait", sample.handle, ffi.NO_TIMEOUT)
        self.collect()

    def issue_queries(self, queries):
        """LoadGen's thread."""
        entry_ns = self._now()
        for query in queries:
            self.issued.append(self._submit(query.id, query.index, entry_ns))
        if len(queries) == 1:  # Offline all of them are collected at the end
            self.collect()

    def flush_queries(self):
        pass

    def _now(self):
        return self.takt.c.takt_runtime_now_ns(self.runtime)

    def _submit(self, response_id, index, entry_ns):
        self.n_keys += 1
        sample = self.running[self.n_keys] = Sample(self.n_keys, response_id)
        prompt = self.prompts[index]
        try:
            options = self.takt.options(ffi.RequestOptions, prompt_ids=prompt, prompt_ids_count=len(prompt),
                                        max_tokens=self.max_tokens, ignore_eos=1, user_data=sample.key,
                                        on_event=cast(self.callback, c_void_p))
            sample.adapter_ns = self._now() - entry_ns
            sample.handle = self.takt.create("takt_engine_submit", self.engine, byref(options))
        except Exception as failure:  # it would never complete otherwise
            self._complete(sample, str(failure))
        return sample

    def _on_event(self, key, pointer):
        """The engine's thread. Nothing may be thrown from here, and every sample must complete."""
        sample = self.running[key]
        try:
            event = pointer.contents
            if event.type == ffi.EVENT_TOKEN:
                sample.tokens.append(event.token_id)
                if not sample.told_first:
                    self._tell_first(sample)
                elif event.token_id in self.ends:
                    sample.stopped = True
                    return ffi.STOP
            else:
                self._complete(sample, self._why_failed(sample, event))
        except BaseException as fault:
            print(f"mlperf: fault in a callback: {fault!r}", file=sys.stderr)
            self._complete(sample, repr(fault))
            return ffi.STOP
        return ffi.CONTINUE

    def _why_failed(self, sample, event):
        if event.finish_reason == ffi.FINISH_LENGTH or (event.finish_reason == ffi.FINISH_CANCELLED and sample.stopped):
            n_tokens = len(sample.tokens)
            return None if n_tokens >= 2 else f"an output of {n_tokens} token(s), which has no time per output token"
        reason = self.takt.c.takt_finish_reason_name(event.finish_reason).decode()
        message = string_at(event.message, event.message_bytes).decode() if event.message_bytes else ""
        return f"finished by {reason}: {message}"

    def _tell_first(self, sample):
        sample.told_first = True
        if sample.response_id is not None:
            data, count = sample.tokens.buffer_info()  # LoadGen reads it, if at all, within the call
            loadgen.FirstTokenComplete([loadgen.QuerySampleResponse(sample.response_id, data, 4 * min(count, 1))])

    def _complete(self, sample, failure):
        if sample.completed:
            return
        sample.completed, sample.failure = True, failure
        if not sample.told_first:
            self._tell_first(sample)
        self.ended.append(sample)  # before LoadGen, which may end the test then
        if sample.response_id is not None:
            data, count = sample.tokens.buffer_info()
            response = loadgen.QuerySampleResponse(sample.response_id, data, 4 * count, 0 if failure else count)
            loadgen.QuerySamplesComplete([response])

    def collect(self):
        """Times and handles of what has ended, on the thread that submits. Destroying waits for the last callback."""
        while self.ended:
            sample = self.ended.popleft()
            if sample.handle:
                self.takt.call("takt_request_wait", sample.handle, ffi.NO_TIMEOUT)
                sample.timing = self.takt.filled("takt_request_timing", sample.handle, ffi.Timing)
                self.takt.c.takt_request_destroy(sample.handle)
                sample.handle = None
            del self.running[sample.key]
