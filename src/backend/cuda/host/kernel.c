// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/host/kernel.h"

#include "agent/ampo_internal.h"
#include "base/status.h"
#include "env/vec_internal.h"

// Classic control with continuous actions.
static const struct {
  mm_classic_env which;
  mm_cuda_gauss_env env;
} real_classics[] = {
  { MM_CLASSIC_PENDULUM, MM_CUDA_GAUSS_PENDULUM },
  { MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS, MM_CUDA_GAUSS_MOUNTAIN_CAR },
};

// Which environment the kernels for continuous actions know a kind as; MM_CUDA_GAUSS_ENVS if they
// do not. Of bodies has_body knows more.
static mm_cuda_gauss_env gauss_env(const mm_vec_law *law, int32_t which) {
  if (law == &mm_vec_body) return MM_CUDA_GAUSS_BODY;
  for (size_t i = 0; i < sizeof real_classics / sizeof *real_classics; i++)
    if (law == &mm_vec_classic && which == (int32_t)real_classics[i].which)
      return real_classics[i].env;
  return MM_CUDA_GAUSS_ENVS;
}

mm_cuda_family mm_cuda_kernel_family(const mm_env_kind *kind) {
  mm_cuda_classic_plan plan;
  if (gauss_env(kind->law, kind->which) != MM_CUDA_GAUSS_ENVS) return MM_CUDA_FAMILY_GAUSS;
  if (kind->law == &mm_vec_minatar && mm_cuda_minatar_shared((mm_minatar_game)kind->which, 32) > 0)
    return MM_CUDA_FAMILY_MINATAR;
  if (kind->law == &mm_vec_classic &&
      mm_cuda_classic_choose((mm_classic_env)kind->which, false, 1, 1, 1, 32, SIZE_MAX, &plan))
    return MM_CUDA_FAMILY_CLASSIC;
  return MM_CUDA_FAMILY_NONE;
}

// In this flavour, by our own engine.
static bool has_body(const mm_env_kind *kind, mm_env_flavour flavour) {
  const mm_env_flavour own = flavour == MM_ENV_FLAVOUR_BY_ID ? kind->flavour : flavour;
  mm_cuda_body body;
  return mm_cuda_body_open((mm_body)kind->which,
                           own == MM_ENV_FLAVOUR_GYMNASIUM ? MM_FLAVOUR_GYMNASIUM : MM_FLAVOUR_BRAX,
                           0, &body) == MM_OK;
}

#define REFUSE(...) MM_FAIL(MM_ERR_UNSUPPORTED, __VA_ARGS__)

static mm_status check_real(const mm_job *job) {
  const mm_actor_critic_config *c = job->config;
  const mm_env_kind *kind = job->env->kind;
  const mm_learner *learner = mm_learner_of(job->algo);
  const char *name = mm_algo_name(job->algo);
  if (!(learner->suits & MM_SUITS_REAL))
    return REFUSE("%s takes discrete actions: continuous ones take pmd-gaussian", name);
  if (!(learner->on_device & MM_SUITS_REAL))
    return REFUSE("%s runs on the CPU only where actions are continuous", name);
  if (kind->law == &mm_vec_body && c->physics == MM_ENV_PHYSICS_MUJOCO)
    return REFUSE("physics=mujoco runs on the CPU only");
  if (kind->law == &mm_vec_body && !has_body(kind, (mm_env_flavour)c->flavour))
    return REFUSE("this body in this flavour runs on the CPU only");
  if (c->hidden > MM_CUDA_GAUSS_HIDDEN)
    return REFUSE("networks of continuous actions have at most 256 hidden units there");
  return MM_OK;
}

mm_status mm_cuda_kernel_check(const mm_job *job) {
  const mm_actor_critic_config *c = job->config;
  const mm_env_kind *kind = job->env->kind;
  const mm_learner *learner = mm_learner_of(job->algo);
  const char *name = mm_algo_name(job->algo);
  mm_ampo_method method;
  if (!learner->method) return REFUSE("%s runs on the CPU only", name);
  if (!kind) return REFUSE("%s on Grid-World runs on the CPU only", name);
  if (c->bootstrap_on_timeout) return REFUSE("bootstrap_on_timeout=on runs on the CPU only");
  learner->method(job->config, &method);
  if (method.log) return REFUSE("log=on runs on the CPU only");
  const mm_cuda_family family = mm_cuda_kernel_family(kind);
  if (family == MM_CUDA_FAMILY_NONE) return REFUSE("this environment runs on the CPU only");
  if (family == MM_CUDA_FAMILY_GAUSS) return check_real(job);
  if (!(learner->suits & MM_SUITS_DISCRETE))
    return REFUSE("%s takes continuous actions, which this environment does not have", name);
  if (!(learner->on_device & MM_SUITS_DISCRETE))
    return REFUSE("%s runs on the CPU only where actions are chosen among some", name);
  if (c->hidden > MM_CUDA_HIDDEN) return REFUSE("networks have at most 64 hidden units there");
  return MM_OK;
}

static int largest_minibatch(const mm_ampo *a) {
  const size_t m = (size_t)a->config.minibatches;
  return (int)((a->n_row + m - 1) / m);
}

static mm_status open_body(const mm_ampo *a, mm_cuda_gauss_plan *out) {
  const mm_physics_config *c = &a->vec->physics->config;
  if (c->engine != MM_ENGINE_OWN)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "physics=mujoco runs on the CPU only");
  return mm_cuda_body_open(c->body, c->flavour, 0, &out->body);
}

// Tiles of 160 rows where there is room, of 64 otherwise and for minibatches that fit into them.
static mm_status choose_gauss(const mm_ampo *a, int tile, const mm_cuda_device *device,
                              mm_cuda_kernel *out) {
  const int all[] = { 160, 64 }, least = largest_minibatch(a) <= 64 ? 1 : 0;
  out->gauss = (mm_cuda_gauss_plan){ .env = gauss_env(a->vec->law, a->vec->which),
                                     .n_env = (int)a->n_env,
                                     .n_step = (int)a->n_step,
                                     .epochs = (int)a->config.epochs,
                                     .hidden = (int)a->config.hidden,
                                     .processors = device->processors };
  if (out->gauss.env == MM_CUDA_GAUSS_ENVS || a->info.n_input > MM_CUDA_GAUSS_INPUTS ||
      a->n_out > MM_CUDA_GAUSS_ACTIONS)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "no kernel for this environment");
  if (a->vec->law == &mm_vec_body) MM_TRY(open_body(a, &out->gauss));
  for (int i = tile == 0 ? least : 0; i < 2; i++) {
    const size_t size = mm_cuda_gauss_shared(all[i]);
    if ((tile != 0 && tile != all[i]) || size > device->shared) continue;
    if (all[i] > 64 && device->major < 9) continue; // not compiled
    out->rows = out->gauss.rows = all[i];
    out->gauss.shared_size = size;
    return MM_OK;
  }
  return MM_FAIL(MM_ERR_UNSUPPORTED, "%zu bytes of shared memory in a block are too few",
                 device->shared);
}

// As tile_is_compiled in warp/warp.cuh has it for the kind of device.
bool mm_cuda_kernel_is_compiled(const mm_cuda_device *device, int rows) {
  const int kind = 10 * device->major + device->minor;
  return kind >= 90 || (kind >= 86 ? rows == 32 : rows <= 64);
}

static bool fits(const mm_ampo *a, int rows, size_t shared, mm_cuda_kernel *out) {
  out->rows = rows;
  const size_t bits = out->minatar ? mm_cuda_minatar_shared(out->game, rows) : 0;
  if (out->minatar) return bits > 0 && bits <= shared;
  return mm_cuda_classic_choose((mm_classic_env)a->vec->which, out->relu, (int)a->n_row,
                                (int)a->n_env, largest_minibatch(a), rows, shared, &out->classic);
}

mm_status mm_cuda_kernel_choose(const mm_ampo *a, int tile, const mm_cuda_device *device,
                                mm_cuda_kernel *out) {
  *out = (mm_cuda_kernel){ .real = a->real, .minatar = a->lists, .relu = a->config.relu };
  if (a->n_row > INT32_MAX / 2)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "envs * unroll = %zu: too many for a device", a->n_row);
  out->obs_size = (size_t)a->info.n_input * sizeof(float);
  if (out->real) return choose_gauss(a, tile, device, out);
  out->obs_size = MM_CUDA_CLASSIC_OBS_SIZE;
  if (out->minatar) {
    out->game = (mm_minatar_game)a->vec->which;
    out->obs_size = mm_cuda_minatar_obs_size(out->game);
    out->scratch = mm_cuda_minatar_scratch(out->game, (int32_t)a->n_env);
  }
  for (int rows = 128; rows >= 32; rows /= 2)
    if ((tile == 0 || tile == rows) && mm_cuda_kernel_is_compiled(device, rows) &&
        fits(a, rows, device->shared, out))
      return MM_OK;
  return MM_FAIL(MM_ERR_UNSUPPORTED, "%zu bytes of shared memory in a block are too few",
                 device->shared);
}

bool mm_cuda_kernel_same(const mm_cuda_kernel *a, const mm_cuda_kernel *b) {
  if (a->real != b->real) return false;
  if (a->real)
    return a->gauss.env == b->gauss.env && a->gauss.rows == b->gauss.rows &&
           a->gauss.body.body == b->gauss.body.body &&
           a->gauss.body.flavour == b->gauss.body.flavour && a->gauss.n_env == b->gauss.n_env &&
           a->gauss.n_step == b->gauss.n_step && a->gauss.epochs == b->gauss.epochs;
  if (a->minatar != b->minatar || a->relu != b->relu) return false;
  if (a->minatar) return a->game == b->game && a->rows == b->rows;
  return a->classic.kernel == b->classic.kernel &&
         a->classic.shared_size == b->classic.shared_size &&
         a->classic.batch_inside == b->classic.batch_inside;
}

int32_t mm_cuda_kernel_span_most(const mm_cuda_kernel *k) {
  return k->real ? MM_CUDA_GAUSS_SPAN_MOST : 4096;
}

cudaError_t mm_cuda_kernel_launch(const mm_cuda_kernel *k, mm_cuda_agent *agents, int n,
                                  int32_t longest, int64_t *clocks, cudaStream_t stream) {
  if (k->real) return mm_cuda_gauss_launch(&k->gauss, agents, n, longest, clocks, stream);
  if (k->minatar)
    return mm_cuda_minatar_launch(k->game, k->relu, k->rows, agents, n, clocks, stream);
  return mm_cuda_classic_launch(&k->classic, agents, n, clocks, stream);
}
