// SPDX-License-Identifier: Apache-2.0
// `map new`: a map file from a kind's name, from numbers, or from another map.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "plugin/plugin.h"

typedef struct new_args {
  command_args common;
  uint64_t n, seed;
  option_numbers psi;
  double q, eta;
  const char *from, *out;
  option_texts meta;
  bool force;
} new_args;

#define ARGS new_args

static const option options[] = {
  OPTION(COUNT, "n", n, "N",
         "steps of a piecewise map, 100 unless --from has another number; terms of powers, 3",
         .low = 1, .high = MM_PIECEWISE_MAX),
  OPTION(NUMBERS, "psi", psi, "A,B,...", "the step widths of a piecewise map", .low = MM_PSI_MIN,
         .high = MM_PSI_MAX),
  OPTION(NUMBER, "q", q, "Q", "the order of a tsallis map, positive and not 1"),
  OPTION(NUMBER, "eta", eta, "E", "step size that training takes from the map, unless --set eta",
         .low = 0, .low_open = true, .high = MM_ETA_MAX),
  OPTION(COUNT, "seed", seed, "N", "of a random map", .fallback = "0"),
  OPTION(TEXT, "from", from, "MAP",
         "turn another map into KIND: piecewise (phi at n equal steps of probability), or neural, "
         "powers or tsallis, which are the same map or else the nearest of their kind"),
  OPTION(TEXTS, "meta", meta, "KEY=VALUE", "a line for the file's meta object; may be repeated"),
  OPTION(TEXT, "out", out, "FILE", "write there instead of stdout"),
  OPTION(FLAG, "force", force, NULL, "replace an existing file"),
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Kinds and which options they understand

enum { KIND_COUNT = 10 };
static const char *const kind_names[KIND_COUNT] = {
  "negentropy", "l2",     "tsallis",       "piecewise",     "powers",
  "neural",     "random", "random-neural", "random-powers", "random-tsallis"
};
// behind them, a plug-in's
static const char *const kind_options[KIND_COUNT + 1] = { "",       "",     "q from", "n psi from",
                                                          "n from", "from", "seed",   "seed",
                                                          "seed",   "seed", "" };

static int check_applies(const new_args *args, size_t kind, bool has_suffix) {
  static const char *const names[] = { "n", "psi", "q", "seed", "from" };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!options_given(&command_map_new, &args->common, names[i])) continue;
    if (has_suffix)
      return fail_usage("option '--%s' cannot be combined with '%s'", names[i],
                        args->common.positional.value[0]);
    char padded[32], word[16];
    snprintf(padded, sizeof padded, " %s ", kind_options[kind]);
    snprintf(word, sizeof word, " %s ", names[i]);
    if (strstr(padded, word) == NULL)
      return fail_usage("option '--%s' does not apply to kind '%s'", names[i],
                        kind < KIND_COUNT ? kind_names[kind] : args->common.positional.value[0]);
  }
  if (args->psi.value != NULL && (args->n != 0 || args->from != NULL))
    return fail_usage("option '--psi' cannot be combined with '--%s'", args->n != 0 ? "n" : "from");
  if (args->from != NULL && options_given(&command_map_new, &args->common, "q"))
    return fail_usage("option '--q' cannot be combined with '--from'");
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Making maps

// Of the name of one that --from applies to.
static mm_map_kind kind_of(const char *text) {
  static const mm_map_kind kinds[] = { MM_MAP_TSALLIS, MM_MAP_PIECEWISE, MM_MAP_POWERS };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(mm_map_kind_name(kinds[i]), text) == 0) return kinds[i];
  return MM_MAP_NEURAL;
}

static int make_from(const new_args *args, mm_map_kind kind, mm_map **out, char **meta) {
  mm_map *source;
  TRY(map_argument_open(args->from, &source));
  mm_status status = mm_map_convert(source, kind, (size_t)args->n, out);
  // a copy keeps what its original says of itself; a conversion is another map
  const char *text = mm_map_meta(source);
  if (status == MM_OK && text != NULL && mm_map_get_kind(source) == mm_map_get_kind(*out))
    *meta = memory_text(text, strlen(text));
  if (status == MM_OK) status = mm_map_set_eta(*out, mm_map_eta(source));
  mm_map_destroy(source);
  if (status != MM_OK)
    status = MM_FAIL(status, "option '--from': %s: %s", args->from, mm_last_error());
  return status_code(status);
}

static int make(const new_args *args, mm_map **out, char **meta) {
  const char *text = args->common.positional.value[0];
  size_t length = strcspn(text, ":"), kind = 0;
  while (kind < KIND_COUNT &&
         (strlen(kind_names[kind]) != length || strncmp(kind_names[kind], text, length) != 0))
    kind++;
  if (kind == KIND_COUNT && mm_plugin_of(text) < MM_PLUGINS_MOST) {
    TRY(check_applies(args, kind, text[length] == ':'));
    return map_argument_open(text, out);
  }
  if (kind == KIND_COUNT)
    return fail_usage("unknown kind '%s'%s", text,
                      options_suggestion(text, kind_names, KIND_COUNT, ""));
  bool has_suffix = text[length] == ':';
  TRY(check_applies(args, kind, has_suffix));
  if (has_suffix) return map_argument_open(text, out);
  if (args->from != NULL) return make_from(args, kind_of(text), out, meta);

  mm_status status = MM_OK;
  char name[64];
  snprintf(name, sizeof name, "%s", text);
  if (strcmp(text, "tsallis") == 0) {
    if (!options_given(&command_map_new, &args->common, "q"))
      return fail_usage("kind 'tsallis' needs its order: --q Q");
    status = mm_map_create_tsallis(args->q, out);
  } else if (args->psi.value != NULL) {
    status = mm_map_create_piecewise(args->psi.value, args->psi.n, out);
  } else {
    if (args->n != 0) snprintf(name, sizeof name, "%s:%llu", text, (unsigned long long)args->n);
    if (strncmp(text, "random", 6) == 0)
      snprintf(name, sizeof name, "%s:%llu", text, (unsigned long long)args->seed);
    status = mm_map_open(name, out);
  }
  return status_code(status);
}

// ---------------------------------------------------------------------------------------------
// Meta

// true, false and numbers that JSON would write in just this way are those; the rest is text
static cJSON *meta_value(const char *text) {
  double number;
  char written[MM_JSON_NUMBER_SIZE];
  if (strcmp(text, "true") == 0) return cJSON_CreateTrue();
  if (strcmp(text, "false") == 0) return cJSON_CreateFalse();
  if (mm_json_parse_number(text, &number) && isfinite(number) &&
      strcmp(mm_json_format_number(number, written), text) == 0)
    return mm_json_number(number);
  return cJSON_CreateString(text);
}

static bool is_utf8(const char *text) {
  for (size_t left = strlen(text), step; left > 0; text += step, left -= step) {
    step = mm_utf8_length((const unsigned char *)text, left);
    if (step == 0) return false;
  }
  return true;
}

static int add_meta(cJSON *object, const option_texts *pairs) {
  for (size_t i = 0; i < pairs->n; i++) {
    const char *pair = pairs->value[i], *equals = strchr(pair, '=');
    if (equals == NULL || equals == pair)
      return fail_usage("option '--meta': expected KEY=VALUE, found '%s'", pair);
    if (!is_utf8(pair)) return fail_usage("option '--meta': '%s' is not UTF-8", pair);
    size_t length = (size_t)(equals - pair) + 1;
    for (size_t j = 0; j < i; j++)
      if (strncmp(pairs->value[j], pair, length) == 0)
        return fail_usage("option '--meta': key '%.*s' is given twice", (int)length - 1, pair);
    char *key = memory_text(pair, length - 1);
    cJSON_DeleteItemFromObjectCaseSensitive(object, key); // what the original said
    cJSON_AddItemToObject(object, key, meta_value(equals + 1));
    free(key);
  }
  return EXIT_DONE;
}

// *meta: text or NULL, replaced by the text with --meta's pairs in it; released with free
static int extend_meta(const option_texts *pairs, char **meta) {
  if (pairs->n == 0) return EXIT_DONE;
  cJSON *object = NULL;
  if (*meta == NULL)
    object = cJSON_CreateObject();
  else if (mm_json_parse(*meta, strlen(*meta), "meta", &object) != MM_OK)
    return fail_status(MM_ERR_INPUT);
  int code = add_meta(object, pairs);
  char *text = code == EXIT_DONE ? mm_json_print(object, false) : NULL;
  cJSON_Delete(object);
  free(*meta);
  *meta = text != NULL ? memory_text(text, strlen(text)) : NULL;
  mm_free(text);
  return code;
}

// ---------------------------------------------------------------------------------------------

static int write_map(const new_args *args, const mm_map *map, const char *meta) {
  mm_status status;
  if (args->out == NULL) {
    char *text;
    status = mm_map_format(map, meta, &text);
    TRY(status_code(status));
    output_text(text);
    if (text[0] != '\0' && text[strlen(text) - 1] != '\n') output_text("\n");
    mm_map_text_free(text);
    return EXIT_DONE;
  }
  status = mm_map_save(map, meta, args->out);
  TRY(status_code(status));
  note("wrote %s (%s)", args->out, map_describe_kind(map));
  if (!args->common.json) return EXIT_DONE;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "file", args->out);
  cJSON_AddStringToObject(root, "kind", mm_map_kind_name(mm_map_get_kind(map)));
  return output_json(root, EXIT_DONE);
}

static int run(void *raw) {
  const new_args *args = raw;
  int code = args->out != NULL ? map_check_out(args->out, args->force) : EXIT_DONE;
  mm_map *map = NULL;
  char *meta = NULL;
  if (code == EXIT_DONE) code = make(args, &map, &meta);
  if (code == EXIT_DONE) code = extend_meta(&args->meta, &meta);
  if (code == EXIT_DONE && args->eta > 0) code = status_code(mm_map_set_eta(map, args->eta));
  if (code == EXIT_DONE) code = write_map(args, map, meta);
  mm_map_destroy(map);
  free(meta);
  return code;
}

const command command_map_new = {
  .name = "new",
  .summary = "make a map and write its file",
  .positional = "KIND",
  .about = "KIND is negentropy, l2, tsallis:Q (or tsallis --q Q), piecewise, powers, neural, or "
           "random:SEED, random-neural:SEED, random-powers:SEED or random-tsallis:SEED. piecewise, "
           "powers and neural alone are where a search starts, close to the negative entropy; the "
           "random kinds are its controls.",
  .examples = "mirrormap map new piecewise --n 50 --out initial.json\n"
              "mirrormap map new piecewise --psi 0.2,0.3,0.5 --meta author=me\n"
              "mirrormap map new piecewise --from tsallis:1.5 --n 200 --out tsallis.json",
  .options = options,
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = 1,
  .args_size = sizeof(new_args),
  .run = run,
};
