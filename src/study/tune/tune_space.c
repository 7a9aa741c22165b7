// SPDX-License-Identifier: Apache-2.0
// Ranges of settings: from YAML, to places in [0, 1] and back.

#include "study/tune/tune_space.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/spelling.h"
#include "base/status.h"
#include "base/yaml.h"

enum { FILE_MAX = 1 << 20, USUAL_POINTS = 5, DIGITS = 4 };

// By mm_tune_map_parameter, with the values that there can be.
static const struct {
  const char *name;
  double low, high;
} map_parameters[MM_TUNE_MAP_PARAMETERS] = {
#define ROW(NAME, name, low, high) [MM_TUNE_MAP_##NAME] = { name, low, high },
  MM_TUNE_MAP_LIST(ROW)
#undef ROW
};

static mm_tune_map_parameter find_map_parameter(const char *name) {
  int i = MM_TUNE_MAP_PARAMETERS - 1;
  while (i > MM_TUNE_MAP_NONE && strcmp(map_parameters[i].name, name) != 0)
    i--;
  return (mm_tune_map_parameter)i;
}

static const char *const method_names[MM_TUNE_METHODS] = { "grid", "cma-es", "halving" };
static const char *const scale_names[MM_TUNE_SCALES] = { "log", "linear", "integer", "choice" };

const char *mm_tune_method_name(mm_tune_method method) {
  return method_names[method];
}

const char *mm_tune_scale_name(mm_tune_scale scale) {
  return scale_names[scale];
}

static bool find_name(const char *name, const char *const *names, int n, int *out) {
  for (*out = 0; *out < n; ++*out)
    if (strcmp(names[*out], name) == 0) return true;
  return false;
}

bool mm_tune_method_find(const char *name, mm_tune_method *out) {
  int i;
  bool found = find_name(name, method_names, MM_TUNE_METHODS, &i);
  if (found) *out = (mm_tune_method)i;
  return found;
}

bool mm_tune_scale_find(const char *name, mm_tune_scale *out) {
  int i;
  bool found = find_name(name, scale_names, MM_TUNE_SCALES, &i);
  if (found) *out = (mm_tune_scale)i;
  return found;
}

// ---------------------------------------------------------------------------------------------
// Checking a parameter

// What must be the same for all trials, lest their scores mean different things.
static const char *fixed_reason(mm_algo algo, const char *name) {
  if (strcmp(name, "steps") == 0) return "trials are compared after the same number of steps";
  if (strcmp(name, "rules") == 0) return "it chooses the environment";
  if (strcmp(name, "curve") == 0 || strcmp(name, "log") == 0)
    return "it changes nothing in a training";
  if (mm_learner_of(algo)->exact && strcmp(name, "gamma") == 0)
    return "the value of a policy is discounted with it";
  if (strcmp(name, "termination") == 0) return "it chooses the task whose value is measured";
  return NULL;
}

static mm_status unknown_name(const char *source, mm_algo algo, const char *name) {
  const char *names[MM_SETTINGS_MAX + MM_TUNE_MAP_PARAMETERS];
  size_t n = mm_settings_own(algo);
  for (size_t i = 0; i < n; i++)
    names[i] = mm_settings_key(algo, i);
  for (int i = 1; i < MM_TUNE_MAP_PARAMETERS; i++)
    names[n++] = map_parameters[i].name;
  const char *near = mm_nearest(name, names, n);
  return MM_FAIL(MM_ERR_INPUT, "%s: %s has no setting '%s'%s%s%s", source, mm_algo_name(algo), name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

// The setting or the map's parameter takes this text.
static mm_status check_text(const char *source, mm_algo algo, const char *name, const char *text) {
  const mm_tune_map_parameter of_map = find_map_parameter(name);
  double x;
  if (of_map) {
    const double low = map_parameters[of_map].low, high = map_parameters[of_map].high;
    if (mm_json_parse_number(text, &x) && x >= low && x <= high) return MM_OK;
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected numbers from %g to %g, found '%.40s'",
                   source, name, low, high, text);
  }
  mm_settings settings = mm_settings_default(algo);
  if (mm_settings_set(&settings, name, text) == MM_OK) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': %s", source, mm_last_error());
}

static mm_status check_ends(const char *source, mm_algo algo, const mm_tune_range *r) {
  const double low = r->end[0], high = r->end[1];
  const char *scale = scale_names[r->scale];
  char text[2][MM_JSON_NUMBER_SIZE];
  for (int i = 0; i < 2; i++) {
    mm_json_format_number(r->end[i], text[i]);
    if (r->scale == MM_TUNE_INTEGER && r->end[i] != floor(r->end[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': '%s' is not a whole number", source, r->name,
                     scale, text[i]);
    MM_TRY(check_text(source, algo, r->name, text[i]));
  }
  if (!(low < high))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': expected the lower end first, found [%s, %s]",
                   source, r->name, scale, text[0], text[1]);
  if (r->scale == MM_TUNE_LOG && !(low > 0))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.log': expected a lower end above 0, found %s",
                   source, r->name, text[0]);
  if (r->scale == MM_TUNE_LOG && !(high / low <= 1e100))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.log': expected ends not 1e100 times apart", source,
                   r->name);
  return MM_OK;
}

static mm_status take_choices(const char *source, mm_algo algo, const mm_tune_range *r,
                              mm_tune_parameter *out) {
  if (r->n_choice < 2 || r->n_choice > MM_TUNE_CHOICES)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.choice': expected 2 to %d entries, found %zu",
                   source, r->name, MM_TUNE_CHOICES, r->n_choice);
  for (size_t i = 0; i < r->n_choice; i++) {
    mm_settings settings = mm_settings_default(algo);
    MM_TRY(check_text(source, algo, r->name, r->choice[i]));
    // 1e-3 and 0.001 are the same
    if (out->of_map) {
      double x = 0;
      mm_json_parse_number(r->choice[i], &x);
      mm_json_format_number(x, out->choice[i]);
    } else {
      mm_settings_set(&settings, r->name, r->choice[i]);
      mm_settings_text(&settings, r->name, out->choice[i]);
    }
    for (size_t k = 0; k < i; k++)
      if (strcmp(out->choice[i], out->choice[k]) == 0)
        return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.choice': '%s' is there twice", source, r->name,
                       r->choice[i]);
  }
  out->n_choice = out->points = r->n_choice;
  out->high = (double)r->n_choice - 1;
  return MM_OK;
}

mm_status mm_tune_parameter_make(const char *source, mm_algo algo, const mm_tune_range *r,
                                 mm_tune_parameter *out) {
  const mm_setting *setting = mm_learner_setting(mm_learner_of(algo), r->name);
  memset(out, 0, sizeof *out);
  out->of_map = find_map_parameter(r->name);
  if ((!setting && !out->of_map) || strlen(r->name) >= MM_TUNE_NAME_SIZE)
    return unknown_name(source, algo, r->name);
  memcpy(out->name, r->name, strlen(r->name) + 1);
  out->scale = r->scale;
  const char *reason = fixed_reason(algo, r->name);
  if (reason)
    return MM_FAIL(MM_ERR_INPUT, "%s: setting '%s' cannot be tuned: %s", source, r->name, reason);
  if (out->of_map && !mm_algo_has_map(algo))
    return MM_FAIL(MM_ERR_INPUT, "%s: '%s' cannot be tuned: %s trains without a map", source,
                   r->name, mm_algo_name(algo));
  if (r->scale == MM_TUNE_CHOICE) return take_choices(source, algo, r, out);
  if (setting && setting->type != MM_SETTING_NUMBER)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': its values are words: expected choice, found %s",
                   source, r->name, scale_names[r->scale]);
  MM_TRY(check_ends(source, algo, r));
  out->low = r->end[0];
  out->high = r->end[1];
  out->points = r->points > 0 ? r->points : USUAL_POINTS;
  out->whole = r->scale == MM_TUNE_INTEGER || (setting && setting->whole);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The file

// One parameter: texts, NULL and 0 where not given.
typedef struct range_texts {
  char **list[MM_TUNE_SCALES]; // [n]
  unsigned n[MM_TUNE_SCALES];
  char *points;
} range_texts;

enum { KEYS = MM_SETTINGS_MAX + MM_TUNE_MAP_PARAMETERS };

typedef struct space_file {
  char *method;
  struct parameters {
    range_texts
        *key[KEYS]; // by the list of all algorithms' keys, then the map's; NULL where not mentioned
  } * parameters;
} space_file;

static const cyaml_schema_value_t text_entry = {
  .type = CYAML_STRING,
  .flags = CYAML_FLAG_POINTER,
  .data_size = sizeof(char),
  .string = { .min = 0, .max = CYAML_UNLIMITED },
};

#define LIST(scale, place)                                                                         \
  CYAML_FIELD_SEQUENCE_COUNT(scale, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, range_texts,         \
                             list[place], n[place], &text_entry, 0, CYAML_UNLIMITED)
static const cyaml_schema_field_t range_fields[] = {
  LIST("log", MM_TUNE_LOG),
  LIST("linear", MM_TUNE_LINEAR),
  LIST("integer", MM_TUNE_INTEGER),
  LIST("choice", MM_TUNE_CHOICE),
  CYAML_FIELD_STRING_PTR("points", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, range_texts, points, 0,
                         CYAML_UNLIMITED),
  CYAML_FIELD_END,
};
#undef LIST

// The schema has the keys of every algorithm: another one's are told from misspelt ones.
typedef struct space_schema {
  cyaml_schema_field_t key[KEYS + 1];
  cyaml_schema_field_t top[3];
  cyaml_schema_value_t value;
} space_schema;

static cyaml_schema_value_t mapping_of(const cyaml_schema_field_t *fields, size_t size,
                                       enum cyaml_flag flags) {
  cyaml_schema_value_t value = { .type = CYAML_MAPPING,
                                 .flags = CYAML_FLAG_POINTER | flags,
                                 .data_size = (uint32_t)size,
                                 .mapping = { .fields = fields } };
  return value;
}

static size_t key_count(void) {
  return mm_settings_any_own() + MM_TUNE_MAP_PARAMETERS - 1;
}

static const char *key_name(size_t i) {
  const size_t own = mm_settings_any_own();
  return i < own ? mm_settings_any_key(i) : map_parameters[i - own + 1].name;
}

static void make_schema(space_schema *s) {
  const size_t own = key_count();
  memset(s, 0, sizeof *s); // the ends of the lists are zero
  for (size_t i = 0; i < own; i++) {
    s->key[i].key = key_name(i);
    s->key[i].data_offset = (uint32_t)(i * sizeof(range_texts *));
    s->key[i].value = mapping_of(range_fields, sizeof(range_texts), CYAML_FLAG_OPTIONAL);
  }
  s->top[0].key = "method";
  s->top[0].data_offset = offsetof(space_file, method);
  s->top[0].value = text_entry;
  s->top[0].value.flags |= CYAML_FLAG_OPTIONAL;
  s->top[1].key = "parameters";
  s->top[1].data_offset = offsetof(space_file, parameters);
  s->top[1].value = mapping_of(s->key, sizeof(struct parameters), CYAML_FLAG_DEFAULT);
  s->value = mapping_of(s->top, sizeof(space_file), CYAML_FLAG_DEFAULT);
}

static mm_status parse_points(const char *path, const range_texts *f, mm_tune_range *r) {
  double points;
  if (!f->points) return MM_OK;
  if (r->scale == MM_TUNE_CHOICE)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.points': a grid has all choices", path, r->name);
  if (!mm_json_parse_number(f->points, &points) || points != floor(points) ||
      !(points >= 2 && points <= MM_TUNE_POINTS))
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s.points': expected a whole number from 2 to %d, found '%.40s'",
                   path, r->name, MM_TUNE_POINTS, f->points);
  r->points = (size_t)points;
  return MM_OK;
}

static mm_status parse_ends(const char *path, char *const *text, unsigned n, mm_tune_range *r) {
  const char *scale = scale_names[r->scale];
  if (n != 2)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': expected [lowest, highest], found %u entr%s",
                   path, r->name, scale, n, n == 1 ? "y" : "ies");
  for (int i = 0; i < 2; i++)
    if (!mm_json_parse_number(text[i], &r->end[i]) || !isfinite(r->end[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': '%.80s' is not a number", path, r->name,
                     scale, text[i]);
  return MM_OK;
}

static mm_status read_parameter(const char *path, mm_algo algo, const char *name,
                                const range_texts *f, mm_tune_parameter *out) {
  mm_tune_range r = { .name = name };
  int given = 0;
  for (int i = 0; i < MM_TUNE_SCALES; i++) {
    if (!f->list[i]) continue;
    given++;
    r.scale = (mm_tune_scale)i;
  }
  if (given != 1)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s': expected one of log, linear, integer, choice, found %s", path,
                   name, given == 0 ? "none" : "several");
  r.choice = f->list[r.scale];
  r.n_choice = f->n[r.scale];
  if (r.scale != MM_TUNE_CHOICE) MM_TRY(parse_ends(path, f->list[r.scale], f->n[r.scale], &r));
  MM_TRY(parse_points(path, f, &r));
  return mm_tune_parameter_make(path, algo, &r, out);
}

static mm_status read_file(const char *path, mm_algo algo, const space_file *file,
                           mm_tune_space *out) {
  const size_t own = key_count();
  memset(out, 0, sizeof *out);
  out->method = MM_TUNE_CMA;
  if (file->method && !mm_tune_method_find(file->method, &out->method)) {
    const char *near = mm_nearest(file->method, method_names, MM_TUNE_METHODS);
    return MM_FAIL(
        MM_ERR_INPUT, "%s: field 'method': expected grid, cma-es or halving, found '%.40s'%s%s%s",
        path, file->method, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
  }
  for (size_t i = 0; i < own; i++) {
    const range_texts *f = file->parameters->key[i];
    if (!f) continue;
    if (out->n == MM_TUNE_PARAMETERS)
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': expected at most %d", path,
                     MM_TUNE_PARAMETERS);
    MM_TRY(read_parameter(path, algo, key_name(i), f, &out->parameter[out->n]));
    out->sampled = out->sampled || !(f->points || f->list[MM_TUNE_CHOICE]);
    out->n++;
  }
  if (out->n > 0) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': expected at least one setting", path);
}

mm_status mm_tune_space_load(const char *path, mm_algo algo, mm_tune_space *out) {
  space_schema schema;
  void *data;
  make_schema(&schema);
  MM_TRY(mm_yaml_load(path, FILE_MAX, &schema.value, &data));
  mm_status status = read_file(path, algo, data, out);
  mm_yaml_release(&schema.value, data);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Places and values

static double reflect(double place) {
  double turn = fabs(place) - 2 * floor(fabs(place) / 2); // one there and back
  return turn > 1 ? 2 - turn : turn;
}

// The number with that many decimals nearest to x: a quotient of whole numbers, so that it prints
// as short as it is.
static double round_decimals(double x, int decimals) {
  double unit = 1;
  for (int i = decimals > 0 ? decimals : -decimals; i > 0; i--)
    unit *= 10;
  return decimals > 0 ? rint(x * unit) / unit : rint(x / unit) * unit;
}

// Decimals that give a number of this size so many digits.
static int decimals_of(double size, int digits) {
  int decimals = digits - 1;
  for (; size >= 10 && decimals > -20; size /= 10)
    decimals--;
  for (; size < 1 && size > 0 && decimals < 20; size *= 10)
    decimals++;
  return decimals;
}

static double clip(const mm_tune_parameter *p, double value) {
  return fmin(fmax(value, p->low), p->high);
}

// What is rounded to whole numbers: the range with half a step beyond either end, so that all of
// them have their share.
static double whole_at(const mm_tune_parameter *p, double place) {
  double low = p->low - 0.5, high = p->high + 0.5;
  double x = p->scale == MM_TUNE_LOG ? low * mm_exp_d(place * mm_log_d(high / low))
                                     : low + place * (high - low);
  return clip(p, rint(x));
}

static double number_at(const mm_tune_parameter *p, double place) {
  if (place == 0) return p->low;
  if (place == 1) return p->high;
  double x = p->scale == MM_TUNE_LOG ? p->low * mm_exp_d(place * mm_log_d(p->high / p->low))
                                     : p->low + place * (p->high - p->low);
  double size = p->scale == MM_TUNE_LOG ? x : p->high - p->low;
  return clip(p, round_decimals(x, decimals_of(size, DIGITS)));
}

double mm_tune_value(const mm_tune_parameter *p, double place) {
  place = reflect(place);
  if (p->scale == MM_TUNE_CHOICE) return fmin(floor(place * (double)p->n_choice), p->high);
  return p->whole ? whole_at(p, place) : number_at(p, place);
}

double mm_tune_place(const mm_tune_parameter *p, double value) {
  double low = p->low, high = p->high;
  if (p->scale == MM_TUNE_CHOICE) return (value + 0.5) / (double)p->n_choice;
  if (p->whole) {
    low -= 0.5;
    high += 0.5;
  }
  if (p->scale == MM_TUNE_LOG) return mm_log_d(value / low) / mm_log_d(high / low);
  return (value - low) / (high - low);
}

size_t mm_tune_levels(const mm_tune_parameter *p, double *out) {
  size_t n = 0;
  if (p->scale == MM_TUNE_CHOICE) {
    for (; n < p->n_choice; n++)
      out[n] = (double)n;
    return n;
  }
  for (size_t i = 0; i < p->points; i++) {
    double value = number_at(p, (double)i / (double)(p->points - 1));
    if (p->whole) value = rint(value);
    if (n == 0 || value > out[n - 1]) out[n++] = value;
  }
  return n;
}

bool mm_tune_is_grid(const mm_tune_space *space) {
  return space->method == MM_TUNE_GRID || (space->method == MM_TUNE_HALVING && !space->sampled);
}

double mm_tune_grid_size(const mm_tune_space *space) {
  double size = 1, level[MM_TUNE_POINTS];
  for (size_t i = 0; i < space->n; i++)
    size *= (double)mm_tune_levels(&space->parameter[i], level);
  return size;
}

// ---------------------------------------------------------------------------------------------
// Values and settings

const char *mm_tune_text(const mm_tune_parameter *p, double value, char out[MM_SETTING_TEXT_SIZE]) {
  if (isnan(value))
    snprintf(out, MM_SETTING_TEXT_SIZE, "-");
  else if (p->scale == MM_TUNE_CHOICE)
    memcpy(out, p->choice[(size_t)value], MM_SETTING_TEXT_SIZE);
  else
    mm_json_format_number(value, out);
  return out;
}

double mm_tune_own(const mm_tune_parameter *p, const mm_settings *settings) {
  char text[MM_SETTING_TEXT_SIZE];
  double value = NAN;
  if (p->of_map) return NAN;
  mm_settings_text(settings, p->name, text);
  if (p->scale != MM_TUNE_CHOICE) return mm_json_parse_number(text, &value) ? value : NAN;
  for (size_t i = 0; i < p->n_choice; i++)
    if (strcmp(text, p->choice[i]) == 0) return (double)i;
  return NAN;
}

mm_status mm_tune_apply(const mm_tune_space *space, const double *value, mm_settings *settings) {
  char text[MM_SETTING_TEXT_SIZE];
  for (size_t i = 0; i < space->n; i++) {
    const mm_tune_parameter *p = &space->parameter[i];
    if (!isnan(value[i]) && !p->of_map)
      MM_TRY(mm_settings_set(settings, p->name, mm_tune_text(p, value[i], text)));
  }
  return MM_OK;
}
