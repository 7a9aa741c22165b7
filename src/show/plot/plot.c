// SPDX-License-Identifier: Apache-2.0
// The description of a figure and its renderer; see plot.h.

#include "show/plot/plot.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct mm_plot_panel {
  mm_panel is;
  size_t n_series, n_mark; // of the plot, when it was added: its marks end here
};

struct mm_plot_series {
  mm_series is;
  char name[MM_FIGURE_TEXT]; // quoted
  size_t first;              // of its numbers
  size_t n;                  // rows, once all are there
  int data;                  // the table's number, or -1 where nothing is to be drawn
};

typedef enum mark_kind { PLACED, LEVEL, UPRIGHT, TIC } mark_kind;

// A command of gnuplot with a hole for its place on the page, if it has one; the place is known
// once the page's height is.
struct mm_plot_mark {
  mark_kind kind;
  mm_box at; // on the page, or in the panel's numbers
  char text[MM_FIGURE_TEXT + 100];
};
#define AT "\001"   // the hole: "screen X,Y",
#define SPAN "\002" // the corners of its box,
#define SIZE "\003" // or a corner and the size

typedef struct mm_plot_panel panel_entry;
typedef struct mm_plot_series series_entry;
typedef struct mm_plot_mark mark_entry;

// What gnuplot calls the styles, and the columns of their rows: x and y count for the ranges, the
// others do not.
static const struct {
  const char *with, *columns;
  bool thinned, filled, coloured; // coloured: row by row
  const char *setting;            // for all of the panel
} styles[] = {
  [MM_LINE] = { "lines", "xy", .thinned = true },
  [MM_MARKED_LINE] = { "linespoints", "xy", .thinned = false },
  [MM_POINTS] = { "points", "xy", .thinned = false },
  [MM_BAND] = { "filledcurves", "xyy", .filled = true },
  [MM_X_INTERVALS] = { "xerrorbars", "xyxx", .setting = "set bars 0.5\n" },
  [MM_Y_INTERVALS] = { "yerrorbars", "xyyy", .setting = "set bars 1\n" },
  [MM_FILL] = { "filledcurves y1=0", "xy", .thinned = true, .filled = true },
  [MM_POLYGON] = { "filledcurves closed", "xy", .filled = true },
  [MM_BOXES] = { "boxxyerror", "xyxxyyc", .filled = true, .coloured = true },
  [MM_SEGMENTS] = { "vectors nohead", "xyddc", .coloured = true },
  [MM_DISCS] = { "circles", "xyrc", .filled = true, .coloured = true },
  [MM_IMAGE] = { "image", "", .thinned = false },
};

enum { LOOK = 160 };

static void append(char out[LOOK], const char *format, ...) MM_CHECK_FORMAT(2, 3);
static void append(char out[LOOK], const char *format, ...) {
  size_t used = strlen(out);
  va_list arguments;
  va_start(arguments, format);
  mm_figure_vprint(out + used, LOOK - used, format, arguments);
  va_end(arguments);
}

// Colour, width and points as gnuplot has them.
static void write_look(const mm_series *s, char out[LOOK]) {
  bool filled = styles[s->style].filled;
  out[0] = '\0';
  if (styles[s->style].coloured)
    append(out, " %s rgb variable", filled ? "fc" : "lc");
  else if (s->line > 0)
    append(out, " lt %d", s->line);
  else
    append(out, " %s rgb '#%06x'", filled ? "fc" : "lc", (unsigned)s->colour);
  if (s->width > 0) append(out, " lw %g", s->width);
  if (s->point > 0) append(out, " pt %d ps %g", s->point, s->size);
  if (s->solid) append(out, " dt solid");
  if (filled)
    append(out, " fs %ssolid %g noborder", s->opacity > 0 ? "transparent " : "",
           s->opacity > 0 ? s->opacity : 1);
}

// ---------------------------------------------------------------------------------------------
// Filling the description

// Room for one more element in an array of n; false where there is no memory.
static bool more(mm_plot *plot, void *array, size_t n, size_t size) {
  void *old, *larger;
  memcpy(&old, array, sizeof old); // any kind of pointer
  larger = mm_grow(old, n, size);
  if (larger) memcpy(array, &larger, sizeof larger);
  plot->no_memory |= !larger;
  return !plot->no_memory;
}

void mm_plot_panel(mm_plot *plot, mm_panel panel) {
  if (more(plot, &plot->panel, plot->n_panel, sizeof *plot->panel))
    plot->panel[plot->n_panel++] = (panel_entry){ panel, plot->n_series, plot->n_mark };
}

void mm_plot_series(mm_plot *plot, mm_series series) {
  if (!more(plot, &plot->series, plot->n_series, sizeof *plot->series)) return;
  series_entry *s = &plot->series[plot->n_series++];
  *s = (series_entry){ .is = series, .first = plot->n_number };
  if (series.style != MM_IMAGE) s->is.columns = strlen(styles[series.style].columns);
  if (series.name) mm_figure_quote(series.name, 60, s->name);
  s->is.name = NULL; // the caller may write over it
}

void mm_plot_numbers(mm_plot *plot, const double *numbers, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (more(plot, &plot->number, plot->n_number, sizeof *plot->number))
      plot->number[plot->n_number++] = numbers[i];
}

void mm_plot_mean(mm_plot *plot, double x, double mean, double half) {
  if (plot->n_series == 0) return;
  mm_style style = plot->series[plot->n_series - 1].is.style;
  if (style == MM_BAND)
    mm_plot_put(plot, x, mean - half, mean + half);
  else if (style == MM_Y_INTERVALS)
    mm_plot_put(plot, x, mean, mean - half, mean + half);
  else
    mm_plot_put(plot, x, mean);
}

static void add_mark(mm_plot *plot, mark_kind kind, mm_box at, const char *format, ...)
    MM_CHECK_FORMAT(4, 5);
static void add_mark(mm_plot *plot, mark_kind kind, mm_box at, const char *format, ...) {
  if (!more(plot, &plot->mark, plot->n_mark, sizeof *plot->mark)) return;
  mark_entry *m = &plot->mark[plot->n_mark++];
  *m = (mark_entry){ .kind = kind, .at = at };
  va_list arguments;
  va_start(arguments, format);
  mm_figure_vprint(m->text, sizeof m->text, format, arguments);
  va_end(arguments);
}

// `text` has its quotes.
static void add_label(mm_plot *plot, double x, double y, mm_align align, uint32_t colour,
                      const char *text, const char *type) {
  static const char *const aligned[] = { "left", "center", "right" };
  char ink[24] = "";
  if (colour != MM_INK) snprintf(ink, sizeof ink, " tc rgb '#%06x'", (unsigned)colour);
  add_mark(plot, PLACED, (mm_box){ x, y, 0, 0 }, "set label %s at " AT " front %s%s%s", text,
           aligned[align], type, ink);
}

void mm_plot_text(mm_plot *plot, double x, double y, mm_align align, uint32_t colour,
                  const char *format, ...) {
  char text[MM_FIGURE_TEXT], quoted[MM_FIGURE_TEXT + 2];
  va_list arguments;
  va_start(arguments, format);
  mm_figure_vprint(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(quoted, sizeof quoted, "'%s'", text);
  add_label(plot, x, y, align, colour, quoted, "");
}

void mm_plot_label(mm_plot *plot, double x, double y, mm_align align, uint32_t colour, bool bold,
                   const char *text) {
  char quoted[MM_FIGURE_TEXT];
  mm_figure_quote(text, MM_FIGURE_TEXT, quoted);
  add_label(plot, x, y, align, colour, quoted,
            bold ? " noenhanced font 'Arial:Bold'" : " noenhanced");
}

void mm_plot_name(mm_plot *plot, double x, double y, double width, const char *name) {
  char quoted[MM_FIGURE_TEXT];
  mm_figure_quote(name, (size_t)fmax(width / MM_FIGURE_CHARACTER, 1), quoted);
  add_label(plot, x, y, MM_LEFT, MM_INK, quoted, " noenhanced");
}

void mm_plot_side(mm_plot *plot, double x, mm_box b, const char *text) {
  char quoted[MM_FIGURE_TEXT];
  snprintf(quoted, sizeof quoted, "'%s'", text);
  add_label(plot, x, b.y + b.h / 2, MM_CENTRE, MM_LABEL_INK, quoted, " rotate");
}

void mm_plot_heading(mm_plot *plot, mm_box b, const char *title, const char *about) {
  mm_plot_text(plot, b.x, b.y - 11, MM_LEFT, MM_INK, "%s", title);
  mm_plot_text(plot, b.x + b.w, b.y - 11, MM_RIGHT, MM_QUIET_INK, "%s", about);
}

void mm_plot_stroke(mm_plot *plot, double x, double y, double length, int line) {
  add_mark(plot, PLACED, (mm_box){ x, y, length, 0 }, "set arrow from " SPAN " nohead lt %d", line);
}

void mm_plot_fill(mm_plot *plot, mm_box box, uint32_t colour) {
  add_mark(plot, PLACED, box,
           "set object rectangle from " SPAN " fc rgb '#%06x' fs solid 1 border lc rgb '#999999' "
           "lw 0.5",
           (unsigned)colour);
}

void mm_plot_point(mm_plot *plot, double x, double y, mm_series series) {
  char look[LOOK];
  write_look(&series, look);
  add_mark(plot, PLACED, (mm_box){ x, y, 0, 0 }, "set label '' at " AT " point%s front", look);
}

void mm_plot_palette(mm_plot *plot, mm_box box) {
  add_mark(plot, PLACED, box, "set colorbox horizontal user origin " SIZE " border 20");
}

// The lines across a panel.
#define ACROSS "nohead lc rgb '#555555' lw 1 dt %s back"

void mm_plot_level(mm_plot *plot, double y, const char *dashes, const char *text) {
  add_mark(plot, LEVEL, (mm_box){ 0, y, 0, 0 },
           "set arrow from graph 0,first %.9g to graph 1,first %.9g " ACROSS, y, y, dashes);
  if (text)
    add_mark(plot, LEVEL, (mm_box){ 0, y, 0, 0 },
             "set label '%s' at graph 1,first %.9g left offset 0.5,0 front tc rgb '#333333'", text,
             y);
}

void mm_plot_upright(mm_plot *plot, double x, const char *dashes) {
  add_mark(plot, UPRIGHT, (mm_box){ x, 0, 0, 0 },
           "set arrow from %.9g,graph 0 to %.9g,graph 1 " ACROSS, x, x, dashes);
}

void mm_plot_tic(mm_plot *plot, double x, const char *name) {
  char text[MM_FIGURE_TEXT];
  mm_figure_quote(name, 10, text);
  add_mark(plot, TIC, (mm_box){ x, 0, 0, 0 }, "%s %.9g", text, x);
}

double mm_plot_legend(mm_plot *plot, mm_box b, const char *const *names, size_t n) {
  const double stroke = 34, start = stroke + 6, between = 18;
  double x = b.x, y = b.y;
  int line[MM_FIGURE_STYLES];
  if (n > MM_FIGURE_STYLES) n = MM_FIGURE_STYLES;
  mm_map_lines(names, n, line);
  for (size_t i = 0; i < n; i++) {
    double room = fmin((double)strlen(names[i]) * MM_FIGURE_CHARACTER + 4, b.w - start);
    if (x > b.x && x + start + room > b.x + b.w) {
      x = b.x;
      y += MM_LINE_HEIGHT;
    }
    mm_plot_stroke(plot, x, y + MM_LINE_HEIGHT / 2.0, stroke, line[i]);
    mm_plot_name(plot, x + start, y + MM_LINE_HEIGHT / 2.0, room, names[i]);
    x += start + room + between;
  }
  return y + MM_LINE_HEIGHT - b.y;
}

mm_box mm_plot_cell(mm_box first, size_t i, size_t columns, double pitch_x, double pitch_y) {
  return (mm_box){ first.x + (double)(i % columns) * pitch_x,
                   first.y + (double)(i / columns) * pitch_y, first.w, first.h };
}

// ---------------------------------------------------------------------------------------------
// Ranges and tics

void mm_range_include(mm_range *range, double x) {
  if (!isfinite(x)) return;
  range->low = fmin(range->low, x);
  range->high = fmax(range->high, x);
}

mm_range mm_range_pad(mm_range r, double part) {
  if (!(r.low <= r.high)) return (mm_range){ 0, 1 };
  if (r.low == 0 && r.high == 0) return (mm_range){ -1, 1 };
  double room = r.high - r.low, largest = fmax(fabs(r.high), fabs(r.low));
  if (!(room > 1e-9 * largest)) room = largest;
  return (mm_range){ r.low - part * room, r.high + part * room };
}

// Numbers of a row along x or along y, with the ends of intervals.
static void include_row(mm_range *r, mm_style style, const double *row, bool along_x) {
  for (const char *c = styles[style].columns; *c; c++) {
    if (*c == (along_x ? 'x' : 'y')) mm_range_include(r, row[c - styles[style].columns]);
  }
}

// The marks of a panel begin behind those of the one before.
static size_t first_mark(const mm_plot *plot, size_t panel) {
  return panel > 0 ? plot->panel[panel - 1].n_mark : 0;
}

static size_t end_series(const mm_plot *plot, size_t panel) {
  return panel + 1 < plot->n_panel ? plot->panel[panel + 1].n_series : plot->n_series;
}

// What is drawn along an axis.
static mm_range find_range(const mm_plot *plot, bool along_x, size_t panel) {
  mm_range r = MM_RANGE_NONE;
  for (size_t i = first_mark(plot, panel); i < plot->panel[panel].n_mark; i++) {
    const mark_entry *m = &plot->mark[i];
    if (m->kind == (along_x ? UPRIGHT : LEVEL)) mm_range_include(&r, along_x ? m->at.x : m->at.y);
  }
  for (size_t i = plot->panel[panel].n_series; i < end_series(plot, panel); i++) {
    const series_entry *s = &plot->series[i];
    for (size_t k = 0; k < s->n; k++)
      include_row(&r, s->is.style, plot->number + s->first + k * s->is.columns, along_x);
  }
  return r;
}

// A range with the axis' margins; on a logarithmic one these are factors.
static mm_range pad(const mm_axis *axis, mm_range r) {
  if (axis->log) {
    double factor = fmax(pow(r.high / r.low, axis->pad), 1.03);
    return (mm_range){ r.low / factor, r.high * factor };
  }
  if (axis->from_zero) r = (mm_range){ 0, fmax(r.high, 0) };
  mm_range padded = mm_range_pad(r, axis->pad);
  return (mm_range){ axis->from_zero ? 0 : padded.low, padded.high };
}

double mm_tic_step(double range, int most) {
  static const double factor[] = { 1, 2, 5 };
  if (most < 1) most = 1;
  double unit = pow(10, floor(log10(range / most)));
  for (int i = 0; i < 3; i++) {
    if (unit * factor[i] * most >= range * (1 - 1e-9)) return unit * factor[i];
  }
  return 10 * unit;
}

// Tics of a logarithmic axis at 1, 2, 5 times powers of ten, or at fewer of them where these are
// too many; at equal steps over the padded range where less than two are in the range.
static size_t find_log_tics(mm_range r, mm_range padded, int most, double tic[64]) {
  static const double factors[][3] = { { 1, 2, 5 }, { 1, 3, 0 }, { 1, 0, 0 } };
  int first = (int)floor(log10(r.low)), last = (int)ceil(log10(r.high)), n = most + 1;
  for (int coarse = 0; n > most; coarse++) {
    n = 0;
    for (int k = first; k <= last; k += coarse > 2 ? coarse - 1 : 1)
      for (int i = 0; i < 3 && n < 60; i++) {
        tic[n] = factors[coarse < 2 ? coarse : 2][i] * pow(10, k);
        n += tic[n] >= r.low * 0.999 && tic[n] <= r.high * 1.001;
      }
  }
  double step = mm_tic_step(padded.high - padded.low, most);
  if (n >= 2) return (size_t)n;
  n = 0;
  for (double k = ceil(padded.low / step); k * step <= padded.high && n < 60; k++)
    tic[n++] = k * step;
  return (size_t)n;
}

// ---------------------------------------------------------------------------------------------
// Rendering: gnuplot's coordinates of the page run from 0 to 1, upwards

typedef struct renderer {
  const mm_plot *plot;
  mm_figure *figure;
  mm_range x, y; // of the panel
} renderer;

static double across(const renderer *r, double x) {
  return x / r->plot->width;
}

static double up(const renderer *r, double y) {
  return 1 - y / r->plot->height;
}

// Names on the axis of x, instead of its numbers; returns whether there are any.
static bool put_names(const renderer *r, size_t panel) {
  const char *before = "set xtics (";
  for (size_t i = first_mark(r->plot, panel); i < r->plot->panel[panel].n_mark; i++) {
    const mark_entry *m = &r->plot->mark[i];
    if (m->kind != TIC) continue;
    mm_figure_script(r->figure, "%s%s", before, m->text);
    before = ", ";
  }
  bool any = before[0] == ',';
  if (any) mm_figure_script(r->figure, ")\n");
  return any;
}

static void put_log_tics(const renderer *r, char name, mm_range range, mm_range padded, int most) {
  double tic[64];
  size_t n = find_log_tics(range, padded, most, tic);
  mm_figure_script(r->figure, "set %ctics (", name);
  for (size_t i = 0; i < n; i++)
    mm_figure_script(r->figure, "%s%.9g", i > 0 ? ", " : "", tic[i]);
  mm_figure_script(r->figure, ")\n");
}

// Returns the range that the axis shows.
static mm_range put_axis(const renderer *r, char name, const mm_axis *a, size_t panel) {
  mm_range found = a->range;
  if (!(found.low < found.high)) found = find_range(r->plot, name == 'x', panel);
  mm_range range = pad(a, found);
  if (a->log && !(found.low > 0 && found.low <= found.high)) found = range = (mm_range){ 0.1, 1 };
  mm_figure_script(r->figure,
                   "set %crange [%.9g:%.9g]\n%s logscale %c\nset format %c '%s'\n"
                   "set %ctics out nomirror scale 0.5 offset 0,%g textcolor rgb '#333333'\n",
                   name, range.low, range.high, a->log ? "set" : "unset", name, name,
                   a->quiet ? "" : "%g", name, name == 'x' ? 0.4 : 0);
  double step = mm_tic_step(range.high - range.low, a->tics);
  if (a->plain) mm_figure_script(r->figure, "set %ctics noenhanced\n", name);
  if (name == 'x' && put_names(r, panel)) return range;
  if (a->tics == 0)
    mm_figure_script(r->figure, "unset %ctics\n", name);
  else if (a->log)
    put_log_tics(r, name, found, range, a->tics);
  else
    mm_figure_script(r->figure, "set %ctics %.9g\n", name, a->whole ? fmax(step, 1) : step);
  return range;
}

static void put_mark(const renderer *r, const mark_entry *m) {
  const mm_box b = m->at;
  const double x = across(r, b.x), top = up(r, b.y), bottom = up(r, b.y + b.h);
  size_t hole = strcspn(m->text, AT SPAN SIZE);
  mm_figure_script(r->figure, "%.*s", (int)hole, m->text);
  if (m->text[hole] == AT[0])
    mm_figure_script(r->figure, "screen %.6f,%.6f", x, top);
  else if (m->text[hole] == SPAN[0])
    mm_figure_script(r->figure, "screen %.6f,%.6f to screen %.6f,%.6f", x, bottom,
                     across(r, b.x + b.w), top);
  else if (m->text[hole] == SIZE[0])
    mm_figure_script(r->figure, "screen %.6f,%.6f size screen %.6f,%.6f", x, bottom,
                     b.w / r->plot->width, b.h / r->plot->height);
  mm_figure_script(r->figure, "%s\n", m->text[hole] ? m->text + hole + 1 : "");
}

enum { N_RAMP = 6 };

// The ramp as the colours of images.
static void put_palette(const renderer *r) {
  mm_figure_script(r->figure, "set palette maxcolors 0 defined (");
  for (int i = 0; i < N_RAMP; i++)
    mm_figure_script(r->figure, "%s%d '#%06x'", i ? ", " : "", i,
                     (unsigned)mm_ramp_colour((double)i / (N_RAMP - 1)));
  mm_figure_script(r->figure, ")\nset cbrange [0:1]\nunset cbtics\n"
                              "set style line 20 lc rgb '#999999' lw 0.5\n");
}

// Keeps of a band no more rows than the panel has units of width; returns how many.
static size_t thin_band(double *row, size_t n, double width) {
  size_t kept = 0, last = n - 1, stride = last / (size_t)fmax(width, 1) + 1;
  for (size_t k = 0; k < last; k += stride)
    memmove(row + 3 * kept++, row + 3 * k, 3 * sizeof *row);
  memmove(row + 3 * kept++, row + 3 * last, 3 * sizeof *row);
  return kept;
}

// Writes the numbers of intervals that lie left of the panel to its edge; returns how many remain.
// Arms without an end run to the edge.
static size_t put_beyond(const renderer *r, double *row, size_t n, uint32_t colour) {
  size_t kept = 0;
  for (size_t k = 0; k < n; k++) {
    double *at = row + 4 * k;
    if (at[2] == -INFINITY) at[2] = fmin(at[0], r->x.low);
    if (at[3] == INFINITY) at[3] = fmax(at[0], r->x.high);
    if (at[0] < r->x.low)
      mm_figure_script(r->figure,
                       "set label '← %s%.3g' at graph 0.01,first %.9g left front tc rgb '#%06x'\n",
                       at[0] < 0 ? "−" : "", fabs(at[0]), at[1], (unsigned)colour);
    else
      memmove(row + 4 * kept++, at, 4 * sizeof *row);
  }
  return kept;
}

// Numbers of a series as a table, without what cannot be seen: of a line, points within 0.08 units
// of it.
static void put_data(const renderer *r, const panel_entry *p, series_entry *s) {
  double *at = r->plot->number + s->first;
  size_t n = s->n;
  if (s->is.style == MM_BAND && n > 1) n = thin_band(at, n, p->is.box.w);
  if (s->is.style == MM_X_INTERVALS) n = put_beyond(r, at, n, s->is.colour);
  if (styles[s->is.style].thinned && !p->is.x.log && !p->is.y.log)
    n = mm_figure_thin(at, n, 0.08 * (r->x.high - r->x.low) / p->is.box.w,
                       0.08 * (r->y.high - r->y.low) / p->is.box.h);
  s->data = n > 0 ? mm_figure_data(r->figure, at, n, s->is.columns) : -1;
  const char *setting = styles[s->is.style].setting;
  if (setting) mm_figure_script(r->figure, "%s", setting);
}

static void put_series(const renderer *r, const series_entry *s) {
  mm_figure_script(r->figure, "$d%d", s->data);
  if (s->is.style == MM_IMAGE)
    mm_figure_script(r->figure, " matrix using (%.9g+($1+0.5)/%.9g):(%.9g+($2+0.5)/%.9g):3",
                     s->is.x.low, (double)s->is.columns / (s->is.x.high - s->is.x.low), s->is.y.low,
                     (double)s->n / (s->is.y.high - s->is.y.low));
  char look[LOOK] = "";
  if (s->is.style != MM_IMAGE) write_look(&s->is, look);
  mm_figure_script(r->figure, " with %s%s %s%s%s", styles[s->is.style].with, look,
                   s->name[0] ? "title " : "notitle", s->name, s->name[0] ? " noenhanced" : "");
}

// a, b, .., z, aa, .. left of a panel's heading.
static void put_letter(const renderer *r, size_t which, mm_box b) {
  char letter[3] = { (char)('a' + which % 26), 0, 0 };
  if (which >= 26) {
    letter[1] = letter[0];
    letter[0] = (char)('a' + (which / 26 - 1) % 26);
  }
  mm_figure_script(r->figure,
                   "set label '%s' at screen %.6f,screen %.6f front right font 'Arial:Bold'\n",
                   letter, across(r, b.x - 7), up(r, b.y - 11));
}

static void put_panel(renderer *r, size_t which) {
  const mm_plot *plot = r->plot;
  const panel_entry *p = &plot->panel[which];
  const mm_panel *is = &p->is;
  const mm_box b = is->box;
  const size_t end = end_series(plot, which);
  r->x = put_axis(r, 'x', &is->x, which);
  r->y = put_axis(r, 'y', &is->y, which);
  for (size_t i = p->n_series; i < end; i++)
    put_data(r, p, &plot->series[i]);
  mm_figure_script(r->figure,
                   "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                   "set tmargin at screen %.6f\nset bmargin at screen %.6f\n"
                   "set border %d lc rgb '#555555' lw 0.8\n%s grid\nunset colorbox\n",
                   across(r, b.x), across(r, b.x + b.w), up(r, b.y), up(r, b.y + b.h),
                   (is->x.tics > 0) + 2 * (is->y.tics > 0), is->no_grid ? "unset" : "set");
  for (size_t i = first_mark(plot, which); i < p->n_mark; i++)
    if (plot->mark[i].kind != TIC) put_mark(r, &plot->mark[i]);
  if (plot->lettered && plot->n_panel > 1) put_letter(r, which, b);
  const char *before = is->full ? "plot " : "plot NaN notitle, ";
  for (size_t i = p->n_series; i < end; i++) {
    if (plot->series[i].data < 0) continue;
    mm_figure_script(r->figure, "%s", before);
    put_series(r, &plot->series[i]);
    before = ", ";
  }
  mm_figure_script(r->figure, "%s\nunset label\nunset arrow\nunset object\n",
                   before[0] == 'p' ? "plot NaN notitle" : "");
}

// The rows of each series, which are known once all numbers are there.
static void count_rows(const mm_plot *plot) {
  for (size_t i = 0; i < plot->n_series; i++) {
    series_entry *s = &plot->series[i];
    size_t end = i + 1 < plot->n_series ? s[1].first : plot->n_number;
    s->n = (end - s->first) / s->is.columns;
  }
}

static mm_status render(const mm_plot *plot, const char *path) {
  if (plot->no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  renderer r = { .plot = plot };
  MM_TRY(mm_figure_create(path, plot->width, plot->height, &r.figure));
  count_rows(plot);
  put_palette(&r);
  mm_figure_script(r.figure, "set multiplot\n");
  for (size_t i = 0; i < plot->n_panel; i++)
    put_panel(&r, i);
  mm_figure_script(r.figure, "unset multiplot\n");
  mm_status status = mm_figure_write(r.figure);
  mm_figure_destroy(r.figure);
  return status;
}

mm_status mm_plot_write(mm_plot *plot, mm_status status, const char *path) {
  if (status == MM_OK) status = render(plot, path);
  mm_free(plot->panel);
  mm_free(plot->series);
  mm_free(plot->mark);
  mm_free(plot->number);
  *plot = (mm_plot){ 0 };
  return status;
}

// ---------------------------------------------------------------------------------------------
// What figures share

// "tsallis:1.5" and "learned (a search)" begin with a map's own word.
static bool is_called(const char *name, const char *word, bool exactly) {
  size_t n = strlen(word);
  if (strncmp(name, word, n) != 0) return false;
  return name[n] == '\0' || (!exactly && !isalnum((unsigned char)name[n]));
}

void mm_map_lines(const char *const *names, size_t n, int *line) {
  static const char *const own[] = { "learned",
                                     "negentropy",
                                     "l2",
                                     "tsallis",
                                     "initial",
                                     "random",
                                     "negentropy:tuned-eta",
                                     "l2:tuned-eta",
                                     "tsallis:tuned-q-eta" };
  enum { OWN = sizeof own / sizeof *own, OTHERS = 6 }; // from the tuned ones on, if they are absent
  bool taken[MM_FIGURE_STYLES] = { false };
  for (size_t i = 0; i < n; i++)
    line[i] = 0;
  // who is called just so comes before those who only begin with the word
  for (int exactly = 1; exactly >= 0; exactly--)
    for (size_t i = 0; i < n; i++)
      for (int k = 0; k < OWN; k++) {
        if (line[i] > 0 || taken[k] || !is_called(names[i], own[k], exactly)) continue;
        line[i] = k + 1;
        taken[k] = true;
      }
  for (size_t i = 0, next = OTHERS; i < n; i++) {
    if (line[i] > 0) continue;
    // what is left, or from the beginning where nothing is
    for (int tried = 0; tried < MM_FIGURE_STYLES && taken[next % MM_FIGURE_STYLES]; tried++)
      next++;
    line[i] = (int)(next++ % MM_FIGURE_STYLES) + 1;
    taken[line[i] - 1] = true;
  }
}

const char *mm_steps_label(double steps, double *unit) {
  *unit = steps >= 4e6 ? 1e6 : steps >= 4e3 ? 1e3 : 1;
  return *unit == 1e6   ? "environment steps, millions"
         : *unit == 1e3 ? "environment steps, thousands"
                        : "environment steps";
}

uint32_t mm_ramp_colour(double t) {
  static const double ramp[N_RAMP][3] = { { 247, 244, 233 }, { 187, 221, 214 }, { 103, 178, 199 },
                                          { 30, 117, 172 },  { 14, 62, 113 },   { 8, 24, 58 } };
  double at = fmin(fmax(t, 0), 1) * (N_RAMP - 1);
  int i = at >= N_RAMP - 1 ? N_RAMP - 2 : (int)at;
  uint32_t colour = 0;
  for (int k = 0; k < 3; k++)
    colour = colour << 8 | (uint32_t)lround(ramp[i][k] + (at - i) * (ramp[i + 1][k] - ramp[i][k]));
  return colour;
}

bool mm_is_dark(uint32_t colour) {
  return 0.299 * (colour >> 16) + 0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255) < 140;
}
