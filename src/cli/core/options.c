// SPDX-License-Identifier: Apache-2.0
// The option parser: `--name value`, `--name=value`, flags, positional arguments, `--`. The value
// of an option is whatever comes next, so negative numbers need no care; only another long option
// there means that the value was forgotten.

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/spelling.h"
#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

static const char *const isa_names[] = { "auto", "avx512", "avx2", "portable", NULL };

#define ARGS command_args

static const option help_option = OPTION(FLAG, "help", help, NULL, "show this text");
static const option quiet_option =
    OPTION(FLAG, "quiet", quiet, NULL, "no messages on stderr, only errors");
static const option plugin_option =
    OPTION(TEXTS, "plugin", plugins, "FILE.so",
           "environments, maps and learners of a plug-in, for all that takes their names; may be "
           "repeated, as in MIRRORMAP_PLUGINS=A.so:B.so",
           .rare = true);
static const option json_option =
    OPTION(FLAG, "json", json, NULL, "one JSON object on stdout, nothing else there");
static const option isa_option =
    OPTION(CHOICE, "isa", isa, NULL, "instruction set of the kernels; results are the same",
           .choices = isa_names, .fallback = "auto", .rare = true);
static const option set_option = { .name = "set",
                                   .type = OPTION_SETTING,
                                   .metavar = "KEY=VALUE",
                                   .help = "change a setting (--help settings lists them)" };

const option *options_settings(const command *c) {
  return c->settings != NULL ? c->settings() : NULL;
}

size_t options_list(const command *c, const option *out[OPTIONS_MAX]) {
  size_t n = 0;
  for (const option *o = c->options; o != NULL && o->name != NULL; o++) {
    assert(n < OPTIONS_MAX - 6); // those below
    out[n++] = o;
  }
  if (c->settings != NULL) out[n++] = &set_option;
  if (c->common & COMMON_JSON) out[n++] = &json_option;
  if (c->common & COMMON_ISA) out[n++] = &isa_option;
  out[n++] = &plugin_option;
  out[n++] = &quiet_option;
  out[n++] = &help_option;
  return n;
}

// The one name that begins with `word`, three letters of it at least; NULL for none or several.
static const char *begun_by(const char *word, const char *const *names, size_t n) {
  const char *found = NULL;
  size_t length = strlen(word), matches = 0;
  for (size_t i = 0; i < n && length >= 3; i++) {
    if (strncmp(names[i], word, length) != 0) continue;
    found = names[i];
    matches++;
  }
  return matches == 1 ? found : NULL;
}

const char *options_suggestion(const char *word, const char *const *names, size_t n,
                               const char *dashes) {
  const char *near = begun_by(word, names, n);
  if (near == NULL) near = mm_nearest(word, names, n);
  return near != NULL ? output_format(" (did you mean '%s%s'?)", dashes, near) : "";
}

// "gpu" is no misspelt "cpu"
const char *options_suggestion_or_list(const char *word, const char *const *names, size_t n) {
  char all[400] = "";
  const char *near = strcmp(word, "gpu") != 0 ? options_suggestion(word, names, n, "") : "";
  if (near[0] != '\0') return near;
  for (size_t i = 0, used = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", names[i]);
  return output_format(" (one of %s)", all);
}

char *options_next_entry(const char **rest) {
  if (*rest == NULL) return NULL;
  const char *start = *rest, *end = start + strcspn(start, ",");
  *rest = *end == ',' ? end + 1 : NULL;
  while (start < end && *start == ' ')
    start++;
  while (end > start && end[-1] == ' ')
    end--;
  return memory_text(start, (size_t)(end - start));
}

// ---------------------------------------------------------------------------------------------
// Values. `what` names the option in errors: "option '--eta'" or "setting 'eta'".

static void *field(const option *o, command_args *args) {
  return (char *)args + o->offset;
}

static const char *describe_range(const option *o, char out[96]) {
  const char *above = o->low_open ? "greater than" : "at least";
  if (isinf(o->high))
    snprintf(out, 96, "%s %.10g", above, o->low);
  else
    snprintf(out, 96, "%s %.10g and at most %.10g", above, o->low, o->high);
  return out;
}

static bool in_range(const option *o, double value) {
  if (o->low == 0 && o->high == 0) return true;
  return (o->low_open ? value > o->low : value >= o->low) && value <= o->high;
}

static int read_number(const option *o, const char *what, const char *text, double *out) {
  char range[96];
  if (!mm_json_parse_number(text, out) || !isfinite(*out))
    return fail_usage("%s: '%s' is not a finite number", what, text);
  if (!in_range(o, *out))
    return fail_usage("%s: %s must be %s", what, text, describe_range(o, range));
  return EXIT_DONE;
}

static int read_count(const option *o, const char *what, const char *text, uint64_t *out) {
  char range[96];
  uint64_t value = 0;
  for (const char *c = text; *c != '\0'; c++) {
    uint64_t digit = (uint64_t)(*c - '0');
    if (*c < '0' || *c > '9') return fail_usage("%s: '%s' is not a whole number", what, text);
    if (value > (UINT64_MAX - digit) / 10) return fail_usage("%s: %s is too large", what, text);
    value = 10 * value + digit;
  }
  if (!in_range(o, (double)value))
    return fail_usage("%s: %s must be %s", what, text, describe_range(o, range));
  *out = value;
  return EXIT_DONE;
}

static int read_choice(const option *o, const char *what, const char *text, size_t *out) {
  size_t n = 0;
  for (; o->choices[n] != NULL; n++) {
    if (strcmp(text, o->choices[n]) != 0) continue;
    *out = n;
    return EXIT_DONE;
  }
  return fail_usage("%s: unknown value '%s'%s", what, text,
                    options_suggestion_or_list(text, o->choices, n));
}

static int read_list(const option *o, const char *what, const char *text, command_args *args) {
  option_numbers *numbers = field(o, args);
  int code = EXIT_DONE;
  char *entry;
  for (size_t i = 1; code == EXIT_DONE && (entry = options_next_entry(&text)) != NULL; i++) {
    char place[160];
    snprintf(place, sizeof place, "%s, entry %zu", what, i);
    if (entry[0] == '\0') {
      code = fail_usage("%s: expected a value, found nothing", place);
    } else if (o->type == OPTION_CHOICES) {
      size_t choice = 0;
      code = read_choice(o, place, entry, &choice);
      *(unsigned *)field(o, args) |= 1u << choice;
    } else {
      numbers->value = memory_grow(numbers->value, numbers->n, sizeof *numbers->value);
      code = read_number(o, place, entry, &numbers->value[numbers->n]);
      numbers->n++;
    }
    free(entry);
  }
  return code;
}

static int read_value(const command *c, const option *o, const char *what, const char *text,
                      command_args *args);

// the setting whose name is the first `length` characters of `name`, or NULL
static const option *find_setting(const command *c, const char *name, size_t length) {
  for (const option *o = options_settings(c); o != NULL && o->name != NULL; o++)
    if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
  return NULL;
}

// What other libraries call our settings.
static const struct {
  const char *theirs, *ours;
} synonyms[] = {
  { "learning_rate", "lr" },      { "step_size", "eta" },
  { "discount", "gamma" },        { "lambda", "gae_lambda" },
  { "num_envs", "envs" },         { "n_envs", "envs" },
  { "num_steps", "unroll" },      { "n_steps", "unroll" },
  { "total_timesteps", "steps" }, { "num_minibatches", "minibatches" },
  { "clip", "policy_clip" },      { "clip_range", "policy_clip" },
  { "clip_coef", "policy_clip" }, { "ent_coef", "entropy_coef" },
  { "vf_coef", "value_coef" },
};
enum { SYNONYMS = sizeof synonyms / sizeof *synonyms };

// " (did you mean 'lr'?)" for 'lerning_rate'; "" where the command has no such setting.
static const char *suggest_synonym(const command *c, const char *key) {
  const char *theirs[SYNONYMS];
  for (size_t i = 0; i < SYNONYMS; i++)
    theirs[i] = synonyms[i].theirs;
  const char *near = mm_nearest(key, theirs, SYNONYMS);
  for (size_t i = 0; i < SYNONYMS && near != NULL; i++)
    if (theirs[i] == near && find_setting(c, synonyms[i].ours, strlen(synonyms[i].ours)) != NULL)
      return output_format(" (did you mean '%s'?)", synonyms[i].ours);
  return "";
}

static int unknown_setting(const command *c, const char *key) {
  const char **names = NULL;
  size_t n = 0;
  for (const option *o = options_settings(c); o->name != NULL; o++) {
    names = memory_grow(names, n, sizeof *names);
    names[n++] = o->name;
  }
  const char *near = options_suggestion(key, names, n, "");
  free(names);
  if (near[0] == '\0') near = suggest_synonym(c, key);
  return fail_usage("unknown setting '%s'%s", key, near);
}

static int read_setting(const command *c, const char *text, command_args *args) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text)
    return fail_usage("option '--set': expected KEY=VALUE, found '%s'", text);
  char key[64], what[96];
  snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
  const option *o = find_setting(c, text, (size_t)(equals - text));
  if (o == NULL) return unknown_setting(c, key);
  snprintf(what, sizeof what, "setting '%s'", key);
  bool *set = &args->set[o - options_settings(c)];
  if (*set) return fail_usage("%s is given twice", what);
  *set = true;
  return read_value(c, o, what, equals + 1, args);
}

static int read_value(const command *c, const option *o, const char *what, const char *text,
                      command_args *args) {
  size_t choice = 0;
  int code;
  if (text[0] == '\0') return fail_usage("%s: expected a value, found nothing", what);
  switch (o->type) {
  case OPTION_FLAG:
    break;
  case OPTION_TEXT:
    *(const char **)field(o, args) = text;
    break;
  case OPTION_TEXTS: {
    option_texts *texts = field(o, args);
    texts->value = memory_grow(texts->value, texts->n, sizeof *texts->value);
    texts->value[texts->n++] = text;
    break;
  }
  case OPTION_CHOICE:
    code = read_choice(o, what, text, &choice);
    if (code == EXIT_DONE) *(const char **)field(o, args) = o->choices[choice];
    return code;
  case OPTION_INDEX:
    code = read_choice(o, what, text, &choice);
    if (code == EXIT_DONE) *(int *)field(o, args) = 1 + (int)choice;
    return code;
  case OPTION_COUNT:
    return read_count(o, what, text, field(o, args));
  case OPTION_NUMBER:
    return read_number(o, what, text, field(o, args));
  case OPTION_CHOICES:
  case OPTION_NUMBERS:
    return read_list(o, what, text, args);
  case OPTION_SETTING:
    return read_setting(c, text, args);
  }
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// The command line

static int unknown_option(const command *c, const option *const *list, size_t n, const char *word) {
  const char *names[2 * OPTIONS_MAX];
  char bare[64];
  size_t known = n;
  for (size_t i = 0; i < n; i++)
    names[i] = list[i]->name;
  for (const option *o = options_settings(c); o != NULL && o->name != NULL; o++)
    if (o->direct && known < 2 * OPTIONS_MAX) names[known++] = o->name;
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
  const char *name = bare + strspn(bare, "-");
  if (find_setting(c, name, strlen(name)) != NULL)
    return fail_usage("unknown option '%s' (did you mean '--set %s=..'?)", bare, name);
  return fail_usage("unknown option '%s'%s", bare, options_suggestion(name, names, known, "--"));
}

static bool repeatable(const option *o) {
  return o->type == OPTION_TEXTS || o->type == OPTION_SETTING;
}

// marks it as given; the same setting by --set and as an option of its own is twice too
static int mark_given(const command *c, const option *o, size_t i, const char *what,
                      command_args *args) {
  bool *set = o->direct ? &args->set[o - options_settings(c)] : NULL;
  const bool seen = set != NULL ? *set : (args->given >> i & 1) != 0;
  if (seen && !repeatable(o)) return fail_usage("%s is given twice", what);
  if (set != NULL)
    *set = true;
  else
    args->given |= (uint64_t)1 << i;
  return EXIT_DONE;
}

// reads the option at **argv and leaves *argv at its last word
static int read_option(const command *c, const option *const *list, size_t n, char *const **argv,
                       command_args *args) {
  const char *word = **argv, *value = strchr(word, '=');
  size_t length = value != NULL ? (size_t)(value - word) : strlen(word), i = 0;
  if (strncmp(word, "--", 2) != 0) return unknown_option(c, list, n, word);
  while (i < n &&
         (strlen(list[i]->name) + 2 != length || strncmp(list[i]->name, word + 2, length - 2) != 0))
    i++;
  const option *o = i < n ? list[i] : find_setting(c, word + 2, length - 2);
  if (o == NULL || (i == n && !o->direct)) return unknown_option(c, list, n, word);

  char what[96];
  snprintf(what, sizeof what, "option '--%s'", o->name);
  if (mark_given(c, o, i, what, args) != EXIT_DONE) return EXIT_USAGE;
  if (o->type == OPTION_FLAG) {
    if (value != NULL) return fail_usage("%s takes no value", what);
    *(bool *)field(o, args) = true;
    return EXIT_DONE;
  }
  if (value != NULL) return read_value(c, o, what, value + 1, args);
  if ((*argv)[1] == NULL || strncmp((*argv)[1], "--", 2) == 0)
    return fail_usage("%s needs a value", what);
  return read_value(c, o, what, *++*argv, args);
}

static int apply_fallback(const command *c, const option *o, bool given, command_args *args) {
  if (given) return EXIT_DONE;
  if (o->required) return fail_usage("option '--%s' is required", o->name);
  return o->fallback != NULL ? read_value(c, o, o->name, o->fallback, args) : EXIT_DONE;
}

static int finish(const command *c, const option *const *list, size_t n, command_args *args) {
  const option_texts *positional = &args->positional;
  if (positional->n < c->min_positional) return fail_usage("expected %s", c->positional);
  if (positional->n > c->max_positional)
    return fail_usage("unexpected argument '%s'", positional->value[c->max_positional]);
  int code = EXIT_DONE;
  for (size_t i = 0; i < n && code == EXIT_DONE; i++)
    code = apply_fallback(c, list[i], args->given >> i & 1, args);
  const option *o = options_settings(c);
  for (size_t i = 0; o != NULL && o[i].name != NULL && code == EXIT_DONE; i++)
    code = apply_fallback(c, &o[i], args->set[i], args);
  return code;
}

static int read_topic(const command *c, const char *word, command_args *args) {
  help_topic topic;
  TRY(help_find(c, word, &topic));
  args->topic = (int)topic;
  return EXIT_DONE;
}

int options_parse(const command *c, char *const *argv, command_args *args) {
  const option *list[OPTIONS_MAX];
  size_t n = options_list(c, list);
  option_texts *positional = &args->positional;
  bool ended = false;
  for (; *argv != NULL; argv++) {
    const char *word = *argv;
    if (!ended && strcmp(word, "--") == 0) {
      ended = true;
    } else if (!ended && word[0] == '-' && word[1] != '\0') {
      if (strcmp(word, "-h") == 0)
        args->help = true;
      else if (read_option(c, list, n, &argv, args) != EXIT_DONE)
        return EXIT_USAGE;
      if (args->help) return read_topic(c, argv[1], args);
    } else {
      positional->value = memory_grow(positional->value, positional->n, sizeof *positional->value);
      positional->value[positional->n++] = word;
    }
  }
  return finish(c, list, n, args);
}

static void release_value(const option *o, command_args *args) {
  if (o->type == OPTION_TEXTS) free(((option_texts *)field(o, args))->value);
  if (o->type == OPTION_NUMBERS) free(((option_numbers *)field(o, args))->value);
}

void options_release(const command *c, command_args *args) {
  for (const option *o = c->options; o != NULL && o->name != NULL; o++)
    release_value(o, args);
  for (const option *o = options_settings(c); o != NULL && o->name != NULL; o++)
    release_value(o, args);
  free(args->positional.value);
  free(args->plugins.value);
}

bool options_given(const command *c, const command_args *args, const char *name) {
  const option *list[OPTIONS_MAX];
  size_t n = options_list(c, list);
  for (size_t i = 0; i < n; i++)
    if (strcmp(list[i]->name, name) == 0) return (args->given >> i & 1) != 0;
  return false;
}
