// SPDX-License-Identifier: Apache-2.0
#include "show/report/report_figure.h"

#include <stdio.h>
#include <string.h>

#include "show/figure/map_figure.h"
#include "show/figure/search_figure.h"
#include "show/figure/transfer_figure.h"
#include "show/figure/tune_figure.h"
#include "show/plot/gnuplot.h"
#include "show/report/report_internal.h"

static const char *const names[] = { "search",     "curves", "transfer", "tuning",
                                     "comparison", "phi",    "policy" };

static bool has(const mm_report_run *run, mm_report_figure_kind kind) {
  const mm_transfer *table = &run->table.transfer;
  switch (kind) {
  case MM_REPORT_SEARCH:
    return run->has_search;
  case MM_REPORT_CURVES:
    return mm_transfer_has_curves(table);
  case MM_REPORT_TRANSFER:
    return table->config.n_map > 1 && table->env_steps > 0;
  case MM_REPORT_TUNING:
    return strcmp(mm_run_command(run->run), "tune") == 0;
  default:
    return false;
  }
}

size_t mm_report_figures(const mm_report *report, mm_report_figure out[MM_REPORT_FIGURES]) {
  size_t n = 0;
  for (size_t i = 0; i < report->n; i++)
    for (int kind = MM_REPORT_SEARCH; kind <= MM_REPORT_TUNING; kind++) {
      if (!has(&report->run[i], (mm_report_figure_kind)kind)) continue;
      mm_report_figure *figure = &out[n++];
      *figure = (mm_report_figure){ .kind = (mm_report_figure_kind)kind, .run = i };
      if (report->n == 1)
        snprintf(figure->name, sizeof figure->name, "%s", names[kind]);
      else
        snprintf(figure->name, sizeof figure->name, "%s-%zu", names[kind], i + 1);
    }
  for (int kind = MM_REPORT_COMPARED; kind <= MM_REPORT_POLICY; kind++) {
    if (kind == MM_REPORT_COMPARED && mm_report_contestants(report) < 2) continue;
    out[n] = (mm_report_figure){ .kind = (mm_report_figure_kind)kind };
    snprintf(out[n].name, sizeof out[n].name, "%s", names[kind]);
    n++;
  }
  return n;
}

// ---------------------------------------------------------------------------------------------
// Maps

enum { NAMES_MOST = 64 };

typedef struct chosen {
  const mm_map *map[MM_FIGURE_LINES];
  char label[MM_FIGURE_LINES][MM_REPORT_LABEL + MM_RUN_PATH_SIZE + 4];
  const char *name[MM_FIGURE_LINES];
  int line[MM_FIGURE_LINES];
  size_t n;
} chosen;

// Several runs have maps of the same label; the run's name tells them apart.
static void choose(const mm_report *report, const mm_report_map *map, chosen *c) {
  if (c->n == MM_FIGURE_LINES) return;
  if (report->n > 1 && map->run >= 0)
    snprintf(c->label[c->n], sizeof *c->label, "%s (%s)", map->label, report->run[map->run].name);
  else
    snprintf(c->label[c->n], sizeof *c->label, "%s", map->label);
  c->name[c->n] = c->label[c->n];
  c->map[c->n++] = map->map;
}

// With more maps than lines: the first one learned and the named ones, then all others.
static void choose_all(const mm_report *report, chosen *c) {
  static const char *const order[] = { "named", "learned", "initial", "control" };
  const mm_report_map *first = NULL;
  c->n = 0;
  for (size_t i = report->maps.n; i-- > 0;)
    if (strcmp(report->maps.map[i].role, "learned") == 0) first = &report->maps.map[i];
  if (first) choose(report, first, c);
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (size_t i = 0; i < report->maps.n; i++) {
      const mm_report_map *map = &report->maps.map[i];
      if (map != first && strcmp(map->role, order[k]) == 0) choose(report, map, c);
    }
}

static size_t add_name(const char **name, size_t n, const char *label) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(name[i], label) == 0) return n;
  if (n < NAMES_MOST) name[n++] = label;
  return n;
}

// The line types that the maps have in the figures of tables, and on the page.
static void choose_lines(const mm_report *report, chosen *c) {
  const char *name[NAMES_MOST];
  int line[NAMES_MOST];
  size_t n = 0;
  for (size_t i = 0; i < report->n; i++) {
    const mm_transfer_config *table = &report->run[i].table.transfer.config;
    for (size_t m = 0; m < table->n_map && n + MM_FIGURE_LINES < NAMES_MOST; m++)
      n = add_name(name, n, table->map[m].label);
  }
  for (size_t i = 0; i < c->n; i++)
    n = add_name(name, n, c->name[i]);
  mm_map_lines(name, n, line);
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < n; k++)
      if (strcmp(name[k], c->name[i]) == 0) c->line[i] = line[k];
}

static mm_status draw_maps(const mm_report *report, unsigned panels, const char *path) {
  mm_map_figure_config config = mm_map_figure_config_default();
  chosen *c = mm_alloc(sizeof *c);
  if (!c) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  choose_all(report, c);
  choose_lines(report, c);
  config.panels = panels;
  config.line = c->line;
  mm_status status = mm_map_figure_write(&config, c->map, c->name, c->n, path);
  mm_free(c);
  return status;
}

static mm_status draw_tuning(const mm_report_run *run, const char *path) {
  mm_tune *tune;
  MM_TRY(mm_tune_read(run->run, &tune));
  mm_status status = mm_tune_figure(tune, path);
  mm_tune_close(tune);
  return status;
}

static mm_status draw_comparison(const mm_report *report, const char *path) {
  mm_report_comparison comparison;
  mm_status status = mm_report_compare(report, &comparison);
  if (status == MM_OK) status = mm_transfer_figure_curves(&comparison.table.transfer, path);
  mm_report_release_comparison(&comparison);
  return status;
}

mm_status mm_report_draw(const mm_report *report, const mm_report_figure *figure,
                         const char *path) {
  const mm_report_run *run = &report->run[figure->run];
  switch (figure->kind) {
  case MM_REPORT_SEARCH:
    return mm_search_figure(run->run, path);
  case MM_REPORT_CURVES:
    return mm_transfer_figure_curves(&run->table.transfer, path);
  case MM_REPORT_TRANSFER:
    return mm_transfer_figure_finals(&run->table.transfer, path);
  case MM_REPORT_TUNING:
    return draw_tuning(run, path);
  case MM_REPORT_COMPARED:
    return draw_comparison(report, path);
  case MM_REPORT_PHI:
    return draw_maps(report, MM_PANEL_PHI | MM_PANEL_PHI_INVERSE, path);
  default:
    return draw_maps(report, MM_PANEL_POLICY, path);
  }
}
