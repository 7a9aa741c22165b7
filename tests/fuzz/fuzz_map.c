// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a map file. Refused with one line, or a map that survives its own
// writing to the bit and can be checked and used.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mirrormap/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, mm_last_error());
  abort();
}

// The sentence names the source and is one line.
static void require_error(mm_status status) {
  const char *text = mm_last_error();
  require(status == MM_ERR_INPUT || status == MM_ERR_MEMORY, "the status of a refusal");
  require(strstr(text, "fuzz") != NULL, "an error names its source");
  for (const char *s = text; *s; s++)
    require((unsigned char)*s >= 0x20 && *s != 0x7F, "an error is one line without controls");
}

static void require_same_numbers(const double *a, const double *b, size_t n) {
  require((a == NULL) == (b == NULL), "the same parameters");
  if (a) require(memcmp(a, b, n * sizeof *a) == 0, "numbers keep their bits");
}

static void require_same_anchor(const mm_map *x, const mm_map *y) {
  const double *w[2], *c[2], *u[2];
  double a[2], b[2], q[2] = { mm_map_tsallis_q(x), mm_map_tsallis_q(y) };
  size_t n[2] = { 0, 0 };
  const double *psi[2] = { mm_map_piecewise_psi(x, &n[0]), mm_map_piecewise_psi(y, &n[1]) };
  require(mm_map_get_kind(x) == mm_map_get_kind(y), "the same kind");
  require_same_numbers(&q[0], &q[1], 1);
  require(n[0] == n[1], "the same length");
  require_same_numbers(psi[0], psi[1], n[0]);
  mm_map_neural_parameters(x, &w[0], &c[0], &u[0], &a[0], &b[0]);
  mm_map_neural_parameters(y, &w[1], &c[1], &u[1], &a[1], &b[1]);
  require_same_numbers(w[0], w[1], MM_NEURAL_UNITS);
  require_same_numbers(c[0], c[1], MM_NEURAL_UNITS);
  require_same_numbers(u[0], u[1], MM_NEURAL_UNITS);
  require_same_numbers(&a[0], &a[1], 1);
  require_same_numbers(&b[0], &b[1], 1);
}

static void require_same(const mm_map *x, const mm_map *y) {
  require(mm_map_stages(x) == mm_map_stages(y), "as many stages");
  for (size_t i = 0; i < mm_map_stages(x); i++)
    require_same_anchor(mm_map_stage(x, i), mm_map_stage(y, i));
  const double eta[2] = { mm_map_eta(x), mm_map_eta(y) };
  require_same_numbers(&eta[0], &eta[1], 1);
  const char *meta[2] = { mm_map_meta(x), mm_map_meta(y) };
  require((meta[0] == NULL) == (meta[1] == NULL), "the same meta object");
  if (meta[0]) require(strcmp(meta[0], meta[1]) == 0, "the same meta text");
}

static void require_round_trip(const mm_map *map) {
  char *text = NULL, *again = NULL;
  mm_map *back = NULL;
  require(mm_map_format(map, NULL, &text) == MM_OK, "a map can be written");
  require(mm_map_parse(text, strlen(text), "fuzz", &back) == MM_OK, "what was written is read");
  require_same(map, back);
  require(mm_map_format(back, NULL, &again) == MM_OK, "it can be written again");
  require(strcmp(text, again) == 0, "to the same text");
  mm_map_text_free(text);
  mm_map_text_free(again);
  mm_map_destroy(back);
}

static void require_use(const mm_map *map) {
  static const double scores[] = { 0.5, -1, 3, 2.75, -40 };
  double probs[5], lambda = 0, sum = 0;
  mm_map_report report;
  mm_map_check(map, &report);
  require(report.valid == (report.n_failure == 0), "a map is valid when nothing failed");
  mm_status status = mm_map_project(map, MM_PROJECTION_EXACT, scores, 5, probs, &lambda);
  if (!report.valid) return; // a refusal is fine then
  if (status != MM_OK) require(status == MM_ERR_NUMERIC, "the status of a failed projection");
  if (status != MM_OK) return;
  for (int i = 0; i < 5; i++) {
    require(probs[i] >= 0 && probs[i] <= 1, "probabilities lie in [0, 1]");
    sum += probs[i];
  }
  require(fabs(sum - 1) < 1e-9, "probabilities sum to 1");
  require(probs[2] >= probs[3] && probs[3] >= probs[0] && probs[0] >= probs[1] &&
              probs[1] >= probs[4],
          "probabilities follow the scores");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mm_map *map = NULL;
  mm_status status = mm_map_parse((const char *)data, size, "fuzz", &map);
  require((status == MM_OK) == (map != NULL), "a map on success and only then");
  if (status != MM_OK) {
    require_error(status);
    return 0;
  }
  require_round_trip(map);
  require_use(map);
  mm_map_destroy(map);
  return 0;
}
