// SPDX-License-Identifier: Apache-2.0
#include "study/stats/score_origin.h"

#include <stdio.h>
#include <string.h>

#include "agent/learner.h"
#include "base/status.h"

// ---------------------------------------------------------------------------------------------
// Remarks

mm_status mm_score_origin_take(mm_score_origin *o, const char *line, size_t length,
                               const char *source) {
  const struct {
    const char *start;
    cJSON **tree;
  } part[] = {
    { "# maps: {", &o->maps },
    { "# envs: {", &o->envs },
    { "# fingerprints: {", &o->fingerprints },
    { "# settings: {", &o->settings },
  };
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    const size_t start = strlen(part[i].start) - 1; // the object's place
    if (length <= start || strncmp(line, part[i].start, start + 1) != 0) continue;
    cJSON_Delete(*part[i].tree);
    *part[i].tree = NULL;
    return mm_json_parse(line + start, length - start, source, part[i].tree);
  }
  return MM_OK;
}

void mm_score_origin_release(mm_score_origin *o) {
  cJSON_Delete(o->maps);
  cJSON_Delete(o->envs);
  cJSON_Delete(o->fingerprints);
  cJSON_Delete(o->settings);
}

bool mm_score_origin_has_map(const mm_score_origin *o, const char *map) {
  return mm_json_find(o->maps, map) || mm_json_find(o->fingerprints, map);
}

bool mm_score_origin_has_env(const mm_score_origin *o, const char *env) {
  return mm_json_find(o->envs, env) || mm_json_find(o->settings, env);
}

// ---------------------------------------------------------------------------------------------
// Two tables

static const char *text_at(const cJSON *object, const char *key) {
  return cJSON_GetStringValue(mm_json_find(object, key));
}

// What is not said cannot differ.
static bool differ(const char *a, const char *b) {
  return a && b && strcmp(a, b) != 0;
}

static mm_status refuse(const mm_score_origin *a, const mm_score_origin *b, const char *what,
                        const char *name, const char *in_a, const char *in_b) {
  return MM_FAIL(MM_ERR_INPUT,
                 "%s and %s: %s '%.100s' is not the same: %.200s and %.200s; expected %ss with "
                 "names of their own",
                 a->table, b->table, what, name, in_a, in_b, what);
}

mm_status mm_score_origin_same_map(const mm_score_origin *a, const mm_score_origin *b,
                                   const char *map) {
  const char *mark_a = text_at(a->fingerprints, map), *mark_b = text_at(b->fingerprints, map);
  const char *file_a = text_at(a->maps, map), *file_b = text_at(b->maps, map);
  const bool marks = mark_a && mark_b;
  if (!(marks ? differ(mark_a, mark_b) : differ(file_a, file_b))) return MM_OK;
  if (differ(file_a, file_b)) return refuse(a, b, "map", map, file_a, file_b);
  return refuse(a, b, "map", map, mark_a, mark_b); // the file changed between the two
}

// The value that a setting has where nobody has said another.
static bool is_default(const cJSON *item, const mm_learner *learner) {
  const mm_setting *s = learner ? mm_learner_setting(learner, item->string) : NULL;
  if (!s) return true; // nothing is known of it
  if (s->type == MM_SETTING_NUMBER) return cJSON_IsNumber(item) && item->valuedouble == s->value;
  const char *word = s->type == MM_SETTING_FACTORS ? "none" : s->words;
  const size_t length = strcspn(word, "|");
  const char *text = cJSON_GetStringValue(item);
  return text && strlen(text) == length && strncmp(text, word, length) == 0;
}

static bool is_step_size(const char *key) {
  return strcmp(key, "eta") == 0 || strcmp(key, "eta_schedule") == 0;
}

// The first setting of a, of the step size or else, that b has otherwise; NULL: there is none.
static const char *differing(const cJSON *a, const cJSON *b, const mm_learner *learner,
                             bool step_size) {
  const cJSON *item;
  cJSON_ArrayForEach(item, a) {
    const cJSON *other = mm_json_find(b, item->string);
    if (is_step_size(item->string) != step_size) continue;
    if (other ? !cJSON_Compare(item, other, true) : !is_default(item, learner)) return item->string;
  }
  return NULL;
}

static const cJSON *settings_of(const mm_score_origin *o, const char *env) {
  const cJSON *settings = mm_json_find(o->settings, env);
  return cJSON_IsObject(settings) ? settings : NULL;
}

static const char *value_text(const mm_score_origin *o, const char *env, const char *key,
                              char out[80]) {
  const cJSON *item = mm_json_find(settings_of(o, env), key);
  char *text = item ? mm_json_print(item, false) : NULL;
  snprintf(out, 80, "%s", text ? text : "not said");
  mm_free(text);
  return out;
}

mm_status mm_score_origin_same_settings(const mm_score_origin *a, const mm_score_origin *b,
                                        const char *env, const char *map) {
  const cJSON *own_a = settings_of(a, env), *own_b = settings_of(b, env);
  const char *algo = text_at(own_a, "algo"), *key = NULL;
  char value_a[80], value_b[80];
  mm_algo known;
  if (!own_a || !own_b) return MM_OK;
  const mm_learner *learner = algo && mm_algo_find(algo, &known) ? mm_learner_of(known) : NULL;
  if (differ(algo, text_at(own_b, "algo"))) key = "algo"; // and so most of the others
  if (!key) key = differing(own_a, own_b, learner, map);
  if (!key) key = differing(own_b, own_a, learner, map);
  if (!key) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s and %s: %s%.100s%s%.100s: setting '%.40s' is %s and %s; expected %s", a->table,
                 b->table, map ? "map '" : "", map ? map : "", map ? "' on " : "", env, key,
                 value_text(a, env, key, value_a), value_text(b, env, key, value_b),
                 map ? "one step size for a map" : "the same settings but for eta");
}

mm_status mm_score_origin_same_env(const mm_score_origin *a, const mm_score_origin *b,
                                   const char *env) {
  const char *file_a = text_at(a->envs, env), *file_b = text_at(b->envs, env);
  return differ(file_a, file_b) ? refuse(a, b, "environment", env, file_a, file_b) : MM_OK;
}
