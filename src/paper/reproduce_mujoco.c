// The figure of continuous control: a map searched on Hopper, then PMD with Gaussian policies on
// three bodies with it, with the negative entropy and with the controls.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/reproduce_internal.h"
#include "paper/reproduction_figure.h"

enum { BODIES = 3, ROWS = 9 };

static const char *const bodies[BODIES] = { "Hopper", "HalfCheetah", "Ant" };

typedef struct figure {
  mm_reproduce *r;
  mm_map *map[ROWS]; // the learned one first
} figure;

// ---------------------------------------------------------------------------------------------
// Trainings

static const struct {
  const char *label;
  bool control, tuned;
} rows[ROWS] = {
  { "learned", false, false },    { "negentropy", false, false },
  { "l2", true, false },          { "initial", true, false },
  { "random", true, false },      { "tsallis:0.5", true, false },
  { "tsallis:1.5", true, false }, { "negentropy:tuned-eta", true, true },
  { "l2:tuned-eta", true, true },
};

// Initial and random map are of the family that is searched.
static mm_status open_others(figure *f, const mm_settings *settings) {
  bool neural = mm_search_map_kind(&settings->search) == MM_MAP_NEURAL;
  char initial[32] = "neural";
  if (!neural) snprintf(initial, sizeof initial, "piecewise:%.0f", settings->search.n);
  const char *const text[ROWS] = {
    NULL,          "negentropy",  "l2",         initial, neural ? "random-neural:0" : "random:0",
    "tsallis:0.5", "tsallis:1.5", "negentropy", "l2"
  };
  for (int i = 1; i < ROWS; i++)
    MM_TRY(mm_map_open(text[i], &f->map[i]));
  return MM_OK;
}

static mm_status open_maps(figure *f) {
  mm_settings settings;
  MM_TRY(mm_reproduce_settings(&f->r->plan, bodies[0], "", &settings));
  MM_TRY(mm_reproduce_learn(f->r, "learn-Hopper", bodies[0], &settings, &f->map[0]));
  return open_others(f, &settings);
}

static mm_status run_body(figure *f, const char *body) {
  mm_settings settings;
  mm_reproduce_entrant row[ROWS];
  for (size_t i = 0; i < ROWS; i++)
    row[i] = (mm_reproduce_entrant){ .map = f->map[i],
                                     .name = rows[i].label,
                                     .label = rows[i].label,
                                     .control = rows[i].control,
                                     .tuned = rows[i].tuned,
                                     .paper_map = MM_REPRODUCE_NO_PAPER };
  MM_TRY(mm_reproduce_settings(&f->r->plan, body, "", &settings));
  MM_TRY(mm_reproduce_keep_settings(f->r, body, &settings));
  return mm_reproduce_table(f->r, body, "", &settings, row, ROWS);
}

// ---------------------------------------------------------------------------------------------
// What the paper says of it

// The paper's figure has no numbers: ratios are what can be read off it.
static mm_status note_ratio(mm_reproduction *r, const mm_reproduction_cell *learned,
                            const mm_reproduction_cell *base) {
  mm_estimate a = learned->value[MM_QUANTITY_FINAL], b = base->value[MM_QUANTITY_FINAL];
  if (!(a.mean > 0 && b.mean > 0)) return MM_OK;
  return mm_reproduction_note(r, "%s: return with the learned map %.3g times that with negentropy",
                              learned->env, a.mean / b.mean);
}

mm_status mm_reproduce_claim_mujoco(mm_reproduction *r, const char *body) {
  const mm_reproduction_cell *learned = mm_reproduction_find(r, body, "learned", "");
  const mm_reproduction_cell *base = mm_reproduction_find(r, body, "negentropy", "");
  MM_TRY(mm_reproduction_claim(r, body, "", learned->over[0].gain,
                               "final return: learned > negentropy"));
  return note_ratio(r, learned, base);
}

static mm_status note_physics(mm_reproduce *r, const mm_settings *settings) {
  char flavour[MM_SETTING_TEXT_SIZE], physics[MM_SETTING_TEXT_SIZE];
  mm_settings_text(settings, "flavour", flavour);
  mm_settings_text(settings, "physics", physics);
  bool library = strcmp(physics, "mujoco") == 0;
  bool theirs = strcmp(flavour, "gymnasium") == 0;
  return mm_reproduction_note(
      &r->result,
      "bodies of the flavour '%s', moved by %s; the paper has brax and does not say which of its "
      "engines: the order of the maps can be compared with its figure, returns can not",
      theirs ? "gymnasium" : "brax", library ? "the MuJoCo library" : "our own engine");
}

static mm_status annotate(figure *f) {
  mm_settings settings;
  MM_TRY(mm_reproduce_settings(&f->r->plan, bodies[0], "", &settings));
  MM_TRY(note_physics(f->r, &settings));
  MM_TRY(mm_reproduce_note_tuning(f->r, &settings, f->r->tune_seeds));
  for (int b = 0; b < BODIES; b++)
    MM_TRY(mm_reproduce_claim_mujoco(&f->r->result, bodies[b]));
  return MM_OK;
}

static mm_status draw(const mm_reproduction *result, const char *path, void *user) {
  static const char *const shown[] = { "learned", "negentropy" };
  static const mm_reproduction_row curves[] = { { "value", "return", false } };
  (void)user;
  mm_reproduction_grid grid = { .row = curves,
                                .n_row = 1,
                                .env = bodies,
                                .title = bodies,
                                .n_env = BODIES,
                                .map = shown,
                                .n_map = 2,
                                .target = "",
                                .heading = "PMD with Gaussian policies, map learned on Hopper" };
  return mm_reproduction_figure_grid(result, &grid, path);
}

static mm_status make(figure *f) {
  MM_TRY(open_maps(f));
  for (int b = 0; b < BODIES; b++)
    MM_TRY(run_body(f, bodies[b]));
  mm_reproduction_summarise(&f->r->result);
  MM_TRY(annotate(f));
  return mm_reproduce_picture(f->r, "mujoco", draw, NULL);
}

mm_status mm_reproduce_mujoco(mm_reproduce *r) {
  figure f = { .r = r };
  mm_status status = make(&f);
  for (int i = 0; i < ROWS; i++)
    mm_map_destroy(f.map[i]);
  return status;
}
