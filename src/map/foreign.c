// SPDX-License-Identifier: Apache-2.0
// Families of plug-ins. phi^-1, its slope and its integral are calls, phi is solved for: nothing is
// tabulated, so that everything is as exact as the plug-in is.

#include "map/foreign.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "map/family.h"

static double inverse(const mm_foreign *f, double p) {
  return f->law->inverse(f->x, p);
}

static double slope_at(const void *f, double p) {
  const mm_foreign *foreign = f;
  return foreign->law->slope(foreign->x, p);
}

// ---------------------------------------------------------------------------------------------
// phi

enum { LOG_LEAST = -745, LOG_MOST = 709 }; // exp of these is neither 0 nor infinite

// p with phi^-1(p) - base = y: bracketed Newton in log p. A law that keeps no promise makes some p,
// and no endless loop.
static double solve(const mm_foreign *f, double y, double base, double *slope) {
  const bool below = y < f->anchor - base;
  double low = below ? LOG_LEAST : 0, high = below ? 0 : LOG_MOST, last = INFINITY, p = 1, v = 0;
  *slope = 0;
  if (y <= f->bottom - base) return 0;
  for (int k = 0; k < 200; k++) {
    p = mm_exp_d(v);
    const double excess = (inverse(f, p) - base) - y, rise = p * slope_at(f, p);
    const double size = fabs(excess), step = excess / rise;
    if (excess == 0) break;
    if (excess > 0)
      high = v;
    else
      low = v;
    if (fabs(step) < 0x1p-53 * fmax(fabs(v), 1)) break;
    double next = v - step;
    if (!(next > low && next < high) || size > 0.1 * last) next = low + 0.5 * (high - low);
    if (next == v || next <= low || next >= high) break;
    last = size;
    v = next;
  }
  *slope = p > 0 ? 1 / slope_at(f, p) : 0;
  return p;
}

// In the place of mm_phi_at and mm_phi_inverse_at of the built-in kinds the projections call these.
#define AT(real, suffix)                                                                           \
  static mm_point_##suffix foreign_at_##suffix(const mm_potential_##suffix *f, real y) {           \
    double slope;                                                                                  \
    const double p = solve(f->foreign, (double)y, f->foreign->anchor, &slope);                     \
    return (mm_point_##suffix){ (real)p, (real)slope, 0, 0 };                                      \
  }                                                                                                \
  static real foreign_inverse_at_##suffix(const mm_potential_##suffix *f, real p) {                \
    return (real)(inverse(f->foreign, (double)p) - f->foreign->anchor);                            \
  }
AT(double, d)
AT(float, f)
#define mm_phi_at_d foreign_at_d
#define mm_phi_at_f foreign_at_f
#define mm_phi_inverse_at_d foreign_inverse_at_d
#define mm_phi_inverse_at_f foreign_inverse_at_f
#include "map/simplex.h"

#define LOOPS(real, suffix)                                                                        \
  void mm_foreign_phi_##suffix(const mm_potential_##suffix *f, const real *x, size_t n,            \
                               real *out) {                                                        \
    double slope;                                                                                  \
    for (size_t i = 0; i < n; i++)                                                                 \
      out[i] = (real)solve(f->foreign, (double)x[i], 0, &slope);                                   \
  }                                                                                                \
  void mm_foreign_phi_inverse_##suffix(const mm_potential_##suffix *f, const real *p, size_t n,    \
                                       real *out) {                                                \
    for (size_t i = 0; i < n; i++)                                                                 \
      out[i] = (real)inverse(f->foreign, (double)p[i]);                                            \
  }                                                                                                \
  void mm_foreign_project_##suffix(const mm_potential_##suffix *f, mm_projection method,           \
                                   const real *scores, size_t rows, size_t n, real *probs,         \
                                   real *lambda) {                                                 \
    for (size_t r = 0; r < rows; r++) {                                                            \
      if (method == MM_PROJECTION_BISECT10)                                                        \
        mm_project_bisect10_##suffix(f, scores + r * n, n, probs + r * n, lambda + r);             \
      else                                                                                         \
        mm_project_##suffix(f, scores + r * n, n, probs + r * n, lambda + r);                      \
    }                                                                                              \
  }
LOOPS(double, d)
LOOPS(float, f)

void mm_foreign_gradients(const mm_potential_d *f, size_t n, const double *log_p, double *out) {
  for (size_t i = 0; i < n; i++)
    out[i] = inverse(f->foreign, mm_exp_d(fmax(log_p[i], LOG_LEAST)));
}

// ---------------------------------------------------------------------------------------------
// Densities

// phi^-1(e^p) - phi^-1(e^q); where it would cancel, from the slope in the middle.
static double rise_between(const mm_foreign *f, double log_p, double log_q, double move) {
  const double p = mm_exp_d(log_p), q = mm_exp_d(log_q), middle = mm_exp_d(0.5 * (log_p + log_q));
  if (fabs(move) < 1e-4) return middle * slope_at(f, middle) * move;
  return inverse(f, p) - inverse(f, q);
}

void mm_foreign_rises(const mm_density *f, size_t n, const float *log_p, const float *log_q,
                      float *out, uint8_t *acted) {
  const double scale = f->d.log_scale, range = MM_DENSITY_RANGE;
  for (size_t i = 0; i < n; i++) {
    const double p = (double)log_p[i] + scale, q = (double)log_q[i] + scale;
    const double near_p = mm_density_clamp_d(p, range), near_q = mm_density_clamp_d(q, range);
    const bool inside = near_p == p && near_q == q;
    const double move = inside ? (double)log_p[i] - (double)log_q[i] : near_p - near_q;
    int64_t flags = inside ? 0 : MM_DENSITY_CLAMPED;
    const double rise = rise_between(f->exact.foreign, near_p, near_q, move);
    out[i] = (float)mm_density_bounded_d(rise, &flags);
    acted[i] = (uint8_t)flags;
  }
}

static double foreign_gap(const mm_potential_d *f, double p, double q) {
  const mm_foreign *g = f->foreign;
  const double d = p - q;
  if (d == 0) return 0;
  if (q > 0 && fabs(d) < 0.5 * q) return mm_slope_gap(slope_at, g, p, q);
  const double at_q = inverse(g, q);
  if (at_q == -INFINITY) return INFINITY;
  return (g->law->integral(g->x, p) - g->law->integral(g->x, q)) - at_q * d;
}

// ---------------------------------------------------------------------------------------------
// Maps. What is called without a map knows its family by its place in the table.

static struct {
  mm_plugin_potential law;
  mm_map_family family;
  char random_name[80], usage[80];
} added[MM_FOREIGN_MOST];
static size_t n_added;

static mm_map_kind kind_of(size_t i) {
  return (mm_map_kind)(MM_MAP_KINDS + i);
}

static bool is_within(const mm_plugin_parameter *p, double x) {
  return x >= p->least && x <= p->most && (p->linear || x > p->least);
}

static mm_status create(size_t i, const double *x, mm_map **out) {
  const mm_plugin_potential *law = &added[i].law;
  *out = NULL;
  for (int32_t k = 0; k < law->n_parameter; k++) {
    const mm_plugin_parameter *p = &law->parameter[k];
    if (!is_within(p, x[k]))
      return MM_FAIL(MM_ERR_INPUT, "%s: %s = %.17g: expected a number %s %.17g and at most %.17g",
                     law->name, p->name, x[k], p->linear ? ">=" : ">", p->least, p->most);
  }
  MM_TRY(mm_map_begin(kind_of(i), mm_arena_size_of(sizeof(mm_foreign)), out));
  mm_map *map = *out;
  mm_foreign *f = mm_arena_take(&map->arena, sizeof *f);
  memset(f, 0, sizeof *f);
  f->law = law;
  if (law->n_parameter > 0) memcpy(f->x, x, (size_t)law->n_parameter * sizeof *x);
  f->anchor = map->exact.anchor = inverse(f, 1);
  f->bottom = inverse(f, 0);
  map->exact.foreign = map->engine_f.foreign = f;
  map->finite = isfinite(f->anchor) && f->bottom < f->anchor;
  mm_map_end(map);
  return MM_OK;
}

static void starts(size_t i, double *x) {
  for (int32_t k = 0; k < added[i].law.n_parameter; k++)
    x[k] = added[i].law.parameter[k].start;
}

static mm_status open_text(size_t i, const char *text, const char *argument, mm_map **out) {
  double x[MM_PLUGIN_PARAMETERS];
  int32_t k = 0;
  starts(i, x);
  for (const char *at = argument; at; k++) {
    char number[64];
    const size_t length = strcspn(at, ",");
    snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 0, at);
    if (k >= added[i].law.n_parameter || !mm_json_parse_number(number, &x[k]))
      return MM_FAIL(MM_ERR_INPUT, "map '%s': expected %s", text, added[i].usage);
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  if (argument && k != added[i].law.n_parameter)
    return MM_FAIL(MM_ERR_INPUT, "map '%s': expected %s", text, added[i].usage);
  return create(i, x, out);
}

static mm_status read_file(size_t i, const cJSON *root, const char *source, mm_map **out) {
  const mm_plugin_potential *law = &added[i].law;
  const char *allowed[MM_PLUGIN_PARAMETERS + 5] = { MM_MAP_FILE_KEYS };
  double x[MM_PLUGIN_PARAMETERS];
  for (int32_t k = 0; k < law->n_parameter; k++)
    allowed[4 + k] = law->parameter[k].name;
  MM_TRY(mm_json_check_keys(root, source, allowed));
  for (int32_t k = 0; k < law->n_parameter; k++)
    MM_TRY(mm_json_get_number(root, source, law->parameter[k].name, &x[k]));
  return mm_map_in_file(create(i, x, out), source);
}

static bool foreign_write(cJSON *root, const mm_potential_d *f) {
  const mm_plugin_potential *law = f->foreign->law;
  for (int32_t k = 0; k < law->n_parameter; k++)
    if (!mm_json_put(root, law->parameter[k].name, mm_json_number(f->foreign->x[k]))) return false;
  return true;
}

static double to_coordinate(const mm_plugin_parameter *p, double x) {
  return p->linear ? x : fmax(mm_log_d(x - p->least), MM_SEARCH_MIN);
}

static void search_initial(size_t i, double *z) {
  const mm_plugin_potential *law = &added[i].law;
  for (int32_t k = 0; k < law->n_parameter; k++)
    z[k] = to_coordinate(&law->parameter[k], law->parameter[k].start);
}

static mm_status from_search(size_t i, const double *z, mm_map **out) {
  const mm_plugin_potential *law = &added[i].law;
  double x[MM_PLUGIN_PARAMETERS];
  for (int32_t k = 0; k < law->n_parameter; k++) {
    const mm_plugin_parameter *p = &law->parameter[k];
    x[k] = p->linear ? z[k] : p->least + mm_exp_d(fmin(fmax(z[k], MM_SEARCH_MIN), 700));
    x[k] = fmin(fmax(x[k], p->least), p->most);
  }
  return create(i, x, out);
}

static void foreign_to_search(const mm_potential_d *f, double *z) {
  const mm_foreign *g = f->foreign;
  for (int32_t k = 0; k < g->law->n_parameter; k++)
    z[k] = to_coordinate(&g->law->parameter[k], g->x[k]);
}

static size_t place_of(mm_map_kind kind) {
  return (size_t)kind - MM_MAP_KINDS;
}

static mm_status foreign_mix(const mm_potential_d *a, const mm_potential_d *b, double share,
                             mm_map **out) {
  double x[MM_PLUGIN_PARAMETERS];
  for (int32_t k = 0; k < a->foreign->law->n_parameter; k++)
    x[k] = mm_map_between(a->foreign->x[k], b->foreign->x[k], share);
  return create(place_of(a->kind), x, out);
}

// ---------------------------------------------------------------------------------------------
// Does a law keep its promises? Looked at on a grid of p, close to 0 and above 1 too.

// Is x among the slopes at three places, or between them?
static bool is_slope(const mm_foreign *f, double x, double p, double d) {
  const double a = slope_at(f, p), b = slope_at(f, p + 0.5 * d), c = slope_at(f, p + d);
  return x >= 0.999 * fmin(a, fmin(b, c)) && x <= 1.001 * fmax(a, fmax(b, c));
}

static void check_pair(const mm_foreign *f, double p, double next, mm_map_report *report) {
  const double at = inverse(f, p), after = inverse(f, next), d = next - p;
  const double area = f->law->integral(f->x, next) - f->law->integral(f->x, p);
  const double little = 1e-9 * (1 + fabs(at) + fabs(after)) * d;
  if (!isfinite(at) || !isfinite(after)) {
    MM_MAP_FAILURE("phi^-1(%.6g) = %g: expected a finite number", p, at);
  } else if (!(after > at)) {
    report->strictly_increasing = false;
    MM_MAP_FAILURE("phi^-1 does not increase from p = %.6g to %.6g", p, next);
  } else if (!is_slope(f, (after - at) / d, p, d)) {
    MM_MAP_FAILURE("the slope at p = %.6g is %.6g: expected about %.6g", p, slope_at(f, p),
                   (after - at) / d);
  } else if (!(area >= at * d - little && area <= after * d + little)) {
    MM_MAP_FAILURE("the integral from p = %.6g to %.6g is %.6g: expected about %.6g", p, next, area,
                   0.5 * (at + after) * d);
  }
}

static void foreign_check(const mm_map *map, mm_map_report *report) {
  const mm_foreign *f = map->exact.foreign;
  for (double p = 1e-6; p < 8 && report->n_failure == 0; p *= 1.25)
    check_pair(f, p, 1.02 * p, report);
}

// ---------------------------------------------------------------------------------------------
// The table

#define SLOT_LIST(X)                                                                               \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define SLOT(i)                                                                                    \
  static mm_status open_##i(const char *text, const char *argument, mm_map **out) {                \
    return open_text(i, text, argument, out);                                                      \
  }                                                                                                \
  static mm_status read_##i(const cJSON *root, const char *source, mm_map **out) {                 \
    return read_file(i, root, source, out);                                                        \
  }                                                                                                \
  static void initial_##i(size_t n, double *z) {                                                   \
    (void)n;                                                                                       \
    search_initial(i, z);                                                                          \
  }                                                                                                \
  static mm_status from_search_##i(const double *z, size_t n, mm_map **out) {                      \
    (void)n;                                                                                       \
    return from_search(i, z, out);                                                                 \
  }
SLOT_LIST(SLOT)

#define ENTRY(i)                                                                                   \
  { .open = open_##i,                                                                              \
    .read = read_##i,                                                                              \
    .search_initial = initial_##i,                                                                 \
    .from_search = from_search_##i },
static const mm_map_family slots[MM_FOREIGN_MOST] = { SLOT_LIST(ENTRY) };

// NAME, or NAME:X,Y,..
static void describe_usage(const mm_plugin_potential *law, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "%s", law->name);
  for (int32_t k = 0; k < law->n_parameter && used < size; k++)
    used += (size_t)snprintf(out + used, size - used, "%c%s", k == 0 ? ':' : ',',
                             law->parameter[k].name);
}

void mm_foreign_add(const mm_plugin_potential *law) {
  const size_t i = n_added;
  mm_map_family *family = &added[i].family;
  added[i].law = *law;
  *family = slots[i];
  describe_usage(law, added[i].usage, sizeof added[i].usage);
  snprintf(added[i].random_name, sizeof added[i].random_name, "random-%s", law->name);
  family->usage = added[i].usage;
  family->write = foreign_write;
  family->gap = foreign_gap;
  family->check = foreign_check;
  family->mix = foreign_mix;
  if (law->n_parameter > 0) {
    family->search_size = (size_t)law->n_parameter;
    family->to_search = foreign_to_search;
    family->random_name = added[i].random_name;
    family->random_spread = 0.5;
    for (const char *c = law->name; *c;
         c++) // the streams of its controls, apart from those of kinds
      family->random_lane = (family->random_lane * 31 + (unsigned char)*c) | 0x100;
  } else {
    family->search_initial = NULL;
    family->from_search = NULL;
  }
  n_added++;
  if (family->from_search) mm_map_search_add(kind_of(i));
}

size_t mm_foreign_count(void) {
  return n_added;
}

const mm_plugin_potential *mm_foreign_law(size_t i) {
  return i < n_added ? &added[i].law : NULL;
}

size_t mm_map_plugin_parameters(const mm_map *map, const mm_plugin_parameter **parameter,
                                const double **value) {
  const mm_foreign *f = map->exact.foreign;
  *parameter = f ? f->law->parameter : NULL;
  *value = f ? f->x : NULL;
  return f ? (size_t)f->law->n_parameter : 0;
}

const mm_map_family *mm_foreign_family(size_t i) {
  return &added[i].family;
}

// ---------------------------------------------------------------------------------------------

static bool is_field(const char *name) {
  static const char *const own[] = { MM_MAP_FILE_KEYS, "stages" };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(name, own[i]) == 0) return true;
  return false;
}

static mm_status check_parameter(const mm_plugin_potential *law, int32_t k) {
  const mm_plugin_parameter *p = &law->parameter[k];
  if (!p->name || !mm_is_plain_name(p->name) || is_field(p->name))
    return MM_FAIL(MM_ERR_INPUT, "potential '%s': parameter %d: expected a name of its own",
                   law->name, (int)k);
  if (!(p->least < p->most && isfinite(p->least) && isfinite(p->most)) || !is_within(p, p->start))
    return MM_FAIL(MM_ERR_INPUT,
                   "potential '%s': parameter '%s': expected finite numbers least < most, and the "
                   "start between them",
                   law->name, p->name);
  for (int32_t j = 0; j < k; j++)
    if (strcmp(p->name, law->parameter[j].name) == 0)
      return MM_FAIL(MM_ERR_INPUT, "potential '%s': parameter '%s' comes twice", law->name,
                     p->name);
  return MM_OK;
}

mm_status mm_foreign_check(const mm_plugin_potential *law) {
  if (!law->name || !mm_is_plain_name(law->name))
    return MM_FAIL(MM_ERR_INPUT, "a potential without a name: expected letters, digits and . _ -");
  for (size_t i = 0; i < mm_map_kind_count(); i++)
    if (strcmp(law->name, mm_map_kind_name((mm_map_kind)i)) == 0)
      return MM_FAIL(MM_ERR_INPUT, "potential '%s': there is a family of that name", law->name);
  if (n_added == MM_FOREIGN_MOST)
    return MM_FAIL(MM_ERR_INPUT, "potential '%s': there are %d of plug-ins, the most there can be",
                   law->name, MM_FOREIGN_MOST);
  if (!law->summary || !law->inverse || !law->slope || !law->integral)
    return MM_FAIL(MM_ERR_INPUT, "potential '%s': expected a summary, inverse, slope and integral",
                   law->name);
  if (law->n_parameter < 0 || law->n_parameter > MM_PLUGIN_PARAMETERS ||
      (law->n_parameter > 0 && !law->parameter))
    return MM_FAIL(MM_ERR_INPUT, "potential '%s': %d parameters: expected 0 to %d", law->name,
                   (int)law->n_parameter, MM_PLUGIN_PARAMETERS);
  for (int32_t k = 0; k < law->n_parameter; k++)
    MM_TRY(check_parameter(law, k));
  return MM_OK;
}
