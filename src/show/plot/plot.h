// SPDX-License-Identifier: Apache-2.0
// One description of a figure and one renderer, which is gnuplot's only speaker.
//
// A page has marks (texts, strokes, rectangles) and panels; a panel has a box, two axes and series
// of numbers. Ranges and their margins, tics, thinning and drawing are the renderer's. A new figure
// is one short file that fills the description from its data:
//
//   mm_plot plot = { .width = 480, .height = 260 };
//   mm_plot_text(&plot, 50, 20, MM_LEFT, MM_INK, "return, mean of %zu runs", n_run);
//   mm_plot_panel(&plot, (mm_panel){ .box = { 50, 40, 410, 180 },
//                                    .x = { .range = { 0, end }, .tics = 8 },
//                                    .y = { .pad = 0.05, .tics = 7 } });  // range: what is drawn
//   mm_plot_series(&plot, (mm_series){ .style = MM_LINE, .line = 1 });
//   for (size_t i = 0; i < n; i++)
//     mm_plot_put(&plot, x[i], y[i]);
//   return mm_plot_write(&plot, MM_OK, path);
//
// A heat map or a matrix is an MM_IMAGE, with mm_plot_palette for its colours and mm_plot_text for
// numbers in its cells; intervals are MM_X_INTERVALS in rows named by mm_plot_name; a profile is an
// MM_LINE with an MM_BAND. What gnuplot can draw and is not among the styles yet is a row in the
// table of plot.c. Without memory things are left out and the writing says so: nothing has to be
// checked before.
//
// Places on the page are in units of 1/96 inch, x to the right and y downwards from the top left
// corner, so that things cannot run into each other whatever the terminal does.

#ifndef MM_SHOW_PLOT_H
#define MM_SHOW_PLOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "show/plot/gnuplot.h"

typedef struct mm_box {
  double x, y, w, h;
} mm_box;

typedef struct mm_range {
  double low, high;
} mm_range;

#define MM_RANGE_NONE ((mm_range){ INFINITY, -INFINITY }) // of no numbers

void mm_range_include(mm_range *range, double x); // unless it is not finite

// With a part of its length added at both ends, so that nothing lies on an edge. Numbers that are
// all the same get room around them, zeros alone [-1, 1], and no numbers [0, 1].
mm_range mm_range_pad(mm_range range, double part);

typedef struct mm_axis {
  mm_range range; // without a length: what the series and the lines across the panel cover
  double pad;     // part of it that is added at both ends
  bool from_zero; // begins at 0 instead
  bool log;
  int tics;   // at most so many parts; 0: none, and no border on this side
  bool whole; // tics at whole numbers
  bool quiet; // tics without numbers
  bool plain; // no markup in names on it, see mm_plot_tic
} mm_axis;

typedef struct mm_panel {
  mm_box box; // of the axes
  mm_axis x, y;
  bool no_grid;
  bool full; // has series in any case: needs no stand-in for them
} mm_panel;

typedef enum mm_style {
  MM_LINE,        // x, y; thinned to what can be seen
  MM_MARKED_LINE, // x, y, with points
  MM_POINTS,      // x, y
  MM_BAND,        // x, low, high
  MM_X_INTERVALS, // x, y, low, high; left of the panel a number at its edge; an infinite arm to it
  MM_Y_INTERVALS, // x, y, low, high
  MM_FILL,        // x, y, down to 0; thinned
  MM_POLYGON,     // x, y
  MM_BOXES,       // x, y, left, right, bottom, top, colour
  MM_SEGMENTS,    // x, y, distance to the other end along x and y, colour
  MM_DISCS,       // x, y, radius, colour
  MM_IMAGE        // rows of `columns` numbers in [0, 1], from the bottom up, over `x` and `y`
} mm_style;

typedef struct mm_series {
  mm_style style;
  int line;        // line type, from 1 on; 0: a solid one of the colour
  uint32_t colour; // 0xrrggbb
  double width;    // of lines, if not the line type's
  bool solid;      // without the line type's dashes
  double opacity;  // of a band
  int point;       // gnuplot's type of points, if not the line type's, and their size
  double size;
  const char *name; // for viewers that tell it, or NULL
  size_t columns;   // of an image
  mm_range x, y;
} mm_series;

// The page, its size and what was added to it, which is private to plot.c.
typedef struct mm_plot {
  double width, height;
  bool lettered; // several panels are called a, b, .., as texts refer to them
  struct mm_plot_panel *panel;
  struct mm_plot_series *series;
  struct mm_plot_mark *mark;
  double *number;
  size_t n_panel, n_series, n_mark, n_number;
  bool no_memory;
} mm_plot;

// A panel, drawn after those before; a series of it, the later ones in front; the series' next row
// of numbers, in the order of its style, of which those that are not finite leave gaps.
void mm_plot_panel(mm_plot *plot, mm_panel panel);
void mm_plot_series(mm_plot *plot, mm_series series);
void mm_plot_numbers(mm_plot *plot, const double *numbers, size_t n);
#define mm_plot_put(plot, ...)                                                                     \
  mm_plot_numbers(plot, (const double[]){ __VA_ARGS__ },                                           \
                  sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

// A row of the series for a mean with half the length of its interval: what of these its style has.
void mm_plot_mean(mm_plot *plot, double x, double mean, double half);

// Writes the figure where `status` is MM_OK and releases the description in any case: returns that
// status or how the writing went. The path's ending (.svg, .pdf, .png) chooses the format.
mm_status mm_plot_write(mm_plot *plot, mm_status status, const char *path);

// ---------------------------------------------------------------------------------------------
// Marks. They belong to the panel that is added after them.

enum { MM_LINE_HEIGHT = 18 }; // of text
#define MM_INK 0x000000u
#define MM_LABEL_INK 0x333333u
#define MM_QUIET_INK 0x777777u

typedef enum mm_align { MM_LEFT, MM_CENTRE, MM_RIGHT } mm_align;

// gnuplot's enhanced text, its middle at height y. It must come from the program, not from the
// user, and have no space where its type changes: some viewers of SVG drop that.
void mm_plot_text(mm_plot *plot, double x, double y, mm_align align, uint32_t colour,
                  const char *format, ...) MM_CHECK_FORMAT(6, 7);

// Any text, as it is; a name, shortened to `width` units.
void mm_plot_label(mm_plot *plot, double x, double y, mm_align align, uint32_t colour, bool bold,
                   const char *text);
void mm_plot_name(mm_plot *plot, double x, double y, double width, const char *name);

// What a panel shows, and in grey what of it, above its box.
void mm_plot_heading(mm_plot *plot, mm_box box, const char *title, const char *about);

// What an axis of y shows, upwards beside its panel's box; text of the program.
void mm_plot_side(mm_plot *plot, double x, mm_box box, const char *text);

// A level stroke in a line type, a filled rectangle, a point as in a series.
void mm_plot_stroke(mm_plot *plot, double x, double y, double length, int line);
void mm_plot_fill(mm_plot *plot, mm_box box, uint32_t colour);
void mm_plot_point(mm_plot *plot, double x, double y, mm_series series);

// Names of maps after strokes in their line types, in rows from left to right within the box's
// width; returns the height.
double mm_plot_legend(mm_plot *plot, mm_box box, const char *const *names, size_t n);

// The colours of images as a bar.
void mm_plot_palette(mm_plot *plot, mm_box box);

// In the panel's own numbers: a line across it at a height, with a text at its right end where
// there is one, or at a place of the axis of x; a name on that axis, instead of its numbers.
void mm_plot_level(mm_plot *plot, double y, const char *dashes, const char *text);
void mm_plot_upright(mm_plot *plot, double x, const char *dashes);
void mm_plot_tic(mm_plot *plot, double x, const char *name);

// ---------------------------------------------------------------------------------------------
// What figures share

// The box of the i-th panel in rows of `columns`, of which `first` is the first; the pitch is the
// distance from one to the next.
mm_box mm_plot_cell(mm_box first, size_t i, size_t columns, double pitch_x, double pitch_y);

// The line types of n maps by their names: a map has the same colour and dashes in all figures and
// on the report's page, whose scripts have the same law (styleOf in report_chart.js). learned,
// negentropy, l2, tsallis, initial and random, whatever follows the word ("tsallis:1.5", "learned
// (a search)"), and the tuned controls have line types of their own; a second map of that word and
// all others take those that are left, in order.
void mm_map_lines(const char *const *names, size_t n, int *line);

// The label of an axis that runs to so many environment steps. They are counted in thousands or
// millions, *unit of them, where there are that many.
const char *mm_steps_label(double steps, double *unit);

// The ramp from light to dark that serves probabilities, divergences and other amounts; it works in
// grey too. Its colour at t in [0, 1], and whether white text stands out from a colour.
uint32_t mm_ramp_colour(double t);
bool mm_is_dark(uint32_t colour);

// The smallest of 1, 2, 5 times a power of ten that divides `range` into at most `most` parts.
double mm_tic_step(double range, int most);

#endif
