"""takt.h for Python, as far as examples/mlperf needs it: structs, prototypes, failures as exceptions; ctypes alone.

Structs are mirrored in full, so that struct_size is what a C program would say; tests/mlperf compares each field with
tests/api/layout_test.c. Calls release the GIL; callbacks take it.
"""
import ctypes, json
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

CONTINUE, STOP = 0, 1
EVENT_TOKEN, EVENT_FINISHED = 1, 2
FINISH_LENGTH, FINISH_CANCELLED = 2, 3
ADD_SPECIAL = 1
NO_TIMEOUT = 2**64 - 1


class Distribution(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("p50", c_double), ("p95", c_double), ("p99", c_double), ("max", c_double)]


class Gap(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "total_ns", "own_compute_ns", "other_prefill_ns", "other_decode_ns", "page_wait_ns", "callback_ns", "other_engines_ns",
        "scheduler_ns", "stalled_by_id", "stalled_by_ns")]


class Stall(ctypes.Structure):
    _fields_ = [("request_id", c_uint64), ("ns", c_uint64)]


def struct(name, size, fields):
    """A struct that begins with struct_size, and whose size on 64-bit machines never changes."""
    made = type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_size_t), *fields]})
    if ctypes.sizeof(made) != size:
        raise ImportError(f"{name} has {ctypes.sizeof(made)} bytes here instead of {size}; takt_ffi is for 64-bit machines")
    return made


ModelOptions = struct("takt_model_options", 88, [
    ("path", c_char_p), ("memory", c_void_p), ("memory_bytes", c_size_t), ("descriptor_offset", c_uint64),
    ("descriptor_length", c_uint64), ("backend", c_char_p), ("progress", c_void_p), ("progress_user_data", c_void_p),
    ("descriptor", c_int32), ("metadata_only", c_uint32), ("packed_cache_dir", c_char_p)])
RuntimeOptions = struct("takt_runtime_options", 56, [
    ("log", c_void_p), ("log_user_data", c_void_p), ("clock", c_void_p), ("clock_user_data", c_void_p),
    ("isa_cap", c_char_p), ("n_threads", c_uint32), ("log_level", c_int32)])
EngineOptions = struct("takt_engine_options", 160, [
    ("backend", c_char_p), ("context_tokens", c_uint32), ("max_sequences", c_uint32), ("max_waiting", c_uint32),
    ("chunk_tokens", c_uint32), ("kv_tokens", c_uint64), ("deterministic", c_uint32), ("kv_type", c_uint32),
    ("step_gap_ns", c_uint64), ("no_prefix_reuse", c_uint32), ("page_tokens", c_uint32), ("memory_limit_bytes", c_uint64),
    ("on_step", c_void_p), ("step_user_data", c_void_p), ("draft_model", c_void_p), ("step_driven", c_uint32),
    ("reserved", c_uint32), ("name", c_char_p), ("slo", c_void_p), ("on_slo_miss", c_void_p), ("slo_user_data", c_void_p),
    ("smooth_seconds_per_token", c_double), ("smooth_alpha", c_double), ("smooth_origin", c_uint32),
    ("trace_steps", c_uint32)])
RequestOptions = struct("takt_request_options", 224, [
    ("prompt", c_char_p), ("prompt_bytes", c_size_t), ("prompt_ids", POINTER(c_int32)), ("prompt_ids_count", c_size_t),
    ("stop_strings", POINTER(c_char_p)), ("stop_strings_count", c_size_t), ("stop_ids", POINTER(c_int32)),
    ("stop_ids_count", c_size_t), ("logit_bias_ids", POINTER(c_int32)), ("logit_bias_values", POINTER(c_float)),
    ("logit_bias_count", c_size_t), ("on_event", c_void_p), ("on_release", c_void_p), ("user_data", c_void_p),
    ("seed", c_uint64), ("deadline_ns", c_uint64), ("prompt_flags", c_uint32), ("max_tokens", c_uint32),
    ("temperature", c_float), ("top_k", c_uint32), ("top_p", c_float), ("min_p", c_float), ("repetition_penalty", c_float),
    ("frequency_penalty", c_float), ("presence_penalty", c_float), ("penalty_tokens", c_uint32), ("ignore_eos", c_uint32),
    ("priority", c_int32), ("keep_state", c_uint32), ("drafts", c_uint32), ("max_drafts", c_uint32),
    ("context_policy", c_uint32), ("pinned_tokens", c_uint32), ("draft_rule", c_uint32), ("slo", c_void_p),
    ("turn", c_uint32), ("reserved", c_uint32)])
Event = struct("takt_event", 224, [
    ("text", c_void_p), ("text_bytes", c_size_t), ("message", c_void_p), ("message_bytes", c_size_t), ("type", c_int32),
    ("token_id", c_int32), ("token_index", c_uint32), ("finish_reason", c_int32), ("status", c_int32),
    ("step_rows", c_uint32), ("submitted_ns", c_uint64), ("scheduled_ns", c_uint64), ("computed_ns", c_uint64),
    ("ready_ns", c_uint64), ("delivered_ns", c_uint64), ("compute_ns", c_uint64), ("step_tokens", c_uint32),
    ("step_token_index", c_uint32), ("dropped_tokens", c_uint64), ("n_slides", c_uint32), ("cached_tokens", c_uint32),
    ("request_id", c_uint64), ("gap", Gap)])
Timing = struct("takt_timing", 752, [
    ("submitted_ns", c_uint64), ("scheduled_ns", c_uint64), ("first_token_ns", c_uint64), ("last_token_ns", c_uint64),
    ("finished_ns", c_uint64), ("queue_ns", c_uint64), ("prefill_ns", c_uint64), ("preempted_ns", c_uint64),
    ("decode_ns", c_uint64), ("finish_ns", c_uint64), ("e2e_ns", c_uint64), ("ttft_ns", c_uint64), ("tpot_ns", c_double),
    ("tpot_n1_ns", c_double), ("step_gap_ns", Distribution), ("itl_ns", Distribution), ("prompt_tokens", c_uint64),
    ("cached_tokens", c_uint64), ("generated_tokens", c_uint64), ("prefill_tokens_per_second", c_double),
    ("decode_tokens_per_second", c_double), ("backend", ctypes.c_char * 32), ("n_threads", c_uint32),
    ("finish_reason", c_int32), ("draft_ns", c_uint64), ("drafted", c_uint32 * 16), ("accepted", c_uint32 * 16),
    ("dropped_tokens", c_uint64), ("n_slides", c_uint32), ("n_preemptions", c_uint32), ("request_id", c_uint64),
    ("handover_ns", c_uint64), ("gaps", Gap), ("longest_gap", Gap), ("stalled_by", Stall * 8),
    ("stalled_others_ns", c_uint64), ("slo_verdict", c_uint32), ("slo_broken", c_uint32)])
ModelInfo = struct("takt_model_info", 88, [
    ("family", c_char_p), ("name", c_char_p), ("fingerprint", c_uint64), ("weight_bytes", c_uint64),
    ("packed_bytes", c_uint64), ("parameter_count", c_uint64), ("vocab_size", c_uint32), ("context_tokens", c_uint32),
    ("n_layers", c_uint32), ("embedding_dim", c_uint32), ("bos_id", c_int32), ("eos_id", c_int32),
    ("has_chat_template", c_uint32), ("reserved", c_uint32)])
STRUCTS = [RuntimeOptions, ModelOptions, EngineOptions, RequestOptions, Event, Distribution, Timing, ModelInfo]
EventCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Event))

PROTOTYPES = {  # name: arguments; all of these return a status
    "takt_runtime_options_init": [POINTER(RuntimeOptions), c_size_t],
    "takt_model_options_init": [POINTER(ModelOptions), c_size_t],
    "takt_engine_options_init": [POINTER(EngineOptions), c_size_t],
    "takt_request_options_init": [POINTER(RequestOptions), c_size_t],
    "takt_runtime_create": [POINTER(RuntimeOptions), POINTER(c_void_p)],
    "takt_model_load": [c_void_p, POINTER(ModelOptions), POINTER(c_void_p)],
    "takt_model_get_info": [c_void_p, POINTER(ModelInfo)],
    "takt_model_inspect": [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)],
    "takt_model_tokenize": [c_void_p, c_char_p, c_size_t, c_uint32, POINTER(c_int32), c_size_t, POINTER(c_size_t)],
    "takt_engine_create": [c_void_p, POINTER(EngineOptions), POINTER(c_void_p)],
    "takt_engine_destroy": [c_void_p],
    "takt_engine_submit": [c_void_p, POINTER(RequestOptions), POINTER(c_void_p)],
    "takt_request_wait": [c_void_p, c_uint64],
    "takt_request_timing": [c_void_p, POINTER(Timing)],
}


class Failure(Exception):
    """A call that failed: the status's name and takt's sentence."""


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        for name, arguments in PROTOTYPES.items():
            function = getattr(self.c, name)
            function.argtypes, function.restype = arguments, c_int32
        for name in ("takt_model_destroy", "takt_runtime_destroy", "takt_request_destroy"):
            function = getattr(self.c, name)
            function.argtypes, function.restype = [c_void_p], None
        self.c.takt_last_error.argtypes, self.c.takt_last_error.restype = [], c_char_p
        for name in ("takt_status_name", "takt_finish_reason_name"):
            function = getattr(self.c, name)
            function.argtypes, function.restype = [c_int32], c_char_p
        self.c.takt_runtime_now_ns.argtypes, self.c.takt_runtime_now_ns.restype = [c_void_p], c_uint64

    def call(self, name, *arguments):
        status = getattr(self.c, name)(*arguments)
        if status != 0:
            raise Failure(f"{self.status_name(status)}: {self.c.takt_last_error().decode()}")

    def status_name(self, status):
        return self.c.takt_status_name(status).decode()

    def options(self, kind, **fields):
        """A struct of the library's defaults, then the fields."""
        made = kind()
        self.call(f"{kind.__name__}_init", byref(made), ctypes.sizeof(kind))
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def filled(self, name, handle, kind):
        made = kind(ctypes.sizeof(kind))
        self.call(name, handle, byref(made))
        return made

    def create(self, name, *arguments):
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return handle

    def inspect(self, model):
        size = c_size_t()
        self.call("takt_model_inspect", model, None, 0, byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call("takt_model_inspect", model, text, size, byref(size))
        return json.loads(text.raw[:size.value])

    def tokenize(self, model, text):
        text, count = text.encode(), c_size_t()
        self.call("takt_model_tokenize", model, text, len(text), ADD_SPECIAL, None, 0, byref(count))
        ids = (c_int32 * count.value)()
        self.call("takt_model_tokenize", model, text, len(text), ADD_SPECIAL, ids, count, byref(count))
        return list(ids)
