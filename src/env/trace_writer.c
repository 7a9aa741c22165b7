// SPDX-License-Identifier: Apache-2.0
// Text that grows, as JSON.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "env/trace_writer.h"
#include "mirrormap/env.h"

static void put(mm_text *t, const char *text, size_t n) {
  if (t->failed) return;
  if (n >= t->room - t->used) { // one more for the zero
    size_t room = t->room < 256 ? 256 : t->room;
    while (room <= SIZE_MAX / 2 && n >= room - t->used)
      room *= 2;
    char *larger = mm_alloc(room);
    if (larger && t->at) memcpy(larger, t->at, t->used);
    mm_free(t->at);
    t->at = larger;
    t->room = room;
    t->failed = larger == NULL;
    if (t->failed) return;
  }
  memcpy(t->at + t->used, text, n);
  t->used += n;
  t->at[t->used] = '\0';
}

void mm_text_release(mm_text *t) {
  mm_free(t->at);
  *t = (mm_text){ 0 };
}

void mm_text_clear(mm_text *t) {
  t->used = 0;
}

bool mm_text_goes_on(const mm_text *t) {
  return !t->failed && t->used <= MM_TRACE_MOST_BYTES;
}

// Between values.
static void separate(mm_text *t) {
  if (!t->failed && t->used > 0 && !strchr("[{:", t->at[t->used - 1])) put(t, ",", 1);
}

void mm_text_whole(mm_text *t, int64_t value) {
  char text[24];
  int n = snprintf(text, sizeof text, "%" PRId64, value);
  separate(t);
  put(t, text, (size_t)n);
}

// A number's text; what is not finite becomes a string.
static void put_number(mm_text *t, const char *text) {
  bool finite = !strpbrk(text, "in");
  separate(t);
  if (!finite) put(t, "\"", 1);
  put(t, text, strlen(text));
  if (!finite) put(t, "\"", 1);
  if (finite && !strpbrk(text, ".e")) put(t, ".0", 2);
}

void mm_text_float(mm_text *t, float value) {
  char text[MM_JSON_NUMBER_SIZE];
  put_number(t, mm_json_format_float(value, text));
}

void mm_text_number(mm_text *t, double value) {
  char text[MM_JSON_NUMBER_SIZE];
  put_number(t, mm_json_format_number(value, text));
}

void mm_text_string(mm_text *t, const char *value) {
  cJSON *item = cJSON_CreateString(value);
  char *text = item ? mm_json_print(item, false) : NULL;
  separate(t);
  if (text)
    put(t, text, strlen(text));
  else
    t->failed = true;
  mm_free(text);
  cJSON_Delete(item);
}

void mm_text_key(mm_text *t, const char *key) {
  mm_text_string(t, key);
  put(t, ":", 1);
}

void mm_text_open(mm_text *t, char bracket) {
  separate(t);
  put(t, &bracket, 1);
}

void mm_text_close(mm_text *t, char bracket) {
  put(t, &bracket, 1);
}

void mm_text_end(mm_text *t) {
  put(t, "\n", 1);
}

// ---------------------------------------------------------------------------------------------

void mm_text_wholes(mm_text *t, const int32_t *values, int n) {
  mm_text_open(t, '[');
  for (int i = 0; i < n; i++)
    mm_text_whole(t, values[i]);
  mm_text_close(t, ']');
}

void mm_text_floats(mm_text *t, const float *values, int n) {
  mm_text_open(t, '[');
  for (int i = 0; i < n; i++)
    mm_text_float(t, values[i]);
  mm_text_close(t, ']');
}

void mm_text_names(mm_text *t, const char *const *names, int n) {
  mm_text_open(t, '[');
  for (int i = 0; i < n; i++)
    mm_text_string(t, names[i]);
  mm_text_close(t, ']');
}

void mm_text_array(mm_text *t, const char *key, const mm_text *entries) {
  mm_text_key(t, key);
  mm_text_open(t, '[');
  if (entries->failed) t->failed = true;
  if (entries->used > 0) put(t, entries->at, entries->used);
  mm_text_close(t, ']');
}

void mm_text_ends(mm_text *terminated, mm_text *truncated, unsigned end) {
  mm_text_whole(terminated, (end & MM_END_TERMINATED) != 0);
  mm_text_whole(truncated, (end & MM_END_TRUNCATED) != 0);
}

void mm_text_params(mm_text *t, int32_t limit, const mm_trace_param *params, bool whole) {
  mm_text_key(t, "params");
  mm_text_open(t, '{');
  mm_text_key(t, "max_steps_in_episode");
  mm_text_whole(t, limit);
  for (const mm_trace_param *p = params; p->name; p++) {
    mm_text_key(t, p->name);
    if (whole)
      mm_text_whole(t, (int64_t)p->value[0]);
    else if (p->n == 1)
      mm_text_float(t, p->value[0]);
    else
      mm_text_floats(t, p->value, p->n);
  }
  mm_text_close(t, '}');
}

void mm_text_form(mm_text *t, const char *id, int32_t limit, const mm_trace_param *params,
                  const char *const *field, int n_field) {
  mm_text_key(t, "env");
  mm_text_string(t, id);
  mm_text_params(t, limit, params, false);
  mm_text_key(t, "state_fields");
  mm_text_names(t, field, n_field);
}

// ---------------------------------------------------------------------------------------------

mm_recorder mm_recorder_make(const mm_record_plan *plan, const char *const *names, int n_column) {
  mm_recorder rec = { .plan = plan,
                      .resets = mm_stream_make(plan->seed, 0, MM_RNG_ENV_RESET, 0),
                      .steps = mm_stream_make(plan->seed, 0, MM_RNG_ENV_STEP, 0),
                      .actions = mm_stream_make(plan->seed, 0, MM_RNG_ACTION, 0),
                      .n_column = n_column };
  for (int i = 0; i < n_column; i++)
    rec.name[i] = names[i];
  return rec;
}

void mm_record_episodes(mm_recorder *rec, const char *key,
                        void (*play)(mm_recorder *rec, uint64_t episode), mm_text *out) {
  mm_text_key(out, key);
  mm_text_open(out, '[');
  for (uint64_t episode = 0; mm_text_goes_on(out) && episode < rec->plan->episodes; episode++) {
    for (int i = 0; i < rec->n_column; i++)
      mm_text_clear(&rec->column[i]);
    play(rec, episode);
    mm_text_open(out, '{');
    mm_text_key(out, "policy");
    mm_text_string(out, "random");
    for (int i = 0; i < rec->n_column; i++)
      if (rec->name[i]) mm_text_array(out, rec->name[i], &rec->column[i]);
    mm_text_close(out, '}');
  }
  mm_text_close(out, ']');
  for (int i = 0; i < rec->n_column; i++)
    mm_text_release(&rec->column[i]);
}
