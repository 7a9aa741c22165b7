// `transfer`: maps x environments x seeds, with controls, as a table, files and figures.

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/backend_argument.h"
#include "cli/env_argument.h"
#include "cli/interrupt.h"
#include "cli/map_argument.h"
#include "cli/memory.h"
#include "cli/name_list.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/transfer_report.h"
#include "experiment/gnuplot.h"
#include "experiment/transfer_figure.h"
#include "experiment/transfer_files.h"

enum { SEEDS_MAX = 1000000 };

typedef struct transfer_args {
  settings_args settings;
  const char *maps, *envs, *controls, *backend, *out;
  uint64_t seeds, seed, tune_seeds, threads;
} transfer_args;

static const char *const control_names[] = { "none", "cheap", "full", NULL };

static const option options[] = {
  { .name = "maps",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, maps),
    .metavar = "MAP,...",
    .help = "the mirror maps: names or files",
    .required = true },
  { .name = "envs",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, envs),
    .metavar = "ID,...",
    .help = "the environments: IDs or task files",
    .required = true },
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(transfer_args, seeds),
    .metavar = "N",
    .help = "train this many agents for each map and environment",
    .fallback = "32",
    .low = 1,
    .high = SEEDS_MAX },
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(transfer_args, seed),
    .metavar = "S",
    .help = "seed of the first; the others follow it",
    .fallback = "0" },
  { .name = "controls",
    .type = OPTION_CHOICE,
    .offset = offsetof(transfer_args, controls),
    .choices = control_names,
    .fallback = "cheap",
    .help = "rows to add: none; negentropy, l2 and a random map of the first learned map's "
            "family; or with these tsallis:0.5, tsallis:1.5, that family's initial map, and "
            "negentropy and l2 with eta tuned for each environment" },
  { .name = "tune-seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(transfer_args, tune_seeds),
    .metavar = "N",
    .help = "trainings for each of nine values of eta, on seeds of their own",
    .fallback = "8",
    .low = 1,
    .high = SEEDS_MAX },
  BACKEND_OPTIONS(transfer_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, out),
    .metavar = "DIR",
    .help = "write tables, raw numbers and figures to this folder" },
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Rows and columns

typedef struct plan {
  name_list maps, envs;
  size_t n_asked; // of the maps
  char (*map_label)[NAME_LABEL_SIZE], (*env_label)[NAME_LABEL_SIZE];
  mm_map **map;   // [maps.n]
  mm_env **env;   // [envs.n]
  size_t n_tuned; // rows behind those of the maps
  mm_map *tuned_map[2];
  mm_transfer_map *row;
  mm_transfer_env *column;
} plan;

static void plan_release(plan *p) {
  for (size_t i = 0; i < p->maps.n && p->map != NULL; i++)
    mm_map_destroy(p->map[i]);
  for (size_t i = 0; i < p->n_tuned; i++)
    mm_map_destroy(p->tuned_map[i]);
  for (size_t i = 0; i < p->envs.n && p->env != NULL; i++)
    mm_env_destroy(p->env[i]);
  name_list_release(&p->maps);
  name_list_release(&p->envs);
  free(p->map);
  free(p->env);
  free(p->map_label);
  free(p->env_label);
  free(p->row);
  free(p->column);
}

static int open_maps(plan *p, size_t first) {
  mm_map **all = memory_take(p->maps.n, sizeof *all);
  for (size_t i = 0; i < first; i++)
    all[i] = p->map[i];
  free(p->map);
  p->map = all;
  int code = EXIT_DONE;
  for (size_t i = first; i < p->maps.n && code == EXIT_DONE; i++)
    code = map_argument_open(p->maps.name[i], &p->map[i]);
  return code;
}

// A control must come from the family of what it is a control for: that of the first map with
// parameters. Without one there is nothing to compare a random map with.
static void add_controls(plan *p, const char *which) {
  mm_map_kind family = MM_MAP_KINDS;
  for (size_t i = p->n_asked; i-- > 0;) {
    mm_map_kind kind = mm_map_get_kind(p->map[i]);
    if (kind == MM_MAP_PIECEWISE || kind == MM_MAP_NEURAL) family = kind;
  }
  if (strcmp(which, "none") == 0) return;
  name_list_add(&p->maps, "negentropy");
  name_list_add(&p->maps, "l2");
  if (family == MM_MAP_PIECEWISE) name_list_add(&p->maps, "random:0");
  if (family == MM_MAP_NEURAL) name_list_add(&p->maps, "random-neural:0");
  if (strcmp(which, "full") != 0) return;
  name_list_add(&p->maps, "tsallis:0.5");
  name_list_add(&p->maps, "tsallis:1.5");
  if (family != MM_MAP_KINDS) name_list_add(&p->maps, mm_map_kind_name(family));
  // the scale of a potential acts like eta: the same two with the best of it
  p->n_tuned = 2;
}

static const char *const tuned_names[] = { "negentropy", "l2" };
static const char *const tuned_labels[] = { "negentropy:tuned-eta", "l2:tuned-eta" };

static int plan_maps(const transfer_args *args, plan *p) {
  int code = name_list_read("maps", args->maps, &p->maps);
  if (code != EXIT_DONE) return code;
  p->n_asked = p->maps.n;
  code = open_maps(p, 0);
  if (code != EXIT_DONE) return code;
  add_controls(p, args->controls);
  code = open_maps(p, p->n_asked);
  p->map_label = memory_take(p->maps.n, sizeof *p->map_label);
  p->row = memory_take(p->maps.n + p->n_tuned, sizeof *p->row);
  name_list_label(&p->maps, p->map_label);
  for (size_t i = 0; i < p->maps.n; i++)
    p->row[i] = (mm_transfer_map){ .map = p->map[i],
                                   .name = p->maps.name[i],
                                   .label = p->map_label[i],
                                   .control = i >= p->n_asked };
  for (size_t i = 0; i < p->n_tuned && code == EXIT_DONE; i++) {
    code = map_argument_open(tuned_names[i], &p->tuned_map[i]);
    p->row[p->maps.n + i] = (mm_transfer_map){ .map = p->tuned_map[i],
                                               .name = tuned_labels[i],
                                               .label = tuned_labels[i],
                                               .control = true,
                                               .tuned = true };
  }
  return code;
}

// Each environment brings its algorithm, and this its settings.
static int plan_env(const transfer_args *args, plan *p, size_t i) {
  const char *name = p->envs.name[i];
  mm_algo algo = MM_ALGO_PMD;
  mm_status status = mm_env_open(name, &p->env[i]);
  if (status != MM_OK) return fail_status(status);
  int code = env_argument_algo(NULL, p->env[i], name, &algo);
  p->column[i] = (mm_transfer_env){ .env = p->env[i], .name = name, .label = p->env_label[i] };
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, algo, env_argument_preset(p->env[i]),
                            &p->column[i].settings);
  return code;
}

static int plan_envs(const transfer_args *args, plan *p) {
  int code = name_list_read("envs", args->envs, &p->envs);
  if (code != EXIT_DONE) return code;
  p->env = memory_take(p->envs.n, sizeof *p->env);
  p->env_label = memory_take(p->envs.n, sizeof *p->env_label);
  p->column = memory_take(p->envs.n, sizeof *p->column);
  name_list_label(&p->envs, p->env_label);
  for (size_t i = 0; i < p->envs.n && code == EXIT_DONE; i++)
    code = plan_env(args, p, i);
  return code;
}

// ---------------------------------------------------------------------------------------------
// The folder

static const char *const out_files[] = { "run.db",       "table.csv",  "runs.csv",
                                         "curves.csv",   "table.json", "transfer.svg",
                                         "transfer.png", "curves.svg", "curves.png" };
enum { OUT_FILES = sizeof out_files / sizeof *out_files };

static char *path_in(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = memory_take(size, 1);
  snprintf(path, size, "%s/%s", folder, name);
  return path;
}

// Makes the folder and its parents; *made says that it was not there.
static int make_folder(const char *path, bool *made) {
  char *part = memory_text(path, strlen(path));
  int error = 0;
  *made = false;
  for (char *at = part + 1; error == 0 && *part != '\0'; at++) {
    if (*at != '/' && *at != '\0') continue;
    char kept = *at;
    *at = '\0';
    *made = mkdir(part, 0777) == 0;
    if (!*made && errno != EEXIST) error = errno;
    *at = kept;
    if (kept == '\0') break;
  }
  free(part);
  struct stat found;
  if (error == 0 && stat(path, &found) != 0) error = errno;
  if (error == 0 && !S_ISDIR(found.st_mode)) error = ENOTDIR;
  if (error == 0) return EXIT_DONE;
  return fail_usage("option '--out': %s: %s", path, strerror(error));
}

// Trying is the only way to know: permissions do not tell of a read-only disk.
static int check_writable(const char *folder) {
  char *name = path_in(folder, ".mm-XXXXXX");
  int fd = mkstemp(name), error = errno;
  if (fd >= 0) {
    close(fd);
    unlink(name);
  }
  free(name);
  if (fd >= 0) return EXIT_DONE;
  return fail_usage("option '--out': cannot write to %s: %s", folder, strerror(error));
}

// What is wrong with the folder is known before the work is done.
static int open_folder(const char *folder, bool *made) {
  struct stat found;
  *made = false;
  if (folder == NULL) return EXIT_DONE;
  for (int i = 0; i < OUT_FILES; i++) {
    char *path = path_in(folder, out_files[i]);
    bool there = lstat(path, &found) == 0;
    free(path);
    if (there)
      return fail_usage("option '--out': %s has a %s already; choose another folder", folder,
                        out_files[i]);
  }
  int code = make_folder(folder, made);
  if (code == EXIT_DONE) code = check_writable(folder);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Running

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)total, (void)env_steps, (void)user;
  progress_update((double)done, NULL);
}

// "map l2 on GridWorld-dense, seed 3: sentence"; what every run failed for concerns none of these.
static const char *describe_trouble(const mm_transfer *t, char *out, size_t size) {
  const mm_transfer_config *c = &t->config;
  size_t place = t->report.trouble, seed = place % c->n_seed;
  size_t map = place / c->n_seed % c->n_map, env = place / c->n_seed / c->n_map;
  if (t->report.n_failed == c->n_map * c->n_env * c->n_seed)
    snprintf(out, size, "%s", t->report.error);
  else
    snprintf(out, size, "map %s on %s, seed %" PRIu64 ": %s", c->map[map].label, c->env[env].label,
             c->seed + seed, t->report.error);
  return out;
}

// A table with holes is still a table, but the exit code says so.
static int judge(const mm_transfer *t, bool *shown) {
  const mm_backend_report *r = &t->report;
  char text[MM_ERROR_SIZE + 200];
  size_t n = t->config.n_map * t->config.n_env * t->config.n_seed;
  *shown = r->n_failed < n;
  if (!*shown) {
    // a setting that no run accepts is the user's mistake
    return fail(t->trouble == MM_ERR_INPUT ? EXIT_USAGE : EXIT_FAILED, "%s",
                describe_trouble(t, text, sizeof text));
  }
  if (r->n_failed > 0)
    return fail(EXIT_FAILED, "%zu of %zu runs failed and are left out; %s", r->n_failed, n,
                describe_trouble(t, text, sizeof text));
  if (r->n_numeric > 0)
    warn("%zu of %zu runs broke down and count with their last finite policy; %s", r->n_numeric, n,
         describe_trouble(t, text, sizeof text));
  return EXIT_DONE;
}

typedef mm_status draw_figure(const mm_transfer *t, const char *path);

static int draw(const mm_transfer *t, const char *folder, const char *name, draw_figure *figure) {
  char *path = path_in(folder, name);
  mm_status status = figure(t, path);
  free(path);
  if (status == MM_OK) return EXIT_DONE;
  if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "%s", mm_last_error());
  return fail(EXIT_FAILED, "%s", mm_last_error());
}

static int draw_all(const mm_transfer *t, const char *folder) {
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) {
    warn("no figures: %s", mm_last_error());
    return EXIT_DONE;
  }
  int code = draw(t, folder, "transfer.svg", mm_transfer_figure_finals);
  if (code == EXIT_DONE) code = draw(t, folder, "transfer.png", mm_transfer_figure_finals);
  if (!mm_transfer_has_curves(t)) return code;
  if (code == EXIT_DONE) code = draw(t, folder, "curves.svg", mm_transfer_figure_curves);
  if (code == EXIT_DONE) code = draw(t, folder, "curves.png", mm_transfer_figure_curves);
  return code;
}

static int write_out(const mm_transfer *t, const char *folder) {
  mm_status status = mm_transfer_write(t, folder);
  if (status != MM_OK) return fail(EXIT_FAILED, "%s", mm_last_error());
  int code = draw_all(t, folder);
  if (code == EXIT_DONE) note("wrote tables and figures to %s", folder);
  return code;
}

// The results appear even where a file fails.
static int show(const transfer_args *args, const mm_transfer *t) {
  int written = args->out != NULL ? write_out(t, args->out) : EXIT_DONE, code = EXIT_DONE;
  if (args->settings.common.json)
    code = output_json(mm_transfer_json(t), EXIT_DONE);
  else
    transfer_report(t);
  return written != EXIT_DONE ? written : code;
}

static int run_and_show(const transfer_args *args, const plan *p) {
  mm_transfer_config config = { .map = p->row,
                                .env = p->column,
                                .n_map = p->maps.n + p->n_tuned,
                                .n_env = p->envs.n,
                                .n_seed = (size_t)args->seeds,
                                .seed = args->seed,
                                .n_tune = (size_t)args->tune_seeds,
                                .backend = { .threads = (int)args->threads,
                                             .stop = interrupt_watch(),
                                             .progress = show_progress } };
  double total = (double)config.n_map * (double)config.n_env * (double)config.n_seed;
  mm_transfer t;
  progress_begin("transfer", total, "runs");
  mm_status status = mm_transfer_run(&config, &t);
  progress_end();
  int code;
  bool shown = false;
  if (status == MM_ERR_INTERRUPTED)
    code = fail(INTERRUPT_EXIT, "interrupted after %zu of %.0f runs", t.report.n_done, total);
  else if (status != MM_OK)
    code = fail_status(status);
  else
    code = judge(&t, &shown);
  if (shown) {
    int after = show(args, &t);
    if (code == EXIT_DONE) code = after;
  }
  mm_transfer_release(&t);
  return code;
}

static int run(void *raw) {
  const transfer_args *args = raw;
  if (backend_check(args->backend) != EXIT_DONE) return EXIT_FAILED;
  if (args->seed > UINT64_MAX - (args->seeds - 1))
    return fail_usage("option '--seed': %" PRIu64 " leaves no room for %" PRIu64 " seeds",
                      args->seed, args->seeds);
  plan p = { 0 };
  bool made = false;
  int code = plan_envs(args, &p);
  if (code == EXIT_DONE) code = plan_maps(args, &p);
  if (code == EXIT_DONE) code = open_folder(args->out, &made);
  if (code == EXIT_DONE) code = run_and_show(args, &p);
  if (code != EXIT_DONE && made) rmdir(args->out); // unless something got there
  plan_release(&p);
  return code;
}

const command command_transfer = {
  .name = "transfer",
  .summary = "compare maps on several environments",
  .about =
      "Trains every map on every environment with the same seeds and shows the final values, mean "
      "and standard error, and how they differ from negentropy and l2 seed by seed. Controls are "
      "added to the maps asked for. With --out DIR the folder gets table.csv (means and paired "
      "differences), runs.csv (every run), table.json and a figure, and with --set curve=exact "
      "also curves.csv and the learning curves.",
  .examples =
      "mirrormap transfer --maps tsallis:0.5,random:1 --envs GridWorld-dense,GridWorld-long\n"
      "mirrormap transfer --maps map.json --envs GridWorld-all --seeds 256 --set curve=exact \\\n"
      "  --out results",
  .options = options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(transfer_args),
  .run = run,
};
