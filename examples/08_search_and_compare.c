// SPDX-License-Identifier: Apache-2.0
// The search and the table of docs/tutorial.md: learns a map on CartPole, then compares it with
// controls on fresh seeds and on another environment, to the bits of `mirrormap learn` and
// `mirrormap transfer`.
//
//   cc 08_search_and_compare.c $(pkg-config --cflags --libs mirrormap) -o search_and_compare
//   ./search_and_compare my-search my-table
//   mpirun -n 16 ./search_and_compare my-search my-table      the same bits
//
// Stop it at any time: started again it goes on. `mirrormap report my-search my-table` shows both
// folders, whose files are those of the commands. Numbers behind them make all of it smaller:
// generations, steps of a training run, seeds.

#include <stdio.h>
#include <stdlib.h>

#include <mirrormap/backend.h>
#include <mirrormap/result.h>
#include <mirrormap/study.h>

enum { POPULATION = 16, SEEDS_PER_MEMBER = 2 };

static int fail(void) {
  fprintf(stderr, "%s\n", mm_last_error());
  return 1;
}

// Does what is left of the study in `folder`, which is made unless it is there, and writes its
// files.
static mm_status run(const char *folder, const mm_study_config *config, mm_study **study) {
  const mm_study_machine machine = mm_study_machine_default();
  mm_status status = mm_study_open(folder, study);
  if (status != MM_OK) status = mm_study_create(folder, config, study);
  while (status == MM_OK && !mm_study_done(*study)) {
    mm_study_progress now;
    status = mm_study_advance(*study, &machine);
    mm_study_look(*study, &now);
    printf("%s: %.0f of %.0f %s\n", folder, now.done, now.total, now.unit);
    fflush(stdout);
  }
  if (status == MM_OK) status = mm_study_write(*study);
  if (*study) mm_study_end(*study, status == MM_OK ? "done" : "failed");
  return status;
}

static mm_status show(const mm_study *study) {
  for (size_t i = 0; i < mm_study_cells(study); i++) {
    mm_study_cell cell;
    mm_study_detail more = { .size = sizeof more };
    mm_status status = mm_study_cell_at(study, i, &cell);
    if (status == MM_OK) status = mm_study_detail_at(study, i, &more);
    if (status != MM_OK) return status;
    printf("%-24s %-12s %8.2f +- %.2f, %+.2f over negentropy\n", cell.map, cell.env, cell.mean,
           cell.sem, more.over[MM_BASELINE_NEGENTROPY].gain.mean);
  }
  return MM_OK;
}

static int search_and_compare(int argc, char **argv) {
  if (argc != 3 && argc != 6) return fprintf(stderr, "usage: FOLDER FOLDER [N STEPS SEEDS]\n"), 2;
  const int generations = argc > 3 ? atoi(argv[3]) : 20, steps = argc > 3 ? atoi(argv[4]) : 10240;
  char length[2][32], best[512];
  const char *const envs[] = { "CartPole-v1", "Acrobot-v1" };
  const char *const set[] = { length[0],
                              length[1],
                              "population=16",
                              "seeds_per_member=2",
                              "validation_every=5",
                              "validation_tasks=16" };
  const char *const maps[] = { best,           "negentropy",
                               "l2",           "random:0",
                               "tsallis:0.5",  "tsallis:1.5",
                               "piecewise",    "negentropy:tuned-eta",
                               "l2:tuned-eta", "tsallis:tuned-q-eta" };
  snprintf(length[0], sizeof length[0], "steps=%d", steps);
  snprintf(length[1], sizeof length[1], "generations=%d", generations);
  snprintf(best, sizeof best, "%s/best.json", argv[1]);

  mm_study *study;
  mm_study_config search = mm_study_config_default(MM_STUDY_LEARN);
  search.env = envs, search.n_env = 1;
  search.set = set, search.n_set = sizeof set / sizeof *set;
  mm_status status = run(argv[1], &search, &study);
  if (status == MM_OK) status = show(study); // validated on tasks that the search never sees
  mm_study_close(study);
  if (status != MM_OK) return fail();

  mm_study_config table = mm_study_config_default(MM_STUDY_TRANSFER);
  table.env = envs, table.n_env = 2;
  table.map = maps, table.n_map = sizeof maps / sizeof *maps;
  table.set = set, table.n_set = 1;
  table.seed = 1000000, table.seeds = argc > 3 ? (size_t)atoi(argv[5]) : 64;
  // the controls may try as much as the search did
  table.tune_budget = (double)generations * POPULATION * SEEDS_PER_MEMBER * steps;
  status = run(argv[2], &table, &study);
  if (status == MM_OK) status = show(study);
  mm_study_close(study);
  return status == MM_OK ? 0 : fail();
}

int main(int argc, char **argv) {
  bool first;
  int code = 0;
  if (mm_ranks_join(NULL, &first, &code) != MM_OK) _Exit(fail());
  if (first) code = search_and_compare(argc, argv); // the other processes have trained for it
  mm_ranks_end(code);
  return code;
}
