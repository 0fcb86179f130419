/* Freezes what a compiled program relies on: sizes, offsets and constants of the 64-bit interface. A struct
 * may only grow at its end, and then its first size stays the least that is accepted (lib/api/struct_copy.h).
 */
#include <takt/takt.h>

#define FIXED(NAME, CONDITION) typedef char NAME[(CONDITION) ? 1 : -1]
#define AT(STRUCT, FIELD, OFFSET, SIZE)   \
    FIXED(STRUCT##_##FIELD##_is_in_place, \
          offsetof(STRUCT, FIELD) == (OFFSET) && sizeof(((STRUCT*)0)->FIELD) == (SIZE))

#if UINTPTR_MAX == UINT64_MAX

FIXED(takt_runtime_options_size, sizeof(takt_runtime_options) == 56);
AT(takt_runtime_options, struct_size, 0, 8);
AT(takt_runtime_options, log, 8, 8);
AT(takt_runtime_options, log_user_data, 16, 8);
AT(takt_runtime_options, clock, 24, 8);
AT(takt_runtime_options, clock_user_data, 32, 8);
AT(takt_runtime_options, isa_cap, 40, 8);
AT(takt_runtime_options, n_threads, 48, 4);
AT(takt_runtime_options, log_level, 52, 4);

FIXED(takt_model_options_size, sizeof(takt_model_options) == 88);
AT(takt_model_options, struct_size, 0, 8);
AT(takt_model_options, path, 8, 8);
AT(takt_model_options, memory, 16, 8);
AT(takt_model_options, memory_bytes, 24, 8);
AT(takt_model_options, descriptor_offset, 32, 8);
AT(takt_model_options, descriptor_length, 40, 8);
AT(takt_model_options, backend, 48, 8);
AT(takt_model_options, progress, 56, 8);
AT(takt_model_options, progress_user_data, 64, 8);
AT(takt_model_options, descriptor, 72, 4);
AT(takt_model_options, metadata_only, 76, 4);
AT(takt_model_options, packed_cache_dir, 80, 8);

FIXED(takt_engine_options_size, sizeof(takt_engine_options) == 104);
AT(takt_engine_options, struct_size, 0, 8);
AT(takt_engine_options, backend, 8, 8);
AT(takt_engine_options, context_tokens, 16, 4);
AT(takt_engine_options, max_sequences, 20, 4);
AT(takt_engine_options, max_waiting, 24, 4);
AT(takt_engine_options, chunk_tokens, 28, 4);
AT(takt_engine_options, kv_tokens, 32, 8);
AT(takt_engine_options, deterministic, 40, 4);
AT(takt_engine_options, kv_type, 44, 4);
AT(takt_engine_options, step_gap_ns, 48, 8);
AT(takt_engine_options, no_prefix_reuse, 56, 4);
AT(takt_engine_options, page_tokens, 60, 4);
AT(takt_engine_options, memory_limit_bytes, 64, 8);
AT(takt_engine_options, on_step, 72, 8);
AT(takt_engine_options, step_user_data, 80, 8);
AT(takt_engine_options, draft_model, 88, 8);
AT(takt_engine_options, step_driven, 96, 4);
AT(takt_engine_options, reserved, 100, 4);

FIXED(takt_request_options_size, sizeof(takt_request_options) == 208);
AT(takt_request_options, struct_size, 0, 8);
AT(takt_request_options, prompt, 8, 8);
AT(takt_request_options, prompt_bytes, 16, 8);
AT(takt_request_options, prompt_ids, 24, 8);
AT(takt_request_options, prompt_ids_count, 32, 8);
AT(takt_request_options, stop_strings, 40, 8);
AT(takt_request_options, stop_strings_count, 48, 8);
AT(takt_request_options, stop_ids, 56, 8);
AT(takt_request_options, stop_ids_count, 64, 8);
AT(takt_request_options, logit_bias_ids, 72, 8);
AT(takt_request_options, logit_bias_values, 80, 8);
AT(takt_request_options, logit_bias_count, 88, 8);
AT(takt_request_options, on_event, 96, 8);
AT(takt_request_options, on_release, 104, 8);
AT(takt_request_options, user_data, 112, 8);
AT(takt_request_options, seed, 120, 8);
AT(takt_request_options, deadline_ns, 128, 8);
AT(takt_request_options, prompt_flags, 136, 4);
AT(takt_request_options, max_tokens, 140, 4);
AT(takt_request_options, temperature, 144, 4);
AT(takt_request_options, top_k, 148, 4);
AT(takt_request_options, top_p, 152, 4);
AT(takt_request_options, min_p, 156, 4);
AT(takt_request_options, repetition_penalty, 160, 4);
AT(takt_request_options, frequency_penalty, 164, 4);
AT(takt_request_options, presence_penalty, 168, 4);
AT(takt_request_options, penalty_tokens, 172, 4);
AT(takt_request_options, ignore_eos, 176, 4);
AT(takt_request_options, priority, 180, 4);
AT(takt_request_options, keep_state, 184, 4);
AT(takt_request_options, drafts, 188, 4);
AT(takt_request_options, max_drafts, 192, 4);
AT(takt_request_options, context_policy, 196, 4);
AT(takt_request_options, pinned_tokens, 200, 4);
AT(takt_request_options, draft_rule, 204, 4);

FIXED(takt_event_size, sizeof(takt_event) == 136);
AT(takt_event, struct_size, 0, 8);
AT(takt_event, text, 8, 8);
AT(takt_event, text_bytes, 16, 8);
AT(takt_event, message, 24, 8);
AT(takt_event, message_bytes, 32, 8);
AT(takt_event, type, 40, 4);
AT(takt_event, token_id, 44, 4);
AT(takt_event, token_index, 48, 4);
AT(takt_event, finish_reason, 52, 4);
AT(takt_event, status, 56, 4);
AT(takt_event, step_rows, 60, 4);
AT(takt_event, submitted_ns, 64, 8);
AT(takt_event, scheduled_ns, 72, 8);
AT(takt_event, computed_ns, 80, 8);
AT(takt_event, ready_ns, 88, 8);
AT(takt_event, delivered_ns, 96, 8);
AT(takt_event, compute_ns, 104, 8);
AT(takt_event, step_tokens, 112, 4);
AT(takt_event, step_token_index, 116, 4);
AT(takt_event, dropped_tokens, 120, 8);
AT(takt_event, n_slides, 128, 4);
AT(takt_event, cached_tokens, 132, 4);

FIXED(takt_distribution_size, sizeof(takt_distribution) == 40);
AT(takt_distribution, count, 0, 8);
AT(takt_distribution, p50, 8, 8);
AT(takt_distribution, p95, 16, 8);
AT(takt_distribution, p99, 24, 8);
AT(takt_distribution, max, 32, 8);

FIXED(takt_timing_size, sizeof(takt_timing) == 432);
AT(takt_timing, struct_size, 0, 8);
AT(takt_timing, submitted_ns, 8, 8);
AT(takt_timing, scheduled_ns, 16, 8);
AT(takt_timing, first_token_ns, 24, 8);
AT(takt_timing, last_token_ns, 32, 8);
AT(takt_timing, finished_ns, 40, 8);
AT(takt_timing, queue_ns, 48, 8);
AT(takt_timing, prefill_ns, 56, 8);
AT(takt_timing, preempted_ns, 64, 8);
AT(takt_timing, decode_ns, 72, 8);
AT(takt_timing, finish_ns, 80, 8);
AT(takt_timing, e2e_ns, 88, 8);
AT(takt_timing, ttft_ns, 96, 8);
AT(takt_timing, tpot_ns, 104, 8);
AT(takt_timing, tpot_n1_ns, 112, 8);
AT(takt_timing, step_gap_ns, 120, 40);
AT(takt_timing, itl_ns, 160, 40);
AT(takt_timing, prompt_tokens, 200, 8);
AT(takt_timing, cached_tokens, 208, 8);
AT(takt_timing, generated_tokens, 216, 8);
AT(takt_timing, prefill_tokens_per_second, 224, 8);
AT(takt_timing, decode_tokens_per_second, 232, 8);
AT(takt_timing, backend, 240, 32);
AT(takt_timing, n_threads, 272, 4);
AT(takt_timing, finish_reason, 276, 4);
AT(takt_timing, draft_ns, 280, 8);
AT(takt_timing, drafted, 288, 64);
AT(takt_timing, accepted, 352, 64);
AT(takt_timing, dropped_tokens, 416, 8);
AT(takt_timing, n_slides, 424, 4);
AT(takt_timing, n_preemptions, 428, 4);

FIXED(takt_transfer_size, sizeof(takt_transfer) == 40);
AT(takt_transfer, struct_size, 0, 8);
AT(takt_transfer, transfer_bytes, 8, 8);
AT(takt_transfer, total_ns, 16, 8);
AT(takt_transfer, callback_ns, 24, 8);
AT(takt_transfer, n_tokens, 32, 4);
AT(takt_transfer, n_computed, 36, 4);

FIXED(takt_model_info_size, sizeof(takt_model_info) == 88);
AT(takt_model_info, struct_size, 0, 8);
AT(takt_model_info, family, 8, 8);
AT(takt_model_info, name, 16, 8);
AT(takt_model_info, fingerprint, 24, 8);
AT(takt_model_info, weight_bytes, 32, 8);
AT(takt_model_info, packed_bytes, 40, 8);
AT(takt_model_info, parameter_count, 48, 8);
AT(takt_model_info, vocab_size, 56, 4);
AT(takt_model_info, context_tokens, 60, 4);
AT(takt_model_info, n_layers, 64, 4);
AT(takt_model_info, embedding_dim, 68, 4);
AT(takt_model_info, bos_id, 72, 4);
AT(takt_model_info, eos_id, 76, 4);
AT(takt_model_info, has_chat_template, 80, 4);
AT(takt_model_info, reserved, 84, 4);

FIXED(takt_backend_info_size, sizeof(takt_backend_info) == 64);
AT(takt_backend_info, struct_size, 0, 8);
AT(takt_backend_info, name, 8, 8);
AT(takt_backend_info, device, 16, 8);
AT(takt_backend_info, isa, 24, 8);
AT(takt_backend_info, isa_levels, 32, 8);
AT(takt_backend_info, why_not, 40, 8);
AT(takt_backend_info, memory_bytes, 48, 8);
AT(takt_backend_info, available, 56, 4);
AT(takt_backend_info, reserved, 60, 4);

FIXED(takt_profile_options_size, sizeof(takt_profile_options) == 48);
AT(takt_profile_options, struct_size, 0, 8);
AT(takt_profile_options, backend, 8, 8);
AT(takt_profile_options, n_sequences, 16, 4);
AT(takt_profile_options, n_rows, 20, 4);
AT(takt_profile_options, n_output_rows, 24, 4);
AT(takt_profile_options, first_position, 28, 4);
AT(takt_profile_options, repetitions, 32, 4);
AT(takt_profile_options, limits, 36, 4);
AT(takt_profile_options, kv_type, 40, 4);
AT(takt_profile_options, reserved, 44, 4);

FIXED(takt_memory_plan_size, sizeof(takt_memory_plan) == 64);
AT(takt_memory_plan, struct_size, 0, 8);
AT(takt_memory_plan, weight_bytes, 8, 8);
AT(takt_memory_plan, kv_bytes, 16, 8);
AT(takt_memory_plan, scratch_bytes, 24, 8);
AT(takt_memory_plan, total_bytes, 32, 8);
AT(takt_memory_plan, kv_tokens, 40, 8);
AT(takt_memory_plan, context_tokens, 48, 4);
AT(takt_memory_plan, max_sequences, 52, 4);
AT(takt_memory_plan, chunk_tokens, 56, 4);
AT(takt_memory_plan, page_tokens, 60, 4);

FIXED(takt_step_size, sizeof(takt_step) == 64);
AT(takt_step, struct_size, 0, 8);
AT(takt_step, index, 8, 8);
AT(takt_step, begin_ns, 16, 8);
AT(takt_step, end_ns, 24, 8);
AT(takt_step, gap_ns, 32, 8);
AT(takt_step, decode_rows, 40, 4);
AT(takt_step, prefill_rows, 44, 4);
AT(takt_step, prefill_budget, 48, 4);
AT(takt_step, generated_tokens, 52, 4);
AT(takt_step, n_running, 56, 4);
AT(takt_step, n_waiting, 60, 4);

FIXED(takt_engine_statistics_size, sizeof(takt_engine_statistics) == 112);
AT(takt_engine_statistics, struct_size, 0, 8);
AT(takt_engine_statistics, pages_in_use, 8, 8);
AT(takt_engine_statistics, pages_cached, 16, 8);
AT(takt_engine_statistics, pages_total, 24, 8);
AT(takt_engine_statistics, page_waste, 32, 8);
AT(takt_engine_statistics, n_steps, 40, 8);
AT(takt_engine_statistics, n_preemptions, 48, 8);
AT(takt_engine_statistics, prompt_tokens_computed, 56, 8);
AT(takt_engine_statistics, prompt_tokens_cached, 64, 8);
AT(takt_engine_statistics, generated_tokens, 72, 8);
AT(takt_engine_statistics, page_tokens, 80, 4);
AT(takt_engine_statistics, max_sequences, 84, 4);
AT(takt_engine_statistics, n_running, 88, 4);
AT(takt_engine_statistics, n_waiting, 92, 4);
AT(takt_engine_statistics, drafted_tokens, 96, 8);
AT(takt_engine_statistics, accepted_tokens, 104, 8);

FIXED(takt_step_cost_size, sizeof(takt_step_cost) == 16);
AT(takt_step_cost, step_ns, 0, 8);
AT(takt_step_cost, n_rows, 8, 4);
AT(takt_step_cost, reserved, 12, 4);

FIXED(takt_step_costs_size, sizeof(takt_step_costs) == 56);
AT(takt_step_costs, struct_size, 0, 8);
AT(takt_step_costs, decode, 8, 8);
AT(takt_step_costs, decode_count, 16, 8);
AT(takt_step_costs, prefill, 24, 8);
AT(takt_step_costs, prefill_count, 32, 8);
AT(takt_step_costs, decode_position_ns, 40, 8);
AT(takt_step_costs, prefill_position_ns, 48, 8);

FIXED(takt_simulated_request_size, sizeof(takt_simulated_request) == 16);
AT(takt_simulated_request, arrival_ns, 0, 8);
AT(takt_simulated_request, prompt_tokens, 8, 4);
AT(takt_simulated_request, output_tokens, 12, 4);

#endif

FIXED(TAKT_OK_value, TAKT_OK == 0);
FIXED(TAKT_ERROR_INVALID_ARGUMENT_value, TAKT_ERROR_INVALID_ARGUMENT == -1);
FIXED(TAKT_ERROR_INVALID_STATE_value, TAKT_ERROR_INVALID_STATE == -2);
FIXED(TAKT_ERROR_NOT_FOUND_value, TAKT_ERROR_NOT_FOUND == -3);
FIXED(TAKT_ERROR_CANCELLED_value, TAKT_ERROR_CANCELLED == -4);
FIXED(TAKT_ERROR_TIMED_OUT_value, TAKT_ERROR_TIMED_OUT == -5);
FIXED(TAKT_ERROR_PROMPT_TOO_LONG_value, TAKT_ERROR_PROMPT_TOO_LONG == -6);
FIXED(TAKT_ERROR_PROMPT_EMPTY_value, TAKT_ERROR_PROMPT_EMPTY == -7);
FIXED(TAKT_ERROR_BUFFER_TOO_SMALL_value, TAKT_ERROR_BUFFER_TOO_SMALL == -8);
FIXED(TAKT_ERROR_UNSUPPORTED_value, TAKT_ERROR_UNSUPPORTED == -9);
FIXED(TAKT_ERROR_QUEUE_FULL_value, TAKT_ERROR_QUEUE_FULL == -10);
FIXED(TAKT_ERROR_FILE_NOT_FOUND_value, TAKT_ERROR_FILE_NOT_FOUND == -100);
FIXED(TAKT_ERROR_FILE_IO_value, TAKT_ERROR_FILE_IO == -101);
FIXED(TAKT_ERROR_FILE_TRUNCATED_value, TAKT_ERROR_FILE_TRUNCATED == -102);
FIXED(TAKT_ERROR_FILE_INVALID_value, TAKT_ERROR_FILE_INVALID == -103);
FIXED(TAKT_ERROR_FILE_UNSUPPORTED_value, TAKT_ERROR_FILE_UNSUPPORTED == -104);
FIXED(TAKT_ERROR_STATE_CORRUPT_value, TAKT_ERROR_STATE_CORRUPT == -105);
FIXED(TAKT_ERROR_STATE_MISMATCH_value, TAKT_ERROR_STATE_MISMATCH == -106);
FIXED(TAKT_ERROR_MODEL_UNSUPPORTED_value, TAKT_ERROR_MODEL_UNSUPPORTED == -200);
FIXED(TAKT_ERROR_MODEL_INVALID_value, TAKT_ERROR_MODEL_INVALID == -201);
FIXED(TAKT_ERROR_TOKENIZER_INVALID_value, TAKT_ERROR_TOKENIZER_INVALID == -202);
FIXED(TAKT_ERROR_TEMPLATE_MISSING_value, TAKT_ERROR_TEMPLATE_MISSING == -203);
FIXED(TAKT_ERROR_TEMPLATE_value, TAKT_ERROR_TEMPLATE == -204);
FIXED(TAKT_ERROR_LOGITS_NOT_FINITE_value, TAKT_ERROR_LOGITS_NOT_FINITE == -205);
FIXED(TAKT_ERROR_NO_TOKEN_ALLOWED_value, TAKT_ERROR_NO_TOKEN_ALLOWED == -206);
FIXED(TAKT_ERROR_OUT_OF_MEMORY_value, TAKT_ERROR_OUT_OF_MEMORY == -300);
FIXED(TAKT_ERROR_DEVICE_FAILED_value, TAKT_ERROR_DEVICE_FAILED == -301);
FIXED(TAKT_ERROR_INTERNAL_value, TAKT_ERROR_INTERNAL == -900);
FIXED(TAKT_CONTINUE_value, TAKT_CONTINUE == 0);
FIXED(TAKT_STOP_value, TAKT_STOP == 1);
FIXED(TAKT_LOG_ERROR_value, TAKT_LOG_ERROR == 0);
FIXED(TAKT_LOG_WARNING_value, TAKT_LOG_WARNING == 1);
FIXED(TAKT_LOG_INFO_value, TAKT_LOG_INFO == 2);
FIXED(TAKT_LOG_DEBUG_value, TAKT_LOG_DEBUG == 3);
FIXED(TAKT_EVENT_TOKEN_value, TAKT_EVENT_TOKEN == 1);
FIXED(TAKT_EVENT_FINISHED_value, TAKT_EVENT_FINISHED == 2);
FIXED(TAKT_FINISH_NONE_value, TAKT_FINISH_NONE == 0);
FIXED(TAKT_FINISH_STOP_value, TAKT_FINISH_STOP == 1);
FIXED(TAKT_FINISH_LENGTH_value, TAKT_FINISH_LENGTH == 2);
FIXED(TAKT_FINISH_CANCELLED_value, TAKT_FINISH_CANCELLED == 3);
FIXED(TAKT_FINISH_CONTEXT_FULL_value, TAKT_FINISH_CONTEXT_FULL == 4);
FIXED(TAKT_FINISH_DEADLINE_value, TAKT_FINISH_DEADLINE == 5);
FIXED(TAKT_FINISH_ERROR_value, TAKT_FINISH_ERROR == 6);
FIXED(TAKT_CONTEXT_STOP_value, TAKT_CONTEXT_STOP == 0);
FIXED(TAKT_CONTEXT_SLIDE_value, TAKT_CONTEXT_SLIDE == 1);
FIXED(TAKT_ADD_SPECIAL_value, TAKT_ADD_SPECIAL == 1);
FIXED(TAKT_PARSE_SPECIAL_value, TAKT_PARSE_SPECIAL == 2);
FIXED(TAKT_UNDEFINED_NS_value, TAKT_UNDEFINED_NS == UINT64_MAX);
FIXED(takt_status_size, sizeof(takt_status) == 4);

int main(void) {
    return 0;
}
