// SPDX-License-Identifier: Apache-2.0
// The pictures that a study leaves in its folder (mirrormap/study.h).

#include <stdio.h>

#include "files/folder.h"
#include "show/figure/search_figure.h"
#include "show/figure/transfer_figure.h"
#include "show/figure/tune_figure.h"
#include "show/plot/gnuplot.h"

static mm_status draw_search(const mm_study *study, const char *path) {
  return mm_search_figure(study->run, path);
}

static mm_status draw_finals(const mm_study *study, const char *path) {
  return mm_transfer_figure_finals(mm_transfer_table(study), path);
}

// Only where there are any.
static mm_status draw_curves(const mm_study *study, const char *path) {
  const mm_transfer *table = mm_transfer_table(study);
  return mm_transfer_has_curves(table) ? mm_transfer_figure_curves(table, path) : MM_OK;
}

static mm_status draw_trials(const mm_study *study, const char *path) {
  return mm_tune_figure((const mm_tune *)study, path);
}

mm_status mm_study_draw(mm_study *study) {
  static const struct {
    mm_study_kind kind;
    const char *name;
    mm_status (*draw)(const mm_study *study, const char *path);
  } figures[] = { { MM_STUDY_LEARN, "search.svg", draw_search },
                  { MM_STUDY_TRANSFER, "transfer.svg", draw_finals },
                  { MM_STUDY_TRANSFER, "transfer.png", draw_finals },
                  { MM_STUDY_TRANSFER, "curves.svg", draw_curves },
                  { MM_STUDY_TRANSFER, "curves.png", draw_curves },
                  { MM_STUDY_TUNE, "tune.svg", draw_trials },
                  { MM_STUDY_TUNE, "tune.png", draw_trials } };
  char path[MM_PATH_SIZE + 64];
  if (!study->run) return MM_FAIL(MM_ERR_INPUT, "the study has no folder to draw to");
  if (study->class->kind != MM_STUDY_LEARN && study->class->cells(study) == 0 &&
      !study->class->done(study))
    return MM_FAIL(MM_ERR_INPUT, "%s: nothing can be drawn before it is done",
                   mm_study_folder(study));
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    if (figures[i].kind != study->class->kind) continue;
    MM_TRY(mm_gnuplot_find(path, sizeof path));
    snprintf(path, sizeof path, "%s/%s", mm_study_folder(study), figures[i].name);
    MM_TRY(figures[i].draw(study, path));
  }
  return MM_OK;
}
