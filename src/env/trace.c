// SPDX-License-Identifier: Apache-2.0
// Traces by the ID of their environment.

#include <string.h>

#include "base/spelling.h"
#include "base/status.h"
#include "env/grid/grid_trace.h"
#include "env/trace.h"

#define GRID_ID "GridWorld"
#define GRID_PREFIX GRID_ID "-"

enum { IDS_MOST = 64 };

static const mm_trace_kind *const kinds[] = { &mm_classic_traces, &mm_minatar_traces,
                                              &mm_body_traces };

enum { N_KIND = sizeof kinds / sizeof *kinds };

const char *mm_trace_id(size_t i) {
  const mm_env_kind *env;
  if (i-- == 0) return GRID_ID;
  for (int k = 0; k < N_KIND; k++)
    for (size_t at = 0; (env = mm_env_kind_at(at)) != NULL; at++)
      if (env->law == kinds[k]->law && i-- == 0) return env->id;
  return NULL;
}

static const mm_trace_kind *find(const char *id, int *which) {
  const mm_env_kind *env = mm_env_kind_find(id);
  *which = 0;
  for (size_t i = 0; env && mm_env_kind_at(i) != env; i++)
    *which += mm_env_kind_at(i)->law == env->law;
  for (int k = 0; env && k < N_KIND; k++)
    if (kinds[k]->law == env->law) return kinds[k];
  return NULL;
}

static bool begins_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// ---------------------------------------------------------------------------------------------
// Replay

static mm_status unknown_replay(const char *id) {
  const char *names[IDS_MOST], *near;
  size_t n = 0;
  if (begins_with(id, GRID_PREFIX))
    return MM_FAIL(MM_ERR_INPUT, "the levels come from the trace: the ID is '%s', not '%.80s'",
                   GRID_ID, id);
  while (n < IDS_MOST && (names[n] = mm_trace_id(n)) != NULL)
    n++;
  near = mm_nearest(id, names, n);
  if (!near) near = mm_env_nearest(id);
  if (near && begins_with(near, GRID_PREFIX)) near = GRID_ID;
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "no traces of '%.80s' can be replayed (did you mean '%s'?)", id,
                   near);
  return MM_FAIL(MM_ERR_INPUT, "no traces of '%.80s' can be replayed", id);
}

mm_status mm_trace_replay_tree(const char *id, const cJSON *root, const char *source,
                               mm_replay_report *out) {
  int which;
  const mm_trace_kind *kind = find(id, &which);
  memset(out, 0, sizeof *out);
  return kind ? kind->replay(which, root, source, out) : unknown_replay(id);
}

mm_status mm_trace_replay(const char *id, const char *path, mm_replay_report *out) {
  int which;
  cJSON *root;
  if (strcmp(id, GRID_ID) == 0) return mm_grid_replay(path, out);
  memset(out, 0, sizeof *out);
  if (!find(id, &which)) return unknown_replay(id); // before anything is read
  MM_TRY(mm_trace_open(path, &root));
  mm_status status = mm_trace_replay_tree(id, root, path, out);
  cJSON_Delete(root);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Recording

static mm_status record(const char *id, const mm_record_plan *plan, mm_text *text,
                        uint64_t *transitions) {
  int which;
  const mm_trace_kind *kind = find(id, &which);
  if (plan->mujoco && (!kind || kind != &mm_body_traces))
    return MM_FAIL(MM_ERR_INPUT, "'%.80s' is no locomotion task: MuJoCo cannot step it", id);
  if (kind) return kind->record(which, plan, text, transitions);
  if (strcmp(id, GRID_ID) == 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s' stands for many: expected one of them, like %sdense", id,
                   GRID_PREFIX);
  if (mm_env_kind_find(id))
    return MM_FAIL(MM_ERR_INPUT, "no traces of '%.80s' can be recorded", id);
  return mm_grid_record(id, plan, text, transitions);
}

mm_status mm_trace_record(const char *id, const mm_record_plan *plan, mm_recording *out) {
  mm_text text = { 0 };
  *out = (mm_recording){ 0 };
  mm_status status = record(id, plan, &text, &out->transitions);
  if (status == MM_OK && !text.failed && !mm_text_goes_on(&text))
    status = MM_FAIL(MM_ERR_INPUT,
                     "the trace would be larger than %d MiB: expected fewer episodes or steps",
                     MM_TRACE_MOST_BYTES >> 20);
  mm_text_end(&text);
  if (status == MM_OK && text.failed)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a trace of '%.80s'", id);
  if (status != MM_OK) {
    mm_text_release(&text);
    return status;
  }
  out->text = text.at;
  out->length = text.used;
  return MM_OK;
}
