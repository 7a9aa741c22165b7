// Placing things on a figure's page; see sheet.h.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/plot/sheet.h"

// gnuplot's coordinates run from 0 to 1, upwards
static double across(const mm_sheet *s, double x) {
  return x / s->width;
}

static double up(const mm_sheet *s, double y) {
  return 1 - y / s->height;
}

mm_status mm_sheet_write(mm_sheet *sheet, mm_sheet_draw *draw, void *picture, const char *path) {
  MM_TRY(mm_figure_create(path, sheet->width, sheet->height, &sheet->figure));
  mm_figure_script(sheet->figure, "set multiplot\n");
  mm_status status = draw(picture);
  mm_figure_script(sheet->figure, "unset multiplot\n");
  if (status == MM_OK) status = mm_figure_write(sheet->figure);
  mm_figure_destroy(sheet->figure);
  return status;
}

void mm_sheet_place(const mm_sheet *s, mm_box b) {
  mm_figure_script(s->figure,
                   "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                   "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
                   across(s, b.x), across(s, b.x + b.w), up(s, b.y), up(s, b.y + b.h));
}

void mm_sheet_text(const mm_sheet *s, double x, double y, const char *text, const char *how) {
  mm_figure_script(s->figure, "set label '%s' at screen %.6f,%.6f front %s\n", text, across(s, x),
                   up(s, y), how);
}

void mm_sheet_name(const mm_sheet *s, double x, double y, double width, const char *name) {
  char quoted[MM_FIGURE_TEXT];
  mm_figure_quote(name, (size_t)fmax(width / MM_FIGURE_CHARACTER, 1), quoted);
  mm_figure_script(s->figure, "set label %s at screen %.6f,%.6f front left noenhanced\n", quoted,
                   across(s, x), up(s, y));
}

void mm_sheet_stroke(const mm_sheet *s, double x, double y, double length, int line_type) {
  mm_figure_script(s->figure, "set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead lt %d\n",
                   across(s, x), up(s, y), across(s, x + length), up(s, y), line_type);
}

void mm_sheet_fill(const mm_sheet *s, mm_box b, const char *colour) {
  mm_figure_script(s->figure,
                   "set object rectangle from screen %.6f,%.6f to screen %.6f,%.6f "
                   "fc rgb '%s' fs solid 1 border lc rgb '#999999' lw 0.5\n",
                   across(s, b.x), up(s, b.y + b.h), across(s, b.x + b.w), up(s, b.y), colour);
}

void mm_sheet_clear(const mm_sheet *s) {
  mm_figure_script(s->figure, "unset label\nunset arrow\nunset object\n");
}

double mm_sheet_legend(const mm_sheet *s, mm_box b, const char *const *names, size_t n,
                       bool measure) {
  const double stroke = 34, start = stroke + 6, between = 18;
  double x = b.x, y = b.y;
  for (size_t i = 0; i < n; i++) {
    double room = fmin((double)strlen(names[i]) * MM_FIGURE_CHARACTER + 4, b.w - start);
    if (x > b.x && x + start + room > b.x + b.w) {
      x = b.x;
      y += MM_SHEET_LINE;
    }
    if (!measure) {
      mm_sheet_stroke(s, x, y + MM_SHEET_LINE / 2.0, stroke, (int)i + 1);
      mm_sheet_name(s, x + start, y + MM_SHEET_LINE / 2.0, room, names[i]);
    }
    x += start + room + between;
  }
  return y + MM_SHEET_LINE - b.y;
}

const char *mm_steps_label(double steps, double *unit) {
  *unit = steps >= 4e6 ? 1e6 : steps >= 4e3 ? 1e3 : 1;
  return *unit == 1e6   ? "environment steps, millions"
         : *unit == 1e3 ? "environment steps, thousands"
                        : "environment steps";
}

static const double ramp[][3] = { { 247, 244, 233 }, { 187, 221, 214 }, { 103, 178, 199 },
                                  { 30, 117, 172 },  { 14, 62, 113 },   { 8, 24, 58 } };
enum { N_RAMP = sizeof ramp / sizeof *ramp };

bool mm_ramp_colour(double t, char out[8]) {
  double at = fmin(fmax(t, 0), 1) * (N_RAMP - 1), light = 0;
  int i = at >= N_RAMP - 1 ? N_RAMP - 2 : (int)at;
  static const double weight[3] = { 0.299, 0.587, 0.114 };
  unsigned rgb[3];
  for (int k = 0; k < 3; k++) {
    double value = ramp[i][k] + (at - i) * (ramp[i + 1][k] - ramp[i][k]);
    rgb[k] = (unsigned)lround(value) & 255u;
    light += weight[k] * value;
  }
  snprintf(out, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  return light < 140;
}

void mm_sheet_palette(const mm_sheet *s, mm_box b) {
  mm_figure_script(s->figure, "set palette maxcolors 0 defined (");
  for (int i = 0; i < N_RAMP; i++) {
    char colour[8];
    mm_ramp_colour((double)i / (N_RAMP - 1), colour);
    mm_figure_script(s->figure, "%s%d '%s'", i ? ", " : "", i, colour);
  }
  mm_figure_script(s->figure,
                   ")\nset cbrange [0:1]\nunset cbtics\nset style line 20 lc rgb '#999999' lw 0.5\n"
                   "set colorbox horizontal user origin screen %.6f,%.6f size screen %.6f,%.6f "
                   "border 20\n",
                   across(s, b.x), up(s, b.y + b.h), b.w / s->width, b.h / s->height);
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
