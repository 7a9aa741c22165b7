// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/measure/profile.h"

#include "agent/ampo.h"
#include "agent/learner.h"
#include "backend/cuda/host/block.h"
#include "backend/cuda/host/cuda.h"
#include "backend/cuda/host/error.h"

static const char *const classic_stages[MM_CUDA_CLASSIC_STAGES] = {
  [MM_CUDA_CLASSIC_ROLLOUT] = "rollout", [MM_CUDA_CLASSIC_VALUES] = "values",
  [MM_CUDA_CLASSIC_SHUFFLE] = "shuffle", [MM_CUDA_CLASSIC_TILE] = "forward-and-back",
  [MM_CUDA_CLASSIC_WAIT] = "wait",       [MM_CUDA_CLASSIC_GRADIENT] = "gradient",
  [MM_CUDA_CLASSIC_ADAM] = "adam",
};

static const char *const minatar_stages[MM_CUDA_MINATAR_STAGES] = {
  [MM_CUDA_MINATAR_ROLLOUT] = "rollout",     [MM_CUDA_MINATAR_VALUES] = "values",
  [MM_CUDA_MINATAR_GATHER] = "gather",       [MM_CUDA_MINATAR_LAYER1] = "layer1",
  [MM_CUDA_MINATAR_TRANSPOSE] = "transpose", [MM_CUDA_MINATAR_LAYER2] = "layer2-and-back",
  [MM_CUDA_MINATAR_GRAD2] = "grad2",         [MM_CUDA_MINATAR_GRAD1] = "grad1",
  [MM_CUDA_MINATAR_ADAM] = "adam",
};

// Of both blocks of an agent that learns; rollouts are apart.
static const char *const gauss_stages[2 * MM_CUDA_GAUSS_STAGES] = {
#define STAGE(name, text)                                                                          \
  [MM_CUDA_GAUSS_##name] = "actor-" text,                                                          \
  [MM_CUDA_GAUSS_STAGES + MM_CUDA_GAUSS_##name] = "critic-" text
  STAGE(GATHER, "gather"), STAGE(FORWARD, "forward"), STAGE(LOSS, "loss"), STAGE(BACK, "back"),
  STAGE(LAYER1, "grad1"),  STAGE(LAYER2, "grad2"),    STAGE(WAIT, "wait"), STAGE(ADAM, "adam"),
#undef STAGE
};

_Static_assert((int)MM_CUDA_MINATAR_STAGES <= (int)MM_CUDA_PROFILE_STAGES &&
                   (int)MM_CUDA_CLASSIC_STAGES <= (int)MM_CUDA_PROFILE_STAGES &&
                   2 * (int)MM_CUDA_GAUSS_STAGES <= (int)MM_CUDA_PROFILE_STAGES,
               "room for all stages");

static int stages_of(const mm_cuda_kernel *kernel, const char *const **names) {
  if (kernel->real) {
    *names = gauss_stages;
    return 2 * MM_CUDA_GAUSS_STAGES;
  }
  *names = kernel->minatar ? minatar_stages : classic_stages;
  return kernel->minatar ? MM_CUDA_MINATAR_STAGES : MM_CUDA_CLASSIC_STAGES;
}

// Agents on their way through one launch.
typedef struct party {
  int device, n, span;
  mm_cuda_kernel kernel;
  mm_cuda_block block;
  unsigned char *host; // [block.moved] what travels of one of them
  mm_cuda_agent *agent;
  // of the device
  unsigned char *blocks; // [n] of `stride` bytes
  size_t stride;
  mm_cuda_agent *agents;
  mm_tally *reports;
  mm_cuda_rate *rates;
  mm_eta_step *steps; // [span]
  int64_t *clocks;    // [n][stages]
} party;

static mm_status take(const party *p, size_t bytes, void *out) {
  void *block = NULL;
  MM_TRY_CUDA(p->device, cudaMalloc(&block, bytes), "taking %zu bytes", bytes);
  *(void **)out = block;
  return MM_OK;
}

static mm_status send(const party *p, void *to, const void *from, size_t bytes) {
  MM_TRY_CUDA(p->device, cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "writing %zu bytes",
              bytes);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// What all of them share: the rates of Adam and the step sizes of each iteration.
static mm_status send_rates(party *p, const mm_ampo *ampo) {
  const mm_actor_critic_config *c = mm_ampo_get_config(ampo);
  const size_t n = (size_t)p->span * (size_t)c->epochs * (size_t)c->minibatches;
  const size_t span = (size_t)p->span;
  mm_cuda_rate *rates = mm_alloc_array(n + 1, sizeof *rates);
  mm_eta_step *steps = mm_alloc_array(span, sizeof *steps);
  mm_status status = MM_OK;
  if (!rates || !steps) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu rates", n);
  if (status == MM_OK) status = take(p, (n + 1) * sizeof *rates, &p->rates);
  if (status == MM_OK) status = take(p, span * sizeof *steps, &p->steps);
  if (status == MM_OK) {
    mm_cuda_block_rates(ampo, 0, p->span, rates);
    mm_cuda_block_steps(ampo, 0, p->span, steps);
    status = send(p, p->rates, rates, n * sizeof *rates);
  }
  if (status == MM_OK) status = send(p, p->steps, steps, span * sizeof *steps);
  mm_free(rates);
  mm_free(steps);
  return status;
}

// Room for all, as the first one needs it; the others are like it.
static mm_status make_room(party *p, const mm_ampo *ampo) {
  mm_cuda_device facts;
  MM_TRY(mm_cuda_describe(p->device, &facts));
  MM_TRY(mm_cuda_kernel_choose(ampo, 0, &facts, &p->kernel));
  p->block = mm_cuda_block_of(ampo, &p->kernel);
  p->stride = (p->block.size + 255) / 256 * 256;
  const size_t n = (size_t)p->n;
  p->host = mm_alloc(p->block.moved);
  p->agent = mm_alloc_array(n, sizeof *p->agent);
  if (!p->host || !p->agent) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu agents", n);
  MM_TRY(take(p, n * p->stride, &p->blocks));
  MM_TRY(take(p, n * sizeof *p->agents, &p->agents));
  MM_TRY(take(p, n * (size_t)p->span * sizeof *p->reports, &p->reports));
  MM_TRY(take(p, n * MM_CUDA_PROFILE_STAGES * sizeof *p->clocks, &p->clocks));
  return send_rates(p, ampo);
}

static mm_status enter(party *p, int i, const mm_ampo *ampo) {
  unsigned char *block = p->blocks + (size_t)i * p->stride;
  mm_cuda_agent *agent = &p->agent[i];
  mm_cuda_block_fill(&p->block, ampo, p->host, block, agent);
  agent->span = p->span;
  agent->rate = p->rates;
  agent->steps = p->steps;
  agent->report = p->reports + (size_t)i * (size_t)p->span;
  return send(p, block, p->host, p->block.moved);
}

static mm_status gather(party *p, const mm_job *job) {
  for (int i = 0; i < p->n; i++) {
    mm_ampo *ampo;
    mm_job own = *job;
    own.seed += (uint64_t)i;
    own.repeat = 0;
    MM_TRY(mm_ampo_create(&own, job->map, NULL, &ampo));
    mm_status status = i == 0 ? make_room(p, ampo) : MM_OK;
    if (status == MM_OK) status = enter(p, i, ampo);
    mm_ampo_destroy(ampo);
    MM_TRY(status);
  }
  return send(p, p->agents, p->agent, (size_t)p->n * sizeof *p->agent);
}

// ---------------------------------------------------------------------------------------------

// All blocks together: shares of their clock cycles.
static mm_status share_out(const party *p, mm_cuda_profile *out) {
  const char *const *names;
  const int n_stage = stages_of(&p->kernel, &names);
  const size_t n = (size_t)p->n * (size_t)n_stage;
  int64_t *clocks = mm_alloc_array(n, sizeof *clocks);
  double all = 0, sum[MM_CUDA_PROFILE_STAGES] = { 0 };
  if (!clocks) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu clocks", n);
  cudaError_t error = cudaMemcpy(clocks, p->clocks, n * sizeof *clocks, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < n && error == cudaSuccess; i++)
    sum[i % (size_t)n_stage] += (double)clocks[i];
  mm_free(clocks);
  MM_TRY_CUDA(p->device, error, "reading clocks");
  for (int i = 0; i < n_stage; i++)
    all += sum[i];
  for (int i = 0; i < n_stage; i++) {
    out->stage[i].name = names[i];
    out->stage[i].share = sum[i] / all;
  }
  out->n_stage = n_stage;
  return MM_OK;
}

static mm_status profile(party *p, const mm_job *job, mm_cuda_profile *out) {
  MM_TRY_CUDA(p->device, cudaSetDevice(p->device), "choosing it");
  MM_TRY(gather(p, job));
  MM_TRY_CUDA(p->device,
              mm_cuda_kernel_launch(&p->kernel, p->agents, p->n, p->span, p->clocks, NULL),
              "starting %d training runs", p->n);
  MM_TRY_CUDA(p->device, cudaDeviceSynchronize(), "training %d agents", p->n);
  out->memory = p->block.size;
  out->rows = p->kernel.real || p->kernel.minatar ? p->kernel.rows : p->kernel.classic.tile;
  out->shared = p->kernel.real      ? p->kernel.gauss.shared_size
                : p->kernel.minatar ? mm_cuda_minatar_shared(p->kernel.game, p->kernel.rows)
                                    : p->kernel.classic.shared_size;
  return share_out(p, out);
}

mm_status mm_cuda_profile_job(int device, const mm_job *job, int n, int span,
                              mm_cuda_profile *out) {
  party p = { .device = device, .n = n, .span = span };
  *out = (mm_cuda_profile){ 0 };
  if (!job->map || !mm_cuda_takes(job) || !mm_learner_of(job->algo)->method)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "no training of networks on devices");
  mm_status status = profile(&p, job, out);
  cudaFree(p.blocks);
  cudaFree(p.agents);
  cudaFree(p.reports);
  cudaFree(p.rates);
  cudaFree(p.steps);
  cudaFree(p.clocks);
  mm_free(p.host);
  mm_free(p.agent);
  return status;
}
