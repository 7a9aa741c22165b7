// The AMPO figure, for classic control or for MinAtar: for each environment and each of the two
// regression targets a search, a table of its map beside the baselines and controls, and a picture
// with performance, potentials and policies.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "paper/paper.h"
#include "paper/reproduce_internal.h"
#include "paper/reproduction_figure.h"
#include "study/stats/csv.h"

enum { ENVS = 3, TARGETS = 2, ROWS = 9, N_SCALE = 401 };

typedef struct figure {
  mm_reproduce *r;
  const char *env[ENVS];
  const char *target[TARGETS];
  size_t n_env, n_target;
  size_t n_action[ENVS];
  mm_map *learned[TARGETS][ENVS];
  mm_map *map[ROWS]; // of the other rows
  double eta;
} figure;

// ---------------------------------------------------------------------------------------------
// Rows

static mm_status count_actions(const char *env, size_t *out) {
  mm_env *opened;
  mm_vec *vec;
  mm_vec_info info;
  MM_TRY(mm_env_open(env, &opened));
  mm_status status = mm_vec_create(opened, &(mm_vec_config){ .n = 0 }, &vec);
  if (status == MM_OK) {
    mm_vec_describe(vec, &info);
    *out = (size_t)info.n_action;
    mm_vec_destroy(vec);
  }
  mm_env_destroy(opened);
  return status;
}

// The initial map of the family that is searched, and a random one of it.
static mm_status open_maps(figure *f, const mm_settings *settings) {
  bool neural = mm_search_map_kind(&settings->search) == MM_MAP_NEURAL;
  char initial[32] = "neural";
  if (!neural) snprintf(initial, sizeof initial, "piecewise:%.0f", settings->search.n);
  const char *const text[ROWS] = {
    NULL,          "l2",          "negentropy", initial, neural ? "random-neural:0" : "random:0",
    "tsallis:0.5", "tsallis:1.5", "negentropy", "l2"
  };
  for (int i = 1; i < ROWS; i++)
    MM_TRY(mm_map_open(text[i], &f->map[i]));
  f->eta = settings->ampo.eta;
  return MM_OK;
}

static void list_rows(const figure *f, size_t target, size_t env, mm_reproduce_entrant row[ROWS]) {
  static const char *const label[ROWS] = {
    "learned",     "l2",          "negentropy",           "initial",     "random",
    "tsallis:0.5", "tsallis:1.5", "negentropy:tuned-eta", "l2:tuned-eta"
  };
  for (size_t i = 0; i < ROWS; i++)
    row[i] = (mm_reproduce_entrant){ .map = i == 0 ? f->learned[target][env] : f->map[i],
                                     .name = label[i],
                                     .label = label[i],
                                     .control = i > 2,
                                     .tuned = i > 6,
                                     .paper_map = MM_REPRODUCE_NO_PAPER };
  row[0].paper_map = mm_paper_env(f->env[env]);
  row[2].paper_map = MM_PAPER_ENVS;
}

static mm_status run_env(figure *f, size_t target, size_t env) {
  mm_settings settings;
  mm_reproduce_entrant row[ROWS];
  char label[96];
  const char *id = f->env[env], *named = f->target[target];
  MM_TRY(mm_reproduce_settings(&f->r->plan, id, named, &settings));
  snprintf(label, sizeof label, "%s, target=%s", id, named);
  MM_TRY(mm_reproduce_keep_settings(f->r, label, &settings));
  if (!f->map[1]) MM_TRY(open_maps(f, &settings));
  MM_TRY(mm_reproduce_learned(f->r, id, named, &settings, &f->learned[target][env]));
  list_rows(f, target, env, row);
  return mm_reproduce_table(f->r, id, named, &settings, row, ROWS);
}

// ---------------------------------------------------------------------------------------------
// What the paper says of it

// learned - 2 negentropy, seed by seed
static mm_status claim_twice(mm_reproduction *r, const mm_reproduction_cell *learned,
                             const mm_reproduction_cell *base) {
  double *x = mm_alloc_array(learned->n_run, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", learned->n_run);
  size_t n = 0;
  for (size_t i = 0; i < learned->n_run; i++) {
    double gain = learned->run[MM_QUANTITY_FINAL][i] - 2 * base->run[MM_QUANTITY_FINAL][i];
    if (!isnan(gain)) x[n++] = gain;
  }
  mm_estimate gain = mm_estimate_of(x, n);
  mm_free(x);
  return mm_reproduction_claim(r, learned->env, learned->target, gain,
                               "final value: learned more than twice negentropy");
}

mm_status mm_reproduce_claim_ampo(mm_reproduction *r, const char *env, const char *target) {
  const mm_reproduction_cell *learned = mm_reproduction_find(r, env, "learned", target);
  const mm_reproduction_cell *base = mm_reproduction_find(r, env, "negentropy", target);
  const mm_reproduction_cell *l2 = mm_reproduction_find(r, env, "l2", target);
  bool tie = strcmp(env, "Acrobot-v1") == 0;
  bool twice = strstr(env, "Asterix") || strstr(env, "SpaceInvaders");
  MM_TRY(mm_reproduction_claim(r, env, target, learned->over[0].gain,
                               "final value: learned > negentropy"));
  if (tie)
    MM_TRY(mm_reproduction_claim_tie(r, env, target, learned->over[1].gain,
                                     "final value: learned ties with l2"));
  else
    MM_TRY(
        mm_reproduction_claim(r, env, target, learned->over[1].gain, "final value: learned > l2"));
  // that the learned map is above it is said already
  if (tie || twice)
    MM_TRY(mm_reproduction_claim(r, env, target, l2->over[0].gain,
                                 "negentropy levels off lower: final value of l2 > negentropy"));
  return twice ? claim_twice(r, learned, base) : MM_OK;
}

static const char *scale_text(double c, char out[32]) {
  if (isfinite(c))
    snprintf(out, 32, "from c = %.4g on", c);
  else
    snprintf(out, 32, "never");
  return out;
}

static mm_status note_zero(figure *f, size_t target, size_t env) {
  double c[3];
  char text[3][32];
  MM_TRY(mm_reproduce_zero_scale(f->learned[target][env], f->n_action[env], f->eta, &c[0]));
  MM_TRY(mm_reproduce_zero_scale(f->map[1], f->n_action[env], f->eta, &c[1]));
  MM_TRY(mm_reproduce_zero_scale(f->map[2], f->n_action[env], f->eta, &c[2]));
  return mm_reproduction_note(
      &f->r->result,
      "%s, target=%s: the worst of %zu actions has probability 0 %s with the "
      "learned map, %s with l2, %s with negentropy",
      f->env[env], f->target[target], f->n_action[env], scale_text(c[0], text[0]),
      scale_text(c[1], text[1]), scale_text(c[2], text[2]));
}

static mm_status annotate(figure *f) {
  mm_reproduction *r = &f->r->result;
  MM_TRY(mm_reproduction_note(
      r, "the paper's curves come from the authors' code, which applies eta twice (target=code); "
         "target=paper is its equation. The paper's numbers are those of its transfer table"));
  mm_settings settings; // all of a suite have the same size
  MM_TRY(mm_reproduce_settings(&f->r->plan, f->env[0], f->target[0], &settings));
  MM_TRY(mm_reproduce_note_tuning(f->r, &settings, f->r->tune_seeds));
  for (size_t t = 0; t < f->n_target; t++)
    for (size_t e = 0; e < f->n_env; e++) {
      MM_TRY(mm_reproduce_claim_ampo(r, f->env[e], f->target[t]));
      MM_TRY(note_zero(f, t, e));
    }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Rows 2 and 3 as numbers

typedef mm_status put_rows(const figure *f, size_t target, size_t env, FILE *out);

// The knots (s_j, j/n) of the learned map; of a neural one phi^-1 at j/100.
static mm_status put_knots(const figure *f, size_t target, size_t env, FILE *out) {
  const mm_map *map = f->learned[target][env];
  size_t n = 100;
  if (mm_map_get_kind(map) == MM_MAP_PIECEWISE) mm_map_piecewise_psi(map, &n);
  for (size_t j = 1; j <= n; j++) {
    double p = (double)j / (double)n, s;
    MM_TRY(mm_map_phi_inverse(map, &p, 1, &s));
    fprintf(out, "%s,%s,%zu", f->env[env], f->target[target], j);
    mm_csv_number(out, s);
    mm_csv_number(out, p);
    fputc('\n', out);
  }
  return MM_OK;
}

static mm_status put_policies(const figure *f, size_t target, size_t env, FILE *out) {
  static const char *const label[] = { "learned", "l2", "negentropy" };
  double scores[32], probs[32];
  for (size_t m = 0; m < 3; m++)
    for (size_t k = 0; k < N_SCALE; k++) {
      double c = 4.0 * (double)k / (N_SCALE - 1);
      for (size_t a = 0; a < f->n_action[env]; a++)
        scores[a] = f->eta * c * (double)(a + 1);
      MM_TRY(mm_map_project(m == 0 ? f->learned[target][env] : f->map[m], MM_PROJECTION_EXACT,
                            scores, f->n_action[env], probs, NULL));
      for (size_t a = 0; a < f->n_action[env]; a++) {
        fprintf(out, "%s,%s,%s", f->env[env], f->target[target], label[m]);
        mm_csv_number(out, c);
        fprintf(out, ",%zu", a + 1);
        mm_csv_number(out, probs[a]);
        fputc('\n', out);
      }
    }
  return MM_OK;
}

static mm_status write_rows(const figure *f, const char *name, const char *header, put_rows *put) {
  char path[MM_REPRODUCE_PATH], *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  mm_reproduce_clock(f->r);
  mm_reproduction_put_origin(out, &f->r->result);
  fprintf(out, "%s\n", header);
  mm_status status = MM_OK;
  for (size_t t = 0; t < f->n_target; t++)
    for (size_t e = 0; e < f->n_env && status == MM_OK; e++)
      status = put(f, t, e, out);
  int failed = ferror(out);
  if (fclose(out) != 0) failed = 1;
  if (status == MM_OK && failed) status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  if (status == MM_OK)
    status = mm_file_write_atomic(mm_reproduce_path(f->r, name, path), text, length);
  free(text);
  return status;
}

// ---------------------------------------------------------------------------------------------

typedef struct drawing {
  const figure *f;
  size_t target;
} drawing;

static mm_status draw(const mm_reproduction *result, const char *path, void *user) {
  static const char *const shown[] = { "learned", "l2", "negentropy" };
  static const mm_reproduction_row rows[] = { { "value", "performance", false } };
  const drawing *d = user;
  const figure *f = d->f;
  mm_reproduction_grid grid = { .row = rows,
                                .n_row = 1,
                                .env = f->env,
                                .title = f->env,
                                .n_env = f->n_env,
                                .map = shown,
                                .n_map = 3,
                                .target = f->target[d->target],
                                .heading = "AMPO",
                                .learned = (const mm_map *const *)f->learned[d->target],
                                .n_action = f->n_action,
                                .eta = f->eta };
  return mm_reproduction_figure_grid(result, &grid, path);
}

static mm_status draw_targets(figure *f) {
  for (size_t t = 0; t < f->n_target; t++) {
    char name[64];
    drawing d = { f, t };
    snprintf(name, sizeof name, "%s-%s", mm_artefact_name(f->r->plan.artefact), f->target[t]);
    MM_TRY(mm_reproduce_picture(f->r, name, draw, &d));
  }
  return MM_OK;
}

static mm_status make(figure *f) {
  for (size_t e = 0; e < f->n_env; e++)
    MM_TRY(count_actions(f->env[e], &f->n_action[e]));
  for (size_t t = 0; t < f->n_target; t++)
    for (size_t e = 0; e < f->n_env; e++)
      MM_TRY(run_env(f, t, e));
  mm_reproduction_summarise(&f->r->result);
  MM_TRY(annotate(f));
  MM_TRY(write_rows(f, "knots.csv", "env,target,j,s,phi", put_knots));
  MM_TRY(write_rows(f, "policies.csv", "env,target,map,c,action,probability", put_policies));
  return draw_targets(f);
}

mm_status mm_reproduce_ampo(mm_reproduce *r) {
  bool minatar = r->plan.artefact == MM_ARTEFACT_MINATAR;
  figure f = { .r = r, .n_env = minatar ? 3 : 2 };
  for (size_t e = 0; e < f.n_env; e++)
    f.env[e] = mm_paper_envs[minatar ? e + 2 : e];
  f.n_target = mm_reproduce_targets(&r->plan, f.target);
  mm_status status = make(&f);
  for (int t = 0; t < TARGETS; t++)
    for (int e = 0; e < ENVS; e++)
      mm_map_destroy(f.learned[t][e]);
  for (int i = 0; i < ROWS; i++)
    mm_map_destroy(f.map[i]);
  return status;
}
