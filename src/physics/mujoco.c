// SPDX-License-Identifier: Apache-2.0
// The MuJoCo library as an engine: states go in and out of its data between two environment steps.
//
// MuJoCo's data are large (a stack of megabytes), a state is not. So there are as many data as
// threads that step at the same time, not as many as environments; everything that outlives a step
// is in the columns of mm_physics, rounded to float as it is for our own engine.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <mujoco/mujoco.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data_folder.h"
#include "base/status.h"
#include "physics/physics.h"

typedef struct desk {
  mjData *data;
  struct desk *next;
} desk;

typedef struct engine {
  mjModel *model;
  pthread_mutex_t lock; // of `idle`
  pthread_cond_t returned;
  desk *idle;
} engine;

// ---------------------------------------------------------------------------------------------
// The library ends the program on its errors and writes warnings to a file, unless it is told
// otherwise. Hooks that somebody else has set stay.

static _Thread_local jmp_buf *guard;
static _Thread_local char guard_text[256];

static void on_error(const char *text) {
  snprintf(guard_text, sizeof guard_text, "%s", text);
  if (guard) longjmp(*guard, 1);
  mm_log("MuJoCo: %s", text); // somebody else's call: it does not come back
  abort();
}

static void on_warning(const char *text) {
  (void)text; // counted in the data
}

static void set_hooks(void) {
  if (!mju_user_error) mju_user_error = on_error;
  if (!mju_user_warning) mju_user_warning = on_warning;
}

static mjData *make_data(const mjModel *model) {
  jmp_buf here;
  mjData *volatile data = NULL;
  guard = &here;
  if (setjmp(here) == 0) data = mj_makeData(model);
  guard = NULL;
  return data;
}

static mjModel *load_model(const char *path, char *error, int size) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; // the library's parser has globals
  jmp_buf here;
  mjModel *volatile model = NULL;
  pthread_mutex_lock(&one);
  set_hooks();
  guard = &here;
  if (setjmp(here) == 0)
    model = mj_loadXML(path, NULL, error, size);
  else
    snprintf(error, (size_t)size, "%s", guard_text);
  guard = NULL;
  pthread_mutex_unlock(&one);
  return model;
}

// ---------------------------------------------------------------------------------------------
// Data for whoever steps

static desk *make_desk(const mjModel *model) {
  desk *d = mm_alloc(sizeof *d);
  mjData *data = d ? make_data(model) : NULL;
  if (!data) {
    mm_free(d);
    return NULL;
  }
  *d = (desk){ data, NULL };
  return d;
}

// There is one at least, so whoever finds no memory for another waits for it.
static desk *take_desk(engine *e) {
  pthread_mutex_lock(&e->lock);
  if (!e->idle) {
    pthread_mutex_unlock(&e->lock);
    desk *own = make_desk(e->model);
    if (own) return own;
    pthread_mutex_lock(&e->lock);
  }
  while (!e->idle)
    pthread_cond_wait(&e->returned, &e->lock);
  desk *d = e->idle;
  e->idle = d->next;
  pthread_mutex_unlock(&e->lock);
  return d;
}

static void return_desk(engine *e, desk *d) {
  pthread_mutex_lock(&e->lock);
  d->next = e->idle;
  e->idle = d;
  pthread_cond_signal(&e->returned);
  pthread_mutex_unlock(&e->lock);
}

// ---------------------------------------------------------------------------------------------
// Opening

static mm_status find_model(const mm_physics_config *config, char path[MM_DATA_PATH_SIZE]) {
  const char *name = mm_body_model_name(config->body, config->flavour);
  if (mm_data_find("models", name, ".xml", path)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "models/%s.xml: not found beside the program, where it was installed, or in "
                 "$MIRRORMAP_DATA",
                 name);
}

static mm_status check_model(const mm_physics *physics, const mjModel *m, const char *path) {
  const mm_body_info *b = physics->info;
  if (m->nq == b->nq && m->nv == b->nv && m->nu == b->nu && m->na == 0 &&
      fabs(m->opt.timestep - b->h) < 1e-12)
    return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s: expected a body with %d coordinates, %d velocities, %d motors and a time "
                 "step of %g",
                 path, b->nq, b->nv, b->nu, b->h);
}

// The library's errors are several lines.
static void join_lines(char *text) {
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == '\n')
    text[--n] = 0;
  for (; *text; text++)
    if (*text == '\n') *text = ' ';
}

// The library is asked for the solution, however many iterations that takes it. brax' bodies have a
// bound of 4, made for brax' own solver: a running Ant's contacts need more every hundredth step.
enum { ITERATIONS = 100 };

static mm_status load(mm_physics *physics, engine *e) {
  char path[MM_DATA_PATH_SIZE], error[300] = "no reason given";
  MM_TRY(find_model(&physics->config, path));
  e->model = load_model(path, error, sizeof error);
  join_lines(error);
  if (!e->model) return MM_FAIL(MM_ERR_INPUT, "%s: MuJoCo: %s", path, error);
  MM_TRY(check_model(physics, e->model, path));
  const int32_t bound = physics->config.iterations;
  e->model->opt.iterations = bound > 0 ? bound : ITERATIONS;
  e->idle = make_desk(e->model);
  if (!e->idle) return MM_FAIL(MM_ERR_MEMORY, "no memory for MuJoCo's data");
  return MM_OK;
}

static mm_status open_mujoco(mm_physics *physics) {
  if (mj_version() != mjVERSION_HEADER)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "physics=mujoco: built for MuJoCo %d, found %d",
                   mjVERSION_HEADER, mj_version());
  engine *e = mm_alloc(sizeof *e);
  if (!e) return MM_FAIL(MM_ERR_MEMORY, "no memory for MuJoCo's engine");
  *e = (engine){ .idle = NULL };
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->returned, NULL);
  physics->own = e;
  return load(physics, e);
}

static void close_mujoco(mm_physics *physics) {
  engine *e = physics->own;
  if (!e) return;
  for (desk *d = e->idle, *next; d; d = next) {
    next = d->next;
    mj_deleteData(d->data);
    mm_free(d);
  }
  if (e->model) mj_deleteModel(e->model);
  pthread_cond_destroy(&e->returned);
  pthread_mutex_destroy(&e->lock);
  mm_free(e);
  physics->own = NULL;
}

// ---------------------------------------------------------------------------------------------
// Stepping

static bool all_good(const mjtNum *x, int n) {
  bool good = true;
  for (int k = 0; k < n; k++)
    good &= fabs(x[k]) <= (double)MM_PHYSICS_LARGEST; // false for NaN
  return good;
}

static bool has_warned(const mjData *d) {
  return d->warning[mjWARN_BADQPOS].number + d->warning[mjWARN_BADQVEL].number +
             d->warning[mjWARN_BADQACC].number >
         0;
}

static void read_column(const float *column, size_t stride, size_t i, int n, mjtNum *to) {
  for (int k = 0; k < n; k++)
    to[k] = (mjtNum)column[(size_t)k * stride + i];
}

static void write_column(const mjtNum *from, int n, float *column, size_t stride, size_t i) {
  for (int k = 0; k < n; k++)
    column[(size_t)k * stride + i] = (float)from[k];
}

static bool set_controls(const mjModel *m, mjData *d, const float *action) {
  bool good = true;
  for (int k = 0; k < m->nu; k++) {
    d->ctrl[k] = (mjtNum)action[k]; // the model's motors clip
    good &= fabsf(action[k]) <= MM_PHYSICS_LARGEST;
  }
  if (!good) mju_zero(d->ctrl, m->nu);
  return good;
}

// False if the state went bad on the way, by the library's rules or at the end.
static bool run_steps(const mjModel *m, mjData *d, int n) {
  jmp_buf here;
  volatile bool good = false;
  guard = &here;
  if (setjmp(here) == 0) {
    int done = 0;
    while (done < n && !has_warned(d)) {
      mj_step(m, d);
      done++;
    }
    good = !has_warned(d) && all_good(d->qpos, m->nq) && all_good(d->qvel, m->nv) &&
           all_good(d->qacc_warmstart, m->nv);
  }
  guard = NULL;
  return good;
}

// A bad state is left as it was before the step: the caller resets it.
static void step_one(mm_physics *p, const mjModel *m, mjData *d, size_t i, const float *action) {
  read_column(p->q, p->stride, i, m->nq, d->qpos);
  read_column(p->v, p->stride, i, m->nv, d->qvel);
  read_column(p->warm, p->stride, i, m->nv, d->qacc_warmstart);
  p->bad[i] = set_controls(m, d, action) ? 0 : MM_BAD_ACTION;
  if (!run_steps(m, d, p->info->substeps)) {
    p->bad[i] |= MM_BAD_STATE;
    mj_resetData(m, d); // and with it what the library counted
    return;
  }
  write_column(d->qpos, m->nq, p->q, p->stride, i);
  write_column(d->qvel, m->nv, p->v, p->stride, i);
  write_column(d->qacc_warmstart, m->nv, p->warm, p->stride, i);
  if (p->xpos_offset) p->xpos_offset[i] = (float)(d->xpos[3 * m->jnt_bodyid[0]] - d->qpos[0]);
}

static void step_mujoco(mm_physics *physics, size_t from, size_t to, const float *action) {
  engine *e = physics->own;
  desk *d = take_desk(e);
  for (size_t i = from; i < to; i++)
    step_one(physics, e->model, d->data, i, action + i * (size_t)physics->info->nu);
  return_desk(e, d);
}

const mm_engine_law mm_engine_mujoco = { "mujoco", open_mujoco, close_mujoco, step_mujoco };
