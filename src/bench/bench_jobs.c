// SPDX-License-Identifier: Apache-2.0
// Lists of training runs for the benchmarks of devices and ranks.

#include "base/clock.h"
#include "base/rng.h"
#include "bench/bench.h"

void mm_bench_jobs_close(mm_bench_jobs *j) {
  mm_env_destroy(j->env);
  mm_free(j->z);
  mm_free(j->job);
  mm_free(j->result);
}

mm_status mm_bench_jobs_open(mm_bench_jobs *j, const char *env, bool spread) {
  const mm_map_kind kind = mm_search_map_kind(&j->settings.search);
  const size_t n = (size_t)j->settings.search.n, size = mm_map_search_size(kind, n);
  const double sigma = spread ? mm_search_es(&j->settings.search, 0).sigma : 0;
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 20);
  MM_TRY(mm_env_open(env, &j->env));
  j->z = mm_alloc_array(j->n * size, sizeof *j->z);
  j->job = mm_alloc_array(j->n, sizeof *j->job);
  j->result = mm_alloc_array(j->n, sizeof *j->result);
  if (!j->z || !j->job || !j->result)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", j->n);
  for (size_t i = 0; i < j->n; i++) {
    double *z = j->z + i * size;
    MM_TRY(mm_map_search_initial(kind, n, z));
    for (size_t k = 0; k < size && spread; k++)
      z[k] += sigma * (double)mm_normal_f(mm_stream_block(stream, i * size + k).word[0]);
    j->job[i] = (mm_job){ .env = j->env,
                          .seed = spread ? i / 2 : i,
                          .point = { .kind = kind, .n = n, .z = z } };
    mm_settings_bind(&j->settings, &j->job[i]);
  }
  return MM_OK;
}

mm_status mm_bench_jobs_run(mm_bench_jobs *j, size_t n, const mm_backend_place *place,
                            mm_bench_jobs_time *out) {
  *out = (mm_bench_jobs_time){ 0 };
  const mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                      .place = *place,
                                      .report = &out->report };
  const double start = mm_clock_seconds(), thread = mm_bench_thread_time();
  mm_status status = mm_backend_run(&backend, j->job, n, j->result);
  out->seconds = mm_clock_seconds() - start;
  out->thread_seconds = mm_bench_thread_time() - thread;
  size_t failed = 0;
  for (size_t i = 0; i < n; i++) {
    const mm_status one = j->result[i].status;
    out->steps += (double)j->result[i].env_steps;
    out->broken += one == MM_ERR_NUMERIC;
    failed += one != MM_OK && one != MM_ERR_NUMERIC;
    mm_result_release(&j->result[i]);
  }
  if (status == MM_OK && failed > 0)
    return MM_FAIL(MM_ERR_DEVICE, "%zu of %zu training runs failed: %s", failed, n,
                   out->report.error);
  return status;
}
