// SPDX-License-Identifier: Apache-2.0
// `env show` of all but Grid-World: sizes, laws in a few words, and the first picture.

#include "cli/env/env_args.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/argument/env_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/picture_drawing.h"
#include "cli/env/vec_game.h"
#include "env/locomotion/body_words.h"

typedef struct shown {
  vec_game game;
  mm_env_info info;
  const mm_env_facts *facts;
  mm_scene scene;
  bool original; // MinAtar's own rules
} shown;

static const char minatar_gymnax[] =
    "gymnax: every action is carried out, and the limit ends an episode";
static const char minatar_original[] =
    "minatar: with probability 0.1 a step repeats the action before; no limit but Freeway's";

// what is particular to the flavour of a locomotion task
static const char *flavour_of(const shown *s) {
  const bool gymnasium = strcmp(mm_vec_flavour(s->game.vec), "gymnasium") == 0;
  mm_body body;
  mm_flavour by_id;
  if (!mm_body_find(s->info.id, &body, &by_id)) return "";
  return mm_body_words_of(body)->flavour[gymnasium ? MM_FLAVOUR_GYMNASIUM : MM_FLAVOUR_BRAX];
}

static const char *rules_of(const shown *s) {
  if (s->scene.rows > 0) return s->original ? minatar_original : minatar_gymnax;
  if (strcmp(s->info.id, "MountainCarContinuous-v0") != 0)
    return "the same in gymnax and Gymnasium";
  return s->game.config.gymnasium_walls
             ? "Gymnasium's walls: the left one stops the car"
             : "gymnax's walls: a car that leans on the left wall keeps its speed";
}

static const char *physics_of(const shown *s) {
  return strcmp(mm_vec_physics(s->game.vec), "own") == 0 ? "own: our own engine"
                                                         : "mujoco: the MuJoCo library";
}

static const char *forms_of(const shown *s) {
  return s->scene.rows > 0 ? "floats, bits, list" : "floats, columns";
}

// ---------------------------------------------------------------------------------------------
// For people

// "name    text", the text wrapped behind the name
static void put_fact(const char *name, const char *text) {
  enum { INDENT = 13, WIDTH_MOST = 100 };
  int width = terminal_width(stdout);
  help_wrapped(text, INDENT, printf("%-*s", INDENT, name), width < WIDTH_MOST ? width : WIDTH_MOST);
}

static void put_actions(const shown *s) {
  const mm_vec_info *v = &s->game.info;
  char text[200];
  size_t used = 0;
  if (v->n_action == 0) {
    snprintf(text, sizeof text, "%d continuous in [%g, %g]", v->n_real, (double)v->low,
             (double)v->high);
    put_fact("actions", text);
    return;
  }
  used = (size_t)snprintf(text, sizeof text, "%d: ", v->n_action);
  for (int32_t i = 0; i < v->n_action && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                             v->action_name[i]);
  put_fact("actions", text);
}

static void print_facts(const shown *s) {
  const mm_vec_info *v = &s->game.info;
  char text[400];
  snprintf(text, sizeof text, "%d inputs: %s", v->n_input, s->facts->observation);
  put_fact("observation", text);
  put_fact("forms", forms_of(s));
  put_actions(s);
  put_fact("reward", s->facts->reward);
  put_fact("end", s->facts->end);
  snprintf(text, sizeof text, v->limit > 0 ? "%d steps" : "none", v->limit);
  put_fact("limit", text);
  put_fact("random", s->facts->random);
  if (env_group_of(s->info.id) == GROUP_BODY) {
    put_fact("flavour", flavour_of(s));
    put_fact("physics", physics_of(s));
  } else if (env_group_of(s->info.id) != GROUP_PLUGIN) {
    put_fact("rules", rules_of(s));
  }
  snprintf(text, sizeof text, "%s, preset %s", s->info.algo, s->info.preset);
  put_fact("trained by", text);
  put_fact("see also", env_group_of(s->info.id) == GROUP_BODY
                           ? "env play, env show --frames, bench physics (steps per second)"
                           : "env play, env show --frames, bench env (steps per second)");
}

static int print(const shown *s) {
  enum { LINES = 16 };
  int width = terminal_width(stdout);
  text_panel picture = { 0 }, legend = { 0 };
  printf("%s  %s\n\n", output_styled(STYLE_BOLD, s->info.id), s->info.summary);
  picture_legend(&s->scene, &legend);
  picture_draw(&s->scene, s->game.obs, width - legend.width - 4, LINES, &picture);
  panel_print_beside(&picture, &legend, width, 0, "\n");
  fputc('\n', stdout);
  print_facts(s);
  panel_release(&picture);
  panel_release(&legend);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// JSON

static void add_actions(cJSON *root, const mm_vec_info *v) {
  cJSON *actions = cJSON_AddObjectToObject(root, "actions");
  cJSON_AddStringToObject(actions, "kind", v->n_action > 0 ? "discrete" : "real");
  output_add_number(actions, "n", v->n_action > 0 ? v->n_action : v->n_real);
  if (v->n_action == 0) {
    output_add_number(actions, "low", (double)v->low);
    output_add_number(actions, "high", (double)v->high);
    return;
  }
  cJSON *names = cJSON_AddArrayToObject(actions, "names");
  for (int32_t i = 0; i < v->n_action; i++)
    cJSON_AddItemToArray(names, cJSON_CreateString(v->action_name[i]));
}

static void add_observation(cJSON *root, const shown *s) {
  cJSON *object = cJSON_AddObjectToObject(root, "observation");
  bool board = s->scene.rows > 0;
  output_add_number(object, "n", s->game.info.n_input);
  cJSON *forms = cJSON_AddArrayToObject(object, "forms");
  cJSON_AddItemToArray(forms, cJSON_CreateString("floats"));
  cJSON_AddItemToArray(forms, cJSON_CreateString(board ? "bits" : "columns"));
  if (board) {
    cJSON_AddItemToArray(forms, cJSON_CreateString("list"));
    cJSON_AddItemToObject(
        object, "shape",
        cJSON_CreateIntArray((const int[]){ s->scene.rows, s->scene.columns, s->scene.channels },
                             3));
  }
  cJSON_AddStringToObject(object, "meaning", s->facts->observation);
}

static int print_json(const shown *s) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", s->info.id);
  cJSON_AddStringToObject(root, "summary", s->info.summary);
  cJSON_AddStringToObject(root, "algo", s->info.algo);
  cJSON_AddStringToObject(root, "preset", s->info.preset);
  add_observation(root, s);
  add_actions(root, &s->game.info);
  mm_json_add_defined(root, "limit", s->game.info.limit > 0 ? s->game.info.limit : (double)NAN);
  cJSON_AddStringToObject(root, "reward", s->facts->reward);
  cJSON_AddStringToObject(root, "end", s->facts->end);
  cJSON_AddStringToObject(root, "random", s->facts->random);
  if (s->scene.rows > 0) cJSON_AddStringToObject(root, "rules", s->original ? "minatar" : "gymnax");
  if (env_group_of(s->info.id) == GROUP_BODY) {
    cJSON_AddStringToObject(root, "flavour", mm_vec_flavour(s->game.vec));
    cJSON_AddStringToObject(root, "physics", mm_vec_physics(s->game.vec));
  }
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------

static bool find_info(const char *id, mm_env_info *out) {
  for (size_t i = 0; mm_env_list(i, out); i++)
    if (strcmp(out->id, id) == 0) return true;
  return false;
}

int vec_show(const mm_env *env, const env_args *args) {
  const char *id = mm_env_id(env);
  shown s = { .facts = env_facts_find(id) };
  if (s.facts == NULL || !find_info(id, &s.info) || !mm_scene_find(id, &s.scene))
    return fail(EXIT_FAILED, "environment '%s' cannot be shown", id);
  s.original = args->rules == MM_RULES_MINATAR ||
               (args->rules == MM_RULES_BY_ID && strncmp(id, "MinAtar/", 8) == 0);
  TRY(status_code(vec_game_open(env, args, NULL, &s.game)));
  int code = args->common.json ? print_json(&s) : print(&s);
  vec_game_release(&s.game);
  return code;
}
