// SPDX-License-Identifier: Apache-2.0
#include "agent/gaussian_objective.h"

#include <math.h>
#include <string.h>

#include "laws/losses.h"
#include "laws/update.h"

enum { ROWS = 256 };

void mm_gaussian_objective_make(const mm_map *map, double scale, bool ppo, double eta, double clip,
                                mm_gaussian_objective *out) {
  memset(out, 0, sizeof *out);
  mm_density_make(map, scale, &out->density);
  out->ppo = ppo;
  out->eta = (float)eta;
  out->clip = (float)clip;
}

void mm_gaussian_objective_begin(mm_gaussian_objective *o) {
  o->report = (mm_gaussian_report){ 0 };
  o->ratios = o->squares = o->gaps = o->measured = 0;
}

// r = p/q, and what is to be known of it.
static float ratio(mm_gaussian_objective *o, float delta, uint8_t *acted) {
  const float most = MM_LOG_RATIO_MOST, d = delta < -most ? -most : delta > most ? most : delta;
  const float r = mm_exp_f(d);
  if (d != delta) *acted |= MM_DENSITY_CLAMPED;
  o->ratios += (double)r;
  o->squares += (double)r * (double)r;
  o->report.max_delta = fmax(o->report.max_delta, fabs((double)delta));
  return r;
}

static void count(mm_gaussian_objective *o, uint8_t acted, float *gain, float *weight) {
  mm_gaussian_report *r = &o->report;
  r->samples++;
  r->clamped += (acted & MM_DENSITY_CLAMPED) != 0;
  r->capped += (acted & MM_DENSITY_CAPPED) != 0;
  if (isfinite(*weight)) return;
  r->nonfinite++;
  *weight = 0;
  *gain = 0;
}

static void measure(mm_gaussian_objective *o, size_t n, const float *log_p, const float *log_q) {
  for (size_t i = 0; i < n; i++)
    o->gaps += mm_density_divergence(&o->density, (double)log_p[i], (double)log_q[i]);
  o->measured += (double)n;
}

static void weigh(mm_gaussian_objective *o, size_t n, const float *log_p, const float *log_q,
                  const float *advantage, float *gain, float *weight) {
  float rise[ROWS];
  uint8_t acted[ROWS] = { 0 };
  if (!o->ppo) mm_density_rows_current()(&o->density, n, log_p, log_q, rise, acted);
  for (size_t i = 0; i < n; i++) {
    const float r = ratio(o, log_p[i] - log_q[i], &acted[i]);
    if (o->ppo) {
      weight[i] = mm_ppo_weight(r, advantage[i], o->clip, &gain[i]);
    } else {
      const float pull = o->eta * advantage[i];
      gain[i] = r * pull;
      weight[i] = r * (pull - rise[i]);
      if (!isfinite(log_p[i]) || !isfinite(log_q[i])) weight[i] = NAN; // bounds would hide it
    }
    count(o, acted[i], &gain[i], &weight[i]);
  }
  if (o->measure && !o->ppo) measure(o, n, log_p, log_q);
}

void mm_gaussian_objective_weigh(void *user, size_t n, const float *log_p, const float *log_q,
                                 const float *advantage, float *gain, float *weight) {
  for (size_t i = 0, m; i < n; i += m) {
    m = n - i < ROWS ? n - i : ROWS;
    weigh(user, m, log_p + i, log_q + i, advantage + i, gain + i, weight + i);
  }
}

mm_gaussian_report mm_gaussian_objective_report(const mm_gaussian_objective *o) {
  mm_gaussian_report r = o->report;
  const double n = (double)r.samples;
  r.ess = o->squares > 0 ? o->ratios * o->ratios / (n * o->squares) : NAN;
  r.divergence = o->measured > 0 ? o->gaps / o->measured : NAN;
  return r;
}

bool mm_gaussian_objective_broken(const mm_gaussian_objective *o) {
  return 1000 * o->report.nonfinite > o->report.samples;
}
