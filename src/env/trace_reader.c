// SPDX-License-Identifier: Apache-2.0
// Reading and comparing traces.

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"
#include "env/trace_reader.h"

mm_status mm_trace_open(const char *path, cJSON **root) {
  char *text;
  size_t length;
  *root = NULL;
  MM_TRY(mm_file_read(path, MM_TRACE_MOST_BYTES, &text, &length));
  mm_status status = mm_json_parse(text, length, path, root);
  mm_free(text);
  return status;
}

const char *mm_trace_where(const mm_trace_place *place, char out[MM_TRACE_WHERE_SIZE]) {
  const char *source = place->source;
  if (place->trajectory < 0)
    snprintf(out, MM_TRACE_WHERE_SIZE, "%.500s", source);
  else if (place->t < 0)
    snprintf(out, MM_TRACE_WHERE_SIZE, "%.500s: %s %lld", source, place->kind,
             (long long)place->trajectory);
  else
    snprintf(out, MM_TRACE_WHERE_SIZE, "%.500s: %s %lld, t %lld", source, place->kind,
             (long long)place->trajectory, (long long)place->t);
  return out;
}

// ---------------------------------------------------------------------------------------------
// Numbers

static mm_status fail_value(const mm_trace_place *place, const char *field, const char *expected,
                            const cJSON *found) {
  char where[MM_TRACE_WHERE_SIZE], number[MM_JSON_NUMBER_SIZE];
  return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected %s, found %s",
                 mm_trace_where(place, where), field, expected,
                 cJSON_IsNumber(found) ? mm_json_format_number(found->valuedouble, number)
                                       : mm_json_describe(found));
}

mm_status mm_trace_whole(const mm_trace_place *place, const char *field, const cJSON *item,
                         int32_t low, int32_t high, int32_t *out) {
  double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  if (value >= low && value <= high && value == trunc(value)) {
    *out = (int32_t)value;
    return MM_OK;
  }
  char expected[64];
  snprintf(expected, sizeof expected, "a whole number from %ld to %ld", (long)low, (long)high);
  return fail_value(place, field, expected, item);
}

mm_status mm_trace_float(const mm_trace_place *place, const char *field, const cJSON *item,
                         float *out) {
  double value = 0;
  bool good = false;
  if (cJSON_IsNumber(item)) {
    value = item->valuedouble;
    good = fabs(value) <= (double)FLT_MAX;
  } else if (cJSON_IsString(item)) { // as numbers that are not finite are written
    good = mm_json_parse_number(item->valuestring, &value) && !isfinite(value);
  }
  if (!good) return fail_value(place, field, "a number within the range of float32", item);
  *out = (float)value;
  return MM_OK;
}

static size_t count(const cJSON *array) {
  size_t n = 0;
  for (const cJSON *entry = array->child; entry; entry = entry->next)
    n++;
  return n;
}

mm_status mm_trace_floats(const mm_trace_place *place, const char *field, const cJSON *item, int n,
                          float *out) {
  if (!cJSON_IsArray(item) || count(item) != (size_t)n) {
    char expected[64], where[MM_TRACE_WHERE_SIZE];
    snprintf(expected, sizeof expected, "%d numbers", n);
    if (!cJSON_IsArray(item)) return fail_value(place, field, expected, item);
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected %s, found %zu",
                   mm_trace_where(place, where), field, expected, count(item));
  }
  const cJSON *entry = item->child;
  for (int i = 0; i < n; i++, entry = entry->next)
    MM_TRY(mm_trace_float(place, field, entry, &out[i]));
  return MM_OK;
}

mm_status mm_trace_wholes(const mm_trace_place *place, const char *field, const cJSON *item,
                          int most, int32_t *out, int32_t *n) {
  char where[MM_TRACE_WHERE_SIZE];
  *n = 0;
  if (!cJSON_IsArray(item)) return fail_value(place, field, "a list of whole numbers", item);
  for (const cJSON *entry = item->child; entry; entry = entry->next) {
    if (*n == most)
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected at most %d entries, found %zu",
                     mm_trace_where(place, where), field, most, count(item));
    MM_TRY(mm_trace_whole(place, field, entry, INT32_MIN, INT32_MAX, &out[(*n)++]));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The file as a whole

mm_status mm_trace_column(const mm_trace_place *place, const cJSON *object, const char *key,
                          size_t n, const cJSON **first) {
  char where[MM_TRACE_WHERE_SIZE];
  const cJSON *array;
  size_t length;
  MM_TRY(mm_json_get_array(object, mm_trace_where(place, where), key, n, n, &array, &length));
  *first = array->child;
  return MM_OK;
}

// There are as many transitions as actions.
static mm_status find_columns(const mm_trace_place *place, const cJSON *trajectory, bool timed,
                              mm_trace_columns *out) {
  char where[MM_TRACE_WHERE_SIZE];
  const cJSON *actions;
  *out = (mm_trace_columns){ 0 };
  mm_trace_where(place, where);
  if (!cJSON_IsObject(trajectory))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected an object, found %s", where,
                   mm_json_describe(trajectory));
  MM_TRY(mm_json_get_array(trajectory, where, "actions", 0, SIZE_MAX, &actions, &out->n));
  out->action = actions->child;
  MM_TRY(mm_trace_column(place, trajectory, "states", out->n + 1, &out->state));
  if (timed) MM_TRY(mm_trace_column(place, trajectory, "times", out->n + 1, &out->time));
  MM_TRY(mm_trace_column(place, trajectory, "obs", out->n + 1, &out->obs));
  MM_TRY(mm_trace_column(place, trajectory, "rewards", out->n, &out->reward));
  MM_TRY(mm_trace_column(place, trajectory, "terminated", out->n, &out->terminated));
  return mm_trace_column(place, trajectory, "truncated", out->n, &out->truncated);
}

mm_status mm_trace_next(const mm_trace_place *place, mm_trace_columns *c, mm_trace_outcome *out) {
  MM_TRY(mm_trace_float(place, "rewards", c->reward, &out->reward));
  MM_TRY(mm_trace_whole(place, "terminated", c->terminated, 0, 1, &out->terminated));
  MM_TRY(mm_trace_whole(place, "truncated", c->truncated, 0, 1, &out->truncated));
  const cJSON **column[] = { &c->state,  &c->time,       &c->obs,      &c->action,
                             &c->reward, &c->terminated, &c->truncated };
  for (size_t i = 0; i < sizeof column / sizeof *column; i++)
    if (*column[i]) *column[i] = (*column[i])->next;
  return MM_OK;
}

mm_status mm_trace_time(const mm_trace_place *place, const mm_trace_columns *c, int32_t *out) {
  enum { MOST = 1 << 30 };
  return mm_trace_whole(place, "times", c->time, 0, MOST, out);
}

mm_status mm_replay_trajectories(mm_replayer *re, const cJSON *trajectories) {
  const cJSON *item;
  cJSON_ArrayForEach(item, trajectories) {
    re->place.t = -1;
    MM_TRY(find_columns(&re->place, item, re->timed, &re->c));
    if (re->find) MM_TRY(re->find(re, item));
    for (size_t t = 0; t < re->c.n; t++) {
      re->place.t = (int64_t)t;
      mm_replay_begin(&re->r, re->place.trajectory, re->place.t);
      MM_TRY(re->transition(re));
      mm_replay_end(&re->r);
    }
    re->place.trajectory++;
  }
  return MM_OK;
}

mm_status mm_trace_check_env(const cJSON *root, const char *source, const char *id) {
  const char *env;
  if (!cJSON_IsObject(root))
    return MM_FAIL(MM_ERR_INPUT, "%s: not a trace of %s: expected an object, found %s", source, id,
                   mm_json_describe(root));
  if (mm_json_find(root, "levels") && !mm_json_find(root, "env"))
    return MM_FAIL(MM_ERR_INPUT, "%s: not a trace of %s: it has the levels of Grid-Worlds", source,
                   id);
  MM_TRY(mm_json_get_string(root, source, "env", &env));
  if (strcmp(env, id) == 0) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: not a trace of %s: field 'env': expected '%s', found '%.80s'",
                 source, id, id, env);
}

mm_status mm_trace_check_names(const cJSON *root, const char *source, const char *key,
                               const char *const *names, int n) {
  const cJSON *array, *entry;
  size_t length;
  int i = 0;
  MM_TRY(mm_json_get_array(root, source, key, (size_t)n, (size_t)n, &array, &length));
  cJSON_ArrayForEach(entry, array) {
    if (!cJSON_IsString(entry) || strcmp(entry->valuestring, names[i]) != 0)
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': entry %d: expected '%s', found %s%.60s%s",
                     source, key, i, names[i], cJSON_IsString(entry) ? "'" : "",
                     cJSON_IsString(entry) ? entry->valuestring : mm_json_describe(entry),
                     cJSON_IsString(entry) ? "'" : "");
    i++;
  }
  return MM_OK;
}

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-5 * fmax(1, fabs(b));
}

static mm_status check_param(const mm_trace_place *place, const cJSON *item,
                             const mm_trace_param *p) {
  float value[MM_TRACE_PARAM_MOST] = { 0 };
  if (p->n == 1)
    MM_TRY(mm_trace_float(place, p->name, item, value));
  else
    MM_TRY(mm_trace_floats(place, p->name, item, p->n, value));
  for (int i = 0; i < p->n; i++) {
    if (!close_to((double)value[i], (double)p->value[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'params.%s': this environment has %.9g, found %.9g",
                     place->source, p->name, (double)p->value[i], (double)value[i]);
  }
  return MM_OK;
}

mm_status mm_trace_check_params(const cJSON *root, const char *source, const mm_trace_param *params,
                                int32_t *limit) {
  const mm_trace_place place = { source, "", -1, -1 };
  const cJSON *object, *item;
  if (!mm_json_find(root, "params")) return MM_OK;
  MM_TRY(mm_json_get_object(root, source, "params", &object));
  for (const mm_trace_param *p = params; p->name; p++) {
    item = mm_json_find(object, p->name);
    if (item) MM_TRY(check_param(&place, item, p));
  }
  item = mm_json_find(object, "max_steps_in_episode");
  if (item) MM_TRY(mm_trace_whole(&place, "max_steps_in_episode", item, 0, INT32_MAX, limit));
  return MM_OK;
}

mm_status mm_trace_check_form(const cJSON *root, const char *source, const char *id,
                              const char *const *field, int n_field, const mm_trace_param *params,
                              int32_t *limit, const cJSON **trajectories) {
  size_t n;
  MM_TRY(mm_trace_check_env(root, source, id));
  MM_TRY(mm_trace_check_names(root, source, "state_fields", field, n_field));
  MM_TRY(mm_trace_check_params(root, source, params, limit));
  return mm_json_get_array(root, source, "trajectories", 1, SIZE_MAX, trajectories, &n);
}

// ---------------------------------------------------------------------------------------------
// Comparison

static const double turn = 6.283185307179586;

void mm_replay_begin(mm_replay *r, int64_t trajectory, int64_t t) {
  r->trajectory = trajectory;
  r->t = t;
  r->prefix = "";
  r->same = true;
}

void mm_replay_end(mm_replay *r) {
  r->report->transitions++;
  r->report->matched += r->same;
  r->report->mismatched += !r->same;
}

static void note_mismatch(mm_replay *r, const char *field, int index, mm_replay_mismatch m) {
  r->same = false;
  if (r->report->has_mismatch) return;
  m.trajectory = r->trajectory;
  m.t = r->t;
  if (index < 0)
    snprintf(m.field, sizeof m.field, "%s%.32s", r->prefix, field);
  else
    snprintf(m.field, sizeof m.field, "%s%.24s[%d]", r->prefix, field, index);
  r->report->has_mismatch = true;
  r->report->first = m;
}

// How far apart two numbers are; infinitely when only one of them is a number.
static double distance(double expected, double got) {
  if ((isnan(expected) && isnan(got)) || expected == got) return 0;
  double d = fabs(expected - got);
  return isnan(d) ? INFINITY : d;
}

static void judge(mm_replay *r, const char *field, int index, double expected, double got,
                  double error, double allowed) {
  if (error > r->report->max_abs_error) r->report->max_abs_error = error;
  if (error <= allowed) return;
  note_mismatch(r, field, index, (mm_replay_mismatch){ .expected = expected, .got = got });
}

void mm_replay_exact(mm_replay *r, const char *field, int index, double expected, double got) {
  judge(r, field, index, expected, got, distance(expected, got), 0);
}

void mm_replay_near(mm_replay *r, const char *field, int index, double expected, double got,
                    bool angle) {
  double error = distance(expected, got);
  if (angle && isfinite(error)) error = fabs(error - turn * rint(error / turn));
  judge(r, field, index, expected, got, error,
        isfinite(expected) ? 1e-5 * fmax(1, fabs(expected)) : 0);
}

void mm_replay_within(mm_replay *r, const char *field, int index, double expected, double got,
                      double allowed) {
  judge(r, field, index, expected, got, distance(expected, got), isfinite(expected) ? allowed : 0);
}

void mm_replay_ends(mm_replay *r, const mm_trace_outcome *expected, const mm_trace_outcome *got) {
  mm_replay_exact(r, "terminated", -1, expected->terminated, got->terminated);
  mm_replay_exact(r, "truncated", -1, expected->truncated, got->truncated);
}

void mm_replay_lists(mm_replay *r, const char *field, const int32_t *expected, int n_expected,
                     const int32_t *got, int n_got) {
  int n = n_expected < n_got ? n_expected : n_got;
  for (int i = 0; i < n; i++)
    mm_replay_exact(r, field, i, expected[i], got[i]);
  if (n_expected > n)
    note_mismatch(r, field, n, (mm_replay_mismatch){ .expected = expected[n], .no_got = true });
  if (n_got > n)
    note_mismatch(r, field, n, (mm_replay_mismatch){ .got = got[n], .no_expected = true });
}
