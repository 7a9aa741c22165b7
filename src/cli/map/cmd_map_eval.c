// SPDX-License-Identifier: Apache-2.0
// `map eval`: phi, phi^-1 and h at points. `map bregman`: the divergence of two policies.

#include <stdlib.h>

#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

typedef struct eval_args {
  command_args common;
  const char *map;
  option_numbers x, p, q;
} eval_args;

#define ARGS eval_args
#define MAP_OPTION OPTION(TEXT, "map", map, "MAP", "the map", .required = true)

// ---------------------------------------------------------------------------------------------
// eval

static const option eval_options[] = {
  MAP_OPTION,
  OPTION(NUMBERS, "x", x, "A,B,...", "phi at these points, not clipped at 0"),
  OPTION(NUMBERS, "p", p, "A,B,...", "phi^-1 and the terms of h at these probabilities", .low = 0,
         .high = 1),
  { 0 },
};

// A column of the result: its name in JSON and in the table.
typedef struct column {
  const char *key, *title;
  const double *value; // [n]
} column;

static int put_json(const eval_args *args, const column *columns, size_t n_column, size_t n,
                    double total) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "map", args->map);
  for (size_t k = 0; k < n_column; k++)
    output_add_numbers(root, columns[k].key, columns[k].value, n);
  if (args->p.value != NULL) output_add_number(root, "h_total", total);
  return output_json(root, EXIT_DONE);
}

static int put_table(const eval_args *args, const column *columns, size_t n_column, size_t n,
                     double total) {
  table *t = table_of_columns(n_column);
  for (size_t k = 0; k < n_column; k++)
    table_text(t, columns[k].title);
  for (size_t i = 0; i < n * n_column; i++)
    table_number(t, columns[i % n_column].value[i / n_column]);
  if (args->p.value != NULL && n > 1) {
    table_text(t, "");
    table_text(t, "sum");
    table_number(t, total);
  }
  table_print(t);
  return EXIT_DONE;
}

static int eval(const eval_args *args, const mm_map *map) {
  const bool at_x = args->x.value != NULL;
  const option_numbers *at = at_x ? &args->x : &args->p;
  double *y = memory_alloc(at->n, sizeof *y), *h = memory_alloc(at->n, sizeof *h), total = 0;
  const column phi[] = { { "x", "x", at->value }, { "phi", "phi(x)", y } };
  const column inverse[] = { { "p", "p", at->value },
                             { "phi_inv", "phi^-1(p)", y },
                             { "h", "h(p)", h } };
  mm_status status =
      at_x ? mm_map_phi(map, at->value, at->n, y) : mm_map_phi_inverse(map, at->value, at->n, y);
  if (status == MM_OK && !at_x) status = mm_map_h(map, at->value, at->n, h);
  for (size_t i = 0; i < at->n; i++)
    total += h[i];
  int code = status != MM_OK ? fail_status(status)
                             : (args->common.json ? put_json : put_table)(
                                   args, at_x ? phi : inverse, at_x ? 2 : 3, at->n, total);
  free(y);
  free(h);
  return code;
}

static int run_eval(void *raw) {
  const eval_args *args = raw;
  if ((args->x.value == NULL) == (args->p.value == NULL))
    return fail_usage("expected either '--x' or '--p'");
  mm_map *map;
  int code = map_argument_open(args->map, &map);
  if (code == EXIT_DONE) code = eval(args, map);
  mm_map_destroy(map);
  return code;
}

const command command_map_eval = {
  .name = "eval",
  .summary = "phi at points, or phi^-1 and h at probabilities",
  .about = "h(p) is the sum of the terms int_1^p phi^-1, one for each probability.",
  .examples = "mirrormap map eval --map tsallis:1.5 --x -1,0,1.5\n"
              "mirrormap map eval --map negentropy --p 0,0.2,1 --json",
  .options = eval_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(eval_args),
  .run = run_eval,
};

// ---------------------------------------------------------------------------------------------
// bregman

static const option bregman_options[] = {
  MAP_OPTION,
  OPTION(NUMBERS, "p", p, "A,B,...", "probabilities; they need not sum to 1", .low = 0, .high = 1,
         .required = true),
  OPTION(NUMBERS, "q", q, "A,B,...", "as many again", .low = 0, .high = 1, .required = true),
  { 0 },
};

// one row for each coordinate, and the sums: that of p and q shows whether they are policies
static mm_status put_terms(const eval_args *args, const mm_map *map, double divergence) {
  double p_sum = 0, q_sum = 0;
  table *t = table_create("<|p|q|D(p, q)");
  mm_status status = MM_OK;
  for (size_t i = 0; i < args->p.n && status == MM_OK; i++) {
    double term = 0;
    status = mm_map_bregman(map, &args->p.value[i], &args->q.value[i], 1, &term);
    p_sum += args->p.value[i];
    q_sum += args->q.value[i];
    table_format(t, "%zu", i + 1);
    table_number(t, args->p.value[i]);
    table_number(t, args->q.value[i]);
    table_number(t, term);
  }
  table_text(t, "sum");
  table_number(t, p_sum);
  table_number(t, q_sum);
  table_number(t, divergence);
  table_print(t);
  return status;
}

static int run_bregman(void *raw) {
  const eval_args *args = raw;
  if (args->p.n != args->q.n)
    return fail_usage("options '--p' and '--q' differ in length: %zu and %zu", args->p.n,
                      args->q.n);
  mm_map *map;
  int code = map_argument_open(args->map, &map);
  if (code != EXIT_DONE) return code;
  double divergence = 0;
  mm_status status = mm_map_bregman(map, args->p.value, args->q.value, args->p.n, &divergence);
  if (status == MM_OK && args->common.json) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "map", args->map);
    output_add_number(root, "divergence", divergence);
    code = output_json(root, EXIT_DONE);
  } else if (status == MM_OK) {
    status = put_terms(args, map, divergence);
  }
  mm_map_destroy(map);
  return status == MM_OK ? code : fail_status(status);
}

const command command_map_bregman = {
  .name = "bregman",
  .summary = "the divergence D(p, q) of two policies",
  .about = "D(p, q) = h(p) - h(q) - <phi^-1(q), p - q>, also for vectors that do not sum to 1. It "
           "is inf "
           "where some q is 0, its p is not, and phi^-1(0) = -inf.",
  .examples = "mirrormap map bregman --map negentropy --p 1,0,0 --q 0.4,0.3,0.3",
  .options = bregman_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(eval_args),
  .run = run_bregman,
};
