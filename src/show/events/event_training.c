// Trainings as event files: one for every seed of a batch, and one for the mean over its seeds.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/events/event_internal.h"
#include "study/jobs/plan.h"
#include "study/stats/estimate.h"

#define RETURN "return"

// Numbers over steps under one tag, of all trainings of a group.
typedef struct curves {
  char tag[MM_RUN_WORD_SIZE];
  mm_result *of; // [n] of the group; only curve and status count
} curves;

// Trainings that differ by their seeds alone.
typedef struct group {
  mm_run_training *training; // [n] by job
  size_t n;
  curves *curves; // [n_curves]
  size_t n_curves;
  size_t next;      // the training that the rows have come to
  bool repeated;    // some seed is there twice
  double from, to;  // shares of the run's time between which they were trained
  double last_step; // of any
  mm_status status; // of what is done with the rows
} group;

static void release(group *g) {
  for (size_t i = 0; i < g->n_curves; i++) {
    for (size_t k = 0; k < g->n; k++)
      mm_result_release(&g->curves[i].of[k]);
    mm_free(g->curves[i].of);
  }
  mm_free(g->curves);
  mm_free(g->training);
}

static mm_status fail_on_memory(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of trainings");
}

// ---------------------------------------------------------------------------------------------
// Reading

static int see_training(const mm_run_row *row, void *user) {
  group *g = user;
  mm_run_training *array = mm_grow(g->training, g->n, sizeof *array);
  if (!array) {
    g->status = fail_on_memory();
    return 1;
  }
  g->training = array;
  g->training[g->n++] = row->training;
  return 0;
}

static int add_steps(const mm_run_row *row, void *user) {
  *(double *)user += (double)row->training.env_steps;
  return 0;
}

static mm_status find_curves(group *g, const char *tag, curves **out) {
  for (size_t i = 0; i < g->n_curves; i++) {
    *out = &g->curves[i];
    if (strcmp((*out)->tag, tag) == 0) return MM_OK;
  }
  curves *array = mm_grow(g->curves, g->n_curves, sizeof *array);
  mm_result *of = array ? mm_alloc_array(g->n, sizeof *of) : NULL;
  if (array) g->curves = array;
  if (!of) return fail_on_memory();
  memset(of, 0, g->n * sizeof *of);
  *out = &g->curves[g->n_curves++];
  snprintf((*out)->tag, sizeof(*out)->tag, "%s", tag);
  (*out)->of = of;
  return MM_OK;
}

// A point of a training whose own row is lost has nowhere to go.
static mm_status put_point(group *g, int64_t job, const char *tag, uint64_t step, double value) {
  curves *c;
  while (g->next < g->n && g->training[g->next].job < job)
    g->next++;
  if (g->next == g->n || g->training[g->next].job != job) return MM_OK;
  MM_TRY(find_curves(g, tag, &c));
  mm_result *r = &c->of[g->next];
  double *values = mm_grow(r->curve, r->n_curve, sizeof *values);
  if (values) r->curve = values;
  uint64_t *steps = values ? mm_grow(r->curve_step, r->n_curve, sizeof *steps) : NULL;
  if (!steps) return fail_on_memory();
  r->curve_step = steps;
  r->curve_step[r->n_curve] = step;
  r->curve[r->n_curve++] = value;
  return MM_OK;
}

static int see_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  group *g = user;
  g->status = put_point(g, row->job, RETURN, row->step, row->value);
  return g->status != MM_OK;
}

static int see_measure(const mm_run_row *any, void *user) {
  const mm_run_measure *row = &any->measure;
  group *g = user;
  bool taken = strcmp(row->name, RETURN) == 0;
  g->status = put_point(g, row->job, taken ? "measure/" RETURN : row->name, row->step, row->value);
  return g->status != MM_OK;
}

static int by_seed(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

// Seeds name the files; a file of anybody may have one twice.
static mm_status look_at_seeds(group *g) {
  uint64_t *seed = mm_alloc_array(g->n, sizeof *seed);
  if (!seed) return fail_on_memory();
  for (size_t i = 0; i < g->n; i++)
    seed[i] = g->training[i].seed;
  qsort(seed, g->n, sizeof *seed, by_seed);
  for (size_t i = 1; i < g->n; i++)
    g->repeated = g->repeated || seed[i] == seed[i - 1];
  mm_free(seed);
  return MM_OK;
}

static mm_status read_points(mm_run *run, mm_run_table_id id, int64_t from, int64_t to,
                             mm_run_see *see, group *g) {
  g->next = 0;
  MM_TRY(mm_event_walk(run, id, from, to, see, g));
  return g->status;
}

static mm_status read_group(mm_run *run, int64_t from, int64_t to, group *g) {
  MM_TRY(mm_event_walk(run, MM_RUN_TRAINING, from, to, see_training, g));
  MM_TRY(g->status);
  if (g->n == 0) return MM_OK;
  MM_TRY(look_at_seeds(g));
  MM_TRY(read_points(run, MM_RUN_CURVE, from, to, see_point, g));
  return read_points(run, MM_RUN_MEASURE, from, to, see_measure, g);
}

// ---------------------------------------------------------------------------------------------
// Times. The database has those of sessions only: within them time goes with the environment steps,
// group after group, and the seeds of a group run side by side.

static void set_times(group *g, mm_event_folder *folder) {
  double steps = 0;
  for (size_t k = 0; k < g->n; k++) {
    steps += (double)g->training[k].env_steps;
    g->last_step = fmax(g->last_step, (double)g->training[k].env_steps);
    for (size_t i = 0; i < g->n_curves; i++) {
      const mm_result *r = &g->curves[i].of[k];
      if (r->n_curve > 0) g->last_step = fmax(g->last_step, (double)r->curve_step[r->n_curve - 1]);
    }
  }
  bool known = folder->steps > 0;
  g->from = known ? folder->steps_before / folder->steps : 0;
  folder->steps_before += steps;
  g->to = known ? folder->steps_before / folder->steps : 1;
}

static double time_at(const group *g, const mm_event_folder *folder, uint64_t step) {
  double part = g->last_step > 0 ? fmin((double)step / g->last_step, 1) : 0;
  return mm_event_moment(folder, g->from + part * (g->to - g->from));
}

// ---------------------------------------------------------------------------------------------
// Writing

static mm_status put_seed(const group *g, size_t k, mm_event_folder *folder, const char *stem,
                          mm_event_file *file) {
  char sub[MM_EVENT_SUB_SIZE], job[32] = "";
  const mm_run_training *t = &g->training[k];
  if (g->repeated) snprintf(job, sizeof job, "-job-%" PRId64, t->job);
  snprintf(sub, sizeof sub, "%sseed-%" PRIu64 "%s", stem, t->seed, job);
  MM_TRY(mm_event_file_start(file, folder->start));
  for (size_t i = 0; i < g->n_curves; i++) {
    const mm_result *r = &g->curves[i].of[k];
    for (size_t p = 0; p < r->n_curve; p++)
      MM_TRY(mm_event_file_put(file, time_at(g, folder, r->curve_step[p]), r->curve_step[p],
                               g->curves[i].tag, r->curve[p]));
  }
  return mm_event_save(folder, sub, file);
}

// Whether the points of a training lie at the first steps of the longest curve, at all of them
// unless it broke down: points that a damaged file lost would shift the others.
static bool is_whole(const mm_result *r, const mm_result *longest, mm_status status) {
  if (r->n_curve == 0 || (r->n_curve < longest->n_curve && status == MM_OK)) return false;
  return memcmp(r->curve_step, longest->curve_step, r->n_curve * sizeof *r->curve_step) == 0;
}

static mm_status put_mean_of(const group *g, curves *c, const mm_event_folder *folder,
                             mm_event_file *file) {
  mm_curve_point *point;
  size_t n;
  const bool returns = strcmp(c->tag, RETURN) == 0;
  const mm_result *longest = &c->of[0];
  for (size_t k = 1; k < g->n; k++)
    if (c->of[k].n_curve > longest->n_curve) longest = &c->of[k];
  for (size_t k = 0; k < g->n; k++) {
    mm_result *r = &c->of[k];
    r->status = g->training[k].status;
    if (!is_whole(r, longest, r->status))
      r->status = MM_ERR_INPUT;
    else
      r->final_value = returns ? g->training[k].final : r->curve[r->n_curve - 1];
  }
  MM_TRY(mm_estimate_curve(c->of, g->n, &point, &n));
  mm_status status = MM_OK;
  for (size_t p = 0; p < n && status == MM_OK; p++)
    status = mm_event_file_put(file, time_at(g, folder, point[p].step), point[p].step, c->tag,
                               point[p].value.mean);
  mm_free(point);
  return status;
}

static mm_status put_mean(const group *g, mm_event_folder *folder, const char *stem,
                          mm_event_file *file) {
  char sub[MM_EVENT_SUB_SIZE];
  snprintf(sub, sizeof sub, "%smean", stem);
  MM_TRY(mm_event_file_start(file, folder->start));
  for (size_t i = 0; i < g->n_curves; i++)
    MM_TRY(put_mean_of(g, &g->curves[i], folder, file));
  return mm_event_save(folder, sub, file);
}

static mm_status write_group(const group *g, mm_event_folder *folder, const char *stem) {
  mm_event_file file;
  for (size_t k = 0; k <= g->n && g->n > 0; k++) {
    mm_status status =
        k < g->n ? put_seed(g, k, folder, stem, &file) : put_mean(g, folder, stem, &file);
    mm_event_file_release(&file);
    MM_TRY(status);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Batches

typedef struct batch {
  int64_t first, jobs;
  char stem[MM_RUN_WORD_SIZE], label[2 * MM_RUN_WORD_SIZE];
} batch;

typedef struct batches {
  cJSON *config; // of the run
  batch *batch;  // [n]
  size_t n;
  mm_status status;
} batches;

// Many batches of a tuning are the same but for their settings: their numbers tell them apart.
static int see_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  batches *all = user;
  batch *array = mm_grow(all->batch, all->n, sizeof *array);
  if (!array) {
    all->status = fail_on_memory();
    return 1;
  }
  all->batch = array;
  batch *b = &all->batch[all->n++];
  *b = (batch){ .first = row->first, .jobs = row->jobs };
  if (strcmp(row->role, "tuning") == 0 || strcmp(row->role, "trial") == 0)
    snprintf(b->stem, sizeof b->stem, "%s-%" PRId64 "-", row->role, row->batch);
  char label[MM_RUN_WORD_SIZE];
  mm_plan_label(all->config, row->map, label, sizeof label);
  snprintf(b->label, sizeof b->label, "%s-%s", row->env, label);
  return 0;
}

// Trainings from .. to - 1 in a sub-folder of their own, or, without a label, at the top.
static mm_status export_group(mm_run *run, mm_event_folder *folder, int64_t from, int64_t to,
                              const char *stem, const char *label) {
  char name[MM_EVENT_NAME_SIZE], sub[MM_EVENT_NAME_SIZE + 1] = "";
  group g = { .status = MM_OK };
  if (from >= to) return MM_OK;
  mm_status status = read_group(run, from, to - 1, &g);
  if (status == MM_OK && g.n > 0 && label) {
    status = mm_event_take_name(folder, stem, label, name);
    if (status == MM_OK) snprintf(sub, sizeof sub, "%s/", name);
  }
  set_times(&g, folder);
  if (status == MM_OK) status = write_group(&g, folder, sub);
  release(&g);
  return status;
}

// Trainings whose batch is lost are shown all the same, and none twice.
static mm_status export_batches(mm_run *run, mm_event_folder *folder, const batches *all) {
  static const char lost[] = "without-batch";
  int64_t next = 0;
  for (size_t i = 0; i < all->n; i++) {
    const batch *b = &all->batch[i];
    int64_t end = b->jobs > INT64_MAX - b->first ? INT64_MAX : b->first + b->jobs;
    MM_TRY(export_group(run, folder, next, b->first, "", lost));
    if (next < b->first) next = b->first;
    MM_TRY(export_group(run, folder, next, end, b->stem, b->label));
    if (next < end) next = end;
  }
  return export_group(run, folder, next, INT64_MAX, "", lost);
}

mm_status mm_event_export_trainings(mm_run *run, mm_event_folder *folder) {
  batches all = { .status = MM_OK };
  MM_TRY(mm_event_walk(run, MM_RUN_TRAINING, INT64_MIN, INT64_MAX, add_steps, &folder->steps));
  if (strcmp(mm_run_command(run), "train") == 0)
    return export_group(run, folder, 0, INT64_MAX, "", NULL);
  const char *config = mm_run_config(run);
  if (mm_json_parse(config, strlen(config), "config", &all.config) != MM_OK) all.config = NULL;
  mm_status status = mm_event_walk(run, MM_RUN_BATCH, INT64_MIN, INT64_MAX, see_batch, &all);
  if (status == MM_OK) status = all.status;
  if (status == MM_OK) status = export_batches(run, folder, &all);
  mm_free(all.batch);
  cJSON_Delete(all.config);
  return status;
}
