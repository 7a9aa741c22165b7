// SPDX-License-Identifier: Apache-2.0
// `map project`: the policy of one score vector, or of every row of a file.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

typedef struct project_args {
  command_args common;
  const char *map;
  option_numbers scores;
  const char *scores_file;
  const char *precision;
  const char *projection;
} project_args;

static const char *const precision_names[] = { "double", "float", NULL };

#define ARGS project_args

static const option options[] = {
  OPTION(TEXT, "map", map, "MAP", "the map", .required = true),
  OPTION(NUMBERS, "scores", scores, "A,B,...", "one score for each action"),
  OPTION(TEXT, "scores-file", scores_file, "FILE",
         "many score vectors of one length, a line each, separated by commas or blanks; - is "
         "stdin"),
  OPTION(CHOICE, "precision", precision, NULL,
         "float is the engines' form, where neural maps go through their table",
         .choices = precision_names, .fallback = "double"),
  { 0 },
};

static const option *settings(void) {
  static const option keys[] = {
    OPTION(CHOICE, "projection", projection, NULL,
           "bisect10: ten bisections, as the reference implementation has it",
           .choices = map_projection_names, .fallback = "exact"),
    { 0 },
  };
  return keys;
}

// ---------------------------------------------------------------------------------------------
// Score vectors from a file

typedef struct score_rows {
  size_t rows, columns;
  size_t n;
  double *value; // [rows][columns]
} score_rows;

static const char separators[] = ", \t\r\n";

// what a table of policies is still read from; far less than the machine has
enum { SCORES_BYTES_MAX = 128 << 20, SCORES_MAX = 1 << 22 };

// adds the numbers of one line; empty lines and those that begin with # do not count
static int read_row(const char *name, size_t line, char *text, score_rows *out) {
  size_t before = out->n;
  char *rest = NULL;
  if (text[strspn(text, separators)] == '#') return EXIT_DONE;
  for (char *word = strtok_r(text, separators, &rest); word != NULL;
       word = strtok_r(NULL, separators, &rest)) {
    double value;
    if (!mm_json_parse_number(word, &value) || !isfinite(value))
      return fail(EXIT_USAGE, "%s:%zu: '%.40s' is not a finite number", name, line, word);
    if (out->n == SCORES_MAX)
      return fail(EXIT_USAGE, "%s:%zu: expected at most %d scores in all", name, line, SCORES_MAX);
    out->value = memory_grow(out->value, out->n, sizeof *out->value);
    out->value[out->n++] = value;
  }
  size_t columns = out->n - before;
  if (columns == 0) return EXIT_DONE;
  if (out->rows > 0 && columns != out->columns)
    return fail(EXIT_USAGE, "%s:%zu: %zu scores where the lines before have %zu", name, line,
                columns, out->columns);
  out->columns = columns;
  out->rows++;
  return EXIT_DONE;
}

static int read_lines(const char *name, char *text, size_t length, score_rows *out) {
  char *end = text + length;
  for (size_t line = 1; text < end; line++) {
    char *stop = memchr(text, '\n', (size_t)(end - text));
    if (stop == NULL) stop = end; // where the reader has put a zero
    *stop = '\0';
    if (strlen(text) != (size_t)(stop - text))
      return fail(EXIT_USAGE, "%s:%zu: a zero byte where a number was expected", name, line);
    int code = read_row(name, line, text, out);
    if (code != EXIT_DONE) return code;
    text = stop + 1;
  }
  return out->rows > 0 ? EXIT_DONE : fail(EXIT_USAGE, "%s: expected scores, found none", name);
}

static int read_scores(const char *path, score_rows *out) {
  char *text;
  size_t length;
  TRY(status_code(mm_file_read_stream(path, SCORES_BYTES_MAX, &text, &length)));
  int code = read_lines(strcmp(path, "-") == 0 ? "stdin" : path, text, length, out);
  mm_free(text);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Projection

typedef struct policies {
  double *probs;  // [rows][columns]
  double *lambda; // [rows]
} policies;

static int project_float(const mm_map *map, mm_projection method, const score_rows *scores,
                         policies *out) {
  float *x = memory_alloc(scores->n, sizeof *x), *probs = memory_alloc(scores->n, sizeof *probs);
  float *lambda = memory_alloc(scores->rows, sizeof *lambda);
  int code = EXIT_DONE;
  for (size_t i = 0; i < scores->n && code == EXIT_DONE; i++) {
    x[i] = (float)scores->value[i];
    if (isinf(x[i]))
      code = fail(EXIT_USAGE, "score %g is too large for single precision", scores->value[i]);
  }
  if (code == EXIT_DONE) {
    mm_status status =
        mm_map_project_batch_f(map, method, x, scores->rows, scores->columns, probs, lambda);
    if (status != MM_OK) code = fail_status(status);
  }
  for (size_t i = 0; i < scores->n; i++)
    out->probs[i] = (double)probs[i];
  for (size_t i = 0; i < scores->rows; i++)
    out->lambda[i] = (double)lambda[i];
  free(x);
  free(probs);
  free(lambda);
  return code;
}

static int project(const project_args *args, const mm_map *map, const score_rows *scores,
                   policies *out) {
  mm_projection method = map_projection(args->projection);
  if (strcmp(args->precision, "float") == 0) return project_float(map, method, scores, out);
  return status_code(mm_map_project_batch(map, method, scores->value, scores->rows, scores->columns,
                                          out->probs, out->lambda));
}

// ---------------------------------------------------------------------------------------------
// Output

static int put_json(const project_args *args, const score_rows *scores, const policies *result) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "map", args->map);
  cJSON_AddStringToObject(root, "projection", args->projection);
  cJSON_AddStringToObject(root, "precision", args->precision);
  if (args->scores_file == NULL) {
    output_add_numbers(root, "probs", result->probs, scores->columns);
    output_add_number(root, "lambda", result->lambda[0]);
  } else {
    cJSON_AddItemToObject(root, "probs",
                          output_json_rows(result->probs, scores->rows, scores->columns));
    output_add_numbers(root, "lambda", result->lambda, scores->rows);
  }
  return output_json(root, EXIT_DONE);
}

static void put_one(const score_rows *scores, const policies *result) {
  table *t = table_create("action|score|probability");
  for (size_t i = 0; i < scores->columns; i++) {
    table_number(t, (double)(i + 1));
    table_number(t, scores->value[i]);
    table_number(t, result->probs[i]);
  }
  table_print(t);
  printf("lambda  %s\n", output_number(result->lambda[0]));
}

static void put_many(const score_rows *scores, const policies *result) {
  table *t = table_of_columns(scores->columns + 2);
  table_text(t, "row");
  table_text(t, "lambda");
  for (size_t i = 0; i < scores->columns; i++)
    table_format(t, "p%zu", i + 1);
  for (size_t row = 0; row < scores->rows; row++) {
    table_number(t, (double)(row + 1));
    table_number(t, result->lambda[row]);
    for (size_t i = 0; i < scores->columns; i++)
      table_number(t, result->probs[row * scores->columns + i]);
  }
  table_print(t);
}

static int run(void *raw) {
  const project_args *args = raw;
  if ((args->scores.value == NULL) == (args->scores_file == NULL))
    return fail_usage("expected either '--scores' or '--scores-file'");
  mm_map *map;
  int code = map_argument_open(args->map, &map);
  if (code != EXIT_DONE) return code;

  score_rows scores = { 0 };
  if (args->scores_file != NULL) {
    code = read_scores(args->scores_file, &scores);
  } else {
    size_t n = args->scores.n;
    scores = (score_rows){ .rows = 1, .columns = n, .n = n, .value = args->scores.value };
  }
  policies result = { memory_alloc(scores.n, sizeof(double)),
                      memory_alloc(scores.rows, sizeof(double)) };
  if (code == EXIT_DONE) code = project(args, map, &scores, &result);
  if (code == EXIT_DONE) {
    if (args->common.json)
      code = put_json(args, &scores, &result);
    else if (args->scores_file == NULL)
      put_one(&scores, &result);
    else
      put_many(&scores, &result);
  }
  if (args->scores_file != NULL) free(scores.value);
  free(result.probs);
  free(result.lambda);
  mm_map_destroy(map);
  return code;
}

const command command_map_project = {
  .name = "project",
  .summary = "the policy that a map makes of scores",
  .about =
      "Finds lambda with sum_a max(phi(x_a + lambda), 0) = 1; the terms are the probabilities. "
      "Scores are taken as they are: multiply by eta beforehand. With --scores-file the JSON "
      "fields hold one entry for each row.",
  .examples = "mirrormap map project --map l2 --scores 0.3,-0.5,1.2,0,0.9\n"
              "mirrormap map project --map learned.json --scores-file scores.csv --json",
  .options = options,
  .settings = settings,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(project_args),
  .run = run,
};
