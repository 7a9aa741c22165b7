#include "study/run/run_state.h"

#include <stdio.h>
#include <string.h>

#include "study/settings/settings.h"

static int64_t count_of(const cJSON *item) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1 && item->valuedouble <= 1e15)) return 0;
  return (int64_t)item->valuedouble;
}

static int64_t generations_of(const cJSON *config) {
  mm_search search = { 0 };
  mm_phase phase[MM_PHASES_MAX];
  int64_t sum = 0;
  if (!cJSON_IsObject(config)) return 0;
  const cJSON *learn = mm_json_find(config, "learn");
  const cJSON *schedule = mm_json_find(learn, "schedule");
  search.generations =
      (double)count_of(mm_json_find(learn != NULL ? learn : config, "generations"));
  snprintf(search.schedule, sizeof search.schedule, "%s",
           cJSON_IsString(schedule) ? schedule->valuestring : "-");
  size_t n = mm_search_phases(&search, phase);
  for (size_t i = 0; i < n; i++)
    sum += phase[i].generations;
  return sum;
}

static int add_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  int64_t *sum = user;
  *sum = row->jobs > INT64_MAX - *sum ? INT64_MAX : *sum + row->jobs;
  return 0;
}

// Batches say more than the configuration; files before version 3 have none.
mm_status mm_run_planned(mm_run *run, mm_run_plan *out) {
  const char *text = mm_run_config(run);
  cJSON *config = NULL;
  *out = (mm_run_plan){ 0 };
  if (mm_json_parse(text, strlen(text), "config", &config) == MM_OK) {
    out->generations = generations_of(config);
    out->trainings = count_of(mm_json_find(config, "seeds"));
    cJSON_Delete(config);
  }
  int64_t announced = 0;
  mm_status status = mm_run_each(run, MM_RUN_BATCH, add_batch, &announced);
  if (announced > 0) out->trainings = announced;
  out->open_ended = strcmp(mm_run_command(run), "train") != 0;
  return status;
}

const char *mm_run_state(const mm_run_summary *s, mm_run_plan plan) {
  if (s->owned) return "running";
  if (plan.generations > 0 && s->generations >= plan.generations) return "done";
  bool all = plan.trainings > 0 && s->trainings >= plan.trainings && s->kept == 0;
  if (all && !plan.open_ended) return "done";
  if (s->outcome[0] == '\0') return "new";
  return strcmp(s->outcome, "running") == 0 ? "killed" : s->outcome;
}
