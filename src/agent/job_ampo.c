// A job of AMPO or PPO: trains, and keeps every iteration's metric as the curve.

#include <math.h>

#include "agent/ampo.h"
#include "agent/job_internal.h"
#include "base/status.h"

// The last tenth of a run, at least one iteration, is what recent_value looks at.
static int64_t recent_from(int64_t iterations) {
  return iterations - (iterations + 9) / 10;
}

static mm_status train(const mm_job *job, mm_ampo *ampo, const volatile int *stop,
                       mm_result *result) {
  const int64_t iterations = mm_ampo_iterations(job->ampo);
  const uint64_t batch = (uint64_t)(job->ampo->envs * job->ampo->unroll);
  double sum = 0, count = 0;
  for (int64_t t = 0; t < iterations; t++) {
    if (mm_job_stopped(stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    mm_status status = mm_ampo_iterate(ampo);
    if (status != MM_OK) return status;
    mm_ampo_report report = mm_ampo_last(ampo);
    result->env_steps += batch;
    result->final_value = report.metric;
    result->curve[result->n_curve] = report.metric;
    result->curve_step[result->n_curve++] = result->env_steps;
    if (t < recent_from(iterations)) continue;
    sum += report.finished_sum;
    count += (double)report.finished;
  }
  if (count > 0) result->recent_value = sum / count;
  return MM_OK;
}

mm_status mm_job_run_ampo(const mm_job *job, const mm_map *map, const volatile int *stop,
                          mm_result *result) {
  mm_ampo *ampo;
  const size_t points = (size_t)mm_ampo_iterations(job->ampo);
  MM_TRY(mm_ampo_create(job->env, map, job->ampo, job->seed, job->repeat, &ampo));
  mm_status status = MM_OK;
  result->curve = mm_alloc_array(points, sizeof *result->curve);
  result->curve_step = mm_alloc_array(points, sizeof *result->curve_step);
  if (points == 0)
    status = MM_FAIL(MM_ERR_INPUT, "steps = %g: less than one iteration of %g steps",
                     job->ampo->steps, job->ampo->envs * job->ampo->unroll);
  else if (!result->curve || !result->curve_step)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a curve of %zu points", points);
  if (status == MM_OK) status = train(job, ampo, stop, result);
  mm_ampo_seconds(ampo, &result->seconds_rollout, &result->seconds_value, &result->seconds_update);
  mm_ampo_destroy(ampo);
  return status;
}
