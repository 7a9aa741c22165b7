// The card of a learned map: where and how it was learned and what it scored, without anything that
// differs between two runs of the same plan.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study/learn/learn_internal.h"

static void add_validation(cJSON *root, const mm_learn_plan *plan, const mm_learn_score *score,
                           const mm_learn_score *control) {
  if (!score->known) {
    cJSON_AddNullToObject(root, "validation");
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  double tasks = plan->settings.search.validation_tasks * (double)plan->n_env;
  cJSON_AddItemToObject(object, "tasks", mm_json_number(tasks));
  mm_study_add_estimate(object, "learned", score->value);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    if (control[c].known) mm_study_add_estimate(object, mm_control_names[c], control[c].value);
  mm_study_add_estimate(object, "learned_minus_negentropy", score->over_negentropy);
  mm_study_add_estimate(object, "learned_minus_l2", score->over_l2);
}

// Where a task or the start of the search lay is nobody's business.
static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

mm_status mm_learn_card(const mm_learn_plan *plan, int64_t generation, uint64_t evaluations,
                        const mm_learn_score *score, const mm_learn_score *control, char **out) {
  char text[64];
  cJSON *root = cJSON_CreateObject();
  cJSON *envs = cJSON_AddArrayToObject(root, "learned_on");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(file_name(plan->env[i])));
  mm_settings settings = plan->settings;
  snprintf(settings.search.init, sizeof settings.search.init, "%s",
           file_name(plan->settings.search.init));
  cJSON_AddItemToObject(root, "generation", mm_json_number((double)generation));
  cJSON_AddItemToObject(root, "evaluations", mm_json_number((double)evaluations));
  snprintf(text, sizeof text, "%" PRIu64, plan->seed);
  cJSON_AddStringToObject(root, "seed", text);
  add_validation(root, plan, score, control);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "search", mm_search_json(&settings));
  snprintf(text, sizeof text, "mirrormap %s", mm_version());
  cJSON_AddStringToObject(root, "program", text);
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for a map's card");
}
