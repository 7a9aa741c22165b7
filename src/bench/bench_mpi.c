// Ranks: what dealing jobs out costs beside the jobs, on as many ranks as this program was started
// with; and, from two on, what that would come to on many more (rank_model.h).

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/ranks/ranks.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "bench/rank_model.h"
#include "mirrormap/env.h"
#include "show/plot/gnuplot.h"
#include "study/settings/settings.h"

enum {
  TRAININGS = 32, // of a generation
  EMPTY = 2000,   // jobs without work
  STEPS = 51200,  // of a training here, a tenth of the paper's
  GRID_JOBS = 64, // of Grid-World
  LENGTHS = 12,   // trainings of classic control whose length is taken
  RANKS_LEAST = 16,
  POINTS = 21 // 16 .. 16384, two for each doubling
};

// Evolution and database of the paper's Grid-World generation, 512 jobs: `bench learn`.
static const double serial_per_job = 1e-5, serial = 3e-3;

typedef struct measured {
  double service, latency;      // seconds
  double *control, *grid;       // seconds of trainings
  size_t n_control, n_grid;     //
  double job_bytes, back_bytes; // of one training
} measured;

typedef struct list {
  mm_env *env;
  mm_map *map;
  mm_settings settings;
  mm_job *job; // [n]
  mm_result *result;
  double z[MM_PIECEWISE_N];
  size_t n;
} list;

// ---------------------------------------------------------------------------------------------
// Lists of jobs

static mm_status fill(list *l, const char *env, double steps) {
  MM_TRY(mm_env_open(env, &l->env));
  MM_TRY(mm_map_search_initial(MM_MAP_PIECEWISE, MM_PIECEWISE_N, l->z));
  mm_settings_set_steps(&l->settings, steps);
  l->job = mm_alloc_array(l->n, sizeof *l->job);
  l->result = mm_alloc_array(l->n, sizeof *l->result);
  if (!l->job || !l->result) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", l->n);
  for (size_t i = 0; i < l->n; i++) {
    l->job[i] =
        (mm_job){ .env = l->env, .seed = i, .point = { MM_MAP_PIECEWISE, MM_PIECEWISE_N, l->z } };
    mm_settings_bind(&l->settings, &l->job[i]);
  }
  return MM_OK;
}

static void empty(list *l) {
  mm_env_destroy(l->env);
  mm_free(l->job);
  mm_free(l->result);
}

static mm_status run(list *l, mm_backend_report *report, double *seconds, double *own) {
  mm_backend_config config = { .report = report };
  double start = mm_clock_seconds(), thread = mm_bench_thread_time();
  mm_status status = mm_backend_run(&config, l->job, l->n, l->result);
  *seconds = mm_clock_seconds() - start;
  *own = mm_bench_thread_time() - thread;
  for (size_t i = 0; i < l->n && status == MM_OK; i++)
    mm_result_release(&l->result[i]);
  return status;
}

// Seconds that trainings of the list take by themselves, of this thread's own time: what else runs
// on the machine does not count.
static mm_status take_lengths(const list *l, size_t n, double **out) {
  *out = mm_alloc_array(n, sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu numbers", n);
  for (size_t i = 0; i < n; i++) {
    mm_result result;
    double start = mm_bench_thread_time();
    mm_status status = mm_job_run(&l->job[i], NULL, &result);
    (*out)[i] = mm_bench_thread_time() - start;
    mm_result_release(&result);
    if (status != MM_OK && status != MM_ERR_NUMERIC) return status;
  }
  return MM_OK;
}

static double mean_of(const double *x, size_t n, double *spread) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++)
    square += (x[i] - mean) * (x[i] - mean);
  *spread = n > 1 ? sqrt(square / (double)(n - 1)) / mean : 0;
  return mean;
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
  list l = { .n = EMPTY, .settings = mm_settings_default(MM_ALGO_PMD) };
  mm_backend_report report;
  double seconds, own;
  mm_rank_traffic before = mm_ranks_traffic(), after;
  l.settings.pmd.envs = l.settings.pmd.unroll = 1;
  mm_status status = fill(&l, "GridWorld-small", 1);
  if (status == MM_OK) status = run(&l, &report, &seconds, &own);
  empty(&l);
  MM_TRY(status);
  after = mm_ranks_traffic();
  double away = EMPTY * (1 - 1.0 / report.ranks); // about as many as went to others
  m->service = own / EMPTY;
  mm_bench_add(b, EMPTY / seconds, "jobs/s", NAN, "mpi/empty-jobs");
  if (report.ranks < 2) return MM_OK;
  mm_bench_add(b, 1e6 * m->service, "us", NAN, "mpi/service-per-job");
  double sent = (double)(after.messages_sent - before.messages_sent);
  mm_bench_add(b, away / fmax(sent, 1), "jobs", NAN, "mpi/jobs-per-message");
  return MM_OK;
}

// A generation of classic control, of short trainings.
static mm_status bench_generation(mm_bench *b, measured *m) {
  mm_backend_report report;
  mm_rank_traffic before = mm_ranks_traffic(), after;
  double seconds, own, spread;
  list l = { .n = TRAININGS, .settings = mm_settings_default(MM_ALGO_AMPO) };
  mm_status status = fill(&l, "CartPole-v1", STEPS);
  if (status == MM_OK) status = run(&l, &report, &seconds, &own);
  if (status == MM_OK) status = take_lengths(&l, m->n_control = LENGTHS, &m->control);
  empty(&l);
  MM_TRY(status);
  after = mm_ranks_traffic();
  double mean = mean_of(m->control, m->n_control, &spread), n = TRAININGS;
  double cores = (double)sysconf(_SC_NPROCESSORS_ONLN),
         limit = n * mean / fmin(report.threads, cores);
  mm_bench_add(b, mean, "s", NAN, "mpi/control/job");
  mm_bench_add(b, 100 * spread, "%", NAN, "mpi/control/job-spread");
  mm_bench_add(b, seconds, "s", limit, "mpi/control/generation");
  mm_bench_add(b, 100 * own / (n * mean), "%", NAN, "mpi/control/dealing-out");
  if (report.ranks < 2) return MM_OK;
  double away = n * (1 - 1.0 / report.ranks);
  m->job_bytes = (double)(after.sent - before.sent) / away;
  m->back_bytes = (double)(after.received - before.received) / away;
  mm_bench_add(b, m->job_bytes, "B", NAN, "mpi/control/bytes-out");
  mm_bench_add(b, m->back_bytes, "B", NAN, "mpi/control/bytes-back");
  return MM_OK;
}

// Lengths of the paper's Grid-World trainings.
static mm_status bench_grid(mm_bench *b, measured *m) {
  mm_backend_report report;
  double seconds, own, spread;
  list l = { .n = GRID_JOBS, .settings = mm_settings_default(MM_ALGO_PMD) };
  mm_status status = fill(&l, "GridWorld-all", l.settings.pmd.steps);
  if (status == MM_OK) status = run(&l, &report, &seconds, &own);
  if (status == MM_OK) status = take_lengths(&l, m->n_grid = GRID_JOBS, &m->grid);
  empty(&l);
  MM_TRY(status);
  double mean = mean_of(m->grid, m->n_grid, &spread);
  mm_bench_add(b, mean, "s", NAN, "mpi/gridworld/job");
  mm_bench_add(b, 100 * spread, "%", NAN, "mpi/gridworld/job-spread");
  mm_bench_add(b, 100 * own / ((double)m->n_grid * mean), "%", NAN, "mpi/gridworld/dealing-out");
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
  { "control", "control, 8 trainings a rank", false, 8, 0, 1, 1 },
  { "control-1", "control, 1 training a rank", false, 1, 0, 1, 1 },
  { "control-512", "control, 512 trainings", false, 0, 512, 1, 1 },
  { "gridworld", "Grid-World, 8 trainings a rank", true, 8, 0, 1, 1 },
  { "gridworld-64", "Grid-World, 64 trainings a rank", true, 64, 0, 1, 1 },
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
                          .n_length = s->grid ? m->n_grid : m->n_control,
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
  mm_figure_script(figure,
                   "set lmargin at screen 0.11\nset rmargin at screen 0.97\n"
                   "set logscale x 2\nset xrange [16:16384]\nset yrange [0:102]\n"
                   "set format x '%%g'\nset xlabel 'ranks of one thread'\n"
                   "set ylabel 'efficiency, %%'\nset key bottom left samplen 2 spacing 1.1\n"
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
  mm_free(m.control);
  mm_free(m.grid);
  return status;
}
