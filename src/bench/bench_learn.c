// SPDX-License-Identifier: Apache-2.0
// What a generation of the paper's Grid-World search costs, and how much of it is not training:
// drawing candidates, the strategy's step, the database. The limit is the time in the backend.

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "bench/bench.h"
#include "study/learn/learn.h"

enum {
  GENERATIONS = 2,
  CUDA_GENERATIONS = 8,
  STORED = 20,
  QUICK_POPULATION = 16,
  QUICK_STORED = 3
};

// ---------------------------------------------------------------------------------------------
// A folder for the while

// Here, where runs would lie: folders for temporary files are often kept in memory, where a commit
// costs nothing.
static mm_status make_folder(char *path, size_t size) {
  snprintf(path, size, "mirrormap-bench-XXXXXX");
  if (!mkdtemp(path))
    return MM_FAIL(MM_ERR_IO, "no folder for a run could be made here: the benchmark needs one");
  return MM_OK;
}

// So that the calls for progress are made as in a real search.
static void look_on(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total, (void)env_steps, (void)user;
}

// Removes the files of a run and its folder.
static void remove_folder(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}

static double database_bytes(const char *folder) {
  double bytes = 0;
  const char *const names[] = { "run.db", "run.db-wal" };
  for (int i = 0; i < 2; i++) {
    char path[MM_RUN_PATH_SIZE + 16];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (stat(path, &found) == 0) bytes += (double)found.st_size;
  }
  return bytes;
}

// ---------------------------------------------------------------------------------------------

static void plan_paper(mm_learn_plan *plan, int64_t generations) {
  memset(plan, 0, sizeof *plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "GridWorld-all");
  plan->settings = mm_settings_default(MM_ALGO_PMD);
  plan->settings.search.generations = (double)generations;
  plan->settings.search.validation_tasks = 2; // what is measured is the generation
}

// Runs the plan and tells what a generation took, in all and outside the training runs.
static mm_status measure(const char *folder, const mm_learn_plan *plan, mm_backend_kind kind,
                         mm_study_search *view) {
  mm_learn *learn;
  mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                .place.kind = kind,
                                .progress = look_on };
  MM_TRY(mm_learn_create(folder, plan, &learn));
  mm_study_search start;
  mm_status status = mm_learn_advance(learn, &backend); // the controls
  mm_learn_look(learn, &start);
  while (status == MM_OK && !mm_learn_done(learn))
    status = mm_learn_advance(learn, &backend);
  mm_learn_look(learn, view);
  view->session_seconds -= start.session_seconds;
  view->session_job_seconds -= start.session_job_seconds;
  view->session_env_steps -= start.session_env_steps;
  mm_study_end(mm_learn_study(learn), "done");
  mm_learn_close(learn);
  return status;
}

static mm_status measure_in_folder(const mm_learn_plan *plan, mm_backend_kind kind,
                                   mm_study_search *view, double *bytes) {
  char folder[MM_RUN_PATH_SIZE];
  MM_TRY(make_folder(folder, sizeof folder));
  mm_status status = measure(folder, plan, kind, view);
  *bytes = database_bytes(folder);
  remove_folder(folder);
  return status;
}

// Whole generations with the paper's training runs.
static mm_status bench_generation(mm_bench *b, mm_learn_plan *plan, mm_backend_kind kind) {
  const bool cuda = kind == MM_BACKEND_CUDA;
  const char *name = cuda ? "cuda/learn" : "learn";
  mm_study_search v;
  double bytes;
  mm_bench_begin(b, "%s/generation", name);
  plan_paper(plan, b->quick ? 1 : cuda ? CUDA_GENERATIONS : GENERATIONS);
  const double whole = plan->settings.search.population;
  if (b->quick) plan->settings.search.population = QUICK_POPULATION;
  MM_TRY(measure_in_folder(plan, kind, &v, &bytes));
  double n = (double)v.session_generations;
  double seconds = v.session_seconds / n, jobs = v.session_job_seconds / n;
  mm_bench_add(b, seconds, "s", jobs, "%s/generation", name);
  mm_bench_add(b, 100 * (1 - jobs / seconds), "%", NAN, "%s/outside-training", name);
  const double schedule = 512 * whole / plan->settings.search.population / 60;
  mm_bench_add(b, schedule * seconds, "min", schedule * jobs, "%s/schedule", name);
  mm_bench_add(b, (double)v.session_env_steps / v.session_seconds, "steps/s", NAN, "%s/steps",
               name);
  return MM_OK;
}

// The same population with next to no training, for a sharper look at the rest and at the size of
// the database.
static mm_status bench_rest(mm_bench *b, mm_learn_plan *plan) {
  mm_study_search v;
  double few, many;
  const int stored = b->quick ? QUICK_STORED : STORED;
  mm_bench_begin(b, "learn/evolution-and-database");
  plan_paper(plan, 1);
  plan->settings.pmd.steps = plan->settings.pmd.envs = plan->settings.pmd.unroll = 1;
  MM_TRY(measure_in_folder(plan, MM_BACKEND_CPU, &v, &few));
  plan->settings.search.generations = 1 + stored;
  MM_TRY(measure_in_folder(plan, MM_BACKEND_CPU, &v, &many));
  double n = (double)v.session_generations;
  double rest = (v.session_seconds - v.session_job_seconds) / n;
  mm_bench_add(b, 1e3 * rest, "ms", NAN, "learn/evolution-and-database");
  mm_bench_add(b, (many - few) / stored / 1024, "KiB", NAN, "learn/database-growth");
  return MM_OK;
}

static mm_status bench_search(mm_bench *b, mm_backend_kind kind) {
  mm_learn_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for a plan");
  mm_status status = bench_generation(b, plan, kind);
  if (status == MM_OK && kind == MM_BACKEND_CPU) status = bench_rest(b, plan);
  mm_free(plan);
  return status;
}

mm_status mm_bench_learn(mm_bench *b) {
  return bench_search(b, MM_BACKEND_CPU);
}

mm_status mm_bench_cuda_learn(mm_bench *b) {
  return bench_search(b, MM_BACKEND_CUDA);
}
