// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a policy file. Refused with one line that names it, or a policy that
// survives its own writing to the bit and can be used.

#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "study/policy/evaluate.h"
#include "study/policy/policy_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, mm_last_error());
  abort();
}

static void require_error(mm_status status) {
  const char *text = mm_last_error();
  require(status == MM_ERR_INPUT || status == MM_ERR_MEMORY, "the status of a refusal");
  if (status == MM_ERR_INPUT) require(strncmp(text, "fuzz: ", 6) == 0, "an error names its source");
  for (const char *s = text; *s; s++)
    require((unsigned char)*s >= 0x20 && *s != 0x7F, "an error is one line without controls");
}

// ---------------------------------------------------------------------------------------------
// The file, made once

static char path[256];

static void remove_file(void) {
  unlink(path);
}

static void make_path(void) {
  const char *base = getenv("TMPDIR");
  if (!base || !base[0]) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, sizeof path, "%s/mm-fuzz-XXXXXX", base);
  int fd = mkstemp(path);
  require(fd >= 0 && close(fd) == 0, "a temporary file");
  atexit(remove_file);
}

static void require_same_settings(const mm_settings *a, const mm_settings *b) {
  cJSON *x = mm_settings_json(a), *y = mm_settings_json(b);
  char *text = mm_json_print(x, false), *again = mm_json_print(y, false);
  require(a->algo == b->algo && text && again && strcmp(text, again) == 0, "the same settings");
  mm_free(text);
  mm_free(again);
  cJSON_Delete(x);
  cJSON_Delete(y);
}

static void require_round_trip(const mm_policy *policy) {
  mm_policy *back;
  if (path[0] == '\0') make_path();
  require(mm_policy_save(policy, path) == MM_OK, "a policy can be written");
  require(mm_policy_load(path, &back) == MM_OK, "what was written is read");
  mm_policy_info a, b;
  mm_policy_describe(policy, &a);
  mm_policy_describe(back, &b);
  require(a.n == b.n && a.seed == b.seed && strcmp(a.env_id, b.env_id) == 0, "the same agents");
  require_same_settings(mm_policy_settings(policy), mm_policy_settings(back));
  require(memcmp(policy->data, back->data, a.n * mm_policy_size(&policy->net) * sizeof(float)) == 0,
          "the same weights");
  for (size_t i = 0; i < a.n; i++)
    require(a.final_value[i] == b.final_value[i] ||
                (isnan(a.final_value[i]) && isnan(b.final_value[i])),
            "the same values");
  mm_policy_destroy(back);
}

// The first and the last agent look at a state of zeros.
static void require_use(const mm_policy *policy) {
  const mm_settings *settings = mm_policy_settings(policy);
  mm_policy_info info;
  mm_policy_describe(policy, &info);
  float *obs = calloc((size_t)info.n_input, sizeof *obs);
  require(obs != NULL, "memory");
  for (size_t k = 0; k < 2; k++) {
    mm_player *player;
    double sum = 0;
    require(mm_player_open(policy, k ? info.n - 1 : 0, &player) == MM_OK, "a player");
    mm_status status = mm_player_look(player, &(mm_net_obs){ .floats = obs }, 1);
    require(status == MM_OK || status == MM_ERR_NUMERIC || status == MM_ERR_INPUT,
            "the status of a look");
    for (int32_t i = 0; status == MM_OK && i < info.n_action; i++) {
      const float p = mm_player_row(player, 0)[i];
      require(p >= 0 && p <= 1.001f, "a probability");
      sum += (double)p;
    }
    if (status == MM_OK && info.n_action > 0) {
      const int32_t greedy = mm_player_greedy(player, 0), drawn = mm_player_sample(player, 0, 0.5);
      require(greedy >= 0 && greedy < info.n_action, "an action");
      require(drawn >= 0 && drawn < info.n_action, "an action");
      if (info.algo != MM_ALGO_AMPO || !settings->ampo.bisect10)
        require(fabs(sum - 1) < 1e-2, "probabilities sum to 1");
    }
    mm_player_destroy(player);
  }
  free(obs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mm_policy *policy;
  mm_status status = mm_policy_parse(data, size, "fuzz", &policy);
  require((status == MM_OK) == (policy != NULL), "a policy on success and only then");
  if (status != MM_OK) {
    require_error(status);
    return 0;
  }
  require_round_trip(policy);
  require_use(policy);
  mm_policy_destroy(policy);
  return 0;
}
