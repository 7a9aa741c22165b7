// SPDX-License-Identifier: Apache-2.0
// `runs`: the run folders below some folders, one line each.

#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "mirrormap/run.h"

enum { DEPTH_MAX = 8 };

// ---------------------------------------------------------------------------------------------
// Finding run folders

typedef struct folder_list {
  char **path; // [n]
  size_t n;
} folder_list;

static char *join(const char *folder, const char *name) {
  size_t length = strlen(folder);
  bool slash = length > 0 && folder[length - 1] == '/';
  return memory_print("%s%s%s", folder, slash ? "" : "/", name);
}

static bool holds_run(const char *folder) {
  struct stat about;
  char *path = join(folder, "run.db");
  bool found = lstat(path, &about) == 0;
  free(path);
  return found;
}

// Links are not followed, so that the search ends.
static bool is_folder(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static void add_path(folder_list *list, char *path) {
  list->path = memory_grow(list->path, list->n, sizeof *list->path);
  list->path[list->n++] = path;
}

// Adds the run folders at and below `path`. What cannot be opened below is passed over.
static void search(folder_list *list, const char *path, int depth) {
  if (holds_run(path)) {
    add_path(list, memory_text(path, strlen(path)));
    return;
  }
  DIR *directory = depth < DEPTH_MAX ? opendir(path) : NULL;
  if (directory == NULL) return;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char *below = join(path, entry->d_name);
    if (is_folder(below)) search(list, below, depth + 1);
    free(below);
  }
  closedir(directory);
}

// By name, numbers within names by their value: learn-2 before learn-10.
static int compare_paths(const void *left, const void *right) {
  const char *a = *(char *const *)left, *b = *(char *const *)right;
  while (*a != '\0' && *b != '\0') {
    size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
    if (m > 0 && n > 0) {
      for (; m > 1 && *a == '0'; a++)
        m--;
      for (; n > 1 && *b == '0'; b++)
        n--;
      int order = m != n ? (m < n ? -1 : 1) : strncmp(a, b, m);
      if (order != 0) return order;
      a += m;
      b += n;
    } else {
      if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
      a++;
      b++;
    }
  }
  return (*a != '\0') - (*b != '\0');
}

static int find_folders(const option_texts *given, folder_list *list) {
  static const char *usual[] = { "runs" };
  const option_texts all = given->n > 0 ? *given : (option_texts){ usual, 1 };
  for (size_t i = 0; i < all.n; i++) {
    const char *path = all.value[i];
    size_t length = strlen(path);
    DIR *directory = opendir(path);
    if (directory == NULL && given->n == 0 && errno == ENOENT) break; // nothing was run here yet
    if (directory == NULL)
      return fail(EXIT_USAGE, "cannot open the folder '%s': %s", path, strerror(errno));
    closedir(directory);
    while (length > 1 && path[length - 1] == '/')
      length--;
    char *plain = memory_text(path, length);
    search(list, plain, 0);
    free(plain);
  }
  if (list->n > 1) qsort(list->path, list->n, sizeof *list->path, compare_paths);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// What is known of a run

typedef struct entry {
  const char *path;
  char *error; // why it could not be read, or what is damaged; NULL
  bool readable, damaged;
  char *command;
  cJSON *envs;     // array of strings
  cJSON *sessions; // array of objects
  mm_run_plan plan;
  mm_run_summary summary;
  // best mean of the map "learned" on the validation tasks, in the last phase that has any
  bool validated;
  double best;
  int64_t best_generation;
} entry;

typedef struct validation {
  entry *e;
  int64_t generation;
  int32_t phase, best_phase;
  double sum;
  size_t n; // 0 before the first
} validation;

static void close_group(validation *v) {
  entry *e = v->e;
  double mean = v->n > 0 ? v->sum / (double)v->n : NAN;
  v->n = 0;
  v->sum = 0;
  if (isnan(mean)) return;
  if (e->validated && v->phase == v->best_phase && !(mean > e->best)) return;
  e->validated = true;
  e->best = mean;
  e->best_generation = v->generation;
  v->best_phase = v->phase;
}

static const mm_study_value *column_of(const mm_study_value *value, size_t n, const char *name) {
  size_t i = 0;
  while (i + 1 < n && strcmp(value[i].name, name) != 0)
    i++;
  return &value[i];
}

// A training run without a return leaves the mean of its generation without one.
static int add_score(const mm_study_value *row, size_t n, void *user) {
  validation *v = user;
  const int64_t generation = column_of(row, n, "generation")->integer;
  const int32_t phase = (int32_t)column_of(row, n, "phase")->integer;
  const mm_study_value *value = column_of(row, n, "value");
  if (strcmp(column_of(row, n, "map")->data, "learned") != 0) return 0;
  if (v->n > 0 && (generation != v->generation || phase != v->phase)) close_group(v);
  v->generation = generation;
  v->phase = phase;
  v->sum += value->type == MM_VALUE_NULL ? NAN : value->real;
  v->n++;
  return 0;
}

// A text, or an object that has one as its name.
static void add_env(entry *e, const cJSON *item) {
  const cJSON *name = cJSON_IsObject(item) ? mm_json_find(item, "name") : item;
  if (cJSON_IsString(name)) cJSON_AddItemToArray(e->envs, cJSON_CreateString(name->valuestring));
}

// Configurations of other commands, or of somebody else, may have any shape.
static void read_config(const mm_run *run, entry *e) {
  const char *text = mm_run_config(run);
  cJSON *root = NULL;
  e->envs = cJSON_CreateArray();
  if (mm_json_parse(text, strlen(text), e->path, &root) != MM_OK) return;
  const cJSON *env = mm_json_find(root, "env");
  if (env == NULL) env = mm_json_find(root, "envs");
  if (cJSON_IsString(env)) add_env(e, env);
  if (cJSON_IsArray(env))
    for (const cJSON *item = env->child; item != NULL; item = item->next)
      add_env(e, item);
  cJSON_Delete(root);
}

static int add_session(const mm_study_value *row, size_t n, void *user) {
  static const char *const shown[] = { "started", "ended", "outcome", "host", "backend" };
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    const mm_study_value *value = column_of(row, n, shown[i]);
    if (value->type == MM_VALUE_NULL)
      cJSON_AddNullToObject(object, shown[i]);
    else
      cJSON_AddStringToObject(object, shown[i], value->data);
  }
  cJSON_AddItemToArray(user, object);
  return 0;
}

static void note_error(entry *e) {
  const char *text = mm_last_error();
  if (e->error == NULL) e->error = memory_text(text, strlen(text));
}

static void read_run(entry *e) {
  mm_run *run;
  if (mm_run_open(e->path, MM_RUN_SALVAGE, &run) != MM_OK) {
    note_error(e);
    return;
  }
  validation v = { .e = e };
  mm_status status = mm_run_begin(run); // all of it at one moment
  if (status == MM_OK) {
    const char *name = mm_run_command(run);
    e->command = memory_text(name, strlen(name));
    read_config(run, e);
    status = mm_run_summarise(run, &e->summary);
    e->readable = status == MM_OK || status == MM_ERR_INPUT;
  }
  if (status != MM_OK) note_error(e);
  if (e->readable && mm_run_planned(run, &e->plan) != MM_OK) note_error(e);
  if (e->readable && mm_run_rows(run, "score", add_score, &v) != MM_OK) note_error(e);
  e->sessions = cJSON_CreateArray();
  if (e->readable) // damage is noted
    (void)mm_run_rows(run, "session", add_session, e->sessions);
  close_group(&v);
  e->damaged = mm_run_damage(run) != NULL;
  if (e->error == NULL && e->damaged)
    e->error = memory_text(mm_run_damage(run), strlen(mm_run_damage(run)));
  mm_run_drop(run);
  mm_run_close(run);
}

static void release(entry *e) {
  free(e->error);
  free(e->command);
  cJSON_Delete(e->envs);
  cJSON_Delete(e->sessions);
}

static const char *state_of(const entry *e) {
  if (e->damaged) return "damaged";
  return e->readable ? mm_run_state(&e->summary, e->plan) : "unreadable";
}

// ---------------------------------------------------------------------------------------------
// Showing it

enum { COLUMNS = 9 };

static cJSON *entry_json(entry *e) {
  const mm_run_summary *s = &e->summary;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "run", e->path);
  cJSON_AddStringToObject(object, "state", state_of(e));
  output_add_text(object, "error", e->error);
  if (!e->readable) return object;
  output_add_text(object, "command", e->command);
  cJSON_AddItemToObject(object, "env", e->envs);
  e->envs = NULL;
  if (e->damaged) return object;
  output_add_number(object, "generations", (double)s->generations);
  mm_json_add_defined(object, "planned",
                      e->plan.generations > 0 ? (double)e->plan.generations : NAN);
  output_add_number(object, "evaluations", (double)s->evaluations);
  output_add_number(object, "env_steps", (double)s->env_steps);
  mm_json_add_defined(object, "best_validation", e->validated ? e->best : NAN);
  mm_json_add_defined(object, "best_generation", e->validated ? (double)e->best_generation : NAN);
  output_add_number(object, "trainings", (double)s->trainings);
  mm_json_add_defined(object, "seeds", e->plan.trainings > 0 ? (double)e->plan.trainings : NAN);
  output_add_number(object, "seconds", s->seconds);
  output_add_number(object, "checkpointed_env_steps", (double)s->kept_steps);
  mm_json_add_defined(object, "planned_env_steps", e->plan.env_steps > 0 ? e->plan.env_steps : NAN);
  output_add_text(object, "started", s->started);
  output_add_text(object, "last", s->last);
  cJSON_AddItemToObject(object, "sessions", e->sessions);
  e->sessions = NULL;
  return object;
}

static void put_or_dash(table *t, const char *text) {
  table_text(t, text[0] != '\0' ? text : "-");
}

static void put_envs(table *t, const entry *e) {
  int n = cJSON_GetArraySize(e->envs);
  char *text =
      memory_print(n > 1 ? "%s +%d" : "%s", n > 0 ? e->envs->child->valuestring : "", n - 1);
  put_or_dash(t, text);
  free(text);
}

// "cpu", or "cpu, cuda" for one that was moved: each once, in the order of the sessions.
static void put_backends(table *t, const entry *e) {
  char text[96] = "";
  size_t used = 0;
  for (const cJSON *s = e->sessions->child; s != NULL && used < sizeof text; s = s->next) {
    const char *name = mm_json_find(s, "backend")->valuestring;
    bool seen = false;
    for (const cJSON *b = e->sessions->child; b != s; b = b->next)
      seen = seen || strcmp(mm_json_find(b, "backend")->valuestring, name) == 0;
    if (!seen)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", name);
  }
  put_or_dash(t, text);
}

// "3/8" generations of a search; of training runs "3/8, 41 %", those that are not complete counted
// as far as they are checkpointed.
static const char *progress_text(const entry *e) {
  const mm_run_summary *s = &e->summary;
  const mm_run_plan *plan = &e->plan;
  const bool search = plan->trainings == 0;
  const int64_t done = search ? s->generations : s->trainings;
  const int64_t planned = search ? plan->generations : plan->trainings;
  if (planned == 0) return output_format("%lld", (long long)done);
  const char *share = output_format("%lld/%lld", (long long)done, (long long)planned);
  if (search || done >= planned || !(plan->env_steps > 0)) return share;
  const double steps = (double)s->env_steps + (double)s->kept_steps;
  return output_format("%s, %.0f %%", share, floor(fmin(100 * steps / plan->env_steps, 100)));
}

// 2026-01-31T12:34:56.789Z without what is too fine
static void put_time(table *t, const char *time) {
  char text[32];
  snprintf(text, sizeof text, "%.16s", time);
  char *mark = strchr(text, 'T');
  if (mark != NULL) *mark = ' ';
  put_or_dash(t, text);
}

static void put_row(table *t, const entry *e) {
  const char *state = state_of(e);
  put_or_dash(t, e->path);
  put_or_dash(t, state);
  if (strcmp(state, "done") == 0 || strcmp(state, "running") == 0) table_mark(t, true);
  bool bad = !e->readable || e->damaged;
  if (bad || strcmp(state, "killed") == 0 || strcmp(state, "failed") == 0) table_mark(t, false);
  // what is intact of a damaged run is not what the run came to
  if (bad) {
    for (int column = 2; column < COLUMNS - 2; column++)
      table_text(t, "-");
  } else {
    table_text(t, progress_text(e));
    table_text(t, output_si((double)e->summary.env_steps + (double)e->summary.kept_steps));
    table_text(t, e->validated ? output_format("%.4g", e->best) : "-");
    put_time(t, e->summary.last);
    put_backends(t, e);
  }
  if (e->readable) {
    put_or_dash(t, e->command);
    put_envs(t, e);
  } else {
    table_text(t, "-");
    table_text(t, "-");
  }
}

static int put_table(const entry *entries, size_t n) {
  table *t = table_create("<run|<state|progress|steps|~validation|<last update (UTC)|~<backend|"
                          "~<command|~<env");
  for (size_t i = 0; i < n; i++)
    put_row(t, &entries[i]);
  table_print(t);
  return EXIT_DONE;
}

static int put_json(entry *entries, size_t n) {
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "runs");
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, entry_json(&entries[i]));
  return output_json(root, EXIT_DONE);
}

static int run(void *raw) {
  const command_args *args = raw;
  folder_list list = { 0 };
  int code = find_folders(&args->positional, &list);
  entry *entries = memory_alloc(list.n, sizeof *entries);
  bool trouble = false;
  for (size_t i = 0; i < list.n && code == EXIT_DONE; i++) {
    entries[i].path = list.path[i];
    read_run(&entries[i]);
    if (entries[i].error == NULL) continue;
    trouble = fail(EXIT_FAILED, "%s: %s", list.path[i], entries[i].error) != EXIT_DONE;
  }
  if (code == EXIT_DONE) {
    if (list.n == 0) note("no runs found");
    code = args->json ? put_json(entries, list.n) : put_table(entries, list.n);
    if (code == EXIT_DONE && trouble) code = EXIT_FAILED;
  }
  for (size_t i = 0; i < list.n; i++) {
    release(&entries[i]);
    free(list.path[i]);
  }
  free(list.path);
  free(entries);
  return code;
}

const command command_runs = {
  .name = "runs",
  .summary = "list runs",
  .positional = "[FOLDER...]",
  .about =
      "Lists the run folders at and below each FOLDER (default: runs). States: running, done, "
      "stopped (by --max-seconds), interrupted, failed, killed (its process ended without a "
      "trace), new (nothing done yet), damaged, unreadable. All but done, running and the "
      "last two resume with 'COMMAND --resume FOLDER', COMMAND being learn, train, transfer, "
      "tune or reproduce. The progress of a search is in generations, that of others in training "
      "runs, with the share of their steps that is done or checkpointed. The validation is the "
      "best mean return of the learned map on its validation tasks. A narrow terminal shows fewer "
      "columns. Runs that are damaged or cannot be read are named on stderr, without numbers here, "
      "and the exit code is 1 then; "
      "'mirrormap export' takes out what is intact.",
  .examples = "mirrormap runs\nmirrormap runs experiments --json",
  .common = COMMON_JSON,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(command_args),
  .run = run,
};
