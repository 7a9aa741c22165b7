// A figure's page as a plain sheet: panels, text and marks are placed in the sheet's own units, x
// to the right and y downwards from its top left corner, so that they cannot run into each other
// whatever the terminal does. And the colours, steps and sizes that all figures share.

#ifndef MM_EXPERIMENT_SHEET_H
#define MM_EXPERIMENT_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#include "show/plot/gnuplot.h"

typedef struct mm_box {
  double x, y, w, h;
} mm_box;

typedef struct mm_sheet {
  mm_figure *figure;
  double width, height;
} mm_sheet;

enum { MM_SHEET_LINE = 18 }; // height of a line of text

// The sheet, which has its size, as a file: has `draw` put everything on it, and writes it.
typedef mm_status mm_sheet_draw(void *picture);
mm_status mm_sheet_write(mm_sheet *sheet, mm_sheet_draw *draw, void *picture, const char *path);

// The box of the next panel's axes.
void mm_sheet_place(const mm_sheet *sheet, mm_box box);

// Marks belong to the panel drawn after them; mm_sheet_clear keeps them from the next one.
// `text` is gnuplot's enhanced text, its middle at height y; `how`: left, center or right and other
// options of `set label`. It must come from the program, not from the user, and have no space where
// its type changes: some viewers of SVG drop that.
void mm_sheet_text(const mm_sheet *sheet, double x, double y, const char *text, const char *how);

// Any name, as it is, shortened to `width` units.
void mm_sheet_name(const mm_sheet *sheet, double x, double y, double width, const char *name);

// A level stroke in a line type, and a filled rectangle ("#rrggbb").
void mm_sheet_stroke(const mm_sheet *sheet, double x, double y, double length, int line_type);
void mm_sheet_fill(const mm_sheet *sheet, mm_box box, const char *colour);
void mm_sheet_clear(const mm_sheet *sheet);

// Names of the line types 1..n after strokes of them, in rows from left to right within the box's
// width; draws unless `measure`d only. Returns the height.
double mm_sheet_legend(const mm_sheet *sheet, mm_box box, const char *const *names, size_t n,
                       bool measure);

// The label of an axis that runs to so many environment steps. They are counted in thousands or
// millions, *unit of them, where there are that many.
const char *mm_steps_label(double steps, double *unit);

// The ramp from light to dark that serves probabilities, divergences and other amounts; it works in
// grey too. Its colour at t in [0, 1] as "#rrggbb"; returns whether white text stands out from it.
bool mm_ramp_colour(double t, char out[8]);

// Makes the ramp the palette of the panels to come, over [0, 1], and shows it in the box.
void mm_sheet_palette(const mm_sheet *sheet, mm_box box);

// The smallest of 1, 2, 5 times a power of ten that divides `range` into at most `most` parts.
double mm_tic_step(double range, int most);

#endif
