// SPDX-License-Identifier: Apache-2.0
// The paper's figures and table as data: environments, rows, claims, notes, figures. What is not
// data, notes that need numbers and the two figures that are no grids of curves, follows below.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper_internal.h"
#include "paper/published.h"
#include "show/figure/map_figure.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static mm_status note_knots(mm_artefact_work *w), note_agreement(mm_artefact_work *w),
    note_ratios(mm_artefact_work *w);
static mm_status draw_phi(const mm_artefact_work *w, size_t target, const char *path),
    draw_table(const mm_artefact_work *w, size_t target, const char *path);

// ---------------------------------------------------------------------------------------------
// Environments and rows

static const char *const grid_envs[] = { "GridWorld-dense",     "GridWorld-sparse",
                                         "GridWorld-long",      "GridWorld-sixteen_rooms",
                                         "GridWorld-labyrinth", "GridWorld-all" };
static const char *const grid_titles[] = { "dense",         "sparse",    "long",
                                           "sixteen rooms", "labyrinth", "random tasks" };
static const char *const more_grid_envs[] = {
  "GridWorld-longer",          "GridWorld-long_dense",
  "GridWorld-sixteen_rooms_2", "GridWorld-labyrinth_flipped",
  "GridWorld-labyrinth_2",     "GridWorld-standard_maze",
  "GridWorld-standard_maze_2", "GridWorld-standard_maze_3",
  "GridWorld-small_corridor"
};
static const char *const mujoco_envs[] = { "Hopper", "HalfCheetah", "Ant" };

static const char *const rows[] = {
  "learned",     "l2",          "negentropy",           "initial",     "random",
  "tsallis:0.5", "tsallis:1.5", "negentropy:tuned-eta", "l2:tuned-eta"
};
static const char *const mujoco_rows[] = {
  "learned",     "negentropy",           "l2",          "initial", "random", "tsallis:0.5",
  "tsallis:1.5", "negentropy:tuned-eta", "l2:tuned-eta"
};
static const char *const transfer_rows[] = {
  "Acrobot-v1", "CartPole-v1", "Asterix-MinAtar", "Freeway-MinAtar", "SpaceInvaders-MinAtar",
  "negentropy", "l2",          "random:0"
};

// ---------------------------------------------------------------------------------------------
// Claims

#define FINAL MM_QUANTITY_FINAL
#define ERROR MM_QUANTITY_ERROR
#define DISTANCE MM_QUANTITY_DISTANCE
#define DROPS MM_QUANTITY_DROPS
#define EARLY MM_QUANTITY_EARLY
#define ABOVE MM_CLAIM_ABOVE

static const mm_claim_spec grid_claims[] = {
  { "final return: learned > l2", FINAL, "learned", "l2", ABOVE, 0 },
  { "final return: l2 > negentropy", FINAL, "l2", "negentropy", ABOVE, 0 },
  { "estimation error: learned > l2", ERROR, "learned", "l2", ABOVE, 0 },
  { "estimation error: l2 > negentropy", ERROR, "l2", "negentropy", ABOVE, 0 },
  { "early policy distance: learned < l2", DISTANCE, "l2", "learned", ABOVE, 0 },
  { "early policy distance: learned < negentropy", DISTANCE, "negentropy", "learned", ABOVE, 0 },
  { "drops in value: learned fewer than l2", DROPS, "l2", "learned", ABOVE, 0 },
  { "drops in value: learned fewer than negentropy", DROPS, "negentropy", "learned", ABOVE, 0 },
  { "more than half of the gain within 50,000 steps (learned)", EARLY, "learned", NULL, ABOVE, 0 },
};

// Bits of mm_published_envs.
enum { ACROBOT = 1, CARTPOLE = 2, ASTERIX = 4, FREEWAY = 8, INVADERS = 16 };

static const mm_claim_spec ampo_claims[] = {
  { "final return: learned > negentropy", FINAL, "learned", "negentropy", ABOVE, 0 },
  { "final return: learned ties with l2", FINAL, "learned", "l2", MM_CLAIM_TIE, ACROBOT },
  { "final return: learned > l2", FINAL, "learned", "l2", ABOVE,
    CARTPOLE | ASTERIX | FREEWAY | INVADERS },
  // that the learned map is above it is said already
  { "negentropy levels off lower: final return of l2 > negentropy", FINAL, "l2", "negentropy",
    ABOVE, ACROBOT | ASTERIX | INVADERS },
  { "final return: learned more than twice negentropy", FINAL, "learned", "negentropy",
    MM_CLAIM_TWICE, ASTERIX | INVADERS },
};

static const mm_claim_spec transfer_claims[] = {
  { "the map learned here is above negentropy", FINAL, "learned", "negentropy", ABOVE, 0 },
};

static const mm_claim_spec mujoco_claims[] = {
  { "final return: learned > negentropy", FINAL, "learned", "negentropy", ABOVE, 0 },
};

// ---------------------------------------------------------------------------------------------
// The list

static const mm_artefact_row grid_curves[] = {
  { "value", "value, exact", false },
  { "estimation_error", "estimation error", true },
  { "update_distance", "policy distance", true },
};
static const mm_artefact_row ampo_curves[] = { { "value", "return", false } };
static const mm_artefact_row mujoco_curves[] = { { "value", "return", false } };

static const char *const grid_notes[] = {
  "the paper's figure gives no numbers and does not name its five configurations: the first five "
  "are our choice, the last nine are those left over; GridWorld-all are its random tasks",
  "every run has an instance of its own, the same ones and the same random numbers for every map; "
  "values are exact, errors over all reachable states and actions"
};
static const char *const ampo_notes[] = {
  "the paper's curves come from the authors' code, which applies eta twice (target=code); "
  "target=paper is its equation. The paper's numbers are those of its transfer table"
};
static const char *const transfer_notes[] = {
  "the paper's table comes from the authors' code: compare with target=code; target=paper is its "
  "equation"
};

#define LIST(field, array) .field = array, .n_##field = COUNT(array)
#define AMPO_FIGURE                                                                                \
  LIST(row, rows), .n_paper = 3, .targets = true, .policies = true, LIST(claim, ampo_claims),      \
                   LIST(note, ampo_notes), .annotate = mm_artefact_note_zeros, .heading = "AMPO",  \
                   LIST(curve, ampo_curves), .draw = mm_artefact_draw_curves

const mm_artefact_spec mm_artefact_specs[MM_ARTEFACTS] = {
  [MM_ARTEFACT_PHI] = { .name = "phi",
                        .annotate = note_knots,
                        .figure = "phi_param",
                        .draw = draw_phi },
  [MM_ARTEFACT_GRIDWORLD] = { .name = "gridworld",
                              .suites = 1u << MM_SUITE_GRIDWORLD,
                              LIST(env, grid_envs),
                              .title = grid_titles,
                              LIST(more_env, more_grid_envs),
                              LIST(row, rows),
                              .n_paper = 3,
                              .learn_env = "GridWorld-all",
                              .settings = "GridWorld",
                              .exact = true,
                              LIST(claim, grid_claims),
                              LIST(note, grid_notes),
                              .heading = "Tabular PMD on Grid-World",
                              LIST(curve, grid_curves),
                              .draw = mm_artefact_draw_curves },
  [MM_ARTEFACT_CONTROL] = { .name = "control",
                            .suites = 1u << MM_SUITE_CONTROL,
                            .env = mm_published_envs,
                            .n_env = 2,
                            AMPO_FIGURE },
  [MM_ARTEFACT_MINATAR] = { .name = "minatar",
                            .suites = 1u << MM_SUITE_MINATAR,
                            .env = mm_published_envs + 2,
                            .n_env = 3,
                            AMPO_FIGURE },
  [MM_ARTEFACT_TRANSFER] = { .name = "transfer",
                             .suites = 1u << MM_SUITE_CONTROL | 1u << MM_SUITE_MINATAR,
                             .env = mm_published_envs,
                             .n_env = MM_PUBLISHED_ENVS,
                             LIST(row, transfer_rows),
                             .n_paper = MM_PUBLISHED_ENVS + 1,
                             .targets = true,
                             .learn_first = true,
                             LIST(claim, transfer_claims),
                             LIST(note, transfer_notes),
                             .annotate = note_agreement,
                             .draw = draw_table },
  [MM_ARTEFACT_MUJOCO] = { .name = "mujoco",
                           .suites = 1u << MM_SUITE_MUJOCO,
                           LIST(env, mujoco_envs),
                           LIST(row, mujoco_rows),
                           .n_paper = 2,
                           .learn_env = "Hopper",
                           LIST(claim, mujoco_claims),
                           .annotate = note_ratios,
                           .heading = "PMD with Gaussian policies, map learned on Hopper",
                           LIST(curve, mujoco_curves),
                           .draw = mm_artefact_draw_curves },
  [MM_ARTEFACT_ALL] = { .name = "all", .suites = (1u << MM_SUITES) - 1 },
};

const char *mm_paper_artefact_name(size_t i) {
  return i < MM_ARTEFACTS ? mm_artefact_name((mm_artefact_id)i) : NULL;
}

const char *mm_artefact_name(mm_artefact_id artefact) {
  return mm_artefact_specs[artefact].name;
}

bool mm_artefact_find(const char *name, mm_artefact_id *out) {
  for (int i = 0; i < MM_ARTEFACTS; i++) {
    if (strcmp(name, mm_artefact_specs[i].name) != 0) continue;
    *out = (mm_artefact_id)i;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// phi: straight lines through (s_j, j/n), s_j = psi_1 + .. + psi_j; for n = 5 and for the n of the
// searches, both at the start of a search

enum { N_PHI = 3 };
static const char *const phi_maps[N_PHI] = { "piecewise:5", "piecewise:100", "negentropy" };

// Knots of the small one, so that the picture can be checked by hand.
static mm_status note_knots(mm_artefact_work *w) {
  mm_map *map;
  size_t n;
  double sum = 0;
  MM_TRY(mm_map_open(phi_maps[0], &map));
  const double *psi = mm_map_piecewise_psi(map, &n);
  mm_status status = MM_OK;
  for (size_t j = 0; j < n && status == MM_OK; j++) {
    sum += psi[j];
    status = mm_artefact_note(&w->paper->result, "n = 5: psi_%zu = %.6f, phi(%.6f) = %zu/%zu",
                              j + 1, psi[j], sum, j + 1, n);
  }
  mm_map_destroy(map);
  return status;
}

static mm_status draw_phi(const mm_artefact_work *w, size_t target, const char *path) {
  static const char *const names[N_PHI] = { "n = 5, initial", "n = 100, initial",
                                            "negative entropy" };
  mm_map_figure_config config = mm_map_figure_config_default();
  config.panels = MM_PANEL_PHI | MM_PANEL_PHI_INVERSE;
  mm_map *map[N_PHI] = { NULL };
  mm_status status = MM_OK;
  (void)w, (void)target;
  for (int i = 0; i < N_PHI && status == MM_OK; i++)
    status = mm_map_open(phi_maps[i], &map[i]);
  if (status == MM_OK)
    status = mm_map_figure_write(&config, (const mm_map *const *)map, names, N_PHI, path);
  for (int i = 0; i < N_PHI; i++)
    mm_map_destroy(map[i]);
  return status;
}

// ---------------------------------------------------------------------------------------------
// The transfer table

// Cells that are on the same side of the negative entropy as the paper's, and how far both lie
// apart.
static mm_status note_agreement(mm_artefact_work *w) {
  mm_artefact *r = &w->paper->result;
  for (size_t t = 0; t < w->n_target; t++) {
    size_t same = 0, ours = 0, near = 0, n = 0;
    for (size_t i = 0; i < r->n_cell; i++) {
      const mm_artefact_cell *c = &r->cell[i];
      mm_estimate e = c->value[MM_QUANTITY_FINAL];
      if (!c->has_paper_colour || strcmp(c->target, w->target[t]) != 0) continue;
      bool better = c->over[0].gain.mean > 0;
      n++;
      ours += better;
      same += better == c->paper_better;
      near += fabs(e.mean - c->paper) <= mm_estimate_half(e);
    }
    MM_TRY(mm_artefact_note(r,
                            "target=%s: above or below negentropy as in the paper in %zu of "
                            "%zu cells (above: %zu here, 21 there); in %zu of them our 95 %% "
                            "interval includes the paper's value",
                            w->target[t], same, n, ours, near));
  }
  return MM_OK;
}

static mm_status draw_table(const mm_artefact_work *w, size_t target, const char *path) {
  return mm_artefact_figure_table(&w->paper->result, w->spec->row, w->spec->n_row, w->spec->env,
                                  w->spec->n_env, w->target[target], path);
}

// ---------------------------------------------------------------------------------------------
// Gaussian policies

// The paper's figure has no numbers: ratios are what can be read off it.
mm_status mm_artefact_note_ratio(mm_artefact *r, const char *env) {
  mm_estimate a = mm_artefact_find_cell(r, env, "learned", "")->value[MM_QUANTITY_FINAL];
  mm_estimate b = mm_artefact_find_cell(r, env, "negentropy", "")->value[MM_QUANTITY_FINAL];
  if (!(a.mean > 0 && b.mean > 0)) return MM_OK;
  return mm_artefact_note(r, "%s: return with the learned map %.3g times that with negentropy", env,
                          a.mean / b.mean);
}

static mm_status note_ratios(mm_artefact_work *w) {
  for (size_t e = 0; e < w->spec->n_env; e++)
    MM_TRY(mm_artefact_note_ratio(&w->paper->result, w->spec->env[e]));
  return MM_OK;
}
