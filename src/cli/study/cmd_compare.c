// SPDX-License-Identifier: Apache-2.0
// `compare`: tables of transfer studies put together and judged over all environments.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/study/study_command.h"
#include "files/csv.h"
#include "files/folder.h"
#include "mirrormap/stats.h"
#include "show/figure/scores_figure.h"
#include "show/plot/gnuplot.h"

enum { RANDOM_FILE_MAX = 1 << 20 };

typedef struct compare_args {
  command_args common;
  option_texts baselines;
  const char *random, *out;
  bool power;
} compare_args;

#define ARGS compare_args
static const option options[] = {
  OPTION(TEXTS, "baseline", baselines, "MAP",
         "a baseline, may be repeated: differences are taken from the first, score 1 is the best "
         "of them in each environment (default: rows with a tuned eta, or else negentropy, l2 and "
         "tsallis)"),
  OPTION(TEXT, "random", random, "MAP|FILE",
         "what has score 0: a map of the tables, or a JSON object with a random policy's return "
         "for each environment (default: the row of a random map)"),
  OPTION(FLAG, "power", power, NULL,
         "how many seeds a difference of the size seen needs for a power of 80 % at 5 %"),
  OPTION(TEXT, "out", out, "DIR", "write compare.json and the figures into this folder"),
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// Baselines and the random row

static int unknown_map(const mm_score_table *t, const char *option_name, const char *name,
                       const char *what) {
  return fail_usage("option '--%s': '%s' is no map of the tables%s%s", option_name, name, what,
                    options_suggestion(name, (const char *const *)t->map, t->n_map, ""));
}

static int read_baselines(const compare_args *args, const mm_score_table *t,
                          mm_score_baselines *out) {
  *out = mm_score_baselines_of(t);
  if (args->baselines.n == 0) return EXIT_DONE;
  if (args->baselines.n > MM_SCORE_NAMES) return fail_usage("option '--baseline': too many");
  out->n = args->baselines.n;
  for (size_t i = 0; i < out->n; i++) {
    const char *name = args->baselines.value[i];
    out->row[i] = mm_score_find(t, name);
    if (out->row[i] == t->n_map) return unknown_map(t, "baseline", name, "");
  }
  return EXIT_DONE;
}

static mm_status read_random_file(const char *path, const mm_score_table *t, double *out) {
  char *text;
  size_t length;
  cJSON *root = NULL;
  MM_TRY(mm_file_read(path, RANDOM_FILE_MAX, &text, &length));
  mm_status status = mm_json_parse(text, length, path, &root);
  for (size_t e = 0; e < t->n_env && status == MM_OK; e++)
    status = mm_json_get_number(root, path, t->env[e], &out[e]);
  cJSON_Delete(root);
  mm_free(text);
  return status;
}

// *row is a map's, or n_map; then returns[n_env] are known where *known.
static int read_random(const compare_args *args, const mm_score_table *t, size_t *row,
                       double *returns, bool *known) {
  *row = args->random != NULL ? mm_score_find(t, args->random) : mm_score_random_row(t);
  *known = args->random != NULL && *row == t->n_map;
  if (!*known) return EXIT_DONE;
  if (access(args->random, F_OK) != 0)
    return unknown_map(t, "random", args->random, " and no file");
  return status_code(read_random_file(args->random, t, returns));
}

// ---------------------------------------------------------------------------------------------
// Text

static const char *percent(const mm_comparison *c) {
  if (isnan(c->wins)) return "-";
  return output_format("%.0f %% [%.0f, %.0f]", 100 * c->wins, 100 * c->win_interval.low,
                       100 * c->win_interval.high);
}

static const char *name_of(const mm_scores *s, size_t map) {
  return output_plain(s->table->map[map]);
}

static const char *anchor_text(const mm_scores *s, double value, size_t map) {
  if (isnan(value)) return "-";
  if (map == s->table->n_map) return output_format("%.4g", value);
  return output_format("%.4g (%s)", value, name_of(s, map));
}

static void put_scales(const mm_scores *s) {
  const mm_score_table *t = s->table;
  bool by_means = false;
  table *out = table_create("<env|<score 0|<score 1");
  for (size_t e = 0; e < t->n_env; e++) {
    const mm_score_scale *scale = &s->scale[e];
    const char *mark = scale->by_means && !isnan(scale->zero) ? " *" : "";
    table_text(out, output_plain(t->env[e]));
    table_text(out, anchor_text(s, scale->zero, scale->zero_map));
    table_format(out, "%s%s", anchor_text(s, scale->one, scale->one_map), mark);
    by_means = by_means || mark[0] != '\0';
  }
  puts("\nreturns with these scores:");
  table_print(out);
  if (by_means)
    study_sentence("* lowest and highest mean of the maps, since there is no random row below the "
                   "best baseline (see --random)");
  for (size_t e = 0; e < t->n_env; e++)
    if (isnan(s->scale[e].zero))
      study_sentence(output_format("%s has no scores: the means of its maps do not differ",
                                   output_plain(t->env[e])));
}

static void put_maps(const mm_scores *s) {
  const mm_score_table *t = s->table;
  const size_t from = s->baselines.row[0];
  table *out = table_create("<map|score IQM [95 % interval]|win rate [95 %]|runs|failed");
  size_t lacking = 0;
  for (size_t m = 0; m < t->n_map; m++) {
    const mm_score_map *map = &s->map[m];
    table_text(out, name_of(s, m));
    const mm_interval interval = { map->iqm.low, map->iqm.high };
    table_text(out, output_interval(map->iqm.iqm, interval, false));
    table_text(out, percent(&s->match[m * t->n_map + from]));
    table_format(out, "%zu", map->n);
    table_format(out, "%zu", map->failures);
    lacking += map->n_env < t->n_env;
  }
  printf("\nover all environments (win rate: against %s, paired by seed):\n", name_of(s, from));
  table_print(out);
  if (lacking > 0)
    printf("%zu map%s without a run in one of the environments: no IQM, no win rate\n", lacking,
           lacking == 1 ? "" : "s");
}

static const char *needed_text(const mm_comparison *c) {
  double n = mm_comparison_pairs_needed(c);
  return !isfinite(n) ? "-" : output_format(n < 1e6 ? "%.0f" : "%.1e", n);
}

static void put_env(const mm_scores *s, size_t env, bool power) {
  const mm_score_table *t = s->table;
  table *out = table_create(power ? "<map|mean [95 % interval]|win rate|p|pairs|needed"
                                  : "<map|mean [95 % interval]|win rate|p|pairs");
  for (size_t m = 0; m < t->n_map; m++) {
    const mm_comparison *c = mm_scores_over(s, m, env);
    if (m == s->baselines.row[0] || c->gain.n == 0) continue;
    table_text(out, name_of(s, m));
    table_format(out, "%s%s", output_interval(c->gain.mean, c->interval, true),
                 mm_comparison_sign(c) ? " *" : "  ");
    if (mm_comparison_sign(c)) table_mark(out, mm_comparison_sign(c) > 0);
    table_format(out, "%.0f %%", 100 * c->wins);
    table_text(out, isnan(c->p_holm) ? "-" : output_format("%.2g", c->p_holm));
    table_format(out, "%zu", c->gain.n);
    if (power) table_text(out, needed_text(c));
  }
  printf("\n%s, minus %s:\n", output_plain(t->env[env]), name_of(s, s->baselines.row[0]));
  table_print(out);
}

// One sentence on what can be concluded.
static void put_conclusion(const mm_scores *s, size_t env) {
  const mm_score_table *t = s->table;
  mm_judged row[MM_SCORE_NAMES];
  char *text = NULL;
  size_t n = 0, length = 0;
  for (size_t m = 0; m < t->n_map; m++)
    if (m != s->baselines.row[0] && mm_scores_over(s, m, env)->gain.n > 0)
      row[n++] = (mm_judged){ t->map[m], mm_scores_over(s, m, env) };
  FILE *f = n > 0 ? open_memstream(&text, &length) : NULL;
  if (f == NULL) return;
  mm_conclude(f, t->env[env], t->map[s->baselines.row[0]], row, n);
  if (fclose(f) == 0) study_sentence(text);
  free(text);
}

static void put_left_out(const mm_score_table *t) {
  for (size_t e = 0; e < t->n_env; e++)
    if (t->left_out[e] > 0)
      study_sentence(output_format("%s: %zu of %zu seeds count, those that all maps have; %s has "
                                   "the fewest",
                                   output_plain(t->env[e]), t->common[e],
                                   t->common[e] + t->left_out[e],
                                   output_plain(t->map[t->fewest[e]])));
}

static void put_text(const mm_scores *s, bool power) {
  const mm_score_table *t = s->table;
  size_t n = 0;
  for (size_t m = 0; m < t->n_map; m++)
    n += s->map[m].n;
  printf("%zu map%s on %zu environment%s, %zu runs\n", t->n_map, t->n_map == 1 ? "" : "s", t->n_env,
         t->n_env == 1 ? "" : "s", n);
  put_left_out(t);
  put_scales(s);
  put_maps(s);
  if (t->n_map < 2) return;
  puts("\npaired differences of final returns, * where the interval excludes 0, p by sign\n"
       "flips with Holm's correction for all of them:");
  for (size_t e = 0; e < t->n_env; e++)
    put_env(s, e, power);
  if (power)
    puts("\nneeded: pairs for a power of 80 % at a level of 5 %, were the difference as seen");
  printf("\nconcluded at 5 %% (%zu comparison%s):\n", s->n_test, s->n_test == 1 ? "" : "s");
  for (size_t e = 0; e < t->n_env; e++)
    put_conclusion(s, e);
}

// ---------------------------------------------------------------------------------------------
// JSON

static double number_or_nan(double x) {
  return isfinite(x) ? x : NAN;
}

// What a comparison has, under these names.
#define NUMBERS(X)                                                                                 \
  X("pairs", (double)c->gain.n)                                                                    \
  X("difference", c->gain.mean)                                                                    \
  X("difference_sem", c->gain.sem)                                                                 \
  X("ci_low", c->interval.low)                                                                     \
  X("ci_high", c->interval.high)                                                                   \
  X("win_rate", c->wins)                                                                           \
  X("win_rate_low", c->win_interval.low)                                                           \
  X("win_rate_high", c->win_interval.high)                                                         \
  X("p", c->p)                                                                                     \
  X("p_holm", c->p_holm)                                                                           \
  X("pairs_needed", mm_comparison_pairs_needed(c))

static cJSON *comparison_json(const mm_comparison *c, bool wins_alone) {
  cJSON *object = cJSON_CreateObject();
#define ADD(name, value)                                                                           \
  if (!wins_alone || strncmp(name, "win", 3) == 0 || strcmp(name, "pairs") == 0)                   \
    mm_json_add_defined(object, name, number_or_nan(value));
  NUMBERS(ADD)
#undef ADD
  return object;
}

static cJSON *numbers_json(const double *x, size_t n, size_t stride) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, mm_json_defined(x[i * stride]));
  return array;
}

// The shares of a map's scores above each tau, with their bands.
static void add_profile(cJSON *object, const mm_scores *s, size_t map) {
  double share[MM_PROFILE_POINTS];
  mm_interval band[MM_PROFILE_POINTS];
  cJSON *profile = cJSON_AddObjectToObject(object, "profile");
  if (mm_scores_profile(s, map, s->tau, MM_PROFILE_POINTS, share, band) != MM_OK) return;
  cJSON_AddItemToObject(profile, "share", numbers_json(share, MM_PROFILE_POINTS, 1));
  cJSON_AddItemToObject(profile, "low", numbers_json(&band[0].low, MM_PROFILE_POINTS, 2));
  cJSON_AddItemToObject(profile, "high", numbers_json(&band[0].high, MM_PROFILE_POINTS, 2));
}

static cJSON *map_json(const mm_scores *s, size_t map) {
  const mm_score_table *t = s->table;
  const mm_score_map *m = &s->map[map];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", t->map[map]);
  mm_json_add_whole(object, "runs", m->n);
  mm_json_add_whole(object, "failures", m->failures);
  mm_json_add_defined(object, "iqm", m->iqm.iqm);
  mm_json_add_defined(object, "iqm_low", m->iqm.low);
  mm_json_add_defined(object, "iqm_high", m->iqm.high);
  cJSON *envs = cJSON_AddObjectToObject(object, "envs");
  for (size_t e = 0; e < t->n_env; e++) {
    cJSON *env = comparison_json(mm_scores_over(s, map, e), false);
    mm_json_add_defined(env, "mean", number_or_nan(s->cell[map * t->n_env + e].mean.mean));
    cJSON_AddItemToObject(envs, t->env[e], env);
  }
  cJSON *against = cJSON_AddObjectToObject(object, "against");
  for (size_t k = 0; k < t->n_map; k++)
    if (k != map)
      cJSON_AddItemToObject(against, t->map[k],
                            comparison_json(&s->match[map * t->n_map + k], true));
  add_profile(object, s, map);
  return object;
}

static cJSON *scale_json(const mm_scores *s, size_t env) {
  const mm_score_table *t = s->table;
  const mm_score_scale *scale = &s->scale[env];
  cJSON *object = cJSON_CreateObject();
  mm_json_add_defined(object, "zero", scale->zero);
  mm_json_add_defined(object, "one", scale->one);
  output_add_text(object, "zero_map", scale->zero_map < t->n_map ? t->map[scale->zero_map] : NULL);
  output_add_text(object, "one_map", scale->one_map < t->n_map ? t->map[scale->one_map] : NULL);
  cJSON_AddBoolToObject(object, "by_means", scale->by_means);
  return object;
}

static cJSON *scores_json(const mm_scores *s) {
  const mm_score_table *t = s->table;
  cJSON *root = cJSON_CreateObject(), *maps = cJSON_CreateArray();
  cJSON_AddStringToObject(root, "baseline", t->map[s->baselines.row[0]]);
  cJSON *baselines = cJSON_AddArrayToObject(root, "baselines");
  for (size_t i = 0; i < s->baselines.n; i++)
    cJSON_AddItemToArray(baselines, cJSON_CreateString(t->map[s->baselines.row[i]]));
  cJSON *scale = cJSON_AddObjectToObject(root, "scale");
  for (size_t e = 0; e < t->n_env; e++)
    cJSON_AddItemToObject(scale, t->env[e], scale_json(s, e));
  cJSON *seeds = cJSON_AddObjectToObject(root, "seeds");
  for (size_t e = 0; e < t->n_env; e++) {
    cJSON *env = cJSON_AddObjectToObject(seeds, t->env[e]);
    mm_json_add_whole(env, "common", t->common[e]);
    mm_json_add_whole(env, "left_out", t->left_out[e]);
  }
  cJSON_AddItemToObject(root, "tau", numbers_json(s->tau, MM_PROFILE_POINTS, 1));
  for (size_t m = 0; m < t->n_map; m++)
    cJSON_AddItemToArray(maps, map_json(s, m));
  cJSON_AddItemToObject(root, "maps", maps);
  mm_json_add_whole(root, "comparisons", s->n_test);
  cJSON_AddStringToObject(root, "version", mm_version());
  return root;
}

// ---------------------------------------------------------------------------------------------

static const char *const out_files[] = { "compare.json",  "intervals.svg",
                                         "intervals.png", "profiles.svg",
                                         "profiles.png",  "wins.svg",
                                         "wins.png",      NULL };

static mm_status draw(const mm_scores *s, const char *folder) {
  static const struct {
    const char *name;
    mm_status (*draw)(const mm_scores *s, const char *path);
  } figures[] = {
    { "intervals.svg", mm_scores_figure_intervals },
    { "intervals.png", mm_scores_figure_intervals },
    { "profiles.svg", mm_scores_figure_profiles },
    { "profiles.png", mm_scores_figure_profiles },
    { "wins.svg", mm_scores_figure_wins },
    { "wins.png", mm_scores_figure_wins },
  };
  char path[MM_PATH_SIZE + 64];
  MM_TRY(mm_gnuplot_find(path, sizeof path));
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, figures[i].name);
    MM_TRY(figures[i].draw(s, path));
  }
  return MM_OK;
}

// What could not be written whole is taken back, so that the same command can be tried again.
static int write_out(const mm_scores *s, const char *folder) {
  bool made;
  TRY(status_code(mm_folder_make(folder, &made)));
  int code = status_code(mm_json_write(folder, "compare.json", scores_json(s)));
  if (code == EXIT_DONE) code = study_figures(draw(s, folder), "figures");
  if (code == EXIT_DONE) note("wrote compare.json and figures to %s", folder);
  for (const char *const *name = out_files; *name != NULL && code != EXIT_DONE; name++) {
    char *path = memory_print("%s/%s", folder, *name);
    remove(path);
    free(path);
  }
  return code;
}

// What was found is said before it is drawn, which may fail.
static int show(const compare_args *args, const mm_scores *s) {
  if (args->out != NULL) TRY(run_argument_check_out(args->out, out_files));
  if (args->common.json)
    TRY(output_json(scores_json(s), EXIT_DONE));
  else
    put_text(s, args->power);
  return args->out != NULL ? write_out(s, args->out) : EXIT_DONE;
}

static int judge(const compare_args *args, const mm_score_table *t) {
  static double returns[MM_SCORE_NAMES];
  mm_score_baselines baselines;
  size_t row;
  bool known;
  mm_scores s;
  TRY(read_baselines(args, t, &baselines));
  TRY(read_random(args, t, &row, returns, &known));
  int code = status_code(mm_scores_of(t, &baselines, known ? returns : NULL, row, &s));
  if (code == EXIT_DONE) code = show(args, &s);
  mm_scores_release(&s);
  return code;
}

static int run(void *raw) {
  const compare_args *args = raw;
  const option_texts *tables = &args->common.positional;
  mm_score_table t;
  int code = status_code(mm_score_table_read(tables->value, tables->n, &t));
  if (code == EXIT_DONE) code = judge(args, &t);
  mm_score_table_release(&t);
  return code;
}

const command command_compare = {
  .name = "compare",
  .summary = "judge maps over the environments of transfer tables",
  .positional = "TABLE...",
  .about =
      "TABLE is the folder of a transfer study, or a CSV file like its runs.csv: columns map, "
      "env, seed, final. Several tables of the same settings are put together; runs are paired by "
      "seed, and in each environment the seeds count that all its maps have. A run without a "
      "return "
      "counts as the worst.\n\nReturns become scores, (x - zero) / (one - "
      "zero) in each environment: zero is a random policy or row, one the best baseline, or "
      "else the lowest and highest mean of the maps. Shown are the interquartile mean (IQM) of "
      "all scores of a map with its stratified bootstrap interval, its win rate, and in each "
      "environment the paired differences from the baseline. --out draws the IQMs with their "
      "intervals, performance profiles and the matrix of win rates.",
  .examples = "mirrormap compare runs/transfer-CartPole-v1-1 runs/transfer-Acrobot-v1-1 --power\n"
              "mirrormap compare a/runs.csv b/runs.csv --baseline l2 --random random.json --out "
              "figures",
  .options = options,
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(compare_args),
  .run = run,
};
