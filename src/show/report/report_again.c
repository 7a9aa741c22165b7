// Command lines that make a run once more: its options, and of its settings those that the program
// would not choose by itself. What comes from the configuration is quoted for a shell.

#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "show/report/report_internal.h"
#include "study/jobs/plan.h"

typedef struct line {
  char *text; // [room], zero at the end
  size_t used, room;
  bool broken; // no memory
} line;

static void put(line *l, const char *bytes, size_t n) {
  if (l->broken) return;
  if (l->used + n + 1 > l->room) {
    size_t room = 2 * (l->used + n + 1);
    char *larger = mm_alloc(room);
    l->broken = !larger;
    if (l->broken) return;
    if (l->text) memcpy(larger, l->text, l->used);
    mm_free(l->text);
    l->text = larger;
    l->room = room;
  }
  memcpy(l->text + l->used, bytes, n);
  l->used += n;
  l->text[l->used] = 0;
}

static void put_text(line *l, const char *text) {
  put(l, text, strlen(text));
}

// A word of a shell: plain where nothing in it means anything there.
static void put_word(line *l, const char *text) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%";
  if (text[0] && strspn(text, plain) == strlen(text)) {
    put_text(l, text);
    return;
  }
  put_text(l, "'");
  for (; *text; text++) {
    if (*text == '\'')
      put_text(l, "'\\''");
    else
      put(l, text, 1);
  }
  put_text(l, "'");
}

static void put_option(line *l, const char *name, const char *value) {
  put_text(l, " --");
  put_text(l, name);
  put_text(l, " ");
  put_word(l, value);
}

// ---------------------------------------------------------------------------------------------
// Settings

static bool text_of(const cJSON *item, char out[MM_SCHEDULE_SIZE]) {
  char number[MM_JSON_NUMBER_SIZE];
  const char *text = cJSON_IsString(item) || cJSON_IsRaw(item) ? item->valuestring
                     : cJSON_IsNumber(item) ? mm_json_format_number(item->valuedouble, number)
                                            : NULL;
  if (!text || strlen(text) >= MM_SCHEDULE_SIZE) return false;
  strcpy(out, text);
  return true;
}

static void put_setting(line *l, const char *key, const char *value) {
  char pair[MM_SCHEDULE_SIZE + 64];
  snprintf(pair, sizeof pair, "%s=%s", key, value);
  put_option(l, "set", pair);
}

// The keys of `usual` whose value in `own` is another, once each: `done` has those that were put.
static void put_settings(line *l, const cJSON *usual, const cJSON *own, cJSON *done) {
  char value[MM_SCHEDULE_SIZE], other[MM_SCHEDULE_SIZE], schedule[MM_SCHEDULE_SIZE] = "-";
  text_of(mm_json_find(own, "schedule"), schedule);
  for (const cJSON *item = usual ? usual->child : NULL; item; item = item->next) {
    if (!text_of(mm_json_find(own, item->string), value) || mm_json_find(done, item->string))
      continue;
    bool same = text_of(item, other) && strcmp(value, other) == 0;
    // a schedule fixes the number of generations, and steps without one would end it
    if (strcmp(item->string, "generations") == 0 && strcmp(schedule, "-") != 0) same = true;
    if (strcmp(item->string, "schedule") == 0 && mm_json_find(done, "steps")) same = false;
    if (same) continue;
    put_setting(l, item->string, value);
    cJSON_AddTrueToObject(done, item->string);
  }
}

// ---------------------------------------------------------------------------------------------
// Environments

// What the program would take for an environment; a task file's is Grid-World's.
static void usual_of(const char *env, bool file, const char **algo, const char **preset) {
  mm_env_info info;
  *algo = "pmd";
  *preset = "gridworld";
  for (size_t i = 0; !file && mm_env_list(i, &info); i++)
    if (strcmp(info.id, env) == 0) {
      *algo = info.algo;
      *preset = info.preset;
      return;
    }
}

// An environment's name, or the copy of its task file in the run.
static void put_env(line *l, const mm_report_run *r, const char *env, bool file, size_t i) {
  char place[32];
  if (!file) {
    put_text(l, env);
    return;
  }
  snprintf(place, sizeof place, "/env-%zu.yaml", i);
  put_text(l, mm_run_folder_of(r->run));
  put_text(l, place);
}

// Everything that an environment's settings need; false where they cannot be told.
static bool put_changes(line *l, const char *env, bool file, const char *algo_name,
                        const cJSON *settings, const cJSON *search, cJSON *done) {
  const char *usual_algo, *preset;
  mm_algo algo;
  usual_of(env, file, &usual_algo, &preset);
  if (!algo_name || !mm_algo_find(algo_name, &algo)) return false;
  mm_settings usual = mm_settings_default(algo);
  mm_settings_fit(&usual, preset);
  if (strcmp(algo_name, usual_algo) != 0 && !mm_json_find(done, "algo")) {
    put_option(l, "algo", algo_name);
    cJSON_AddTrueToObject(done, "algo");
  }
  cJSON *own = mm_settings_json(&usual), *searched = search ? mm_search_json(&usual) : NULL;
  put_settings(l, own, settings, done);
  put_settings(l, searched, search, done);
  cJSON_Delete(own);
  cJSON_Delete(searched);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Maps. The run holds the texts of their files: what the program does not know by name is written
// anew from there, since the path of that day may lead to nothing or to another map by now.

#define MAPS_FOLDER "again-maps"
enum { MAP_PLACE_SIZE = 128 };

static bool is_path(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0) ||
         access(name, F_OK) == 0;
}

// Whether the program makes this very map of the name.
static bool is_named(const char *name, const char *file_text) {
  mm_map *named = NULL, *own = NULL;
  char *a = NULL, *b = NULL;
  bool same = !is_path(name) && mm_map_open(name, &named) == MM_OK &&
              mm_map_parse(file_text, strlen(file_text), "map", &own) == MM_OK &&
              mm_map_format(named, NULL, &a) == MM_OK && mm_map_format(own, NULL, &b) == MM_OK &&
              strcmp(a, b) == 0;
  mm_map_text_free(a);
  mm_map_text_free(b);
  mm_map_destroy(named);
  mm_map_destroy(own);
  return same;
}

// Where the map's file is written, of its own name as far as that is a plain one, since tables are
// labelled by it; NULL where the name will do.
static const char *place_of(const cJSON *object, const char *name, size_t i,
                            char out[MAP_PLACE_SIZE]) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:+=@";
  const char *text = mm_report_config_text(object, "map_file");
  const char *label = mm_report_config_text(object, "label"), *slash = strrchr(name, '/');
  if (!text || is_named(name, text)) return NULL;
  if (!label) label = slash ? slash + 1 : name;
  size_t length = strlen(label);
  if (length > 5 && strcmp(label + length - 5, ".json") == 0) length -= 5;
  bool usable = length > 0 && length < MAP_PLACE_SIZE - 20 && label[0] != '.' &&
                strspn(label, plain) >= length;
  if (usable)
    snprintf(out, MAP_PLACE_SIZE, MAPS_FOLDER "/%.*s.json", (int)length, label);
  else
    snprintf(out, MAP_PLACE_SIZE, MAPS_FOLDER "/map-%zu.json", i + 1);
  return out;
}

static void put_map(line *l, const cJSON *object, const char *name, size_t i) {
  char place[MAP_PLACE_SIZE];
  const char *file = place_of(object, name, i, place);
  put_text(l, file ? file : name);
}

static void put_map_option(line *l, const cJSON *config, const char *map) {
  line name = { 0 };
  put_map(&name, config, map, 0);
  if (name.text) put_option(l, "map", name.text);
  l->broken = l->broken || name.broken;
  mm_free(name.text);
}

static void add_line(cJSON *array, line *l, bool known) {
  if (known && !l->broken) cJSON_AddItemToArray(array, cJSON_CreateString(l->text));
  mm_free(l->text);
  *l = (line){ 0 };
}

// mkdir -p again-maps && printf '%s\n' '{..}' > again-maps/mine.json
static void add_map_line(cJSON *array, const cJSON *object, const char *key, size_t i) {
  const char *name = mm_report_config_text(object, key);
  const char *text = mm_report_config_text(object, "map_file");
  char place[MAP_PLACE_SIZE];
  cJSON *file;
  if (!name || !place_of(object, name, i, place)) return;
  if (mm_json_parse(text, strlen(text), "map", &file) != MM_OK) return;
  char *contents = mm_json_print(file, false);
  line l = { .broken = !contents };
  put_text(&l, "mkdir -p " MAPS_FOLDER " && printf '%s\\n' ");
  if (contents) put_word(&l, contents);
  put_text(&l, " > ");
  put_word(&l, place);
  add_line(array, &l, true);
  mm_free(contents);
  cJSON_Delete(file);
}

static void add_map_lines(cJSON *array, const cJSON *config) {
  const cJSON *maps = mm_json_find(config, "maps");
  size_t i = 0;
  add_map_line(array, config, "map", 0);
  for (const cJSON *map = maps ? maps->child : NULL; map; map = map->next, i++)
    if (!cJSON_IsTrue(mm_json_find(map, "control"))) add_map_line(array, map, "name", i);
}

// ---------------------------------------------------------------------------------------------
// Commands

static bool is_file(const cJSON *item) {
  return cJSON_IsString(item);
}

static void put_seed(line *l, const cJSON *config) {
  const char *seed = mm_report_config_text(config, "seed");
  if (seed && strcmp(seed, "0") != 0) put_option(l, "seed", seed);
}

static void put_count(line *l, const char *name, const cJSON *item) {
  char text[MM_SCHEDULE_SIZE];
  if (text_of(item, text)) put_option(l, name, text);
}

// Fields "env" and "files", of several environments; the first one's name, or NULL.
static const char *put_envs(line *l, const mm_report_run *r, bool *first_file) {
  const cJSON *envs = mm_json_find(r->config, "env"), *files = mm_json_find(r->config, "files");
  const cJSON *first = cJSON_IsArray(envs) ? envs->child : NULL;
  line names = { 0 };
  size_t i = 0;
  if (!first || !cJSON_IsString(first)) return NULL;
  for (const cJSON *env = first; env; env = env->next, i++) {
    if (!cJSON_IsString(env)) continue;
    if (i > 0) put_text(&names, ",");
    put_env(&names, r, env->valuestring, is_file(cJSON_GetArrayItem(files, (int)i)), i);
  }
  if (names.text) put_option(l, "env", names.text);
  l->broken = l->broken || names.broken;
  mm_free(names.text);
  *first_file = is_file(cJSON_GetArrayItem(files, 0));
  return first->valuestring;
}

static bool put_learn(line *l, const mm_report_run *r) {
  const char *init = mm_report_config_text(r->config, "init");
  bool file;
  const char *env = put_envs(l, r, &file);
  if (!env) return false;
  put_seed(l, r->config);
  if (init && init[0]) put_option(l, "init", init);
  cJSON *done = cJSON_CreateObject();
  bool known =
      put_changes(l, env, file, mm_report_config_text(r->config, "algo"),
                  mm_json_find(r->config, "settings"), mm_json_find(r->config, "learn"), done);
  cJSON_Delete(done);
  return known;
}

static bool put_train(line *l, const mm_report_run *r) {
  const char *env = mm_report_config_text(r->config, "env");
  const char *map = mm_report_config_text(r->config, "map");
  const char *algo = mm_report_config_text(r->config, "algo");
  bool file = is_file(mm_json_find(r->config, "file"));
  line name = { 0 };
  if (!env || !map || !algo) return false;
  put_env(&name, r, env, file, 0);
  if (name.text) put_option(l, "env", name.text);
  l->broken = l->broken || name.broken;
  mm_free(name.text);
  put_map_option(l, r->config, map);
  put_count(l, "seeds", mm_json_find(r->config, "seeds"));
  put_seed(l, r->config);
  cJSON *done = cJSON_CreateObject();
  bool known = put_changes(l, env, file, algo, mm_json_find(r->config, "settings"), NULL, done);
  cJSON_Delete(done);
  if (strcmp(algo, "pmd") == 0) put_option(l, "out", "again"); // others have a folder anyway
  return known;
}

// Controls are what the program adds by itself.
static void put_asked_maps(line *l, const cJSON *maps) {
  const char *controls = "none";
  line names = { 0 };
  size_t i = 0;
  for (const cJSON *map = maps->child; map; map = map->next, i++) {
    const char *name = mm_report_config_text(map, "name");
    bool control = cJSON_IsTrue(mm_json_find(map, "control"));
    if (control && strcmp(controls, "none") == 0) controls = "cheap";
    if (cJSON_IsTrue(mm_json_find(map, "tuned"))) controls = "full";
    if (control || !name) continue;
    if (names.used > 0) put_text(&names, ",");
    put_map(&names, map, name, i);
  }
  if (names.text) put_option(l, "maps", names.text);
  put_option(l, "controls", controls);
  l->broken = l->broken || names.broken;
  mm_free(names.text);
}

static bool put_env_changes(line *l, const cJSON *envs) {
  cJSON *done = cJSON_CreateObject();
  bool known = true, networks = false;
  for (const cJSON *env = envs->child; env; env = env->next) {
    const char *name = mm_report_config_text(env, "name");
    const char *algo = mm_report_config_text(env, "algo");
    networks = networks || (algo && strcmp(algo, "pmd") != 0);
    known = known && name &&
            put_changes(l, name, is_file(mm_json_find(env, "file")), algo,
                        mm_json_find(env, "settings"), NULL, done);
  }
  cJSON_Delete(done);
  if (!networks) put_option(l, "out", "again"); // others have a folder anyway
  return known;
}

static bool put_transfer(line *l, const mm_report_run *r) {
  const cJSON *maps = mm_json_find(r->config, "maps"), *envs = mm_json_find(r->config, "envs");
  line names = { 0 };
  size_t i = 0;
  if (!cJSON_IsArray(maps) || !cJSON_IsArray(envs) || !envs->child) return false;
  put_asked_maps(l, maps);
  for (const cJSON *env = envs->child; env; env = env->next, i++) {
    const char *name = mm_report_config_text(env, "name");
    if (i > 0) put_text(&names, ",");
    put_env(&names, r, name ? name : "?", is_file(mm_json_find(env, "file")), i);
  }
  if (names.text) put_option(l, "envs", names.text);
  l->broken = l->broken || names.broken;
  mm_free(names.text);
  put_count(l, "seeds", mm_json_find(r->config, "seeds"));
  put_seed(l, r->config);
  const cJSON *tune = mm_json_find(r->config, "tune_seeds");
  if (cJSON_IsNumber(tune) && tune->valuedouble > 0) put_count(l, "tune-seeds", tune);
  return put_env_changes(l, envs);
}

// A line of a space file, "  lr: {log: [0.1, 10], points: 5}", as a word of a shell.
static bool put_parameter(line *l, const cJSON *parameter) {
  const char *name = mm_report_config_text(parameter, "name");
  const char *scale = mm_report_config_text(parameter, "scale");
  const cJSON *choices = mm_json_find(parameter, "choice");
  char low[MM_SCHEDULE_SIZE], high[MM_SCHEDULE_SIZE], points[MM_SCHEDULE_SIZE];
  line text = { 0 };
  if (!name || !scale) return false;
  put_text(&text, "  ");
  put_text(&text, name);
  put_text(&text, ": {");
  put_text(&text, scale);
  put_text(&text, ": [");
  for (const cJSON *item = choices ? choices->child : NULL; item; item = item->next) {
    if (item != choices->child) put_text(&text, ", ");
    put_text(&text, cJSON_IsString(item) ? item->valuestring : "");
  }
  bool range = text_of(mm_json_find(parameter, "low"), low) &&
               text_of(mm_json_find(parameter, "high"), high) &&
               text_of(mm_json_find(parameter, "points"), points);
  if (range) {
    put_text(&text, low);
    put_text(&text, ", ");
    put_text(&text, high);
    put_text(&text, "], points: ");
    put_text(&text, points);
  }
  put_text(&text, range ? "}" : "]}");
  put_text(l, " ");
  if (text.text) put_word(l, text.text);
  l->broken = l->broken || text.broken;
  mm_free(text.text);
  return range || cJSON_IsArray(choices);
}

// printf '%s\n' 'method: grid' 'parameters:' .. > space.yaml
static bool put_space(line *l, const cJSON *config) {
  const char *method = mm_report_config_text(config, "method");
  const cJSON *parameters = mm_json_find(config, "parameters");
  char text[64];
  bool known = method && cJSON_IsArray(parameters);
  snprintf(text, sizeof text, "method: %.40s", method ? method : "");
  put_text(l, "printf '%s\\n' ");
  put_word(l, text);
  put_text(l, " parameters:");
  for (const cJSON *item = known ? parameters->child : NULL; item; item = item->next)
    known = put_parameter(l, item) && known;
  put_text(l, " > space.yaml");
  return known;
}

static bool put_tune(line *l, const mm_report_run *r) {
  const char *map = mm_report_config_text(r->config, "map");
  const char *prune = mm_report_config_text(r->config, "prune");
  const cJSON *population = mm_json_find(r->config, "population");
  const cJSON *settings = mm_json_find(r->config, "settings");
  bool file;
  const char *env = put_envs(l, r, &file);
  if (!env || !map || !prune || !cJSON_IsArray(settings)) return false;
  put_map_option(l, r->config, map);
  put_option(l, "space", "space.yaml");
  put_count(l, "trials", mm_json_find(r->config, "trials"));
  if (cJSON_IsNumber(population) && population->valuedouble > 0)
    put_count(l, "population", population);
  put_count(l, "seeds", mm_json_find(r->config, "seeds_per_trial"));
  put_count(l, "validate", mm_json_find(r->config, "validate"));
  put_option(l, "prune", prune);
  put_seed(l, r->config);
  cJSON *done = cJSON_CreateObject();
  bool known = put_changes(l, env, file, mm_report_config_text(r->config, "algo"), settings->child,
                           NULL, done);
  cJSON_Delete(done);
  return known;
}

static bool put_reproduce(line *l, const mm_report_run *r) {
  const char *artefact = mm_report_config_text(r->config, "artefact");
  const char *scale = mm_report_config_text(r->config, "scale");
  const cJSON *seeds = mm_json_find(r->config, "seeds"), *set = mm_json_find(r->config, "set");
  const cJSON *from = mm_json_find(r->config, "from");
  line names = { 0 };
  if (!artefact || !scale) return false;
  put_text(l, " ");
  put_word(l, artefact);
  put_option(l, "scale", scale);
  if (cJSON_IsNumber(seeds) && seeds->valuedouble > 0) put_count(l, "seeds", seeds);
  put_seed(l, r->config);
  for (const cJSON *item = set ? set->child : NULL; item; item = item->next)
    if (item->string && cJSON_IsString(item)) put_setting(l, item->string, item->valuestring);
  for (const cJSON *item = from ? from->child : NULL; item; item = item->next) {
    if (!cJSON_IsString(item)) continue;
    if (names.used > 0) put_text(&names, ",");
    put_text(&names, item->valuestring);
  }
  if (names.text) put_option(l, "maps-from", names.text);
  l->broken = l->broken || names.broken;
  mm_free(names.text);
  return true;
}

cJSON *mm_report_again(const mm_report_run *r) {
  static const struct {
    const char *name;
    bool (*put)(line *l, const mm_report_run *r);
  } command[] = { { "learn", put_learn },
                  { "train", put_train },
                  { "transfer", put_transfer },
                  { "tune", put_tune },
                  { "reproduce", put_reproduce } };
  const char *name = mm_run_command(r->run);
  cJSON *array = cJSON_CreateArray();
  line l = { 0 };
  for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
    if (strcmp(command[i].name, name) != 0) continue;
    add_map_lines(array, r->config);
    if (command[i].put == put_tune) {
      bool known = put_space(&l, r->config);
      add_line(array, &l, known);
    }
    put_text(&l, "mirrormap ");
    put_text(&l, name);
    bool known = command[i].put(&l, r);
    add_line(array, &l, known);
  }
  return array;
}
