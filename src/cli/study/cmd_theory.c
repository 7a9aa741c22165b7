// `theory`: tabular PMD runs beside what Theorem 1 promises of them.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/theory_report.h"
#include "env/grid/grid_task.h"
#include "show/figure/theory_figure.h"
#include "show/plot/gnuplot.h"

typedef struct theory_args {
  settings_args settings;
  const char *env, *out;
  option_texts maps;
  uint64_t seed, every;
} theory_args;

static const option options[] = {
  { .name = "env",
    .type = OPTION_TEXT,
    .offset = offsetof(theory_args, env),
    .metavar = "ID|FILE",
    .help = "a Grid-World, or a task file",
    .required = true },
  { .name = "map",
    .type = OPTION_TEXTS,
    .offset = offsetof(theory_args, maps),
    .metavar = "MAP",
    .help = "the mirror map; repeat it to compare several on the same task",
    .required = true },
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(theory_args, seed),
    .metavar = "S",
    .help = "names the instance of the environment and all random numbers of a run",
    .fallback = "0" },
  { .name = "every",
    .type = OPTION_COUNT,
    .offset = offsetof(theory_args, every),
    .metavar = "K",
    .help = "show every K-th iteration (default: about 16 lines); --json has all",
    .low = 1,
    .high = 1e12 },
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(theory_args, out),
    .metavar = "FILE",
    .help = "draw value, estimation error and update distance; .svg, .pdf or .png chooses the "
            "format, an old picture is replaced" },
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// JSON

// The first map's fields stand at the top; all maps' in `maps` where there are several.
static int put_json(const theory_args *args, const mm_settings *settings, const theory_runs *runs) {
  cJSON *root = cJSON_CreateObject();
  double steps = theory_steps(runs->pmd);
  cJSON_AddStringToObject(root, "env", args->env);
  mm_json_add_whole(root, "seed", args->seed);
  theory_json(root, args->maps.value[0], &runs->run[0], steps);
  cJSON *maps = runs->n > 1 ? cJSON_AddArrayToObject(root, "maps") : NULL;
  for (size_t i = 0; i < runs->n && maps != NULL; i++) {
    cJSON *object = cJSON_CreateObject();
    theory_json(object, args->maps.value[i], &runs->run[i], steps);
    cJSON_AddItemToArray(maps, object);
  }
  cJSON_AddItemToObject(root, "settings", mm_settings_json(settings));
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Running

typedef struct position {
  const theory_runs *runs;
  size_t which; // run in hand
  size_t done;  // iterations of it
} position;

static void show_progress(size_t done, size_t total, void *user) {
  position *p = user;
  p->done = done;
  progress_update((double)(p->which * total + done), p->runs->label[p->which]);
}

static int report_failure(mm_status status, const position *p) {
  const char *label = p->runs->label[p->which];
  if (status == MM_ERR_INTERRUPTED)
    return fail(INTERRUPT_EXIT, "interrupted after %zu iterations with map %s", p->done, label);
  int code = exit_code_of(status);
  return fail(code, "map %s: %s", label, mm_last_error());
}

static int run_all(const theory_args *args, const mm_env *env, const map_list *maps,
                   theory_runs *runs) {
  const volatile int *stop = interrupt_watch();
  position p = { .runs = runs };
  mm_status status = MM_OK;
  double total = runs->pmd->steps / theory_steps(runs->pmd);
  progress_begin("theory", (double)maps->n * (double)(uint64_t)total, "iterations");
  for (; p.which < maps->n && status == MM_OK; p.which += status == MM_OK) {
    mm_job job = { .env = env,
                   .map = maps->map[p.which],
                   .algo = MM_ALGO_PMD,
                   .config = runs->pmd,
                   .seed = args->seed };
    p.done = 0;
    status = mm_theory_run(&job, stop, show_progress, &p, &runs->run[p.which]);
  }
  progress_end();
  for (size_t i = 0; i < p.which; i++)
    if (runs->run[i].broke_down)
      warn("map %zu of %zu: a logit is not finite after iteration %zu; the iterations before it "
           "count",
           i + 1, maps->n, runs->run[i].n_step);
  return status == MM_OK ? EXIT_DONE : report_failure(status, &p);
}

// ---------------------------------------------------------------------------------------------
// Names and files

// "GridWorld-dense, seed 3"; a task file by its name.
static char *task_name(const char *env, uint64_t seed) {
  const char *slash = strrchr(env, '/');
  const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : env;
  size_t size = strlen(name) + 40;
  char *out = memory_take(size, 1);
  snprintf(out, size, "%s, seed %" PRIu64, name, seed);
  return out;
}

// What is wrong with the picture is known before the work is done.
static int check_picture(const theory_args *args) {
  mm_figure *figure;
  if (args->out == NULL) return EXIT_DONE;
  int code = map_check_out(args->out, true);
  if (code != EXIT_DONE) return code;
  if (args->maps.n > MM_FIGURE_LINES)
    return fail_usage("option '--out': a picture shows at most %d maps, not %zu", MM_FIGURE_LINES,
                      args->maps.n);
  mm_status status = mm_figure_create(args->out, 100, 100, &figure);
  if (status == MM_ERR_INPUT) return fail_usage("option '--out': %s", mm_last_error());
  if (status != MM_OK) return fail_status(status);
  mm_figure_destroy(figure);
  return EXIT_DONE;
}

static int draw(const char *path, const theory_runs *runs) {
  mm_status status = mm_theory_figure_write(runs->run, runs->label, runs->n, runs->task,
                                            theory_steps(runs->pmd), path);
  if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "%s", mm_last_error());
  if (status != MM_OK) return fail_status(status);
  note("wrote %s", path);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------

// The results appear even where the picture fails.
static int show(const theory_args *args, const mm_settings *settings, const theory_runs *runs) {
  int drawn = args->out != NULL ? draw(args->out, runs) : EXIT_DONE, code = EXIT_DONE;
  if (args->settings.common.json)
    code = put_json(args, settings, runs);
  else
    theory_report(runs);
  return drawn != EXIT_DONE ? drawn : code;
}

static int run_and_show(const theory_args *args, const mm_env *env, const map_list *maps,
                        const mm_settings *settings) {
  theory_runs runs = { .n = maps->n, .pmd = &settings->pmd };
  char(*label)[MAP_LABEL_SIZE] = memory_take(maps->n, sizeof *label);
  char *task = task_name(args->env, args->seed);
  runs.run = memory_take(maps->n, sizeof *runs.run);
  runs.label = memory_take(maps->n, sizeof *runs.label);
  runs.task = task;
  for (size_t i = 0; i < maps->n; i++)
    runs.label[i] = map_label(maps->name[i], label[i]);
  int code = run_all(args, env, maps, &runs);
  size_t length = runs.run[0].n_step;
  runs.every = args->every > 0 ? (size_t)args->every : (length + 15) / 16;
  if (code == EXIT_DONE) code = show(args, settings, &runs);
  for (size_t i = 0; i < maps->n; i++)
    mm_theory_release(&runs.run[i]);
  free(runs.run);
  free(runs.label);
  free(label);
  free(task);
  return code;
}

static int run(void *raw) {
  const theory_args *args = raw;
  mm_env *env = NULL;
  mm_settings settings;
  map_list maps = { 0 };
  int code = check_picture(args);
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, MM_ALGO_PMD, "gridworld", &settings);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_env_open(args->env, &env);
  if (status != MM_OK) return fail_status(status);
  if (!mm_env_is_grid(env))
    code = fail_usage("'%s' is not a Grid-World: only these have exact values", args->env);
  if (code == EXIT_DONE) code = map_list_open(&args->maps, &maps);
  if (code == EXIT_DONE) code = run_and_show(args, env, &maps, &settings);
  map_list_release(&maps);
  mm_env_destroy(env);
  return code;
}

const command command_theory = {
  .name = "theory",
  .summary = "exact values and both bounds of Theorem 1, per iteration",
  .about =
      "Trains tabular PMD on one task and solves it exactly at every iteration t. Columns: the "
      "value V^t from the start state and its change; E, the largest error of a Q estimate "
      "over all reachable states and actions, and over the sampled ones only; U, the largest "
      "change of a state's policy, summed over actions; the bound -E U / (1 - gamma) above "
      "which Theorem 1 promises the change to lie. Then the convergence bound beside the "
      "actual average gap.",
  .examples =
      "mirrormap theory --env GridWorld-dense --map negentropy --map l2 --out theory.svg\n"
      "mirrormap theory --env task.yaml --map l2 --set termination=restart --every 1 --json",
  .options = options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(theory_args),
  .run = run,
};
