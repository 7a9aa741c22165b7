// SPDX-License-Identifier: Apache-2.0
// `map list`: names that --map takes, and the learned maps with what their cards say.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data_folder.h"
#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "map/family.h"

enum { LEARNED_MAX = 256, NAME_WIDTH = 12 };

// A learned map and the validation of its search.
typedef struct learned {
  const char *name;
  mm_map *map;
  cJSON *card; // NULL without one
} learned;

static int by_name(const void *left, const void *right) {
  return strcmp(left, right);
}

static learned read_learned(const char *name) {
  learned m = { .name = name };
  if (mm_map_open(name, &m.map) != MM_OK) return m;
  const char *card = mm_map_meta(m.map);
  if (card != NULL && mm_json_parse(card, strlen(card), name, &m.card) != MM_OK) m.card = NULL;
  return m;
}

static void release(learned *m) {
  mm_map_destroy(m->map);
  cJSON_Delete(m->card);
}

// "Hopper +2", or "-".
static const char *learned_on(const learned *m) {
  const cJSON *envs = mm_json_find(m->card, "learned_on");
  const int n = cJSON_GetArraySize(envs);
  if (n == 0 || !cJSON_IsString(envs->child)) return "-";
  return n == 1 ? output_format("%s", envs->child->valuestring)
                : output_format("%s +%d", envs->child->valuestring, n - 1);
}

static const char *validated(const learned *m, const char *key) {
  const cJSON *item = mm_json_find(mm_json_find(m->card, "validation"), key);
  const cJSON *mean = mm_json_find(item, "mean"), *sem = mm_json_find(item, "sem");
  if (!cJSON_IsNumber(mean)) return "-";
  const mm_estimate e = { mean->valuedouble, cJSON_IsNumber(sem) ? sem->valuedouble : NAN, 0 };
  return output_estimate(e, strcmp(key, "learned") != 0);
}

static void put_text(const learned *maps, size_t n) {
  const char *random = "";
  for (int k = 0; k < MM_MAP_KINDS; k++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)k);
    const char *name = family->usage ? family->usage : mm_map_kind_name((mm_map_kind)k);
    output_text(output_format("%-*s", NAME_WIDTH, name));
    help_wrapped(family->about, NAME_WIDTH, NAME_WIDTH, terminal_width(stdout));
    if (family->random_name)
      random = output_format("%s%s%s:SEED", random, random[0] ? ", " : "", family->random_name);
  }
  output_text("\nRandom maps of these families, as controls:\n");
  help_wrapped(random, 2, 0, terminal_width(stdout));
  output_text("\nLearned maps, with mean returns on the validation tasks of their searches:\n");
  table *t = table_create("<map|<learned on|~return|- negentropy|- l2|~<kind|~eta");
  for (size_t i = 0; i < n; i++) {
    const learned *m = &maps[i];
    table_text(t, m->name);
    table_text(t, learned_on(m));
    table_text(t, validated(m, "learned"));
    table_text(t, validated(m, "learned_minus_negentropy"));
    table_text(t, validated(m, "learned_minus_l2"));
    table_text(t, m->map != NULL ? map_describe_kind(m->map) : "unreadable");
    const double eta = m->map != NULL ? mm_map_eta(m->map) : 0;
    table_text(t, eta > 0 ? output_number(eta) : "-");
  }
  table_print(t);
}

static cJSON *learned_json(const learned *m) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", m->name);
  output_add_text(object, "kind",
                  m->map != NULL ? mm_map_kind_name(mm_map_get_kind(m->map)) : NULL);
  const double eta = m->map != NULL ? mm_map_eta(m->map) : 0;
  mm_json_add_defined(object, "eta", eta > 0 ? eta : NAN);
  static const char *const copied[] = { "learned_on", "validation" };
  for (int i = 0; i < 2; i++) {
    const cJSON *item = mm_json_find(m->card, copied[i]);
    cJSON_AddItemToObject(object, copied[i],
                          item != NULL ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
  }
  return object;
}

static int put_json(const learned *maps, size_t n) {
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "families");
  for (int k = 0; k < MM_MAP_KINDS; k++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)k);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", mm_map_kind_name((mm_map_kind)k));
    output_add_text(object, "usage", family->usage);
    output_add_text(object, "random", family->random_name);
    cJSON_AddStringToObject(object, "about", family->about);
    cJSON_AddItemToArray(array, object);
  }
  array = cJSON_AddArrayToObject(root, "learned");
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, learned_json(&maps[i]));
  return output_json(root, EXIT_DONE);
}

static int run(void *raw) {
  const command_args *args = raw;
  static char names[LEARNED_MAX][MM_DATA_NAME_SIZE];
  static learned maps[LEARNED_MAX];
  const size_t n = mm_data_names("maps", ".json", names, LEARNED_MAX);
  int code = EXIT_DONE;
  qsort(names, n, sizeof *names, by_name);
  for (size_t i = 0; i < n; i++)
    maps[i] = read_learned(names[i]);
  if (args->json)
    code = put_json(maps, n);
  else
    put_text(maps, n);
  for (size_t i = 0; i < n; i++)
    release(&maps[i]);
  return code;
}

const command command_map_list = {
  .name = "list",
  .summary = "all maps that have a name",
  .about = "A MAP is one of these names, a map file, or - for one on stdin. maps/README.md says "
           "what the learned ones are worth on fresh seeds.",
  .examples = "mirrormap map list\nmirrormap map list --json",
  .common = COMMON_JSON,
  .args_size = sizeof(command_args),
  .run = run,
};
