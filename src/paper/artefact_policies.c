// SPDX-License-Identifier: Apache-2.0
// Rows 2 and 3 of the AMPO figure as numbers: the knots of learned potentials, and policies of
// scores eta c (1, .., |A|) against their scale c.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files/csv.h"
#include "paper/paper_internal.h"

enum { N_SCALE = 401, ACTIONS = 32, SHOWN = 3 };

// The map of one of the paper's rows: learned, l2, negentropy.
static const mm_map *map_of(const mm_artefact_work *w, size_t target, size_t env, size_t row) {
  return row == 0 ? w->learned[target][env] : w->map[row];
}

static mm_status count_actions(const char *env, size_t *out) {
  mm_env *opened;
  mm_vec *vec;
  mm_vec_info info;
  MM_TRY(mm_env_open(env, &opened));
  mm_status status =
      mm_vec_create(opened, &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = 0 }, &vec);
  if (status == MM_OK) {
    mm_vec_describe(vec, &info);
    *out = (size_t)info.n_action;
    mm_vec_destroy(vec);
  }
  mm_env_destroy(opened);
  return status;
}

mm_status mm_artefact_count_actions(mm_artefact_work *w) {
  for (size_t e = 0; e < w->spec->n_env; e++)
    MM_TRY(count_actions(w->spec->env[e], &w->n_action[e]));
  return MM_OK;
}

static mm_status policy_at(const mm_map *map, size_t n_action, double eta, double c,
                           double probs[ACTIONS]) {
  double scores[ACTIONS];
  for (size_t a = 0; a < n_action; a++)
    scores[a] = eta * c * (double)(a + 1);
  return mm_map_project(map, MM_PROJECTION_EXACT, scores, n_action, probs, NULL);
}

// ---------------------------------------------------------------------------------------------
// Where the worst action is out

// The worst action's probability falls with c, so a bisection finds where it is gone.
mm_status mm_artefact_zero_scale(const mm_map *map, size_t n_action, double eta, double *out) {
  mm_map_report report;
  double low = 0, high = 1, p[ACTIONS] = { 1 };
  *out = INFINITY;
  mm_map_check(map, &report);
  if (!isfinite(report.phi_inverse_at_0)) return MM_OK; // positive everywhere, if only just
  while (high < 1e9) {
    MM_TRY(policy_at(map, n_action, eta, high, p));
    if (p[0] == 0) break;
    low = high;
    high *= 2;
  }
  if (p[0] > 0) return MM_OK;
  for (int i = 0; i < 60; i++) {
    double middle = 0.5 * (low + high);
    MM_TRY(policy_at(map, n_action, eta, middle, p));
    if (p[0] == 0)
      high = middle;
    else
      low = middle;
  }
  *out = high;
  return MM_OK;
}

static mm_status note_zero(mm_artefact_work *w, size_t target, size_t env) {
  char text[SHOWN][32];
  for (size_t m = 0; m < SHOWN; m++) {
    double c;
    MM_TRY(mm_artefact_zero_scale(map_of(w, target, env, m), w->n_action[env], w->settings.ampo.eta,
                                  &c));
    if (isfinite(c))
      snprintf(text[m], sizeof text[m], "from c = %.4g on", c);
    else
      snprintf(text[m], sizeof text[m], "never");
  }
  return mm_artefact_note(&w->paper->result,
                          "%s, target=%s: the worst of %zu actions has probability 0 %s with "
                          "the learned map, %s with l2, %s with negentropy",
                          w->spec->env[env], w->target[target], w->n_action[env], text[0], text[1],
                          text[2]);
}

mm_status mm_artefact_note_zeros(mm_artefact_work *w) {
  for (size_t t = 0; t < w->n_target; t++)
    for (size_t e = 0; e < w->spec->n_env; e++)
      MM_TRY(note_zero(w, t, e));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Files

typedef mm_status put_rows(const mm_artefact_work *w, size_t target, size_t env, FILE *out);

// The knots (s_j, j/n) of the learned map; of a neural one phi^-1 at j/100.
static mm_status put_knots(const mm_artefact_work *w, size_t target, size_t env, FILE *out) {
  const mm_map *map = w->learned[target][env];
  size_t n = 100;
  if (mm_map_get_kind(map) == MM_MAP_PIECEWISE) mm_map_piecewise_psi(map, &n);
  for (size_t j = 1; j <= n; j++) {
    double p = (double)j / (double)n, s;
    MM_TRY(mm_map_phi_inverse(map, &p, 1, &s));
    fprintf(out, "%s,%s,%zu", w->spec->env[env], w->target[target], j);
    mm_csv_number(out, s);
    mm_csv_number(out, p);
    fputc('\n', out);
  }
  return MM_OK;
}

static mm_status put_policies(const mm_artefact_work *w, size_t target, size_t env, FILE *out) {
  double probs[ACTIONS];
  for (size_t m = 0; m < SHOWN; m++)
    for (size_t k = 0; k < N_SCALE; k++) {
      double c = 4.0 * (double)k / (N_SCALE - 1);
      MM_TRY(
          policy_at(map_of(w, target, env, m), w->n_action[env], w->settings.ampo.eta, c, probs));
      for (size_t a = 0; a < w->n_action[env]; a++) {
        fprintf(out, "%s,%s,%s", w->spec->env[env], w->target[target], w->spec->row[m]);
        mm_csv_number(out, c);
        fprintf(out, ",%zu", a + 1);
        mm_csv_number(out, probs[a]);
        fputc('\n', out);
      }
    }
  return MM_OK;
}

typedef struct sheet {
  const mm_artefact_work *w;
  const char *header;
  put_rows *put;
  mm_status *status;
} sheet;

static void put_sheet(FILE *out, const void *user) {
  const sheet *s = user;
  mm_artefact_put_origin(out, &s->w->paper->result);
  fprintf(out, "%s\n", s->header);
  for (size_t t = 0; t < s->w->n_target; t++)
    for (size_t e = 0; e < s->w->spec->n_env && *s->status == MM_OK; e++)
      *s->status = s->put(s->w, t, e, out);
}

static mm_status write_sheet(mm_artefact_work *w, const char *name, const char *header,
                             put_rows *put) {
  mm_status status = MM_OK;
  const sheet s = { w, header, put, &status };
  mm_paper_clock(w->paper);
  mm_status written = mm_csv_write(w->paper->result.folder, name, put_sheet, &s);
  return status != MM_OK ? status : written;
}

mm_status mm_artefact_write_policies(mm_artefact_work *w) {
  MM_TRY(write_sheet(w, "knots.csv", "env,target,j,s,phi", put_knots));
  return write_sheet(w, "policies.csv", "env,target,map,c,action,probability", put_policies);
}
