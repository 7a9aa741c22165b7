// The transfer table: maps learned on each of five environments, trained with on all of them, for
// both regression targets, beside the paper's numbers.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper.h"
#include "paper/reproduce_internal.h"
#include "paper/reproduction_figure.h"

enum { ENVS = MM_PAPER_ENVS, TARGETS = 2, BASES = 3, ROWS = ENVS + BASES };

static const char *const bases[BASES] = { "negentropy", "l2", "random:0" };

typedef struct figure {
  mm_reproduce *r;
  const char *target[TARGETS];
  size_t n_target;
  mm_map *learned[TARGETS][ENVS];
  mm_map *base[BASES];
} figure;

// All maps first: a table is of use only with all of its rows.
static mm_status learn(figure *f) {
  for (size_t t = 0; t < f->n_target; t++)
    for (size_t e = 0; e < ENVS; e++) {
      mm_settings settings;
      MM_TRY(mm_reproduce_settings(&f->r->plan, mm_paper_envs[e], f->target[t], &settings));
      MM_TRY(
          mm_reproduce_learned(f->r, mm_paper_envs[e], f->target[t], &settings, &f->learned[t][e]));
    }
  for (int i = 0; i < BASES; i++)
    MM_TRY(mm_map_open(bases[i], &f->base[i]));
  return MM_OK;
}

static mm_status run_env(figure *f, size_t target, size_t env) {
  mm_reproduce_entrant row[ROWS];
  mm_settings settings;
  char label[96];
  const char *id = mm_paper_envs[env], *named = f->target[target];
  for (size_t m = 0; m < ROWS; m++) {
    bool learned = m < ENVS;
    const char *name = learned ? mm_paper_envs[m] : bases[m - ENVS];
    row[m] = (mm_reproduce_entrant){ .map = learned ? f->learned[target][m] : f->base[m - ENVS],
                                     .name = name,
                                     .label = name,
                                     .control = m > ENVS,
                                     .paper_map = m <= ENVS ? m : MM_REPRODUCE_NO_PAPER };
  }
  MM_TRY(mm_reproduce_settings(&f->r->plan, id, named, &settings));
  snprintf(label, sizeof label, "%s, target=%s", id, named);
  MM_TRY(mm_reproduce_keep_settings(f->r, label, &settings));
  return mm_reproduce_table(f->r, id, named, &settings, row, ROWS);
}

// ---------------------------------------------------------------------------------------------

// Cells that are on the same side of the negative entropy as the paper's, and how far both lie
// apart.
static mm_status note_agreement(figure *f, const char *target) {
  const mm_reproduction *r = &f->r->result;
  size_t same = 0, ours = 0, near = 0, n = 0;
  for (size_t i = 0; i < r->n_cell; i++) {
    const mm_reproduction_cell *c = &r->cell[i];
    mm_estimate e = c->value[MM_QUANTITY_FINAL];
    if (!c->has_paper_colour || strcmp(c->target, target) != 0) continue;
    bool better = c->over[0].gain.mean > 0;
    n++;
    ours += better;
    same += better == c->paper_better;
    near += fabs(e.mean - c->paper) <= mm_estimate_half(e);
  }
  return mm_reproduction_note(&f->r->result,
                              "target=%s: above or below negentropy as in the paper in %zu of %zu "
                              "cells (above: %zu here, 21 there); in %zu of them our 95 %% "
                              "interval includes the paper's value",
                              target, same, n, ours, near);
}

static mm_status claim(figure *f, const char *target) {
  mm_reproduction *r = &f->r->result;
  for (size_t e = 0; e < ENVS; e++) {
    const char *id = mm_paper_envs[e];
    const mm_reproduction_cell *own = mm_reproduction_find(r, id, id, target);
    MM_TRY(mm_reproduction_claim(r, id, target, own->over[0].gain,
                                 "the map learned here is above negentropy"));
  }
  return MM_OK;
}

// The first line is that of classic control.
static void add_label(figure *f) {
  mm_reproduction *r = &f->r->result;
  char label[MM_REPRODUCTION_TEXT];
  mm_reproduce_label(&f->r->plan, MM_SUITE_MINATAR, label);
  snprintf(r->more, sizeof r->more, "on MinAtar: %s%s", label,
           r->foreign_maps ? "; some maps were learned with other settings: see the notes" : "");
}

static mm_status annotate(figure *f) {
  add_label(f);
  MM_TRY(mm_reproduction_note(&f->r->result, "the paper's table comes from the authors' code: "
                                             "compare with target=code; target=paper is its "
                                             "equation"));
  for (size_t t = 0; t < f->n_target; t++) {
    MM_TRY(note_agreement(f, f->target[t]));
    MM_TRY(claim(f, f->target[t]));
  }
  return MM_OK;
}

typedef struct drawing {
  const char *target;
} drawing;

static mm_status draw(const mm_reproduction *result, const char *path, void *user) {
  const drawing *d = user;
  const char *map[ROWS];
  for (size_t m = 0; m < ROWS; m++)
    map[m] = m < ENVS ? mm_paper_envs[m] : bases[m - ENVS];
  return mm_reproduction_figure_table(result, map, ROWS, mm_paper_envs, ENVS, d->target, path);
}

static mm_status make(figure *f) {
  MM_TRY(learn(f));
  for (size_t t = 0; t < f->n_target; t++)
    for (size_t e = 0; e < ENVS; e++)
      MM_TRY(run_env(f, t, e));
  mm_reproduction_summarise(&f->r->result);
  MM_TRY(annotate(f));
  for (size_t t = 0; t < f->n_target; t++) {
    char name[64];
    drawing d = { f->target[t] };
    snprintf(name, sizeof name, "transfer-%s", f->target[t]);
    MM_TRY(mm_reproduce_picture(f->r, name, draw, &d));
  }
  return MM_OK;
}

mm_status mm_reproduce_transfer(mm_reproduce *r) {
  figure f = { .r = r };
  f.n_target = mm_reproduce_targets(&r->plan, f.target);
  mm_status status = make(&f);
  for (int t = 0; t < TARGETS; t++)
    for (int e = 0; e < ENVS; e++)
      mm_map_destroy(f.learned[t][e]);
  for (int i = 0; i < BASES; i++)
    mm_map_destroy(f.base[i]);
  return status;
}
