// SPDX-License-Identifier: Apache-2.0
// Ranks: what dealing jobs out costs beside the jobs, on as many ranks as this program was started
// with; and, from two on, what that would come to on many more (rank_model.h).

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <unistd.h>

#include "backend/ranks/ranks.h"
#include "base/status.h"
#include "bench/bench.h"
#include "bench/rank_model.h"
#include "mirrormap/stats.h"
#include "show/plot/gnuplot.h"

enum {
  TRAININGS = 32, // of a generation
  EMPTY = 2000,   // jobs without work
  STEPS = 51200,  // of a training here, a tenth of the paper's
  GRID_JOBS = 64, // of Grid-World
  LENGTHS = 12,   // training runs of classic control whose length is taken
  RANKS_LEAST = 16,
  POINTS = 21 // 16 .. 16384, two for each doubling
};

// Evolution and database of the paper's Grid-World generation, 512 jobs: `bench learn`.
static const double serial_per_job = 1e-5, serial = 3e-3;

typedef struct measured {
  double service, latency;                  // seconds
  double control[LENGTHS], grid[GRID_JOBS]; // seconds of training runs
} measured;

// All with piecewise maps, so that messages have one size.
static mm_bench_jobs jobs_of(mm_algo algo, size_t n) {
  mm_bench_jobs j = { .settings = mm_settings_default(algo), .n = n };
  (void)mm_settings_set(&j.settings, "kind", "piecewise");
  return j;
}

// Runs them on all ranks; then the first n_length by themselves, for the seconds of this thread's
// own time that each takes: what else runs on the machine does not count.
static mm_status run(mm_bench_jobs *j, const char *env, mm_bench_jobs_time *out, double *length,
                     size_t n_length) {
  const mm_backend_place place = { .kind = MM_BACKEND_AUTO };
  mm_status status = mm_bench_jobs_open(j, env, false);
  if (status == MM_OK) status = mm_bench_jobs_run(j, j->n, &place, out);
  for (size_t i = 0; i < n_length && status == MM_OK; i++) {
    mm_result result;
    double start = mm_bench_thread_time();
    status = mm_job_run(&j->job[i], NULL, &result);
    length[i] = mm_bench_thread_time() - start;
    mm_result_release(&result);
    if (status == MM_ERR_NUMERIC) status = MM_OK;
  }
  mm_bench_jobs_close(j);
  return status;
}

// Their mean, and how much they differ, in percent of it.
static double add_lengths(mm_bench *b, const char *name, const double *length, size_t n) {
  const mm_estimate e = mm_estimate_of(length, n);
  mm_bench_add(b, e.mean, "s", NAN, "mpi/%s/job", name);
  mm_bench_add(b, 100 * e.sem * sqrt((double)n) / e.mean, "%", NAN, "mpi/%s/job-spread", name);
  return e.mean;
}

// ---------------------------------------------------------------------------------------------
// Measuring

static mm_status bench_messages(mm_bench *b, measured *m) {
  static const size_t size[] = { 8, 4096, 65536 };
  for (size_t i = 0; i < 3; i++) {
    double seconds;
    MM_TRY(mm_ranks_echo(size[i], &seconds));
    if (i == 1) m->latency = 0.5 * seconds;
    mm_bench_add(b, 1e6 * seconds, "us", NAN, "mpi/round-trip-%zu", size[i]);
  }
  return MM_OK;
}

// A job that does nothing: what remains is the dealing out.
static mm_status bench_empty(mm_bench *b, measured *m) {
  mm_bench_jobs j = jobs_of(MM_ALGO_PMD, EMPTY);
  mm_bench_jobs_time t;
  const mm_rank_traffic before = mm_ranks_traffic();
  j.settings.pmd.envs = j.settings.pmd.unroll = 1;
  mm_settings_set_steps(&j.settings, 1);
  MM_TRY(run(&j, "GridWorld-small", &t, NULL, 0));
  const mm_rank_traffic after = mm_ranks_traffic();
  m->service = t.thread_seconds / EMPTY;
  mm_bench_add(b, EMPTY / t.seconds, "jobs/s", NAN, "mpi/empty-jobs");
  if (t.report.ranks < 2) return MM_OK;
  mm_bench_add(b, 1e6 * m->service, "us", NAN, "mpi/service-per-job");
  const double away = EMPTY * (1 - 1.0 / t.report.ranks); // about as many as went to others
  const double sent = (double)(after.messages_sent - before.messages_sent);
  mm_bench_add(b, away / fmax(sent, 1), "jobs", NAN, "mpi/jobs-per-message");
  return MM_OK;
}

// A generation of classic control, of short training runs.
static mm_status bench_generation(mm_bench *b, measured *m) {
  mm_bench_jobs j = jobs_of(MM_ALGO_AMPO, TRAININGS);
  mm_bench_jobs_time t;
  const mm_rank_traffic before = mm_ranks_traffic();
  mm_settings_set_steps(&j.settings, STEPS);
  MM_TRY(run(&j, "CartPole-v1", &t, m->control, LENGTHS));
  const mm_rank_traffic after = mm_ranks_traffic();
  const double work = TRAININGS * add_lengths(b, "control", m->control, LENGTHS);
  const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  mm_bench_add(b, t.seconds, "s", work / fmin(t.report.threads, cores), "mpi/control/generation");
  mm_bench_add(b, 100 * t.thread_seconds / work, "%", NAN, "mpi/control/dealing-out");
  if (t.report.ranks < 2) return MM_OK;
  const double away = TRAININGS * (1 - 1.0 / t.report.ranks);
  mm_bench_add(b, (double)(after.sent - before.sent) / away, "B", NAN, "mpi/control/bytes-out");
  mm_bench_add(b, (double)(after.received - before.received) / away, "B", NAN,
               "mpi/control/bytes-back");
  return MM_OK;
}

// Lengths of the paper's Grid-World training runs.
static mm_status bench_grid(mm_bench *b, measured *m) {
  mm_bench_jobs j = jobs_of(MM_ALGO_PMD, GRID_JOBS);
  mm_bench_jobs_time t;
  MM_TRY(run(&j, "GridWorld-all", &t, m->grid, GRID_JOBS));
  const double work = GRID_JOBS * add_lengths(b, "gridworld", m->grid, GRID_JOBS);
  mm_bench_add(b, 100 * t.thread_seconds / work, "%", NAN, "mpi/gridworld/dealing-out");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The model

typedef struct scenario {
  const char *name, *title;
  bool grid;      // lengths of Grid-World, else of classic control with all its steps
  int jobs;       // for each rank, which has one thread, or
  int population; // of a generation, however many ranks there are
  double service; // times what was measured
  double serial;  // likewise
} scenario;

static const scenario scenarios[] = {
  { "control", "control, 8 training runs a rank", false, 8, 0, 1, 1 },
  { "control-1", "control, 1 training run a rank", false, 1, 0, 1, 1 },
  { "control-512", "control, 512 training runs", false, 0, 512, 1, 1 },
  { "gridworld", "Grid-World, 8 training runs a rank", true, 8, 0, 1, 1 },
  { "gridworld-64", "Grid-World, 64 training runs a rank", true, 64, 0, 1, 1 },
  { "gridworld-64-messages", "the same, messages ten times as fast", true, 64, 0, 0.1, 1 },
  { "gridworld-64-all", "the same, and evolution and database too", true, 64, 0, 0.1, 0.1 },
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static int ranks_at(int point) {
  return (int)lround(RANKS_LEAST * exp2(point / 2.0));
}

static mm_status simulate(const scenario *s, const measured *m, int ranks, double *out) {
  mm_rank_model model = { .ranks = ranks,
                          .threads = 1,
                          .jobs = (size_t)(s->population > 0 ? s->population : s->jobs * ranks),
                          .length = s->grid ? m->grid : m->control,
                          .n_length = s->grid ? GRID_JOBS : LENGTHS,
                          .scale = s->grid ? 1 : 500000.0 / STEPS,
                          .service = s->service * m->service,
                          .latency = m->latency,
                          .serial_per_job = s->serial * serial_per_job,
                          .serial = s->serial * serial };
  mm_rank_model_result r;
  MM_TRY(mm_rank_model_run(&model, &r));
  *out = 100 * r.efficiency;
  return MM_OK;
}

// table: [SCENARIOS][POINTS][2], ranks and percent.
static mm_status simulate_all(mm_bench *b, const measured *m, double *table) {
  for (int s = 0; s < SCENARIOS; s++) {
    double most = 0;
    bool falls = false;
    for (int i = 0; i < POINTS; i++) {
      double *point = table + 2 * (s * POINTS + i);
      point[0] = ranks_at(i);
      MM_TRY(simulate(&scenarios[s], m, ranks_at(i), &point[1]));
      falls = falls || point[1] < 90;
      if (!falls) most = point[0];
    }
    mm_bench_add(b, most, "ranks", NAN, "model/%s/at-90%%", scenarios[s].name);
    mm_bench_add(b, table[2 * (s * POINTS + POINTS - 1) + 1], "%", NAN, "model/%s/at-16384",
                 scenarios[s].name);
  }
  return MM_OK;
}

static mm_status draw(const char *path, const double *table) {
  mm_figure *figure;
  MM_TRY(mm_figure_create(path, 700, 420, &figure));
  mm_figure_script(
      figure,
      "set lmargin at screen 0.11\nset rmargin at screen 0.97\n"
      "set logscale x 2\nset xrange [16:16384]\nset yrange [0:102]\n"
      "set format x '%%g'\nset xlabel 'ranks of one thread'\n"
      "set ylabel 'efficiency, %%'\nset key bottom left Left reverse samplen 2 spacing 1.1\n"
      "set arrow from 16,90 to 16384,90 nohead lc rgb '#777777' dt (2,3)\n");
  for (int s = 0; s < SCENARIOS; s++)
    (void)mm_figure_data(figure, table + 2 * s * POINTS, POINTS, 2);
  mm_figure_script(figure, "plot ");
  for (int s = 0; s < SCENARIOS; s++) {
    char title[MM_FIGURE_TEXT];
    mm_figure_quote(scenarios[s].title, 80, title);
    mm_figure_script(figure, "%s$d%d with lines lt %d lw 2 title %s noenhanced", s ? ", " : "", s,
                     s + 1, title);
  }
  mm_figure_script(figure, "\n");
  mm_status status = mm_figure_write(figure);
  mm_figure_destroy(figure);
  return status;
}

static mm_status bench_model(mm_bench *b, const measured *m) {
  double table[SCENARIOS * POINTS * 2];
  mm_bench_begin(b, "model");
  MM_TRY(simulate_all(b, m, table));
  return b->figure ? draw(b->figure, table) : MM_OK;
}

// ---------------------------------------------------------------------------------------------

static mm_status measure(mm_bench *b, measured *m) {
  int ranks = mm_backend_ranks();
  mm_bench_add(b, ranks, "", NAN, "mpi/ranks");
  mm_bench_begin(b, "mpi/round-trip");
  if (ranks > 1) MM_TRY(bench_messages(b, m));
  mm_bench_begin(b, "mpi/empty-jobs");
  MM_TRY(bench_empty(b, m));
  mm_bench_begin(b, "mpi/control");
  MM_TRY(bench_generation(b, m));
  mm_bench_begin(b, "mpi/gridworld");
  return bench_grid(b, m);
}

mm_status mm_bench_mpi(mm_bench *b) {
  measured m = { 0 };
  mm_status status = measure(b, &m);
  if (status == MM_OK && mm_backend_ranks() > 1)
    status = bench_model(b, &m);
  else if (status == MM_OK && b->figure)
    status = MM_FAIL(MM_ERR_INPUT, "the figure is made from what two ranks measure: start it with "
                                   "mpirun -n 2");
  return status;
}
