#include "cli/study/learn_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"

// ---------------------------------------------------------------------------------------------
// While it runs

void learn_report_start(const mm_learn *learn) {
  mm_learn_view view;
  mm_learn_look(learn, &view);
  const mm_learn_plan *plan = view.plan;
  if (view.generation > 0)
    note("%s: going on after generation %" PRId64 " of %" PRId64, view.folder, view.generation,
         view.generations);
  else
    note("%s: %" PRId64 " generations of %" PRIu64 " trainings, %s, %s maps", view.folder,
         view.generations, view.jobs_per_generation,
         mm_es_name((mm_es_kind)plan->settings.search.es),
         mm_map_kind_name(mm_search_map_kind(&plan->settings.search)));
}

enum { DECIMALS = 4 };

// Width in bytes that fills `columns` columns: the sign takes two bytes and one column, or two.
static int width(int columns) {
  return terminal_unicode() ? columns + 1 : columns;
}

void learn_report_row(const mm_learn_view *v, bool first) {
  if (first) {
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line, "controls:");
    for (int c = 0; c < v->n_control && used < sizeof line; c++)
      used += (size_t)snprintf(line + used, sizeof line - used, "%s %s %s", c > 0 ? "," : "",
                               v->control_name[c],
                               study_estimate(v->control[c].value, DECIMALS, false));
    log_line("%s", line);
    log_line("%11s %8s %7s %17s %18s %18s %8s %8s", "generation", "fitness", "sigma", "validation",
             "- negentropy", "- l2", "steps/s", "left");
  }
  char rate[16] = "";
  if (v->session_seconds > 0)
    snprintf(rate, sizeof rate, "%.3g M", 1e-6 * (double)v->session_env_steps / v->session_seconds);
  char fitness[16] = "-";
  if (!isnan(v->fitness_mean)) snprintf(fitness, sizeof fitness, "%.4f", v->fitness_mean);
  log_line("%5" PRId64 "/%-5" PRId64 " %8s %7.4f %*s %*s %*s %8s %8s", v->generation,
           v->generations, fitness, v->sigma, width(17),
           study_estimate(v->last.value, DECIMALS, false), width(18),
           study_estimate(v->last.over_negentropy, DECIMALS, true), width(18),
           study_estimate(v->last.over_l2, DECIMALS, true), rate,
           format_duration(v->steps_left * v->session_seconds / (double)v->session_env_steps));
}

// ---------------------------------------------------------------------------------------------
// At the end

static void add_validation(cJSON *root, const mm_learn_view *v) {
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  if (!v->best.known) return;
  mm_study_add_estimate(object, "learned", v->best.value);
  for (int c = 0; c < v->n_control; c++)
    mm_study_add_estimate(object, v->control_name[c], v->control[c].value);
  mm_study_add_estimate(object, "final", v->last.value);
  output_add_number(root, "final_generation", (double)v->last.generation);
  cJSON *difference = cJSON_AddObjectToObject(root, "difference");
  mm_study_add_estimate(difference, "negentropy", v->best.over_negentropy);
  mm_study_add_estimate(difference, "l2", v->best.over_l2);
  output_add_number(root, "best_generation", (double)v->best.generation);
}

static int put_json(const mm_learn_view *v, const char *state) {
  const mm_learn_plan *plan = v->plan;
  char text[MM_RUN_PATH_SIZE + 16];
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "run", v->folder);
  cJSON_AddStringToObject(root, "state", state);
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(plan->env[i]));
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  mm_json_add_whole(root, "seed", plan->seed);
  output_add_number(root, "generations", (double)v->generation);
  output_add_number(root, "generations_planned", (double)v->generations);
  output_add_number(root, "evaluations", (double)v->evaluations);
  output_add_number(root, "nonfinite", (double)v->nonfinite);
  mm_json_add_defined(root, "mean_fitness", v->fitness_mean);
  mm_json_add_defined(root, "best_fitness", v->fitness_best);
  output_add_number(root, "sigma", v->sigma);
  add_validation(root, v);
  snprintf(text, sizeof text, "%s/best.json", v->folder);
  study_add_text(root, "map_file", v->best.known ? text : NULL);
  snprintf(text, sizeof text, "%s/mean.json", v->folder);
  cJSON_AddStringToObject(root, "mean_file", text);
  output_add_number(root, "env_steps", (double)v->env_steps);
  double rate = v->session_seconds > 0 ? (double)v->session_env_steps / v->session_seconds : NAN;
  mm_json_add_defined(root, "env_steps_per_second", rate);
  output_add_number(root, "wall_seconds", v->session_seconds);
  mm_machine_add(root, &v->machine);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "learn", mm_search_json(&plan->settings));
  return output_json(root, EXIT_DONE);
}

static void mark_difference(table *t, bool wanted, mm_estimate e) {
  int sign = mm_estimate_sign(e);
  if (wanted && sign != 0) table_mark(t, sign > 0);
}

static void put_score(table *t, const char *name, const mm_learn_score *s, bool mark) {
  table_text(t, name);
  table_text(t, study_estimate(s->value, DECIMALS, false));
  table_text(t, study_estimate(s->over_negentropy, DECIMALS, true));
  mark_difference(t, mark, s->over_negentropy);
  table_text(t, study_estimate(s->over_l2, DECIMALS, true));
  mark_difference(t, mark, s->over_l2);
}

static void put_scores(const mm_learn_view *v) {
  const mm_search *search = &v->plan->settings.search;
  char name[64];
  table *t = table_create("<map|<value|<minus negentropy|<minus l2");
  snprintf(name, sizeof name, "best (generation %" PRId64 ")", v->best.generation);
  put_score(t, name, &v->best, true);
  if (v->last.generation != v->best.generation) {
    snprintf(name, sizeof name, "last (generation %" PRId64 ")", v->last.generation);
    put_score(t, name, &v->last, true);
  }
  for (int c = 0; c < v->n_control; c++)
    put_score(t, v->control_name[c], &v->control[c], false);
  printf("on %.0f validation tasks, %s standard error:\n",
         search->validation_tasks * (double)v->plan->n_env, output_plus_minus());
  table_print(t);
}

// The settings of the last phase's training runs, which the best map was chosen by.
static mm_settings last_settings(const mm_learn_plan *plan) {
  mm_settings last = plan->settings;
  mm_phase phase[MM_PHASES_MAX];
  size_t phases = mm_search_phases(&plan->settings.search, phase);
  if (phases > 0 && phase[phases - 1].steps > 0)
    mm_settings_set_steps(&last, phase[phases - 1].steps);
  return last;
}

// Whether `transfer` would take something else for `key` than `text`, on any environment.
static bool is_changed(const mm_learn_view *v, const char *key, const char *text) {
  const mm_learn_plan *plan = v->plan;
  bool changed = false;
  for (size_t i = 0; i < plan->n_env && !changed; i++) {
    char usual_text[MM_SETTING_TEXT_SIZE];
    mm_settings usual = mm_settings_default(plan->settings.algo);
    mm_settings_fit(&usual, env_argument_preset(v->env[i]));
    changed = strcmp(mm_settings_text(&usual, key, usual_text), text) != 0;
  }
  return changed;
}

static bool is_own_algo(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  bool own = true;
  for (size_t i = 0; i < plan->n_env && own; i++) {
    mm_algo algo;
    own = env_argument_algo(NULL, v->env[i], plan->env[i], &algo) == EXIT_DONE &&
          algo == plan->settings.algo;
  }
  return own;
}

// How to judge the map where it was not chosen, in the settings it was learned with.
static void put_hint(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  const mm_settings last = last_settings(plan);
  printf("The best map was chosen on these tasks; to judge it on fresh ones:\n"
         "  mirrormap transfer --maps %s/best.json --seeds 256 --seed 1000000 --envs ",
         output_plain(v->folder));
  for (size_t i = 0; i < plan->n_env; i++)
    printf("%s%s", i > 0 ? "," : "", output_plain(plan->env[i]));
  if (!is_own_algo(v)) printf(" --algo %s", mm_algo_name(last.algo));
  for (size_t i = 0; i < mm_settings_own(last.algo); i++) {
    const char *key = mm_settings_key(last.algo, i);
    char text[MM_SETTING_TEXT_SIZE];
    if (is_changed(v, key, mm_settings_text(&last, key, text))) printf(" --set %s=%s", key, text);
  }
  fputc('\n', stdout);
}

static void put_text(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  char machine[MM_MACHINE_TEXT];
  printf("%s%s: %" PRId64 " generations, %" PRIu64 " trainings, %.3g steps\n",
         output_plain(plan->env[0]), plan->n_env > 1 ? " and others" : "", v->generation,
         v->evaluations, (double)v->env_steps);
  if (v->best.known) put_scores(v);
  if (v->nonfinite > 0)
    printf("%" PRIu64 " candidates broke down in training and lost\n", v->nonfinite);
  if (v->session_seconds > 0)
    printf("speed: %.3g million steps/s, %s on %s, %.2f %% of the time outside training\n",
           1e-6 * (double)v->session_env_steps / v->session_seconds,
           format_duration(v->session_seconds), mm_machine_text(&v->machine, machine),
           100 * (1 - v->session_job_seconds / v->session_seconds));
  const char *folder = output_plain(v->folder);
  if (v->best.known)
    printf("maps: %s/best.json (the best validated one), %s/mean.json\n", folder, folder);
  else
    printf("map: %s/mean.json (not validated)\n", folder);
  if (v->best.known) put_hint(v);
}

int learn_report(const mm_learn *learn, const char *state, bool json) {
  mm_learn_view view;
  mm_learn_look(learn, &view);
  if (json) return put_json(&view, state);
  put_text(&view);
  return EXIT_DONE;
}
