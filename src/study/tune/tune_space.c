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

static const char *const method_names[MM_TUNE_METHODS] = { "grid", "cma-es" };
static const char *const scale_names[MM_TUNE_SCALES] = { "log", "linear", "integer", "choice" };

const char *mm_tune_method_name(mm_tune_method method) {
  return method_names[method];
}

bool mm_tune_method_find(const char *name, mm_tune_method *out) {
  for (int i = 0; i < MM_TUNE_METHODS; i++) {
    if (strcmp(method_names[i], name) != 0) continue;
    *out = (mm_tune_method)i;
    return true;
  }
  return false;
}

const char *mm_tune_scale_name(mm_tune_scale scale) {
  return scale_names[scale];
}

// ---------------------------------------------------------------------------------------------
// Checking a parameter

// What must be the same for all trials, lest their scores mean different things.
static const char *fixed_reason(mm_algo algo, const char *name) {
  if (strcmp(name, "steps") == 0) return "trials are compared after the same number of steps";
  if (strcmp(name, "rules") == 0) return "it chooses the environment";
  if (strcmp(name, "curve") == 0) return "it changes nothing in a training";
  if (algo == MM_ALGO_PMD && strcmp(name, "gamma") == 0)
    return "the value of a policy is discounted with it";
  if (algo == MM_ALGO_PMD && strcmp(name, "termination") == 0)
    return "it chooses the task whose value is measured";
  return NULL;
}

static mm_status unknown_name(const char *source, mm_algo algo, const char *name) {
  const char *names[MM_SETTINGS_MAX];
  size_t n = mm_settings_own(algo);
  for (size_t i = 0; i < n; i++)
    names[i] = mm_settings_key(algo, i);
  const char *near = mm_nearest(name, names, n);
  return MM_FAIL(MM_ERR_INPUT, "%s: %s has no setting '%s'%s%s%s", source, mm_algo_name(algo), name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

// The setting takes this text.
static mm_status check_text(const char *source, mm_algo algo, const char *name, const char *text) {
  mm_settings settings = mm_settings_default(algo);
  if (mm_settings_set(&settings, name, text) == MM_OK) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': %s", source, mm_last_error());
}

static mm_status read_ends(const char *source, mm_algo algo, char *const *text, unsigned n,
                           mm_tune_parameter *out) {
  const char *kind = scale_names[out->scale];
  double end[2];
  if (n != 2)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': expected [lowest, highest], found %u entr%s",
                   source, out->name, kind, n, n == 1 ? "y" : "ies");
  for (int i = 0; i < 2; i++) {
    if (!mm_json_parse_number(text[i], &end[i]) || !isfinite(end[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': '%.80s' is not a number", source, out->name,
                     kind, text[i]);
    if (out->scale == MM_TUNE_INTEGER && end[i] != floor(end[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': '%.80s' is not a whole number", source,
                     out->name, kind, text[i]);
    MM_TRY(check_text(source, algo, out->name, text[i]));
  }
  if (!(end[0] < end[1]))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.%s': expected the lower end first, found [%s, %s]",
                   source, out->name, kind, text[0], text[1]);
  if (out->scale == MM_TUNE_LOG && !(end[0] > 0))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.log': expected a lower end above 0, found %s",
                   source, out->name, text[0]);
  if (out->scale == MM_TUNE_LOG && !(end[1] / end[0] <= 1e100))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.log': expected ends not 1e100 times apart", source,
                   out->name);
  out->low = end[0];
  out->high = end[1];
  return MM_OK;
}

static mm_status read_choices(const char *source, mm_algo algo, const mm_tune_fields *f,
                              mm_tune_parameter *out) {
  if (f->n_choice < 2 || f->n_choice > MM_TUNE_CHOICES)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.choice': expected 2 to %d entries, found %u",
                   source, out->name, MM_TUNE_CHOICES, f->n_choice);
  for (unsigned i = 0; i < f->n_choice; i++) {
    mm_settings settings = mm_settings_default(algo);
    MM_TRY(check_text(source, algo, out->name, f->choice[i]));
    mm_settings_set(&settings, out->name, f->choice[i]);
    mm_settings_text(&settings, out->name, out->choice[i]); // 1e-3 and 0.001 are the same
    for (unsigned k = 0; k < i; k++)
      if (strcmp(out->choice[i], out->choice[k]) == 0)
        return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.choice': '%s' is there twice", source,
                       out->name, f->choice[i]);
  }
  out->n_choice = f->n_choice;
  out->high = (double)f->n_choice - 1;
  return MM_OK;
}

static mm_status read_points(const char *source, const char *text, mm_tune_parameter *out) {
  double points = USUAL_POINTS;
  if (out->scale == MM_TUNE_CHOICE && text)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s.points': a grid has all choices", source,
                   out->name);
  if (text && (!mm_json_parse_number(text, &points) || points != floor(points) ||
               !(points >= 2 && points <= MM_TUNE_POINTS)))
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s.points': expected a whole number from 2 to %d, found '%.40s'",
                   source, out->name, MM_TUNE_POINTS, text);
  out->points = out->scale == MM_TUNE_CHOICE ? out->n_choice : (size_t)points;
  return MM_OK;
}

mm_status mm_tune_parameter_read(const char *source, mm_algo algo, const char *name,
                                 const mm_tune_fields *f, mm_tune_parameter *out) {
  mm_setting_about about;
  memset(out, 0, sizeof *out);
  if (!mm_settings_about(algo, name, &about) || strlen(name) >= MM_TUNE_NAME_SIZE)
    return unknown_name(source, algo, name);
  memcpy(out->name, name, strlen(name) + 1);
  const char *reason = fixed_reason(algo, name);
  if (reason)
    return MM_FAIL(MM_ERR_INPUT, "%s: setting '%s' cannot be tuned: %s", source, name, reason);
  char *const *list[] = { f->log, f->linear, f->integer, f->choice };
  const unsigned count[] = { f->n_log, f->n_linear, f->n_integer, f->n_choice };
  int given = 0;
  for (int i = 0; i < MM_TUNE_SCALES; i++) {
    if (!list[i]) continue;
    given++;
    out->scale = (mm_tune_scale)i;
  }
  if (given != 1)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s': expected one of log, linear, integer, choice, found %s", source,
                   name, given == 0 ? "none" : "several");
  if (out->scale != MM_TUNE_CHOICE && !about.number)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': its values are words: expected choice, found %s",
                   source, name, scale_names[out->scale]);
  if (out->scale == MM_TUNE_CHOICE)
    MM_TRY(read_choices(source, algo, f, out));
  else
    MM_TRY(read_ends(source, algo, list[out->scale], count[out->scale], out));
  out->whole = out->scale == MM_TUNE_INTEGER || (out->scale != MM_TUNE_CHOICE && about.whole);
  return read_points(source, f->points, out);
}

// ---------------------------------------------------------------------------------------------
// The file

typedef struct space_file {
  char *method;
  struct parameters {
    mm_tune_fields *key[MM_KEYS]; // by the list of all algorithms' keys; NULL where not mentioned
  } * parameters;
} space_file;

static const cyaml_schema_value_t text_entry = {
  .type = CYAML_STRING,
  .flags = CYAML_FLAG_POINTER,
  .data_size = sizeof(char),
  .string = { .min = 0, .max = CYAML_UNLIMITED },
};

static const cyaml_schema_field_t range_fields[] = {
  CYAML_FIELD_SEQUENCE_COUNT("log", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, mm_tune_fields, log,
                             n_log, &text_entry, 0, CYAML_UNLIMITED),
  CYAML_FIELD_SEQUENCE_COUNT("linear", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, mm_tune_fields,
                             linear, n_linear, &text_entry, 0, CYAML_UNLIMITED),
  CYAML_FIELD_SEQUENCE_COUNT("integer", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, mm_tune_fields,
                             integer, n_integer, &text_entry, 0, CYAML_UNLIMITED),
  CYAML_FIELD_SEQUENCE_COUNT("choice", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, mm_tune_fields,
                             choice, n_choice, &text_entry, 0, CYAML_UNLIMITED),
  CYAML_FIELD_STRING_PTR("points", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, mm_tune_fields, points,
                         0, CYAML_UNLIMITED),
  CYAML_FIELD_END,
};

// The schema has the keys of every algorithm: another one's are told from misspelt ones.
typedef struct space_schema {
  cyaml_schema_field_t key[MM_KEYS + 1];
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

static void make_schema(space_schema *s) {
  memset(s, 0, sizeof *s); // the ends of the lists are zero
  for (size_t i = 0; i < MM_KEYS; i++) {
    s->key[i].key = mm_settings_any_key(i);
    s->key[i].data_offset = (uint32_t)(i * sizeof(mm_tune_fields *));
    s->key[i].value = mapping_of(range_fields, sizeof(mm_tune_fields), CYAML_FLAG_OPTIONAL);
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

static mm_status read_file(const char *path, mm_algo algo, const space_file *file,
                           mm_tune_space *out) {
  memset(out, 0, sizeof *out);
  out->method = MM_TUNE_CMA;
  if (file->method && !mm_tune_method_find(file->method, &out->method)) {
    const char *near = mm_nearest(file->method, method_names, MM_TUNE_METHODS);
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'method': expected grid or cma-es, found '%.40s'%s%s%s",
                   path, file->method, near ? " (did you mean '" : "", near ? near : "",
                   near ? "'?)" : "");
  }
  for (size_t i = 0; i < MM_KEYS; i++) {
    const mm_tune_fields *fields = file->parameters->key[i];
    if (!fields) continue;
    if (out->n == MM_TUNE_PARAMETERS)
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': expected at most %d", path,
                     MM_TUNE_PARAMETERS);
    MM_TRY(mm_tune_parameter_read(path, algo, mm_settings_any_key(i), fields,
                                  &out->parameter[out->n]));
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
    if (!isnan(value[i]))
      MM_TRY(mm_settings_set(settings, p->name, mm_tune_text(p, value[i], text)));
  }
  return MM_OK;
}
