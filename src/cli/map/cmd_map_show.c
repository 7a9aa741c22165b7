// SPDX-License-Identifier: Apache-2.0
// `map show`: what a map is, in numbers and in a small drawing of phi.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/drawing.h"

enum { INDENT = 24 };

static void put_field(const char *name, const char *value) {
  printf("  %-*s%s\n", INDENT - 2, name, value);
}

static void put_number(const char *name, double value) {
  put_field(name, output_number(value));
}

// "6.90776, 0.693147, 0.405465, ... (sum 11.5129, min 0.0100503, max 6.90776)"
static void put_array(const char *name, const double *value, size_t n) {
  double sum = 0, low = INFINITY, high = -INFINITY;
  char text[200];
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    sum += value[i];
    low = fmin(low, value[i]);
    high = fmax(high, value[i]);
    if (i < 3)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                               output_number(value[i]));
  }
  snprintf(text + used, sizeof text - used, "%s (sum %s, min %s, max %s)", n > 3 ? ", ..." : "",
           output_number(sum), output_number(low), output_number(high));
  put_field(name, text);
}

static void put_powers(const mm_map *map) {
  const double *w, *a;
  const size_t n = mm_map_powers_terms(map, &w, &a);
  if (n == 0) return;
  put_array("w", w, n);
  put_array("a", a, n);
}

static void put_anchor(const mm_map *map) {
  size_t n = 0;
  const double *psi = mm_map_piecewise_psi(map, &n);
  if (psi != NULL) put_array("psi", psi, n);
  put_powers(map);
  if (mm_map_get_kind(map) != MM_MAP_NEURAL) return;
  const double *w, *c, *u;
  double a, b, range;
  size_t cells;
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  put_array("w", w, MM_NEURAL_UNITS);
  put_array("c", c, MM_NEURAL_UNITS);
  put_array("u", u, MM_NEURAL_UNITS);
  put_number("a", a);
  put_number("b", b);
  double error = mm_map_table_error(map, &range, &cells);
  char text[120];
  snprintf(text, sizeof text, "error at most %s on a range of %s, %zu cells", output_number(error),
           output_number(range), cells);
  put_field("table", text);
}

// Of a map that moves, anchor by anchor.
static void put_parameters(const mm_map *map) {
  const size_t n = mm_map_stages(map);
  for (size_t i = 0; i < n; i++) {
    if (n > 1)
      put_field("anchor",
                output_format("%zu of %zu: %s", i + 1, n, map_describe_kind(mm_map_stage(map, i))));
    put_anchor(mm_map_stage(map, i));
  }
}

static mm_status draw(const mm_map *map, const mm_map_report *report) {
  double x[DRAWING_SAMPLES], y[DRAWING_SAMPLES];
  double low = report->phi_inverse_at_0, high = report->phi_inverse_at_1;
  if (isinf(low)) {
    // phi never reaches 0: begin where it can no longer be told from it
    mm_status status = mm_map_phi_inverse(map, &(double){ 0.003 }, 1, &low);
    if (status != MM_OK) return status;
  } else {
    low -= 0.05 * (high - low); // the corner at 0 is the point of such maps
  }
  if (!isfinite(low) || !isfinite(high) || !(high > low)) return MM_OK;
  for (int i = 0; i < DRAWING_SAMPLES; i++)
    x[i] = low + (high - low) * i / (DRAWING_SAMPLES - 1);
  mm_status status = mm_map_phi(map, x, DRAWING_SAMPLES, y);
  if (status != MM_OK) return status;
  for (int i = 0; i < DRAWING_SAMPLES; i++)
    y[i] = fmin(fmax(y[i], 0), 1);
  fputc('\n', stdout);
  drawing_curve(y, low, high);
  return MM_OK;
}

// "Hopper, Ant" of a list, "learned 30.3 ± 2.6, l2 22.7 ± 1.7" of returns; "" of anything else that
// is not one value.
static const char *card_text(const cJSON *item) {
  const char *text = "";
  if (cJSON_IsString(item)) return item->valuestring;
  if (cJSON_IsNumber(item)) return output_number(item->valuedouble);
  for (const cJSON *i = item->child; i != NULL; i = i->next) {
    const cJSON *mean = mm_json_find(i, "mean"), *sem = mm_json_find(i, "sem");
    const char *joint = text[0] != '\0' ? ", " : "";
    if (cJSON_IsArray(item) && cJSON_IsString(i))
      text = output_format("%s%s%s", text, joint, i->valuestring);
    else if (cJSON_IsNumber(mean) && cJSON_IsNumber(sem))
      text = output_format("%s%s%s %s", text, joint, i->string,
                           output_estimate((mm_estimate){ mean->valuedouble, sem->valuedouble, 0 },
                                           strstr(i->string, "_minus_") != NULL));
  }
  return text;
}

// Where the map comes from. Settings of a search are left to --json.
static void put_card(const mm_map *map) {
  cJSON *card = NULL;
  const char *text = mm_map_meta(map);
  if (text == NULL || mm_json_parse(text, strlen(text), "meta", &card) != MM_OK) return;
  for (const cJSON *item = card->child; item != NULL; item = item->next) {
    const char *value = output_plain(card_text(item));
    if (value[0] == '\0') continue;
    const char *name = output_plain(item->string);
    help_wrapped(value, INDENT, printf("  %-*s", INDENT - 2, name), terminal_width(stdout));
  }
  cJSON_Delete(card);
}

static int show(const char *name, const mm_map *map) {
  mm_map_report report;
  mm_map_check(map, &report);
  puts(output_styled(STYLE_BOLD, output_plain(name)));
  put_field("kind", map_describe_kind(map));
  if (mm_map_eta(map) > 0) put_number("eta", mm_map_eta(map));
  put_parameters(map);
  put_number("phi^-1(0)", report.phi_inverse_at_0);
  put_number("phi^-1(1)", report.phi_inverse_at_1);
  put_number("integral of phi^-1", report.integral);
  put_field("strictly increasing", report.strictly_increasing ? "yes" : "no");
  put_field("essentially smooth", report.essentially_smooth
                                      ? "yes: every action keeps a positive probability"
                                      : "no: actions can reach probability 0");
  put_field("valid", report.valid ? "yes" : "no: see map check");
  put_card(map);
  return status_code(draw(map, &report));
}

// ---------------------------------------------------------------------------------------------
// JSON

static void add_powers(cJSON *object, const mm_map *map) {
  const double *w, *a;
  const size_t n = mm_map_powers_terms(map, &w, &a);
  if (n == 0) return;
  output_add_numbers(object, "w", w, n);
  output_add_numbers(object, "a", a, n);
}

static void add_plugin(cJSON *object, const mm_map *map) {
  const mm_plugin_parameter *parameter;
  const double *value;
  const size_t n = mm_map_plugin_parameters(map, &parameter, &value);
  for (size_t i = 0; i < n; i++)
    output_add_number(object, parameter[i].name, value[i]);
}

static void add_anchor(cJSON *object, const mm_map *map) {
  size_t n = 0, cells;
  const double *psi = mm_map_piecewise_psi(map, &n), *w, *c, *u;
  double a, b, range;
  if (psi != NULL) {
    output_add_number(object, "n", (double)n);
    output_add_numbers(object, "psi", psi, n);
  }
  if (mm_map_get_kind(map) == MM_MAP_TSALLIS) output_add_number(object, "q", mm_map_tsallis_q(map));
  add_powers(object, map);
  add_plugin(object, map);
  if (mm_map_get_kind(map) != MM_MAP_NEURAL) return;
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  output_add_numbers(object, "w", w, MM_NEURAL_UNITS);
  output_add_numbers(object, "c", c, MM_NEURAL_UNITS);
  output_add_numbers(object, "u", u, MM_NEURAL_UNITS);
  output_add_number(object, "a", a);
  output_add_number(object, "b", b);
  output_add_number(object, "table_error", mm_map_table_error(map, &range, &cells));
  output_add_number(object, "table_range", range);
  output_add_number(object, "table_cells", (double)cells);
}

// Of a map that moves, an array of its anchors.
static void add_parameters(cJSON *object, const mm_map *map) {
  const size_t n = mm_map_stages(map);
  if (n == 1) {
    add_anchor(object, map);
    return;
  }
  cJSON *array = cJSON_AddArrayToObject(object, "stages");
  for (size_t i = 0; i < n; i++) {
    cJSON *anchor = cJSON_CreateObject();
    add_anchor(anchor, mm_map_stage(map, i));
    cJSON_AddItemToArray(array, anchor);
  }
}

static cJSON *describe(const char *name, const mm_map *map) {
  mm_map_report report;
  mm_map_check(map, &report);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", name);
  cJSON_AddStringToObject(object, "kind", mm_map_kind_name(mm_map_get_kind(map)));
  if (mm_map_eta(map) > 0) output_add_number(object, "eta", mm_map_eta(map));
  add_parameters(object, map);
  output_add_number(object, "phi_inverse_at_0", report.phi_inverse_at_0);
  output_add_number(object, "phi_inverse_at_1", report.phi_inverse_at_1);
  output_add_number(object, "integral", report.integral);
  cJSON_AddBoolToObject(object, "strictly_increasing", report.strictly_increasing);
  cJSON_AddBoolToObject(object, "essentially_smooth", report.essentially_smooth);
  cJSON_AddBoolToObject(object, "valid", report.valid);
  if (mm_map_meta(map) != NULL)
    cJSON_AddRawToObject(object, "meta", mm_map_meta(map));
  else
    cJSON_AddNullToObject(object, "meta");
  return object;
}

static int show_json(const map_list *maps) {
  if (maps->n == 1) return output_json(describe(maps->name[0], maps->map[0]), EXIT_DONE);
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "maps");
  for (size_t i = 0; i < maps->n; i++)
    cJSON_AddItemToArray(array, describe(maps->name[i], maps->map[i]));
  return output_json(root, EXIT_DONE);
}

static int run(void *raw) {
  const command_args *args = raw;
  map_list maps;
  int code = map_list_open(&args->positional, &maps);
  if (code == EXIT_DONE && args->json) {
    code = show_json(&maps);
  } else {
    for (size_t i = 0; i < maps.n && code == EXIT_DONE; i++) {
      if (i > 0) fputc('\n', stdout);
      code = show(maps.name[i], maps.map[i]);
    }
  }
  map_list_release(&maps);
  return code;
}

const command command_map_show = {
  .name = "show",
  .summary = "kind, parameters and shape of maps",
  .positional = "MAP...",
  .about = "With --json all parameters: the fields of one map, or an array `maps` of several.",
  .examples = "mirrormap map show l2 tsallis:0.5\n"
              "mirrormap map new piecewise --n 5 | mirrormap map show -",
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(command_args),
  .run = run,
};
