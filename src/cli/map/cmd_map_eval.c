// `map eval`: phi, phi^-1 and h at points. `map bregman`: the divergence of two policies.

#include <stdio.h>
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

static mm_status eval_phi(const eval_args *args, const mm_map *map, cJSON *root) {
  size_t n = args->x.n;
  double *phi = memory_take(n, sizeof *phi);
  mm_status status = mm_map_phi(map, args->x.value, n, phi);
  if (status == MM_OK && root != NULL) {
    output_add_numbers(root, "x", args->x.value, n);
    output_add_numbers(root, "phi", phi, n);
  } else if (status == MM_OK) {
    table *t = table_create((const char *const[]){ "x", "phi(x)" }, 2);
    for (size_t i = 0; i < n; i++) {
      table_number(t, args->x.value[i]);
      table_number(t, phi[i]);
    }
    table_print(t);
  }
  free(phi);
  return status;
}

static mm_status eval_inverse(const eval_args *args, const mm_map *map, cJSON *root) {
  size_t n = args->p.n;
  double *inverse = memory_take(n, sizeof *inverse), *h = memory_take(n, sizeof *h), total = 0;
  mm_status status = mm_map_phi_inverse(map, args->p.value, n, inverse);
  if (status == MM_OK) status = mm_map_h(map, args->p.value, n, h);
  for (size_t i = 0; i < n; i++)
    total += h[i];
  if (status == MM_OK && root != NULL) {
    output_add_numbers(root, "p", args->p.value, n);
    output_add_numbers(root, "phi_inv", inverse, n);
    output_add_numbers(root, "h", h, n);
    output_add_number(root, "h_total", total);
  } else if (status == MM_OK) {
    table *t = table_create((const char *const[]){ "p", "phi^-1(p)", "h(p)" }, 3);
    for (size_t i = 0; i < n; i++) {
      table_number(t, args->p.value[i]);
      table_number(t, inverse[i]);
      table_number(t, h[i]);
    }
    if (n > 1) {
      table_text(t, "");
      table_text(t, "sum");
      table_number(t, total);
    }
    table_print(t);
  }
  free(inverse);
  free(h);
  return status;
}

static int run_eval(void *raw) {
  const eval_args *args = raw;
  if ((args->x.value == NULL) == (args->p.value == NULL))
    return fail_usage("expected either '--x' or '--p'");
  mm_map *map;
  int code = map_argument_open(args->map, &map);
  if (code != EXIT_DONE) return code;
  cJSON *root = args->common.json ? cJSON_CreateObject() : NULL;
  if (root != NULL) cJSON_AddStringToObject(root, "map", args->map);
  mm_status status =
      args->x.value != NULL ? eval_phi(args, map, root) : eval_inverse(args, map, root);
  mm_map_destroy(map);
  if (status == MM_OK && args->common.json) return output_json(root, EXIT_DONE);
  cJSON_Delete(root);
  return status == MM_OK ? EXIT_DONE : fail_status(status);
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
  table *t = table_create((const char *const[]){ "<", "p", "q", "D(p, q)" }, 4);
  mm_status status = MM_OK;
  for (size_t i = 0; i < args->p.n && status == MM_OK; i++) {
    double term = 0;
    status = mm_map_bregman(map, &args->p.value[i], &args->q.value[i], 1, &term);
    p_sum += args->p.value[i];
    q_sum += args->q.value[i];
    char index[24];
    snprintf(index, sizeof index, "%zu", i + 1);
    table_text(t, index);
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
