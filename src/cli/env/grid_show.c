// SPDX-License-Identifier: Apache-2.0
// `env show` of a Grid-World: an instance with its board, its objects, its exact values, and the
// arrows of an optimal or of a trained policy.

#include "cli/env/env_args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/env/grid_drawing.h"
#include "cli/env/grid_game.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_task.h"
#include "show/picture/grid_policy.h"

// Beyond, exact values take more than a moment: they must be asked for.
enum { STATES_QUICK = 300000 };

// What is shown beside the task itself. Values are those of the start state; [2] is absorb,
// restart.
typedef struct findings {
  bool exact;         // all but n_free and `trained` is known
  uint8_t *reachable; // [n_state], or NULL
  uint8_t *action;    // [n_state] arrows, or NULL
  int32_t n_reachable, n_free;
  double optimal[2], uniform[2];
  double trained; // with --map, in the mode of `termination`
} findings;

static bool restarts(const env_args *args) {
  return args->termination == TERMINATION_RESTART;
}

static int32_t start_index(const mm_grid *grid) {
  return mm_grid_index(grid, mm_grid_start(grid));
}

// ---------------------------------------------------------------------------------------------
// Exact values

// The value at the start of a policy [action][n_state], or of the best one (NULL), whose actions go
// to *action unless that is NULL.
static mm_status solve_start(mm_grid_model *model, const mm_grid *grid, const double *policy,
                             double *out, uint8_t **action) {
  double *value = memory_alloc((size_t)grid->n_state, sizeof *value);
  uint8_t *best = memory_alloc((size_t)grid->n_state, 1);
  mm_status status = policy != NULL ? mm_grid_value(model, policy, value, NULL)
                                    : mm_grid_optimal(model, value, best);
  *out = value[start_index(grid)];
  free(value);
  if (status == MM_OK && action != NULL)
    *action = best;
  else
    free(best);
  return status;
}

static mm_status solve_uniform(mm_grid_model *model, const mm_grid *grid, double *out) {
  size_t n = (size_t)grid->n_state * MM_GRID_ACTIONS;
  double *policy = memory_alloc(n, sizeof *policy);
  for (size_t i = 0; i < n; i++)
    policy[i] = 1.0 / MM_GRID_ACTIONS;
  mm_status status = solve_start(model, grid, policy, out, NULL);
  free(policy);
  return status;
}

static void count_reachable(mm_grid_model *model, const mm_grid *grid, findings *f) {
  f->reachable = memory_alloc((size_t)grid->n_state, 1);
  mm_grid_reachable(model, f->reachable);
  for (int32_t s = 0; s < grid->n_state; s++)
    f->n_reachable += f->reachable[s] != 0;
}

static mm_status solve(const mm_grid *grid, const env_args *args, findings *f) {
  mm_status status = MM_OK;
  for (int32_t c = 0; c < grid->cells; c++)
    f->n_free += !grid->wall[c];
  bool quick = grid->n_state <= STATES_QUICK;
  f->exact = quick || args->exact || args->optimal || args->map != NULL;
  if (!f->exact) return MM_OK;
  if (!quick) note("solving %d states exactly", grid->n_state);
  for (int restart = 0; restart < 2 && status == MM_OK; restart++) {
    mm_grid_model *model = NULL;
    bool arrows = args->optimal && restart == restarts(args);
    status = mm_grid_model_create(grid, args->gamma, restart, &model);
    if (status == MM_OK && restart == 0) count_reachable(model, grid, f);
    if (status == MM_OK)
      status = solve_start(model, grid, NULL, &f->optimal[restart], arrows ? &f->action : NULL);
    if (status == MM_OK) status = solve_uniform(model, grid, &f->uniform[restart]);
    mm_grid_model_destroy(model);
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// A trained policy: the run that `train --seed` makes

// the likeliest action of each state: none where all are alike, weak below one half
static uint8_t *greedy_actions(const mm_grid *grid, const double *policy) {
  uint8_t *action = memory_alloc((size_t)grid->n_state, 1);
  for (int32_t s = 0; s < grid->n_state; s++) {
    int best = 0;
    double most = policy[s], least = most;
    for (int a = 1; a < MM_GRID_ACTIONS; a++) {
      double p = policy[(size_t)a * (size_t)grid->n_state + (size_t)s];
      if (p > most) most = p, best = a;
      if (p < least) least = p;
    }
    action[s] = (uint8_t)(best | (most < 0.5 ? GRID_WEAK_ARROW : 0));
    if (!(most > least)) action[s] = GRID_NO_ARROW;
  }
  return action;
}

static void show_progress(int64_t done, int64_t total) {
  if (done == 1) progress_begin("training", (double)total, "iterations");
  progress_update((double)done, NULL);
}

static mm_status learn(const mm_grid *grid, const mm_map *map, const env_args *args,
                       double *policy) {
  mm_pmd_config config = mm_pmd_config_default();
  bool finite = true;
  config.gamma = args->gamma;
  config.restart = restarts(args);
  mm_status status = mm_grid_policy(grid, map, &config, args->seed, show_progress, policy, &finite);
  progress_end();
  if (!finite) warn("a logit was not finite: the policy from before that is shown");
  return status;
}

static mm_status evaluate(const double *policy, const mm_grid *grid, const env_args *args,
                          findings *f) {
  mm_grid_model *model = NULL;
  f->action = greedy_actions(grid, policy);
  mm_status status = mm_grid_model_create(grid, args->gamma, restarts(args), &model);
  if (status == MM_OK) status = solve_start(model, grid, policy, &f->trained, NULL);
  mm_grid_model_destroy(model);
  return status;
}

static int train(const mm_grid *grid, const env_args *args, findings *f) {
  mm_map *map = NULL;
  TRY(map_argument_open(args->map, &map));
  double *policy = memory_alloc((size_t)grid->n_state * MM_GRID_ACTIONS, sizeof *policy);
  mm_status status = learn(grid, map, args, policy);
  if (status == MM_OK) status = evaluate(policy, grid, args, f);
  free(policy);
  mm_map_destroy(map);
  return status_code(status);
}

// ---------------------------------------------------------------------------------------------
// For people

static void add_values(text_panel *panel, const char *name, const double value[2]) {
  panel_add(panel, "%-16s %10s  %10s", name, output_number(value[0]), output_number(value[1]));
}

static void add_trained(text_panel *panel, const env_args *args, const findings *f) {
  char label[MAP_LABEL_SIZE];
  bool restart = restarts(args);
  double best = f->optimal[restart];
  panel_add(panel, "%-16s %*s", "trained policy", restart ? 22 : 10, output_number(f->trained));
  if (best > 0) panel_add(panel, "%-16s %9.3g%%", "of the optimum", 100 * f->trained / best);
  panel_add(panel, "%s", "");
  panel_add(panel, "arrows: PMD with %s,", output_plain(map_label(args->map, label)));
  panel_add(panel, "while all are present; dim below 1/2");
}

static void fill_panel(const mm_grid *grid, const env_args *args, const findings *f,
                       const grid_scene *scene, text_panel *panel) {
  const char *bold = terminal_style(stdout, STYLE_BOLD);
  const char *plain = terminal_style(stdout, STYLE_PLAIN);
  int n_state = f->n_free << grid->n_object;
  grid_panel_objects(panel, scene);
  panel_add(panel, "%s", "");
  if (!f->exact) {
    panel_add(panel, "%d states: --exact computes values", n_state);
    return;
  }
  panel_add(panel, "%s%-16s %10s  %10s%s", bold, "value at start", "absorb", "restart", plain);
  add_values(panel, "optimal policy", f->optimal);
  add_values(panel, "uniform policy", f->uniform);
  if (args->map != NULL) {
    add_trained(panel, args, f);
  } else if (args->optimal) {
    panel_add(panel, "%s", "");
    panel_add(panel, "arrows: optimal while all are present");
  }
  panel_add(panel, "%s", "");
  panel_add(panel, "%d states, %d of them reachable", n_state, f->n_reachable);
}

static void print(const mm_grid *grid, const char *id, const env_args *args, const findings *f) {
  grid_scene scene = { grid, mm_grid_start(grid), false, f->action, f->reachable };
  text_panel panel = { 0 };
  int width = terminal_width(stdout);
  fill_panel(grid, args, f, &scene, &panel);
  grid_view view = grid_view_fit(grid, grid->start, width, 0);
  printf("%s%s\n", output_styled(STYLE_BOLD, output_plain(id)),
         grid_instance(id, args->seed, args->index));
  grid_draw(&scene, &view, &panel, grid_panel_fits(&view, &panel, width), "\n");
  if (view.columns < grid->side || view.rows < grid->side)
    printf("\nrows %d to %d and columns %d to %d of a board of %d x %d\n", view.row,
           view.row + view.rows - 1, view.column, view.column + view.columns - 1, grid->side,
           grid->side);
  panel_release(&panel);
}

// ---------------------------------------------------------------------------------------------
// JSON. The task's fields are those of a task file.

static cJSON *cell_json(const mm_grid *grid, int32_t cell) {
  return cJSON_CreateIntArray((const int[]){ cell / grid->side, cell % grid->side }, 2);
}

static void add_task(cJSON *root, const mm_grid *grid) {
  output_add_number(root, "grid", grid->side);
  cJSON *walls = cJSON_AddArrayToObject(root, "walls");
  for (int32_t c = 0; c < grid->cells; c++)
    if (grid->wall[c]) cJSON_AddItemToArray(walls, cell_json(grid, c));
  cJSON_AddItemToObject(root, "start", cell_json(grid, grid->start));
  cJSON *objects = cJSON_AddArrayToObject(root, "objects");
  for (int i = 0; i < grid->n_object; i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "cell", cell_json(grid, grid->object[i]));
    output_add_number(object, "reward", grid->reward[i]);
    output_add_number(object, "terminate", grid->terminate[i]);
    output_add_number(object, "respawn", grid->respawn[i]);
    cJSON_AddItemToArray(objects, object);
  }
}

static void add_pair(cJSON *root, const char *key, const findings *f, const double value[2]) {
  if (!f->exact) {
    cJSON_AddNullToObject(root, key);
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(root, key);
  output_add_number(object, "absorb", value[0]);
  output_add_number(object, "restart", value[1]);
}

// [row][column] for all objects present; null where there is no arrow
static void add_arrows(cJSON *root, const mm_grid *grid, const findings *f) {
  cJSON *rows = cJSON_AddArrayToObject(root, "actions");
  mm_grid_state state = mm_grid_start(grid);
  for (int32_t cell = 0; cell < grid->cells; cell++) {
    if (cell % grid->side == 0) cJSON_AddItemToArray(rows, cJSON_CreateArray());
    state.cell = cell;
    int32_t s = mm_grid_index(grid, state);
    bool reachable = f->reachable == NULL || f->reachable[s];
    bool shown = reachable && f->action[s] != GRID_NO_ARROW;
    cJSON_AddItemToArray(rows->child->prev,
                         shown ? cJSON_CreateNumber(f->action[s] & ~GRID_WEAK_ARROW)
                               : cJSON_CreateNull());
  }
}

static int print_json(const mm_grid *grid, const char *id, const env_args *args,
                      const findings *f) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", id);
  mm_json_add_whole(root, "seed", args->seed);
  mm_json_add_whole(root, "index", args->index);
  add_task(root, grid);
  output_add_number(root, "states", f->n_free << grid->n_object);
  mm_json_add_defined(root, "reachable_states", f->exact ? f->n_reachable : (double)NAN);
  output_add_number(root, "gamma", args->gamma);
  add_pair(root, "v_star", f, f->optimal);
  add_pair(root, "v_uniform", f, f->uniform);
  if (f->action != NULL) {
    cJSON_AddStringToObject(root, "policy", args->map != NULL ? args->map : "optimal");
    cJSON_AddStringToObject(root, "termination", env_termination_names[restarts(args)]);
    if (args->map != NULL) output_add_number(root, "v_trained", f->trained);
    add_arrows(root, grid, f);
  }
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------

int grid_show(const char *id, const env_args *args) {
  mm_grid *grid;
  int code = grid_argument_open(id, args->seed, args->index, &grid);
  if (code != EXIT_DONE) return code;
  findings found = { 0 };
  mm_status status = solve(grid, args, &found);
  if (status != MM_OK) code = fail_status(status);
  if (code == EXIT_DONE && args->map != NULL) code = train(grid, args, &found);
  if (code == EXIT_DONE && args->common.json)
    code = print_json(grid, id, args, &found);
  else if (code == EXIT_DONE)
    print(grid, id, args, &found);
  free(found.reachable);
  free(found.action);
  mm_grid_destroy(grid);
  return code;
}
