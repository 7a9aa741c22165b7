// SPDX-License-Identifier: Apache-2.0
// A job of a learner with networks keeps every iteration's metric as the curve, NaN until an
// episode has ended. Between two iterations all of it can be put down as bytes and taken up again:
//
//   16  mark "mirrormap/job", filled up with zeros
//    8  each: version of this format, points of the curve, sum and number of recent returns
//       curve so far, doubles; then the measures of each of its points: with log=on MM_MEASURES,
//       else for continuous actions those before MM_MEASURE_POLICY_LOSS
//       the agent (mm_ampo_save)
//    8  checksum of all that comes before

#include <math.h>
#include <string.h>

#include "agent/ampo_run.h"
#include "agent/job_hooks.h"
#include "agent/job_internal.h"
#include "agent/learner.h"
#include "agent/state_bytes.h"
#include "base/clock.h"
#include "base/status.h"

enum { VERSION = 1, HEAD_SIZE = MM_STATE_MARK + 4 * 8 };

static const unsigned char mark[MM_STATE_MARK] = "mirrormap/job";

struct mm_ampo_run {
  const mm_job *job;
  mm_ampo *ampo;
  mm_result *result;
  int64_t iterations, end; // of the whole run; where it ends this time
  uint64_t batch;          // environment steps of an iteration
  double sum, count;       // of the returns that recent_value is the mean of
  size_t measures;         // of a point that there are; those behind are NaN
  // for whoever follows the job
  unsigned char *state; // room for the longest, or NULL
  int64_t saved;        // iterations done when it was saved last
  double saved_at;      // seconds
};

// ---------------------------------------------------------------------------------------------
// State

static size_t state_size(const mm_ampo_run *r, size_t points) {
  return HEAD_SIZE + points * (1 + r->measures) * sizeof(double) + mm_ampo_state_size(r->ampo) +
         MM_STATE_CHECKSUM;
}

void mm_ampo_run_save(mm_ampo_run *r) {
  const mm_job_hooks *hooks = r->job->hooks;
  const mm_result *result = r->result;
  uint64_t version = VERSION, points = result->n_curve;
  unsigned char *to = r->state;
  to = mm_state_put(to, mark, sizeof mark);
  to = mm_state_put(to, &version, sizeof version);
  to = mm_state_put(to, &points, sizeof points);
  to = mm_state_put(to, &r->sum, sizeof r->sum);
  to = mm_state_put(to, &r->count, sizeof r->count);
  to = mm_state_put(to, result->curve, result->n_curve * sizeof *result->curve);
  for (size_t i = 0; i < result->n_curve && result->measure; i++)
    to = mm_state_put(to, result->measure + i * MM_MEASURES, r->measures * sizeof(double));
  mm_ampo_save(r->ampo, to);
  to += mm_ampo_state_size(r->ampo);
  mm_state_seal(r->state, to);
  hooks->save(r->job, r->state, state_size(r, result->n_curve), hooks->user);
  r->saved = (int64_t)result->n_curve;
  r->saved_at = mm_clock_seconds();
}

bool mm_ampo_run_is_due(const mm_ampo_run *r, bool stopped) {
  const int64_t done = (int64_t)r->result->n_curve;
  if (!r->state || r->saved == done || done == r->iterations) return false;
  const double every = r->job->hooks->save_seconds;
  return stopped || done == r->end || (every > 0 && mm_clock_seconds() - r->saved_at >= every);
}

uint64_t mm_job_state_done(const void *state, size_t size) {
  uint64_t points = 0;
  if (size < HEAD_SIZE) return 0;
  if (memcmp(state, mark, sizeof mark) != 0 &&
      memcmp(state, mm_plugin_state_mark, sizeof mark) != 0)
    return 0;
  mm_state_get((const unsigned char *)state + sizeof mark + sizeof(uint64_t), &points,
               sizeof points);
  return points;
}

// Those of a point, none of which is known yet.
static double *measures_at(mm_result *result, size_t point) {
  double *at = result->measure + point * MM_MEASURES;
  for (int m = 0; m < MM_MEASURES; m++)
    at[m] = NAN;
  return at;
}

static mm_status load(mm_ampo_run *r) {
  const mm_job *job = r->job;
  mm_result *result = r->result;
  const unsigned char *from = job->state;
  uint64_t version, points;
  if (job->state_size < HEAD_SIZE || memcmp(from, mark, sizeof mark) != 0)
    return MM_FAIL(MM_ERR_INPUT, "state of a training: these %zu bytes are none", job->state_size);
  from = mm_state_get(from + sizeof mark, &version, sizeof version);
  from = mm_state_get(from, &points, sizeof points);
  if (version != VERSION)
    return MM_FAIL(MM_ERR_INPUT, "state of a training: version %llu: expected %d",
                   (unsigned long long)version, VERSION);
  if (!mm_state_is_sealed(job->state, job->state_size))
    return MM_FAIL(MM_ERR_INPUT, "state of a training: damaged, the checksum does not fit");
  if (points > (uint64_t)r->iterations || job->state_size != state_size(r, (size_t)points))
    return MM_FAIL(MM_ERR_INPUT, "state of a training: not of one with these settings");
  from = mm_state_get(from, &r->sum, sizeof r->sum);
  from = mm_state_get(from, &r->count, sizeof r->count);
  from = mm_state_get(from, result->curve, (size_t)points * sizeof *result->curve);
  for (size_t i = 0; i < points && result->measure; i++)
    from = mm_state_get(from, measures_at(result, i), r->measures * sizeof(double));
  MM_TRY(mm_ampo_load(r->ampo, from, mm_ampo_state_size(r->ampo)));
  if (mm_ampo_done(r->ampo) != (int64_t)points)
    return MM_FAIL(MM_ERR_INPUT, "state of a training: %llu points of a curve: expected %lld",
                   (unsigned long long)points, (long long)mm_ampo_done(r->ampo));
  result->n_curve = (size_t)points;
  for (size_t i = 0; i < result->n_curve; i++)
    result->curve_step[i] = (i + 1) * r->batch;
  mm_job_advance(result, points * r->batch);
  if (points > 0) result->final_value = result->curve[points - 1];
  r->saved = (int64_t)points;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Training

// The last tenth of a run, at least one iteration, is what recent_value looks at.
static int64_t recent_from(int64_t iterations) {
  return iterations - (iterations + 9) / 10;
}

static void note_policy(double *to, const mm_ampo_report *report) {
  const mm_gaussian_report *p = &report->policy;
  to[MM_MEASURE_ESS] = p->ess;
  to[MM_MEASURE_LOG_RATIO] = p->max_delta;
  to[MM_MEASURE_DIVERGENCE] = p->divergence;
  to[MM_MEASURE_CLAMPED] = (double)p->clamped;
  to[MM_MEASURE_CAPPED] = (double)p->capped;
  to[MM_MEASURE_NONFINITE] = (double)p->nonfinite;
  to[MM_MEASURE_UNSTABLE] = (double)report->unstable;
}

static void note_log(double *to, const mm_ampo_log *log) {
  to[MM_MEASURE_POLICY_LOSS] = log->policy_loss;
  to[MM_MEASURE_VALUE_LOSS] = log->value_loss;
  to[MM_MEASURE_ENTROPY] = log->entropy;
  to[MM_MEASURE_APPROX_KL] = log->approx_kl;
  to[MM_MEASURE_CLIP_FRACTION] = log->clip_fraction;
  to[MM_MEASURE_SUPPORT] = log->support;
  to[MM_MEASURE_EXPLAINED_VARIANCE] = log->explained_variance;
}

static void note_measures(const mm_ampo_run *r, const mm_ampo_report *report) {
  double *to = measures_at(r->result, r->result->n_curve);
  if (mm_ampo_is_real(r->ampo)) note_policy(to, report);
  if (mm_ampo_logs(r->ampo)) note_log(to, &report->log);
}

void mm_ampo_run_note(mm_ampo_run *r, const mm_ampo_report *report) {
  mm_result *result = r->result;
  if (result->measure) note_measures(r, report);
  const int64_t t = (int64_t)result->n_curve;
  mm_job_advance(result, r->batch);
  result->final_value = result->curve[result->n_curve] = report->metric;
  result->curve_step[result->n_curve++] = result->env_steps;
  if (t < recent_from(r->iterations)) return;
  r->sum += report->returns.finished_sum;
  r->count += (double)report->returns.finished;
}

int64_t mm_ampo_run_left(const mm_ampo_run *r) {
  const int64_t left = r->end - (int64_t)r->result->n_curve;
  return left > 0 ? left : 0;
}

static mm_status train(mm_ampo_run *r, const volatile int *stop) {
  while (mm_ampo_run_left(r) > 0) {
    bool stopped = mm_job_stopped(stop);
    if (mm_ampo_run_is_due(r, stopped)) mm_ampo_run_save(r);
    if (stopped) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    MM_TRY(mm_ampo_iterate(r->ampo));
    mm_ampo_report report = mm_ampo_last(r->ampo);
    mm_ampo_run_note(r, &report);
  }
  if (mm_ampo_run_is_due(r, false)) mm_ampo_run_save(r);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The whole job

static mm_status take_memory(mm_ampo_run *r) {
  const mm_job *job = r->job;
  size_t points = (size_t)r->iterations;
  if (points == 0)
    return MM_FAIL(MM_ERR_INPUT, "steps = %g: less than one iteration of %g steps",
                   mm_ampo_get_config(r->ampo)->steps, (double)r->batch);
  r->result->curve = mm_alloc_array(points, sizeof *r->result->curve);
  r->result->curve_step = mm_alloc_array(points, sizeof *r->result->curve_step);
  r->measures = mm_ampo_logs(r->ampo)      ? MM_MEASURES
                : mm_ampo_is_real(r->ampo) ? MM_MEASURE_POLICY_LOSS
                                           : 0;
  if (r->measures > 0)
    r->result->measure = mm_alloc_array(points * MM_MEASURES, sizeof *r->result->measure);
  if (!r->result->curve || !r->result->curve_step || (r->measures > 0 && !r->result->measure))
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve of %zu points", points);
  if (!job->hooks || !job->hooks->save) return MM_OK;
  r->state = mm_alloc(state_size(r, points));
  return r->state ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the state of a training");
}

static mm_status begin(mm_ampo_run *r, const mm_map *map, const mm_ampo *like) {
  const mm_job *job = r->job;
  MM_TRY(mm_ampo_create(job, map, like, &r->ampo));
  const mm_actor_critic_config *c = mm_ampo_get_config(r->ampo);
  r->batch = (uint64_t)(c->envs * c->unroll);
  r->iterations = r->end = mm_ampo_iterations(c);
  if (job->until > 0 && job->until < 1)
    r->end = 1 + (int64_t)(job->until * (double)(r->iterations - 1));
  MM_TRY(take_memory(r));
  r->saved_at = mm_clock_seconds();
  return job->state ? load(r) : MM_OK;
}

static void release(mm_ampo_run *r) {
  mm_ampo_destroy(r->ampo);
  mm_free(r->state);
  mm_free(r);
}

mm_status mm_ampo_run_open(const mm_job *job, const mm_map *map, const mm_ampo *like,
                           mm_result *result, mm_ampo_run **out) {
  *out = NULL;
  mm_ampo_run *r = mm_alloc(sizeof *r);
  if (!r) return MM_FAIL(MM_ERR_MEMORY, "no memory for a training");
  *r = (mm_ampo_run){ .job = job, .result = result };
  mm_status status = begin(r, map, like);
  if (status == MM_OK)
    *out = r;
  else
    release(r);
  return status;
}

mm_ampo *mm_ampo_run_agent(mm_ampo_run *r) {
  return r->ampo;
}

bool mm_ampo_run_is_followed(const mm_ampo_run *r) {
  return r->job->hooks && r->job->hooks->trained;
}

mm_status mm_ampo_run_close(mm_ampo_run *r, mm_status status) {
  const mm_job_hooks *hooks = r->job->hooks;
  mm_result *result = r->result;
  if (status == MM_OK && r->count > 0) result->recent_value = r->sum / r->count;
  bool ended = status == MM_OK || status == MM_ERR_NUMERIC;
  if (ended && hooks && hooks->trained) hooks->trained(r->job, mm_ampo_net(r->ampo), hooks->user);
  mm_ampo_seconds(r->ampo, &result->seconds_rollout, &result->seconds_value,
                  &result->seconds_update);
  release(r);
  return status;
}

mm_status mm_job_state_size(const mm_job *job, size_t *out) {
  mm_result result;
  mm_ampo_run *r;
  mm_job_begin(&result);
  mm_status status = mm_ampo_run_open(job, job->map, NULL, &result, &r);
  if (status == MM_OK) {
    *out = state_size(r, (size_t)r->iterations);
    release(r);
  }
  mm_result_release(&result);
  return status;
}

mm_status mm_ampo_run_job(const mm_job *job, const mm_map *map, const volatile int *stop,
                          mm_result *result) {
  mm_ampo_run *r;
  MM_TRY(mm_ampo_run_open(job, map, NULL, result, &r));
  return mm_ampo_run_close(r, train(r, stop));
}
