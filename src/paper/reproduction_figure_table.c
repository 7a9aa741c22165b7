// SPDX-License-Identifier: Apache-2.0
// The transfer table as a picture: ours above the paper's in each cell, green as in the paper where
// a map is above the negative entropy, darker where the 95 % interval of the difference excludes 0.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/reproduction_figure.h"
#include "show/picture/page.h"

enum {
  MARGIN = 14,
  LINE = 18,
  CHARACTER = 7, // width of one, or a little more
  NAME = 150,    // width of the column of names
  CELL_WIDTH = 150,
  CELL_HEIGHT = 44,
  TEXT = 0x222222,
  QUIET = 0x666666,
  RULE = 0xbbbbbb,
  BETTER = 0x9fd8a4, // the interval excludes 0
  ABOVE = 0xdff2df,  // above, but it does not
  WORSE = 0xf3c9b8
};

static void put_cell(mm_page *page, const mm_artefact_cell *cell, double x, double y) {
  char text[96];
  mm_estimate ours = cell->value[MM_QUANTITY_FINAL], gain = cell->over[0].gain;
  bool baseline = strcmp(cell->map, "negentropy") == 0;
  if (!baseline && gain.mean > 0)
    mm_page_fill(page, x + 2, y + 2, CELL_WIDTH - 4, CELL_HEIGHT - 4,
                 mm_comparison_sign(&cell->over[0]) > 0 ? BETTER : ABOVE);
  else if (!baseline && mm_comparison_sign(&cell->over[0]) < 0)
    mm_page_fill(page, x + 2, y + 2, CELL_WIDTH - 4, CELL_HEIGHT - 4, WORSE);
  snprintf(text, sizeof text, "%.2f ± %.2f", ours.mean, ours.sem);
  mm_page_put(page, x + CELL_WIDTH / 2.0, y + 14, MM_CENTRE, false, TEXT, text);
  if (isnan(cell->paper)) return;
  snprintf(text, sizeof text, "paper %.2f%s", cell->paper, cell->paper_better ? " *" : "");
  mm_page_put(page, x + CELL_WIDTH / 2.0, y + 31, MM_CENTRE, false, QUIET, text);
}

// A label in lines from y on, or only measured without a page; returns the height of the lines.
static double put_label(mm_page *page, double y, double width, const char *text) {
  size_t most = (size_t)((width - 2 * MARGIN) / CHARACTER);
  double height = 0;
  if (most >= MM_PAGE_TEXT) most = MM_PAGE_TEXT - 1;
  while (*text) {
    char line[MM_ARTEFACT_TEXT];
    text = mm_artefact_next_line(text, most, line);
    if (page) mm_page_put(page, MARGIN, y + height, MM_LEFT, false, QUIET, line);
    height += LINE;
  }
  return height;
}

mm_status mm_artefact_figure_table(const mm_artefact *r, const char *const *map, size_t n_map,
                                   const char *const *env, size_t n_env, const char *target,
                                   const char *path) {
  mm_page page;
  double width = 2 * MARGIN + NAME + CELL_WIDTH * (double)n_env;
  double labels = put_label(NULL, 0, width, r->label) + put_label(NULL, 0, width, r->more);
  MM_TRY(mm_page_create(n_map * n_env + n_map + 4,
                        2 * n_map * n_env + n_map + n_env + 8 + (size_t)(labels / LINE), &page));
  page.width = width;
  page.height = 2 * MARGIN + 4 * LINE + labels + CELL_HEIGHT * (double)n_map;
  char text[MM_ARTEFACT_TEXT];
  double y = MARGIN + LINE / 2.0;
  snprintf(text, sizeof text,
           "Final value of AMPO, target=%s: rows are maps, columns the environment trained on",
           target);
  mm_page_put(&page, MARGIN, y, MM_LEFT, true, TEXT, text);
  y += LINE;
  y += put_label(&page, y, width, r->label);
  y += put_label(&page, y, width, r->more);
  mm_page_put(
      &page, MARGIN, y, MM_LEFT, false, QUIET,
      "green: above negentropy (dark, and red below it: the 95 % interval of the paired difference "
      "excludes 0); *: green in the paper");
  y += 1.5 * LINE;
  for (size_t e = 0; e < n_env; e++)
    mm_page_put(&page, MARGIN + NAME + CELL_WIDTH * ((double)e + 0.5), y, MM_CENTRE, true, TEXT,
                env[e]);
  y += LINE / 2.0;
  for (size_t m = 0; m < n_map; m++, y += CELL_HEIGHT) {
    mm_page_add(&page,
                (mm_shape){ .kind = MM_SHAPE_LINE,
                            .x = MARGIN,
                            .y = y,
                            .x2 = page.width - MARGIN,
                            .y2 = y,
                            .size = 0.5 },
                RULE);
    mm_page_put(&page, MARGIN, y + CELL_HEIGHT / 2.0, MM_LEFT, true, TEXT, map[m]);
    for (size_t e = 0; e < n_env; e++) {
      const mm_artefact_cell *cell = mm_artefact_find_cell(r, env[e], map[m], target);
      if (cell) put_cell(&page, cell, MARGIN + NAME + CELL_WIDTH * (double)e, y);
    }
  }
  mm_status status = mm_page_write(&page, path);
  mm_page_release(&page);
  return status;
}
