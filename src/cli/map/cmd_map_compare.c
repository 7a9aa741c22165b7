// SPDX-License-Identifier: Apache-2.0
// `map compare`: how the policies of maps differ on common scores. Scores are eta c s with
// s = (1, .., |A|) unless given, as in the third row of the paper's AMPO figure.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/status.h"
#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

// points of [0, c-max] where policies are compared, and the difference that counts as none
enum { GRID = 401 };
#define SAME_BELOW 1e-9

typedef struct compare_args {
  command_args common;
  uint64_t actions;
  option_numbers scores, c;
  double eta, c_max;
  const char *projection;
} compare_args;

#define ARGS compare_args

static const option options[] = {
  OPTION(COUNT, "actions", actions, "N", "number of actions; their scores are c (1, .., N)",
         .fallback = "3", .low = 2, .high = 1000),
  OPTION(NUMBERS, "scores", scores, "A,B,...", "other scores than (1, .., N)"),
  OPTION(NUMBER, "eta", eta, "E", "step size that multiplies the scores", .fallback = "0.9",
         .low = 0, .low_open = true, .high = 1e6),
  OPTION(NUMBERS, "c", c, "A,B,...", "score scales at which to print the policies",
         .fallback = "0.5,1,2", .low = 0, .high = 1e6),
  OPTION(NUMBER, "c-max", c_max, "C", "the largest difference is sought for c from 0 to C",
         .fallback = "4", .low = 0, .low_open = true, .high = 1e6),
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

typedef struct comparison {
  const compare_args *args;
  map_list maps;
  size_t n_action;
  double *scores;     // [n_action]
  double *width;      // [n_map]  phi^-1(1) - phi^-1(1/|A|)
  double *zero_at;    // [n_map]  smallest c at which the worst action gets 0; inf for never
  double *divergence; // [n_map]  of a one-hot policy from the uniform one
  double *probs;      // [n_c][n_map][n_action]
  double *entropy;    // [n_c][n_map]
  double *distance;   // [n_map][n_map]  largest total variation
} comparison;

// ---------------------------------------------------------------------------------------------
// The figures

static mm_status policies_at(const comparison *k, double c, double *x, double *probs) {
  mm_projection method = map_projection(k->args->projection);
  for (size_t a = 0; a < k->n_action; a++)
    x[a] = k->args->eta * c * k->scores[a];
  for (size_t i = 0; i < k->maps.n; i++)
    MM_TRY(mm_map_project(k->maps.map[i], method, x, k->n_action, probs + i * k->n_action, NULL));
  return MM_OK;
}

static double entropy_of(const double *p, size_t n) {
  double sum = 0;
  for (size_t a = 0; a < n; a++)
    if (p[a] > 0) sum -= p[a] * log(p[a]);
  return sum;
}

static double variation(const double *p, const double *q, size_t n) {
  double sum = 0;
  for (size_t a = 0; a < n; a++)
    sum += fabs(p[a] - q[a]);
  return sum / 2;
}

static mm_status mass_at(const mm_map *map, const double *rise, size_t n, double c, double zero,
                         double *x, double *out) {
  for (size_t a = 0; a < n; a++)
    x[a] = zero + c * rise[a];
  MM_TRY(mm_map_phi(map, x, n, x));
  *out = 0;
  for (size_t a = 0; a < n; a++)
    *out += fmax(x[a], 0);
  return MM_OK;
}

// The worst action gets 0 once sum_a phi(phi^-1(0) + c eta (s_a - s_min)) >= 1: then the others
// fill the simplex with the worst one at the edge. The sum grows with c, so bisection finds the
// first.
static mm_status find_zero(const comparison *k, const mm_map *map, double *out) {
  size_t n = k->n_action;
  double edge[2], least = INFINITY, most = -INFINITY;
  MM_TRY(mm_map_phi_inverse(map, (const double[]){ 0, 1 }, 2, edge));
  for (size_t a = 0; a < n; a++) {
    least = fmin(least, k->scores[a]);
    most = fmax(most, k->scores[a]);
  }
  *out = INFINITY;
  if (isinf(edge[0]) || !(most > least)) return MM_OK;

  double *rise = memory_alloc(n, sizeof *rise), *x = memory_alloc(n, sizeof *x);
  for (size_t a = 0; a < n; a++)
    rise[a] = k->args->eta * (k->scores[a] - least);
  // at the upper end the best action alone has probability 1
  double low = 0, high = (edge[1] - edge[0]) / (k->args->eta * (most - least));
  mm_status status = MM_OK;
  while (status == MM_OK) {
    double middle = low + (high - low) / 2, mass = 0;
    if (!(middle > low && middle < high)) break;
    status = mass_at(map, rise, n, middle, edge[0], x, &mass);
    if (mass >= 1)
      high = middle;
    else
      low = middle;
  }
  *out = high;
  free(rise);
  free(x);
  return status;
}

static mm_status describe_map(comparison *k, size_t i, double *p, double *q) {
  const mm_map *map = k->maps.map[i];
  size_t n = k->n_action;
  double ends[2];
  MM_TRY(mm_map_phi_inverse(map, (const double[]){ 1 / (double)n, 1 }, 2, ends));
  k->width[i] = ends[1] - ends[0];
  for (size_t a = 0; a < n; a++) {
    p[a] = a == 0;
    q[a] = 1 / (double)n;
  }
  MM_TRY(mm_map_bregman(map, p, q, n, &k->divergence[i]));
  return find_zero(k, map, &k->zero_at[i]);
}

// total variation of every pair, at its largest over the grid of c
static mm_status find_distances(comparison *k, double *x, double *probs) {
  size_t n_map = k->maps.n, n = k->n_action;
  for (int step = 0; step < GRID; step++) {
    MM_TRY(policies_at(k, k->args->c_max * step / (GRID - 1), x, probs));
    for (size_t i = 0; i < n_map; i++)
      for (size_t j = 0; j < n_map; j++) {
        double d = variation(probs + i * n, probs + j * n, n);
        k->distance[i * n_map + j] = fmax(k->distance[i * n_map + j], d);
      }
  }
  return MM_OK;
}

static mm_status compute(comparison *k) {
  size_t n_map = k->maps.n, n = k->n_action;
  double *p = memory_alloc(n, sizeof *p), *q = memory_alloc(n * n_map, sizeof *q);
  mm_status status = MM_OK;
  for (size_t i = 0; i < n_map && status == MM_OK; i++)
    status = describe_map(k, i, p, q);
  for (size_t j = 0; j < k->args->c.n && status == MM_OK; j++) {
    double *probs = k->probs + j * n_map * n;
    status = policies_at(k, k->args->c.value[j], p, probs);
    for (size_t i = 0; i < n_map; i++)
      k->entropy[j * n_map + i] = entropy_of(probs + i * n, n);
  }
  if (status == MM_OK) status = find_distances(k, p, q);
  free(p);
  free(q);
  return status;
}

// ---------------------------------------------------------------------------------------------
// For people

static void put_title(const char *text, double value) {
  printf("\n%s%s %s%s\n", terminal_style(stdout, STYLE_DIM), text, output_number(value),
         terminal_style(stdout, STYLE_PLAIN));
}

static void put_maps(const comparison *k) {
  char label[MAP_LABEL_SIZE];
  table *t = table_create("<map|<kind|width|zero at c|D(one-hot, uniform)");
  for (size_t i = 0; i < k->maps.n; i++) {
    table_text(t, map_label(k->maps.name[i], label));
    table_text(t, map_describe_kind(k->maps.map[i]));
    table_number(t, k->width[i]);
    if (isinf(k->zero_at[i]))
      table_text(t, "never");
    else
      table_number(t, k->zero_at[i]);
    table_number(t, k->divergence[i]);
  }
  table_print(t);
  printf("width: phi^-1(1) - phi^-1(1/%zu), which sets the temperature. zero at c: where the worst "
         "action's\nprobability reaches 0.\n",
         k->n_action);
}

static void put_policies(const comparison *k, size_t j) {
  size_t n = k->n_action, n_map = k->maps.n;
  char label[MAP_LABEL_SIZE];
  table *t = table_of_columns(n + 2);
  table_text(t, "<map");
  for (size_t a = 0; a < n; a++)
    table_format(t, "p%zu", a + 1);
  table_text(t, "entropy");
  for (size_t i = 0; i < n_map; i++) {
    table_text(t, map_label(k->maps.name[i], label));
    for (size_t a = 0; a < n; a++)
      table_number(t, k->probs[(j * n_map + i) * n + a]);
    table_number(t, k->entropy[j * n_map + i]);
  }
  put_title("policies at c =", k->args->c.value[j]);
  table_print(t);
}

static bool same(const comparison *k, size_t i, size_t j) {
  return k->distance[i * k->maps.n + j] < SAME_BELOW;
}

static void put_distances(const comparison *k) {
  size_t n = k->maps.n;
  char label[2][MAP_LABEL_SIZE];
  table *t = table_of_columns(n + 1);
  table_text(t, "<");
  for (size_t i = 0; i < n; i++)
    table_text(t, map_label(k->maps.name[i], label[0]));
  for (size_t i = 0; i < n; i++) {
    table_text(t, map_label(k->maps.name[i], label[0]));
    for (size_t j = 0; j < n; j++)
      table_number(t, k->distance[i * n + j]);
  }
  put_title("largest total variation between policies, c from 0 to", k->args->c_max);
  table_print(t);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++)
      if (same(k, i, j))
        printf("same policies: %s and %s\n", output_plain(map_label(k->maps.name[i], label[0])),
               output_plain(map_label(k->maps.name[j], label[1])));
}

static int put_tables(const comparison *k) {
  put_maps(k);
  for (size_t j = 0; j < k->args->c.n; j++)
    put_policies(k, j);
  if (k->maps.n > 1) put_distances(k);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// For programs

static cJSON *describe_json(const comparison *k, size_t i) {
  size_t n = k->n_action, n_map = k->maps.n;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", k->maps.name[i]);
  cJSON_AddStringToObject(object, "kind", mm_map_kind_name(mm_map_get_kind(k->maps.map[i])));
  output_add_number(object, "width", k->width[i]);
  output_add_number(object, "zero_at", k->zero_at[i]);
  output_add_number(object, "divergence", k->divergence[i]);
  cJSON *policies = cJSON_AddArrayToObject(object, "policies");
  for (size_t j = 0; j < k->args->c.n; j++) {
    cJSON *policy = cJSON_CreateObject();
    output_add_number(policy, "c", k->args->c.value[j]);
    output_add_numbers(policy, "probs", k->probs + (j * n_map + i) * n, n);
    output_add_number(policy, "entropy", k->entropy[j * n_map + i]);
    cJSON_AddItemToArray(policies, policy);
  }
  return object;
}

static int put_json(const comparison *k) {
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "maps");
  for (size_t i = 0; i < k->maps.n; i++)
    cJSON_AddItemToArray(array, describe_json(k, i));
  output_add_number(root, "actions", (double)k->n_action);
  output_add_number(root, "eta", k->args->eta);
  output_add_numbers(root, "scores", k->scores, k->n_action);
  output_add_number(root, "c_max", k->args->c_max);
  cJSON_AddStringToObject(root, "projection", k->args->projection);
  cJSON_AddItemToObject(root, "total_variation",
                        output_json_rows(k->distance, k->maps.n, k->maps.n));
  cJSON *pairs = cJSON_AddArrayToObject(root, "same_policies");
  for (size_t i = 0; i < k->maps.n; i++)
    for (size_t j = i + 1; j < k->maps.n; j++)
      if (same(k, i, j))
        cJSON_AddItemToArray(pairs, mm_json_numbers((const double[]){ (double)i, (double)j }, 2));
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------

// All arrays are slices of one block, which begins with the scores.
static void prepare(comparison *k) {
  const compare_args *args = k->args;
  size_t n_map = k->maps.n, n_policy = args->c.n * n_map;
  k->n_action = args->scores.value != NULL ? args->scores.n : (size_t)args->actions;
  k->scores = memory_alloc(k->n_action * (1 + n_policy) + n_map * (3 + n_map) + n_policy,
                           sizeof *k->scores);
  for (size_t a = 0; a < k->n_action; a++)
    k->scores[a] = args->scores.value != NULL ? args->scores.value[a] : (double)(a + 1);
  k->width = k->scores + k->n_action;
  k->zero_at = k->width + n_map;
  k->divergence = k->zero_at + n_map;
  k->distance = k->divergence + n_map;
  k->entropy = k->distance + n_map * n_map;
  k->probs = k->entropy + n_policy;
}

static int run(void *raw) {
  comparison k = { .args = raw };
  if (k.args->scores.value != NULL &&
      options_given(&command_map_compare, &k.args->common, "actions"))
    return fail_usage("option '--scores' cannot be combined with '--actions'");
  if (k.args->scores.n == 1) return fail_usage("option '--scores': expected at least two");
  int code = map_list_open(&k.args->common.positional, &k.maps);
  if (code == EXIT_DONE) {
    prepare(&k);
    mm_status status = compute(&k);
    code = status != MM_OK       ? fail_status(status)
           : k.args->common.json ? put_json(&k)
                                 : put_tables(&k);
  }
  free(k.scores);
  map_list_release(&k.maps);
  return code;
}

const command command_map_compare = {
  .name = "compare",
  .summary = "how the policies of maps differ on the same scores",
  .positional = "MAP...",
  .about =
      "Scores are eta c (1, .., N), as in the third row of the paper's AMPO figure. Two maps whose "
      "policies differ by less than 1e-9 at all scales c are said to be the same.",
  .examples = "mirrormap map compare negentropy l2 tsallis:1.5\n"
              "mirrormap map compare negentropy learned.json --actions 5 --c 0.5,1 --json",
  .options = options,
  .settings = settings,
  .common = COMMON_JSON | COMMON_ISA,
  .min_positional = 1,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(compare_args),
  .run = run,
};
