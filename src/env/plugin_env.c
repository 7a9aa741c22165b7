// SPDX-License-Identifier: Apache-2.0
#include "env/plugin_env.h"

#include <math.h>
#include <string.h>

#include "base/spelling.h"
#include "env/vec_internal.h"

static struct {
  mm_plugin_env law;
  mm_env_about about;
  mm_env_kind kind;
} added[MM_PLUGIN_ENVS_MOST];
static size_t n_added;

const mm_plugin_env *mm_plugin_env_law(size_t i) {
  return i < n_added ? &added[i].law : NULL;
}

const mm_env_kind *mm_plugin_env_kind(size_t i) {
  return i < n_added ? &added[i].kind : NULL;
}

// ---------------------------------------------------------------------------------------------

#define REFUSE(...) MM_FAIL(MM_ERR_INPUT, __VA_ARGS__)

static mm_status check_id(const char *id) {
  mm_env_info info;
  if (!id || !mm_is_plain_name(id))
    return REFUSE("an environment without an ID: expected letters, digits and . _ -");
  for (size_t i = 0; mm_env_list(i, &info); i++)
    if (strcmp(info.id, id) == 0) return REFUSE("environment '%s': there is one of that ID", id);
  if (n_added < MM_PLUGIN_ENVS_MOST) return MM_OK;
  return REFUSE("environment '%s': there are %d of plug-ins, the most there can be", id,
                MM_PLUGIN_ENVS_MOST);
}

static mm_status check_sizes(const mm_plugin_env *law) {
  const bool real = law->n_action == 0;
  if (law->n_input < 1 || law->n_input > MM_PLUGIN_INPUTS)
    return REFUSE("environment '%s': n_input = %d: expected 1 to %d", law->id, (int)law->n_input,
                  MM_PLUGIN_INPUTS);
  if (law->state_size < 1 || law->state_size > 1 << 20)
    return REFUSE("environment '%s': state_size = %zu: expected 1 to 2^20", law->id,
                  law->state_size);
  if (law->limit < 0) return REFUSE("environment '%s': limit: expected 0 or more", law->id);
  if (law->n_action < 0 || law->n_action > MM_PLUGIN_ACTIONS || law->n_real < 0 ||
      law->n_real > MM_PLUGIN_REALS || real != (law->n_real > 0))
    return REFUSE("environment '%s': expected n_action of 1 to %d, or n_real of 1 to %d", law->id,
                  MM_PLUGIN_ACTIONS, MM_PLUGIN_REALS);
  if (real && !(law->low < law->high && isfinite(law->low) && isfinite(law->high)))
    return REFUSE("environment '%s': expected finite bounds low < high of its actions", law->id);
  return MM_OK;
}

static mm_status check_names(const mm_plugin_env *law) {
  if (law->n_action > 0 && !law->action_name)
    return REFUSE("environment '%s': expected names of its actions", law->id);
  for (int32_t i = 0; i < law->n_action; i++)
    if (!law->action_name[i])
      return REFUSE("environment '%s': action_name[%d]: expected a name", law->id, (int)i);
  for (int32_t i = 0; law->bounds && i < law->n_input; i++)
    if (!(law->bounds[i][0] <= law->bounds[i][1]))
      return REFUSE("environment '%s': bounds[%d]: expected the lower one first", law->id, (int)i);
  return MM_OK;
}

static mm_status check_picture(const mm_plugin_env *law) {
  const mm_view *v = &law->view;
  if (!law->shapes) return MM_OK;
  if (law->n_mark < 1 || law->n_mark > MM_MARKS_MOST || !law->mark)
    return REFUSE("environment '%s': expected 1 to %d marks of its picture", law->id,
                  MM_MARKS_MOST);
  for (int32_t i = 0; i < law->n_mark; i++)
    if (!law->mark[i].name)
      return REFUSE("environment '%s': mark[%d]: expected a name", law->id, (int)i);
  if (v->left < v->right && v->bottom < v->top && isfinite(v->right - v->left) &&
      isfinite(v->top - v->bottom))
    return MM_OK;
  return REFUSE("environment '%s': expected a view with left < right and bottom < top", law->id);
}

mm_status mm_plugin_env_check(const mm_plugin_env *law) {
  MM_TRY(check_id(law->id));
  if (!law->summary || !law->reset || !law->step || !law->observe)
    return REFUSE("environment '%s': expected a summary, reset, step and observe", law->id);
  MM_TRY(check_sizes(law));
  MM_TRY(check_names(law));
  return check_picture(law);
}

// ---------------------------------------------------------------------------------------------

// Bars of the inputs, where there is no picture.
static const mm_mark bar = { "inputs, within -1 and 1", 0x0087d7, '#', 0 };

static mm_scene scene_of(const mm_plugin_env *law) {
  if (law->shapes)
    return (mm_scene){ law->mark, law->n_mark, .box = law->view, .shapes = law->shapes };
  const int bars = law->n_input < MM_SHAPES_MOST ? law->n_input : MM_SHAPES_MOST;
  return (mm_scene){ &bar, 1, .box = { -0.7, bars - 0.3, -1.1, 1.1 }, .bars = bars };
}

static const char *text_of(const char *text) {
  return text ? text : "the plug-in does not say";
}

void mm_plugin_env_add(const mm_plugin_env *from) {
  static const char *const no_input[] = { NULL };
  const size_t i = n_added;
  mm_plugin_env *law = &added[i].law;
  *law = *from;
  const bool real = law->n_action == 0;
  added[i].about = (mm_env_about){
    .summary = law->summary,
    .action_name = law->action_name,
    .bounds = law->bounds,
    .facts = { law->input_name ? law->input_name : no_input, text_of(law->observation),
               text_of(law->reward), text_of(law->end), text_of(law->random),
               law->fps > 0 ? law->fps : 30 },
    .scene = scene_of(law),
  };
  added[i].kind = (mm_env_kind){ .id = law->id,
                                 .algo = law->algo ? law->algo
                                         : real    ? "pmd-gaussian"
                                                   : "ampo",
                                 .preset = law->preset ? law->preset
                                           : real      ? "mujoco"
                                                       : "bcs",
                                 .law = &mm_vec_plugin,
                                 .which = (int32_t)i,
                                 .about = &added[i].about };
  n_added++;
}
