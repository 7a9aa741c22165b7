// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "mirrormap/stats.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------
// Who is what

// "tsallis:1.5" and "tsallis (a search)" are called tsallis, "tsallisian" is not.
static bool is_called(const char *name, const char *word) {
  size_t n = strlen(word);
  return strncmp(name, word, n) == 0 && (name[n] == '\0' || name[n] == ':' || name[n] == ' ');
}

static void add_baselines(const mm_score_table *t, bool tuned, mm_score_baselines *b) {
  static const char *const family[] = { "negentropy", "l2", "tsallis" };
  for (size_t k = 0; k < sizeof family / sizeof *family; k++)
    for (size_t m = 0; m < t->n_map; m++)
      if (is_called(t->map[m], family[k]) && (strstr(t->map[m], ":tuned-") != NULL) == tuned)
        b->row[b->n++] = m;
}

mm_score_baselines mm_score_baselines_of(const mm_score_table *t) {
  mm_score_baselines b = { .n = 0 };
  add_baselines(t, true, &b);
  if (b.n == 0) add_baselines(t, false, &b);
  return b;
}

size_t mm_score_random_row(const mm_score_table *t) {
  size_t m = 0;
  while (m < t->n_map && !is_called(t->map[m], "random") && strncmp(t->map[m], "random-", 7) != 0)
    m++;
  return m;
}

// ---------------------------------------------------------------------------------------------
// Scales

static double mean_at(const mm_scores *s, size_t map, size_t env) {
  return s->cell[map * s->table->n_env + env].mean.mean;
}

// Of row[n] (NULL: all maps) the one with the highest mean, or with the lowest; n_map without any.
static size_t extreme(const mm_scores *s, size_t env, const size_t *row, size_t n, int sign) {
  size_t found = s->table->n_map;
  for (size_t i = 0; i < n; i++) {
    size_t m = row ? row[i] : i;
    if (!isfinite(mean_at(s, m, env))) continue;
    if (found == s->table->n_map || sign * mean_at(s, m, env) > sign * mean_at(s, found, env))
      found = m;
  }
  return found;
}

static mm_score_scale scale_of(const mm_scores *s, size_t env, double given, size_t random_row) {
  const size_t none = s->table->n_map;
  const size_t lowest = extreme(s, env, NULL, none, -1), highest = extreme(s, env, NULL, none, 1);
  const size_t best = extreme(s, env, s->baselines.row, s->baselines.n, 1);
  mm_score_scale scale = { NAN, NAN, none, none, false };
  if (lowest == none) return scale;
  scale.zero = random_row < none ? mean_at(s, random_row, env) : given;
  scale.zero_map = random_row;
  scale.one_map = best < none ? best : highest;
  scale.one = mean_at(s, scale.one_map, env);
  if (scale.one > scale.zero) return scale;
  scale =
      (mm_score_scale){ mean_at(s, lowest, env), mean_at(s, highest, env), lowest, highest, true };
  if (!(scale.one > scale.zero)) scale.zero = scale.one = NAN;
  return scale;
}

// ---------------------------------------------------------------------------------------------
// Scores

size_t mm_scores_list(const mm_scores *s, size_t map, double *x, size_t *n) {
  const mm_score_table *t = s->table;
  size_t n_env = 0, used = 0;
  for (size_t e = 0; e < t->n_env; e++) {
    const double *run = mm_score_runs(t, map, e);
    const size_t before = used;
    if (isnan(s->scale[e].zero)) continue;
    for (size_t i = 0; i < t->n_seed; i++)
      if (!isnan(run[i]))
        x[used++] = (run[i] - s->scale[e].zero) / (s->scale[e].one - s->scale[e].zero);
    if (used == before) return 0;
    n[n_env++] = used - before;
  }
  return n_env;
}

// A map's scores for as long as they are needed.
typedef struct score_list {
  double *x;
  size_t *n, n_env;
} score_list;

static void release_list(score_list *l) {
  mm_free(l->x);
  mm_free(l->n);
}

static mm_status list_scores(const mm_scores *s, size_t map, score_list *l) {
  const mm_score_table *t = s->table;
  l->x = mm_alloc_array(t->n_env * t->n_seed, sizeof *l->x);
  l->n = mm_alloc_array(t->n_env, sizeof *l->n);
  if (!l->x || !l->n) {
    release_list(l);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the scores of %zu runs", t->n_env * t->n_seed);
  }
  l->n_env = mm_scores_list(s, map, l->x, l->n);
  return MM_OK;
}

mm_status mm_scores_profile(const mm_scores *s, size_t map, const double *tau, size_t n_tau,
                            double *share, mm_interval *band) {
  score_list l;
  MM_TRY(list_scores(s, map, &l));
  mm_performance_profile(l.x, l.n, l.n_env, tau, n_tau, s->table->seed[0], share, band);
  release_list(&l);
  return MM_OK;
}

static mm_status sum_up_map(mm_scores *s, size_t map) {
  const mm_score_table *t = s->table;
  mm_score_map *out = &s->map[map];
  score_list l;
  *out = (mm_score_map){ .n_env = 0 };
  for (size_t e = 0; e < t->n_env; e++) {
    const mm_worths *cell = &s->cell[map * t->n_env + e];
    out->n_env += cell->n + cell->unfinished > 0;
    out->n += cell->n + cell->unfinished;
    out->failures += cell->unfinished;
  }
  MM_TRY(list_scores(s, map, &l));
  out->iqm = mm_stratified_iqm(l.x, l.n, l.n_env, t->seed[0]);
  release_list(&l);
  return MM_OK;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static mm_status choose_taus(mm_scores *s) {
  const mm_score_table *t = s->table;
  double *x = mm_alloc_array(t->n_map * t->n_env * t->n_seed, sizeof *x), low = 0, high = 1;
  size_t *n = mm_alloc_array(t->n_env, sizeof *n), all = 0;
  for (size_t m = 0; m < t->n_map && x && n; m++) {
    size_t n_env = mm_scores_list(s, m, x + all, n), end = all;
    for (size_t e = 0; e < n_env; e++)
      end += n[e];
    for (size_t i = all; i < end; i++)
      if (isfinite(x[i])) x[all++] = x[i];
  }
  if (all > 0) {
    qsort(x, all, sizeof *x, ascending);
    low = x[all / 100];
    high = x[all - 1 - all / 100];
    // scores that are all the same, but for rounding, get room around them
    const double most = fmax(fabs(low), fabs(high)), room = fmax(most, 1) / 2;
    if (!(high - low > 1e-6 * most)) {
      low -= room;
      high += room;
    }
  }
  const bool able = x && n;
  mm_free(x);
  mm_free(n);
  if (!able) return MM_FAIL(MM_ERR_MEMORY, "no memory for the scores of %zu maps", t->n_map);
  for (size_t k = 0; k < MM_PROFILE_POINTS; k++)
    s->tau[k] = low + (high - low) * ((double)k / (MM_PROFILE_POINTS - 1) * 1.04 - 0.02);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Maps against each other

// A map is not tested against itself.
static mm_comparison compare(const mm_scores *s, size_t map, size_t env) {
  const mm_score_table *t = s->table;
  const size_t from = s->baselines.row[0];
  if (map == from) return MM_COMPARISON_NONE;
  return mm_comparison_of(mm_score_runs(t, map, env), mm_score_runs(t, from, env), t->n_seed,
                          t->seed[0]);
}

// A map that lacks an environment is not judged over all of them.
static mm_comparison match(const mm_scores *s, size_t a, size_t b) {
  const mm_score_table *t = s->table;
  const size_t n = t->n_env * t->n_seed;
  const double *x = mm_score_runs(t, a, 0), *y = mm_score_runs(t, b, 0);
  mm_comparison m = MM_COMPARISON_NONE;
  double wins = 0;
  if (s->map[a].n_env < t->n_env || s->map[b].n_env < t->n_env) return m;
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i]) || isnan(y[i])) continue;
    wins += x[i] > y[i] ? 1 : x[i] == y[i] ? 0.5 : 0;
    m.gain.n++;
  }
  if (a != b && m.gain.n > 0) m.wins = wins / (double)m.gain.n;
  m.win_interval = mm_interval_of_share(m.wins, m.gain.n);
  return m;
}

const mm_comparison *mm_scores_over(const mm_scores *s, size_t map, size_t env) {
  return &s->over[map * s->table->n_env + env];
}

// ---------------------------------------------------------------------------------------------

static mm_status alloc_scores(mm_scores *s) {
  const size_t n_map = s->table->n_map, cells = n_map * s->table->n_env;
  s->map = mm_alloc_array(n_map, sizeof *s->map);
  s->cell = mm_alloc_array(cells, sizeof *s->cell);
  s->over = mm_alloc_array(cells, sizeof *s->over);
  s->match = mm_alloc_array(n_map * n_map, sizeof *s->match);
  if (s->map && s->cell && s->over && s->match) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory for a comparison of %zu maps", n_map);
}

mm_status mm_scores_of(const mm_score_table *t, const mm_score_baselines *baselines,
                       const double *random_return, size_t random_row, mm_scores *out) {
  const size_t cells = t->n_map * t->n_env;
  *out = (mm_scores){ .table = t, .baselines = *baselines };
  MM_TRY(alloc_scores(out));
  for (size_t i = 0; i < cells; i++)
    out->cell[i] = mm_estimate_worths(t->final + i * t->n_seed, t->n_seed, t->seed[0]);
  for (size_t e = 0; e < t->n_env; e++)
    out->scale[e] = scale_of(out, e, random_return ? random_return[e] : NAN,
                             random_return ? t->n_map : random_row);
  for (size_t m = 0; m < t->n_map; m++)
    MM_TRY(sum_up_map(out, m));
  MM_TRY(choose_taus(out));
  for (size_t i = 0; i < cells; i++)
    out->over[i] = compare(out, i / t->n_env, i % t->n_env);
  out->n_test = mm_comparisons_correct(out->over, cells, sizeof *out->over);
  for (size_t i = 0; i < t->n_map * t->n_map; i++)
    out->match[i] = match(out, i / t->n_map, i % t->n_map);
  return MM_OK;
}

void mm_scores_release(mm_scores *s) {
  if (!s) return;
  mm_free(s->map);
  mm_free(s->cell);
  mm_free(s->over);
  mm_free(s->match);
  s->map = NULL;
  s->cell = NULL;
  s->over = s->match = NULL;
}
