// SPDX-License-Identifier: Apache-2.0
// The bounds of the paper's Theorem 1 beside measurements. Everything is exact given the sampled
// data: Q^t by a solve per iteration, V* and its visitation once per task.

#include "study/theory/theory.h"

#include <math.h>
#include <string.h>

#include "agent/learner.h"
#include "agent/pmd.h"
#include "base/arena.h"
#include "base/status.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_task.h"

enum { A = MM_GRID_ACTIONS };

typedef struct workspace {
  mm_grid *grid;
  mm_grid_model *model;
  mm_pmd *pmd;
  size_t states;
  double *policy, *next;     // [5][states] pi^t and pi^{t+1}
  double *value, *q;         // [states], [5][states] of pi^t
  double *estimate, *critic; // [5][states] Qhat, [states] critic before the update
  uint8_t *reachable, *best; // [states]
  mm_arena arena;
} workspace;

static void close_workspace(workspace *w) {
  mm_pmd_destroy(w->pmd);
  mm_grid_model_destroy(w->model);
  mm_grid_destroy(w->grid);
  mm_arena_destroy(&w->arena);
}

static mm_status open_workspace(const mm_job *job, workspace *w) {
  const mm_pmd_config *config = job->config;
  memset(w, 0, sizeof *w);
  MM_TRY(mm_grid_draw(job->env, job->seed, 0, &w->grid));
  MM_TRY(mm_grid_model_create(w->grid, config->gamma, config->restart, &w->model));
  if (mm_map_stages(job->map) > 1)
    return MM_FAIL(MM_ERR_INPUT, "a map with stages: Theorem 1 is about maps that do not move");
  MM_TRY(mm_pmd_create(w->grid, job->map, config, job->seed, job->repeat, &w->pmd));
  size_t n = w->states = (size_t)w->grid->n_state, row = n * sizeof(double);
  MM_TRY(mm_arena_create(4 * mm_arena_size_of(A * row) + 2 * mm_arena_size_of(row) +
                             2 * mm_arena_size_of(n),
                         &w->arena));
  w->policy = mm_arena_take(&w->arena, A * row);
  w->next = mm_arena_take(&w->arena, A * row);
  w->q = mm_arena_take(&w->arena, A * row);
  w->estimate = mm_arena_take(&w->arena, A * row);
  w->value = mm_arena_take(&w->arena, row);
  w->critic = mm_arena_take(&w->arena, row);
  w->reachable = mm_arena_take(&w->arena, n);
  w->best = mm_arena_take(&w->arena, n);
  mm_grid_reachable(w->model, w->reachable);
  return MM_OK;
}

static size_t start_state(const workspace *w) {
  return (size_t)mm_grid_index(w->grid, mm_grid_start(w->grid));
}

// ---------------------------------------------------------------------------------------------

// V* at the start, and D = sum_s d*(s) D_h(pi*_s, pi^0_s).
static mm_status optimum(workspace *w, const mm_map *map, mm_theory *out) {
  MM_TRY(mm_grid_optimal(w->model, w->value, w->best));
  out->v_star = w->value[start_state(w)];
  for (size_t s = 0; s < w->states; s++)
    for (size_t a = 0; a < A; a++)
      w->next[a * w->states + s] = w->best[s] == a;
  MM_TRY(mm_grid_visitation(w->model, w->next, w->value));
  // the first policy is uniform and the optimal one deterministic: the same number in every state
  double corner[A] = { 1 }, uniform[A], d, mass = 0;
  for (size_t a = 0; a < A; a++)
    uniform[a] = 1.0 / A;
  MM_TRY(mm_map_bregman(map, corner, uniform, A, &d));
  for (size_t s = 0; s < w->states; s++)
    mass += w->value[s];
  out->optimal_divergence = d * mass;
  memset(w->value, 0, w->states * sizeof *w->value);
  return MM_OK;
}

// Qhat^t: the critic from before the update, plus the mean advantage where a pair was sampled.
static void estimation_errors(workspace *w, mm_theory_step *step) {
  mm_pmd_batch batch = mm_pmd_last_batch(w->pmd);
  for (size_t a = 0; a < A; a++)
    memcpy(w->estimate + a * w->states, w->critic, w->states * sizeof *w->critic);
  for (int32_t i = 0; i < batch.n_visited; i++)
    for (size_t a = 0; a < A; a++) {
      double visits = batch.visits[(size_t)i * A + a];
      if (visits == 0) continue;
      size_t k = a * w->states + (size_t)batch.state[i];
      w->estimate[k] = batch.critic[i] + batch.raw_sum[(size_t)i * A + a] / visits;
      step->estimation_error_sampled =
          fmax(step->estimation_error_sampled, fabs(w->estimate[k] - w->q[k]));
    }
  for (size_t a = 0; a < A; a++)
    for (size_t s = 0; s < w->states; s++)
      if (w->reachable[s])
        step->estimation_error = fmax(
            step->estimation_error, fabs(w->estimate[a * w->states + s] - w->q[a * w->states + s]));
  step->advantage_std = batch.advantage_std;
}

static double update_distance(const workspace *w) {
  double largest = 0;
  for (size_t s = 0; s < w->states; s++) {
    double sum = 0;
    for (size_t a = 0; a < A; a++)
      sum += fabs(w->next[a * w->states + s] - w->policy[a * w->states + s]);
    largest = fmax(largest, sum);
  }
  return largest;
}

// Iteration t; the value of pi^{t+1} is filled in when it is measured. *broke_down: the policy is
// still pi^t, and there is no going on.
static mm_status iterate(workspace *w, double gamma, mm_theory_step *step, bool *broke_down) {
  memset(step, 0, sizeof *step);
  mm_pmd_policy(w->pmd, w->policy);
  MM_TRY(mm_grid_value(w->model, w->policy, w->value, NULL));
  mm_grid_q(w->model, w->value, w->q);
  memcpy(w->critic, mm_pmd_critic(w->pmd), w->states * sizeof *w->critic);
  step->value = w->value[start_state(w)];
  mm_status status = mm_pmd_iterate(w->pmd);
  *broke_down = status == MM_ERR_NUMERIC;
  if (status != MM_OK) return *broke_down ? MM_OK : status;
  mm_pmd_policy(w->pmd, w->next);
  estimation_errors(w, step);
  step->update_distance = update_distance(w);
  step->monotone_bound = -step->estimation_error * step->update_distance / (1 - gamma);
  return MM_OK;
}

// Changes and violations, then the convergence bound in its three readings.
static void conclude(const mm_job *job, const mm_grid *grid, mm_theory *out) {
  const mm_pmd_config *config = job->config;
  double gamma = config->gamma, horizon = 1 / (1 - gamma), eta = config->eta;
  double sum = 0, worst = 0, std = 0, n = (double)out->n_step, high = 0, low = 0;
  for (size_t t = 0; t < out->n_step; t++) {
    mm_theory_step *step = out->step + t;
    double after = t + 1 < out->n_step ? step[1].value : out->final_value;
    step->value_change = after - step->value;
    out->violations += step->value_change < step->monotone_bound;
    sum += step->value;
    worst = fmax(worst, step->estimation_error);
    std += step->advantage_std / n;
  }
  for (int32_t i = 0; i < grid->n_object; i++) {
    high = fmax(high, grid->reward[i]);
    low = fmin(low, grid->reward[i]);
  }
  out->average_gap = out->v_star - sum / n;
  out->rate_term = (out->optimal_divergence * horizon / eta + horizon * horizon) / n;
  out->floor_term = 4 * worst * horizon * horizon;
  out->convergence_bound = out->rate_term + out->floor_term;
  out->reward_range = high - low;
  out->bound_with_range =
      (out->optimal_divergence * horizon / eta + out->reward_range * horizon * horizon) / n +
      out->floor_term;
  out->effective_eta = config->normalise_advantage && std > 0 ? eta / std : eta;
  out->bound_with_effective_eta =
      (out->optimal_divergence * horizon / out->effective_eta + horizon * horizon) / n +
      out->floor_term;
}

static mm_status run(const mm_job *job, const volatile int *stop,
                     void (*progress)(size_t, size_t, void *), void *user, workspace *w,
                     mm_theory *out) {
  const mm_pmd_config *config = job->config;
  size_t total = (size_t)mm_pmd_iterations(config);
  MM_TRY(optimum(w, job->map, out));
  out->step = mm_alloc_array(total, sizeof *out->step);
  if (!out->step) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu iterations", total);
  for (size_t t = 0; t < total; t++) {
    if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
      return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    MM_TRY(iterate(w, config->gamma, out->step + t, &out->broke_down));
    if (out->broke_down) {
      if (t == 0) return MM_FAIL(MM_ERR_NUMERIC, "a logit is not finite after the first iteration");
      out->final_value = out->step[t].value;
      break;
    }
    out->n_step = t + 1;
    if (progress) progress(t + 1, total, user);
  }
  if (!out->broke_down) {
    MM_TRY(mm_grid_value(w->model, w->next, w->value, NULL));
    out->final_value = w->value[start_state(w)];
  }
  conclude(job, w->grid, out);
  return MM_OK;
}

mm_status mm_theory_run(const mm_job *given, const volatile int *stop,
                        void (*progress)(size_t, size_t, void *), void *user, mm_theory *out) {
  memset(out, 0, sizeof *out);
  const mm_learner *learner = mm_learner_of_job(given);
  if (!learner) return MM_ERR_INPUT;
  if (given->algo != MM_ALGO_PMD)
    return MM_FAIL(MM_ERR_INPUT, "the theory is about pmd, not about %s",
                   mm_algo_name(given->algo));
  if (!given->map) return MM_FAIL(MM_ERR_INPUT, "the theory of a job: expected a map");
  mm_pmd_config config;
  MM_TRY(mm_learner_take(learner, given->config, &config));
  mm_job job = *given;
  job.config = &config;
  if (config.eta_schedule[0] > 0)
    return MM_FAIL(MM_ERR_INPUT, "setting 'eta_schedule': Theorem 1 is about one eta: expected "
                                 "none");
  workspace w;
  mm_status status = open_workspace(&job, &w);
  if (status == MM_OK) status = run(&job, stop, progress, user, &w, out);
  close_workspace(&w);
  if (status != MM_OK) mm_theory_release(out);
  return status;
}

void mm_theory_release(mm_theory *theory) {
  if (!theory) return;
  mm_free(theory->step);
  theory->step = NULL;
  theory->n_step = 0;
}

// ---------------------------------------------------------------------------------------------

const char *const mm_theory_measures[MM_MEASURES] = {
  [MM_THEORY_ERROR] = "estimation_error",
  [MM_THEORY_ERROR_SAMPLED] = "estimation_error_sampled",
  [MM_THEORY_DISTANCE] = "update_distance",
};

static mm_status fill_result(const mm_job *job, const mm_theory *t, mm_result *r) {
  const mm_pmd_config *pmd = job->config;
  const uint64_t batch = (uint64_t)(pmd->envs * pmd->unroll);
  const size_t n = t->n_step + 1;
  r->curve = mm_alloc_array(n, sizeof *r->curve);
  r->curve_step = mm_alloc_array(n, sizeof *r->curve_step);
  r->measure = mm_alloc_array(n * MM_MEASURES, sizeof *r->measure);
  if (!r->curve || !r->curve_step || !r->measure)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu iterations", t->n_step);
  for (size_t k = 0; k < n * MM_MEASURES; k++)
    r->measure[k] = NAN;
  for (size_t k = 0; k < n; k++) {
    const mm_theory_step *step = &t->step[k];
    double *measure = r->measure + k * MM_MEASURES;
    r->curve_step[k] = k * batch;
    r->curve[k] = k < t->n_step ? step->value : t->final_value;
    if (k == t->n_step) break;
    measure[MM_THEORY_ERROR] = step->estimation_error;
    measure[MM_THEORY_ERROR_SAMPLED] = step->estimation_error_sampled;
    measure[MM_THEORY_DISTANCE] = step->update_distance;
  }
  r->n_curve = n;
  r->final_value = t->final_value;
  r->optimal_value = t->v_star;
  r->env_steps = t->n_step * batch;
  if (!t->broke_down) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "a logit is not finite after iteration %zu", t->n_step);
}

mm_status mm_theory_train(const mm_job *job, const volatile int *stop, mm_result *result,
                          void *user) {
  mm_theory theory;
  (void)user;
  if (job->algo != MM_ALGO_PMD)
    return MM_FAIL(MM_ERR_INPUT, "exact values are for tabular PMD on Grid-World");
  MM_TRY(mm_theory_run(job, stop, NULL, NULL, &theory));
  mm_status status = fill_result(job, &theory, result);
  mm_theory_release(&theory);
  return status;
}
