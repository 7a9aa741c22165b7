// SPDX-License-Identifier: Apache-2.0
// Policy files: what is written another reader finds, what is read is what was written, and one
// clear sentence for everything else.

#define _POSIX_C_SOURCE 200809L

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "scarce_memory.h"
#include "study/policy/policy_internal.h"
#include "test.h"

enum { INPUTS = 3, ACTIONS = 2, HIDDEN = 5, AGENTS = 3 };

static mm_map *open_map(const char *name) {
  mm_map *map;
  assert_ok(mm_map_open(name, &map));
  return map;
}

static mm_settings small(mm_algo algo) {
  mm_settings s = mm_settings_default(algo);
  s.net.hidden = HIDDEN;
  s.net.lr = 0.1 + 0.2; // needs all of its digits
  return s;
}

static mm_net *make_net(uint64_t seed, int32_t n_input, int32_t hidden) {
  mm_net_config config = mm_net_config_default(n_input, ACTIONS);
  mm_net *net;
  config.hidden[0] = config.hidden[1] = hidden;
  assert_ok(mm_net_create(&config, &net));
  assert_ok(mm_net_init(net, seed, 0));
  for (int t = 1; t < MM_NET_TENSORS; t += 2) { // biases would be 0
    float bias[HIDDEN] = { 0.5f, -0x1.234568p-3f, 0x1p-149f, -0.0f, 3e38f };
    mm_net_import(net, MM_NET_PARAM, t, bias);
  }
  return net;
}

static mm_policy *make_policy(const char *map_name, mm_algo algo) {
  mm_settings settings = small(algo);
  mm_map *map = open_map(map_name);
  mm_policy *policy;
  assert_ok(mm_policy_make("CartPole-v1", map, &settings, UINT64_MAX - 5, AGENTS, &policy));
  for (size_t i = 0; i < AGENTS; i++) {
    mm_net *net = make_net(i, INPUTS, HIDDEN);
    assert_ok(mm_policy_set(policy, i, net));
    mm_net_destroy(net);
  }
  mm_policy_set_final(policy, 0, 1.0 / 3);
  mm_policy_set_final(policy, 2, -INFINITY);
  mm_map_destroy(map);
  return policy;
}

// ---------------------------------------------------------------------------------------------
// Files

static char folder[] = "/tmp/mirrormap-test-XXXXXX";
static char path[64];

static int open_folder(void **state) {
  (void)state;
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/policy.safetensors", folder);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder); // nothing else was left there
}

typedef struct bytes {
  unsigned char *at;
  size_t n;
} bytes;

static bytes read_back(void) {
  FILE *file = fopen(path, "rb");
  bytes b;
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  b.n = (size_t)ftell(file);
  rewind(file);
  b.at = malloc(b.n);
  assert_int_equal(fread(b.at, 1, b.n, file), b.n);
  fclose(file);
  return b;
}

static bytes good_file(const char *map) {
  mm_policy *policy = make_policy(map, MM_ALGO_AMPO);
  assert_ok(mm_policy_save(policy, path));
  mm_policy_destroy(policy);
  return read_back();
}

static uint64_t header_length(const unsigned char *file) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--)
    length = length * 256 + file[i];
  return length;
}

// A file of this header and data; the length is given, or that of the header.
static bytes make_file(const char *header, const unsigned char *data, size_t data_size) {
  size_t length = strlen(header);
  bytes b = { malloc(8 + length + data_size), 8 + length + data_size };
  for (int i = 0; i < 8; i++)
    b.at[i] = (unsigned char)((uint64_t)length >> 8 * i);
  memcpy(b.at + 8, header, length);
  memcpy(b.at + 8 + length, data, data_size);
  return b;
}

static char *header_of(bytes file) {
  size_t length = (size_t)header_length(file.at);
  char *text = malloc(length + 1);
  memcpy(text, file.at + 8, length);
  text[length] = '\0';
  return text;
}

// The text with the first `old` in it replaced.
static char *replaced(const char *text, const char *old, const char *new) {
  const char *at = strstr(text, old);
  if (!at) fail_msg("no '%s' in the header", old);
  char *out = malloc(strlen(text) + strlen(new) + 1);
  sprintf(out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
  return out;
}

static void refuse_bytes(const void *at, size_t n, const char *part) {
  mm_policy *policy;
  // a block of exactly this size, so that a sanitizer sees any read beyond it
  unsigned char *copy = malloc(n ? n : 1);
  memcpy(copy, at, n);
  assert_fails(mm_policy_parse(copy, n, "a.safetensors", &policy), MM_ERR_INPUT, part);
  assert_null(policy);
  if (strncmp(mm_last_error(), "a.safetensors: ", 15) != 0)
    fail_msg("the file is not named: %s", mm_last_error());
  free(copy);
}

// ---------------------------------------------------------------------------------------------
// Round trips

static void assert_same_nets(const mm_policy *a, const mm_policy *b) {
  for (size_t i = 0; i < AGENTS; i++) {
    mm_net *x, *y;
    float p[HIDDEN * HIDDEN], q[HIDDEN * HIDDEN];
    assert_ok(mm_policy_net(a, i, &x));
    assert_ok(mm_policy_net(b, i, &y));
    for (int t = 0; t < MM_NET_TENSORS; t++) {
      mm_net_tensor tensor = mm_net_describe(x, t);
      mm_net_export(x, MM_NET_PARAM, t, p);
      mm_net_export(y, MM_NET_PARAM, t, q);
      assert_memory_equal(p, q, (size_t)(tensor.rows * tensor.cols) * sizeof *p);
    }
    mm_net_destroy(x);
    mm_net_destroy(y);
  }
}

static void assert_same_map(const mm_map *a, const mm_map *b) {
  char *x, *y;
  assert_ok(mm_map_format(a, NULL, &x));
  assert_ok(mm_map_format(b, NULL, &y));
  assert_string_equal(x, y);
  mm_map_text_free(x);
  mm_map_text_free(y);
}

static void assert_same_settings(const mm_settings *a, const mm_settings *b) {
  cJSON *x = mm_settings_json(a), *y = mm_settings_json(b);
  char *text = mm_json_print(x, false), *again = mm_json_print(y, false);
  assert_string_equal(text, again);
  mm_free(text);
  mm_free(again);
  cJSON_Delete(x);
  cJSON_Delete(y);
}

static void test_round_trip(void **state) {
  (void)state;
  static const char *const maps[] = { "negentropy", "l2", "tsallis:0.5", "random:3", "neural" };
  for (int k = 0; k < 6; k++) {
    mm_policy *policy =
        make_policy(k < 5 ? maps[k] : "negentropy", k < 5 ? MM_ALGO_AMPO : MM_ALGO_PPO);
    mm_policy *back;
    assert_ok(mm_policy_save(policy, path));
    assert_ok(mm_policy_load(path, &back));
    mm_policy_info a, b;
    mm_policy_describe(policy, &a);
    mm_policy_describe(back, &b);
    assert_string_equal(b.env_id, "CartPole-v1");
    assert_true(b.seed == UINT64_MAX - 5 && b.n == AGENTS);
    assert_true(b.final_value[0] == 1.0 / 3 && isnan(b.final_value[1]) &&
                b.final_value[2] == -INFINITY);
    assert_true(b.n_input == INPUTS && b.n_action == ACTIONS && b.n_real == 0 &&
                b.hidden[0] == HIDDEN && b.hidden[1] == HIDDEN && !b.relu);
    assert_int_equal(b.algo, a.algo);
    assert_same_settings(mm_policy_settings(policy), mm_policy_settings(back));
    assert_true(a.eta == b.eta);
    assert_same_map(a.map, b.map);
    assert_same_nets(policy, back);
    // the same bytes again
    bytes first = read_back();
    assert_ok(mm_policy_save(back, path));
    bytes second = read_back();
    assert_int_equal(first.n, second.n);
    assert_memory_equal(first.at, second.at, first.n);
    free(first.at);
    free(second.at);
    mm_policy_destroy(policy);
    mm_policy_destroy(back);
  }
}

static void test_run_folder(void **state) {
  (void)state;
  mm_policy *policy = make_policy("l2", MM_ALGO_AMPO), *back;
  assert_ok(mm_policy_save(policy, folder));
  assert_ok(mm_policy_load(folder, &back));
  mm_policy_destroy(back);
  assert_ok(mm_policy_load(path, &back));
  mm_policy_destroy(back);
  unlink(path);
  assert_fails(mm_policy_load(folder, &back), MM_ERR_INPUT, "policy.safetensors");
  assert_null(back);
  assert_int_not_equal(mm_policy_save(policy, "/nonexistent/a/policy.safetensors"), MM_OK);
  mm_policy_destroy(policy);
  // claims 100 GB and holds nothing of it
  assert_int_equal(truncate(path, 0), -1);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
  if (truncate(path, (off_t)100 << 30) == 0)
    assert_fails(mm_policy_load(path, &back), MM_ERR_INPUT, "too large");
}

// ---------------------------------------------------------------------------------------------
// Another reader: cJSON and the text of the format alone

static float *tensor_in(const cJSON *root, const unsigned char *data, size_t size, const char *name,
                        int dims, const int *shape) {
  const cJSON *tensor = cJSON_GetObjectItemCaseSensitive(root, name);
  assert_non_null(tensor);
  assert_string_equal(cJSON_GetObjectItem(tensor, "dtype")->valuestring, "F32");
  const cJSON *found = cJSON_GetObjectItem(tensor, "shape");
  assert_int_equal(cJSON_GetArraySize(found), dims);
  size_t n = 1;
  for (int i = 0; i < dims; i++) {
    assert_int_equal(cJSON_GetArrayItem(found, i)->valueint, shape[i]);
    n *= (size_t)shape[i];
  }
  const cJSON *offsets = cJSON_GetObjectItem(tensor, "data_offsets");
  size_t begin = (size_t)cJSON_GetArrayItem(offsets, 0)->valueint;
  size_t end = (size_t)cJSON_GetArrayItem(offsets, 1)->valueint;
  assert_true(end <= size && end - begin == 4 * n);
  float *out = malloc(4 * n); // this test knows that it runs on a little-endian machine
  memcpy(out, data + begin, 4 * n);
  return out;
}

// f(s, .) of an agent as a user of the file would compute it.
static void scores_by_hand(const cJSON *root, const unsigned char *data, size_t size, size_t agent,
                           const float *input, double *out) {
  static const int sizes[] = { INPUTS, HIDDEN, HIDDEN, ACTIONS };
  double x[HIDDEN], y[HIDDEN];
  for (int i = 0; i < INPUTS; i++)
    x[i] = (double)input[i];
  for (int layer = 0; layer < 3; layer++) {
    const int in = sizes[layer], n = sizes[layer + 1];
    char name[2][32];
    snprintf(name[0], 32, "actor.%d.weight", layer);
    snprintf(name[1], 32, "actor.%d.bias", layer);
    float *w = tensor_in(root, data, size, name[0], 3, (int[]){ AGENTS, in, n });
    float *b = tensor_in(root, data, size, name[1], 2, (int[]){ AGENTS, n });
    for (int j = 0; j < n; j++) {
      y[j] = (double)b[agent * (size_t)n + (size_t)j];
      for (int i = 0; i < in; i++)
        y[j] += x[i] * (double)w[(agent * (size_t)in + (size_t)i) * (size_t)n + (size_t)j];
      if (layer < 2) y[j] = tanh(y[j]);
    }
    memcpy(x, y, sizeof x);
    free(w);
    free(b);
  }
  memcpy(out, x, ACTIONS * sizeof *out);
}

static void assert_text(const cJSON *root, const char *key, const char *expected) {
  const cJSON *meta = cJSON_GetObjectItem(root, "__metadata__");
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(meta, key);
  assert_true(cJSON_IsString(item));
  if (expected) assert_string_equal(item->valuestring, expected);
}

static void test_another_reader(void **state) {
  (void)state;
  bytes file = good_file("l2");
  const uint64_t length = header_length(file.at);
  assert_true(length % 8 == 0 && length < file.n && file.at[8] == '{');
  cJSON *root = cJSON_ParseWithLength((const char *)file.at + 8, (size_t)length);
  assert_non_null(root);
  assert_int_equal(cJSON_GetArraySize(root), 13);
  assert_text(root, "format", "mirrormap/policy-1");
  assert_text(root, "env", "CartPole-v1");
  assert_text(root, "algo", "ampo");
  assert_text(root, "seed", "18446744073709551610");
  assert_text(root, "finals", "[0.3333333333333333,null,\"-inf\"]");
  assert_text(root, "settings", NULL);
  assert_text(root, "map", NULL);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "__metadata__")), 7);

  const unsigned char *data = file.at + 8 + length;
  const size_t size = file.n - 8 - (size_t)length;
  const float input[INPUTS] = { 0.3f, -1.5f, 0.7f };
  mm_policy *policy;
  assert_ok(mm_policy_load(path, &policy));
  for (size_t i = 0; i < AGENTS; i++) {
    double expected[ACTIONS];
    float scores[ACTIONS];
    mm_net *net;
    scores_by_hand(root, data, size, i, input, expected);
    assert_ok(mm_policy_net(policy, i, &net));
    mm_net_scores(net, &(mm_net_obs){ .floats = input }, 1, scores);
    for (int a = 0; a < ACTIONS; a++)
      assert_true(fabs((double)scores[a] - expected[a]) < 1e-5 * fmax(1, fabs(expected[a])));
    mm_net_destroy(net);
  }
  for (int k = 0; k < 2; k++) // the critic is there too
    for (int layer = 0; layer < 3; layer++) {
      const int sizes[] = { INPUTS, HIDDEN, HIDDEN, k ? 1 : ACTIONS };
      char name[32];
      snprintf(name, sizeof name, "%s.%d.weight", k ? "critic" : "actor", layer);
      free(tensor_in(root, data, size, name, 3, (int[]){ AGENTS, sizes[layer], sizes[layer + 1] }));
    }
  mm_policy_destroy(policy);
  cJSON_Delete(root);
  free(file.at);
}

static void test_names(void **state) {
  (void)state;
  mm_net *net = make_net(1, INPUTS, HIDDEN);
  size_t first = 0;
  for (int i = 0; i < MM_NET_TENSORS; i++) {
    mm_net_tensor a = mm_net_describe(net, i);
    mm_policy_slot b = mm_policy_slot_at(mm_net_shape(net), i);
    assert_string_equal(a.name, b.name);
    assert_true((size_t)a.rows == b.rows && (size_t)a.cols == b.cols && b.first == first);
    first += b.size;
  }
  assert_int_equal(mm_policy_size(mm_net_shape(net)), first);
  mm_net_destroy(net);
}

// Other writers sort tensors by name and put the metadata elsewhere.
static void test_another_order(void **state) {
  (void)state;
  bytes file = good_file("l2");
  const size_t length = (size_t)header_length(file.at);
  cJSON *root = cJSON_ParseWithLength((const char *)file.at + 8, length);
  cJSON *other = cJSON_CreateObject();
  unsigned char *data = malloc(file.n);
  size_t used = 0;
  for (int i = MM_NET_TENSORS; i >= 0; i--) { // from the last to the first
    cJSON *item = cJSON_DetachItemFromArray(root, i);
    cJSON *offsets = cJSON_GetObjectItem(item, "data_offsets");
    if (offsets) {
      size_t begin = (size_t)cJSON_GetArrayItem(offsets, 0)->valueint;
      size_t size = (size_t)cJSON_GetArrayItem(offsets, 1)->valueint - begin;
      memcpy(data + used, file.at + 8 + length + begin, size);
      cJSON_SetNumberValue(cJSON_GetArrayItem(offsets, 0), (double)used);
      used += size;
      cJSON_SetNumberValue(cJSON_GetArrayItem(offsets, 1), (double)used);
    }
    cJSON_AddItemToObject(other, item->string, item);
  }
  char *text = cJSON_Print(other); // with white space
  bytes moved = make_file(text, data, used);
  mm_policy *policy, *back;
  assert_ok(mm_policy_load(path, &policy));
  assert_ok(mm_policy_parse(moved.at, moved.n, "moved", &back));
  assert_same_nets(policy, back);
  mm_policy_destroy(policy);
  mm_policy_destroy(back);
  cJSON_free(text);
  cJSON_Delete(root);
  cJSON_Delete(other);
  free(moved.at);
  free(data);
  free(file.at);
}

// ---------------------------------------------------------------------------------------------
// Hostile files

static void test_truncated(void **state) {
  (void)state;
  bytes file = good_file("l2");
  for (size_t n = 0; n < file.n; n += n < 64 || n + 64 > file.n ? 1 : 7)
    refuse_bytes(file.at, n, "expected");
  // and with something behind
  unsigned char *longer = malloc(file.n + 8);
  memcpy(longer, file.at, file.n);
  memset(longer + file.n, 0, 8);
  refuse_bytes(longer, file.n + 8, "bytes of data");
  free(longer);
  free(file.at);
}

static void test_lengths(void **state) {
  (void)state;
  bytes file = good_file("l2");
  static const uint64_t lengths[] = {
    UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63, (uint64_t)100 << 30, 0, 1, 7, 99
  };
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    for (int i = 0; i < 8; i++)
      file.at[i] = (unsigned char)(lengths[k] >> 8 * i);
    refuse_bytes(file.at, file.n, "header");
  }
  free(file.at);
}

static void test_bad_headers(void **state) {
  (void)state;
  static const struct edit {
    const char *old, *new, *error;
  } edits[] = {
    // JSON
    { "{\"__metadata__\"", " {\"__metadata__\"", "begins with '{'" },
    { "{\"__metadata__\"", "{,\"__metadata__\"", "header:1:2: expected" },
    { "\"actor.0.bias\"", "\"actor.0.weight\"", "header:1:" }, // twice
    // tensors: names, types, shapes
    { "\"actor.0.bias\"", "\"actor.0.bios\"", "unknown field 'actor.0.bios'; did you mean" },
    { "\"critic.2.bias\":{", "\"critic.3.bias\":{", "unknown field 'critic.3.bias'" },
    { "\"dtype\":\"F32\"", "\"dtype\":\"F64\"",
      "tensor 'actor.0.weight': field 'dtype': expected F32" },
    { "\"dtype\":\"F32\"", "\"dtype\":32",
      "tensor 'actor.0.weight': field 'dtype': expected a string" },
    { "\"dtype\":\"F32\",", "", "tensor 'actor.0.weight': field 'dtype' is missing" },
    { "\"dtype\":\"F32\",", "\"dtype\":\"F32\",\"more\":1,", "unknown field 'more'" },
    { "[3,3,5]", "[3,3]", "tensor 'actor.0.weight': field 'shape': expected 3 numbers" },
    { "[3,3,5]", "[3,3,5,1]", "tensor 'actor.0.weight': field 'shape': expected 3 numbers" },
    { "[3,3,5]", "{}", "tensor 'actor.0.weight': field 'shape'" },
    { "[3,3,5]", "[3,\"3\",5]", "tensor 'actor.0.weight': field 'shape': expected whole" },
    { "[3,3,5]", "[3,0,5]", "tensor 'actor.0.weight': field 'shape': expected whole" },
    { "[3,3,5]", "[3,-3,5]", "tensor 'actor.0.weight': field 'shape': expected whole" },
    { "[3,3,5]", "[3,3.5,5]", "tensor 'actor.0.weight': field 'shape': expected whole" },
    { "[3,3,5]", "[3,3,1e300]", "tensor 'actor.0.weight': field 'shape': expected whole" },
    { "[3,3,5]", "[1000000,1000000,1000000]", "data_offsets': expected 4000000000000000000 bytes" },
    { "[3,3,5]", "[3,4,5]", "tensor 'actor.0.weight': field 'data_offsets': expected 240 bytes" },
    { "[3,3,5]", "[4,3,5]", "data_offsets': expected 240 bytes" },
    { "[3,5]", "[3,6]", "tensor 'actor.0.bias': field 'shape': expected [3, 5], found [3, 6]" },
    { "[3,5,5]", "[3,5,6]", "tensor 'actor.1.weight': field 'shape': expected [3, 5, 5]" },
    { "[3,5,1]", "[3,5,2]", "tensor 'critic.2.weight': field 'shape': expected [3, 5, 1]" },
    // offsets: the first tensor has 180 bytes, the next 60, the third 300
    { "[0,180]", "[0,176]", "tensor 'actor.0.weight': field 'data_offsets': expected 180 bytes" },
    { "[0,180]", "[180,0]", "data_offsets': expected 180 bytes" },
    { "[0,180]", "[-180,0]", "data_offsets': expected whole numbers from 0 to" },
    { "[0,180]", "[0,18446744073709551616]", "data_offsets': expected whole" },
    { "[0,180]", "[107374182400,107374182580]", "data_offsets': expected whole" },
    { "[0,180]", "[4,184]",
      "tensor 'actor.0.weight': field 'data_offsets': expected to begin at 0" },
    { "[180,240]", "[176,236]",
      "tensor 'actor.0.bias': field 'data_offsets': expected to begin at 180" },
    { "[180,240]", "[184,244]", "expected to begin at 180, where the one before ends, found 184" },
    { "[180,240]", "[240,300]", "expected to begin at 180" },
    { "[180,240]", "[180,240,300]", "data_offsets': expected 2 numbers" },
    { "[180,240]", "[180]", "data_offsets': expected 2 numbers" },
    // metadata
    { "\"__metadata__\":{", "\"__metadata__\":[],\"x\":{", "unknown field 'x'" },
    { "\"format\":\"mirrormap/policy-1\"", "\"format\":\"pt\"",
      "field 'format': expected 'mirrormap/policy-1'" },
    { "\"format\":\"mirrormap/policy-1\",", "", "field 'format' is missing" },
    { "\"format\":", "\"fromat\":", "unknown field 'fromat'; did you mean 'format'?" },
    { "\"env\":\"CartPole-v1\"", "\"env\":1", "__metadata__: field 'env': expected a string" },
    { "\"env\":\"CartPole-v1\"", "\"env\":\"\"", "environment's name" },
    { "\"env\":\"CartPole-v1\"", "\"env\":\"a\\u001b[2J\"", "control characters" },
    { "\"algo\":\"ampo\"", "\"algo\":\"pmd\"", "__metadata__: settings" },
    { "\"algo\":\"ampo\"", "\"algo\":\"ppo\"", "__metadata__: settings: unknown field 'eta'" },
    { "\"algo\":\"ampo\"", "\"algo\":\"dqn\"",
      "field 'algo': expected ampo, pmd-gaussian or ppo, found 'dqn'" },
    { "\"seed\":\"1", "\"seed\":\"-1", "field 'seed': expected a whole number" },
    { "\"seed\":\"1", "\"seed\":\"x", "field 'seed': expected a whole number" },
    { "\"seed\":\"1844", "\"seed\":\"99991844", "field 'seed': expected a whole number" },
    { "551610\"", "551615\"", "leaves no room for 3 agents" },
    { "\"finals\":\"[", "\"finals\":\"[1,", "field 'finals': expected 3 entries, found 4" },
    { ",null,", ",", "field 'finals': expected 3 entries, found 2" },
    { ",null,", ",true,", "field 'finals': entry 1: expected a number, found true" },
    { ",null,", ",\\\"nan\\\",", "field 'finals': entry 1: expected a number" },
    { ",null,", ",NaN,", "finals:1:" },
    { "\"finals\":\"[0.3333333333333333,null,\\\"-inf\\\"]\"", "\"finals\":\"{}\"",
      "expected an array" },
    // what the metadata hold
    { "\\\"kind\\\": \\\"l2\\\"", "\\\"kind\\\": \\\"l3\\\"", "__metadata__: map: field 'kind'" },
    { "\\\"kind\\\": \\\"l2\\\"", "\\\"kind\\\" \\\"l2\\\"", "__metadata__: map:3:" },
    { "\\\"hidden\\\":5", "\\\"hidden\\\":6",
      "hidden units of the networks: expected 6 as set, found 5" },
    { "\\\"hidden\\\":5", "\\\"hidden\\\":0", "setting 'hidden': 0 must be" },
    { "\\\"hidden\\\":5", "\\\"hidden\\\":[]", "field 'hidden': expected a value" },
    { "\\\"hidden\\\":5,", "", "field 'hidden': expected a value, found nothing" },
    { "\\\"hidden\\\":5", "\\\"hodden\\\":5", "unknown field 'hodden'" },
    { "\\\"hidden\\\":5", "\\\"hidden\\\":5,\\\"sigma\\\":1",
      "unknown field 'sigma'" }, // a search's
    { "\\\"activation\\\":\\\"tanh\\\"", "\\\"activation\\\":\\\"gelu\\\"",
      "setting 'activation'" },
    { "\\\"eta\\\":0.9", "\\\"eta\\\":-0.9", "setting 'eta'" },
    { "\\\"eta\\\":0.9", "\\\"eta\\\":\\\"\\\",\\\"eta\\\":0.9", "settings:1:" }, // twice
  };
  bytes file = good_file("l2");
  const size_t length = (size_t)header_length(file.at);
  char *header = header_of(file);
  for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
    char *text = replaced(header, edits[k].old, edits[k].new);
    bytes bad = make_file(text, file.at + 8 + length, file.n - 8 - length);
    refuse_bytes(bad.at, bad.n, edits[k].error);
    free(bad.at);
    free(text);
  }
  // the same ways with nothing changed are fine
  mm_policy *policy;
  bytes same = make_file(header, file.at + 8 + length, file.n - 8 - length);
  assert_ok(mm_policy_parse(same.at, same.n, "same", &policy));
  mm_policy_destroy(policy);
  free(same.at);
  free(header);
  free(file.at);
}

static void test_missing_tensor(void **state) {
  (void)state;
  bytes file = good_file("l2");
  const size_t length = (size_t)header_length(file.at);
  for (int i = 0; i <= MM_NET_TENSORS; i++) {
    cJSON *root = cJSON_ParseWithLength((const char *)file.at + 8, length);
    char part[64];
    snprintf(part, sizeof part, "field '%s' is missing", cJSON_GetArrayItem(root, i)->string);
    cJSON_DeleteItemFromArray(root, i);
    char *text = cJSON_PrintUnformatted(root);
    bytes bad = make_file(text, file.at + 8 + length, file.n - 8 - length);
    refuse_bytes(bad.at, bad.n, part);
    free(bad.at);
    cJSON_free(text);
    cJSON_Delete(root);
  }
  free(file.at);
}

static void test_bad_numbers(void **state) {
  (void)state;
  static const uint32_t bits[] = { 0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x7f800001 };
  bytes file = good_file("l2");
  const size_t data = 8 + (size_t)header_length(file.at);
  for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
    unsigned char old[4];
    memcpy(old, file.at + data + 8, 4);
    memcpy(file.at + data + 8, &bits[k], 4);
    refuse_bytes(file.at, file.n, "tensor 'actor.0.weight': entry 2: expected a finite number");
    memcpy(file.at + data + 8, old, 4);
    memcpy(old, file.at + file.n - 4, 4);
    memcpy(file.at + file.n - 4, &bits[k], 4);
    refuse_bytes(file.at, file.n, "tensor 'critic.2.bias': entry 2: expected a finite number");
    memcpy(file.at + file.n - 4, old, 4);
  }
  free(file.at);
}

// Every byte of a file changed to something else: refused or read, nothing else happens.
static void test_any_byte(void **state) {
  (void)state;
  bytes file = good_file("tsallis:0.5");
  size_t refused = 0, tried = 0;
  for (size_t i = 0; i < (size_t)header_length(file.at) + 8; i++) {
    static const unsigned char values[] = { 0, '"', '9', 0xff };
    const unsigned char old = file.at[i];
    for (size_t k = 0; k < sizeof values; k++) {
      mm_policy *policy;
      if (values[k] == old) continue;
      file.at[i] = values[k];
      mm_status status = mm_policy_parse(file.at, file.n, "changed", &policy);
      assert_true((status == MM_OK) == (policy != NULL));
      assert_true(status == MM_OK || status == MM_ERR_INPUT);
      refused += status != MM_OK;
      tried++;
      mm_policy_destroy(policy);
    }
    file.at[i] = old;
  }
  assert_true(refused > tried / 2);
  free(file.at);
}

// ---------------------------------------------------------------------------------------------
// Making one

static void test_create(void **state) {
  (void)state;
  mm_settings settings = small(MM_ALGO_AMPO), pmd = mm_settings_default(MM_ALGO_PMD),
              ppo = small(MM_ALGO_PPO);
  mm_map *l2 = open_map("l2");
  mm_policy *p;
  assert_fails(mm_policy_make("a", l2, &pmd, 0, 1, &p), MM_ERR_INPUT, "tables");
  assert_fails(mm_policy_make("a", l2, &ppo, 0, 1, &p), MM_ERR_INPUT, "negentropy, found l2");
  assert_fails(mm_policy_make("a", l2, &settings, 0, 0, &p), MM_ERR_INPUT, "agents");
  assert_fails(mm_policy_make("a", l2, &settings, UINT64_MAX, 2, &p), MM_ERR_INPUT, "seed");
  assert_fails(mm_policy_make("", l2, &settings, 0, 2, &p), MM_ERR_INPUT, "environment");
  assert_ok(mm_policy_make("a", l2, &settings, 0, 2, &p));
  mm_map_destroy(l2); // the policy has its own

  mm_net *net = make_net(1, INPUTS, HIDDEN), *wide = make_net(1, INPUTS + 1, HIDDEN);
  mm_net *thin = make_net(1, INPUTS, HIDDEN - 1), *out;
  assert_fails(mm_policy_set(p, 2, net), MM_ERR_INPUT, "agent 2");
  assert_fails(mm_policy_set(p, 0, thin), MM_ERR_INPUT, "hidden");
  assert_ok(mm_policy_set(p, 1, net));
  assert_fails(mm_policy_set(p, 0, wide), MM_ERR_INPUT, "3 inputs and 2 actions, found 4 and 2");
  assert_fails(mm_policy_net(p, 0, &out), MM_ERR_INPUT, "no networks");
  assert_fails(mm_policy_net(p, 2, &out), MM_ERR_INPUT, "agent 2");
  assert_fails(mm_policy_save(p, path), MM_ERR_INPUT, "agent 0 has no networks");
  const float bad[HIDDEN] = { 0, NAN };
  mm_net_import(net, MM_NET_PARAM, 3, bad);
  assert_fails(mm_policy_set(p, 0, net), MM_ERR_NUMERIC, "actor.1.bias: entry 1");
  assert_fails(mm_policy_save(p, path), MM_ERR_INPUT, "agent 0 has no networks");
  mm_net_destroy(net);
  mm_net_destroy(wide);
  mm_net_destroy(thin);
  mm_policy_destroy(p);
  mm_policy_destroy(NULL);
}

typedef struct writer {
  pthread_t thread;
  mm_policy *policy;
  size_t first;
  mm_status status;
} writer;

enum { WRITERS = 4, EACH = 32 };

static void *write_agents(void *raw) {
  writer *w = raw;
  for (size_t i = w->first; i < w->first + EACH && w->status == MM_OK; i++) {
    mm_net *net = make_net(i, INPUTS, HIDDEN);
    w->status = mm_policy_set(w->policy, i, net);
    mm_policy_set_final(w->policy, i, (double)i);
    mm_net_destroy(net);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_map *map = open_map("l2");
  mm_policy *policy;
  writer w[WRITERS];
  assert_ok(mm_policy_make("a", map, &settings, 0, WRITERS * EACH, &policy));
  for (size_t i = 0; i < WRITERS; i++) {
    w[i] = (writer){ .policy = policy, .first = i * EACH };
    assert_int_equal(pthread_create(&w[i].thread, NULL, write_agents, &w[i]), 0);
  }
  for (size_t i = 0; i < WRITERS; i++) {
    pthread_join(w[i].thread, NULL);
    assert_int_equal(w[i].status, MM_OK);
  }
  for (size_t i = 0; i < WRITERS * EACH; i++) {
    mm_net *net = make_net(i, INPUTS, HIDDEN), *kept;
    float a[HIDDEN * HIDDEN], b[HIDDEN * HIDDEN];
    assert_ok(mm_policy_net(policy, i, &kept));
    for (int t = 0; t < MM_NET_TENSORS; t++) {
      mm_net_tensor shape = mm_net_describe(net, t);
      mm_net_export(net, MM_NET_PARAM, t, a);
      mm_net_export(kept, MM_NET_PARAM, t, b);
      assert_memory_equal(a, b, (size_t)(shape.rows * shape.cols) * sizeof *a);
    }
    mm_net_destroy(net);
    mm_net_destroy(kept);
  }
  mm_policy_destroy(policy);
  mm_map_destroy(map);
}

// ---------------------------------------------------------------------------------------------
// Without memory

static void test_no_memory(void **state) {
  (void)state;
  mm_policy *policy = make_policy("random:3", MM_ALGO_AMPO), *back;
  assert_ok(mm_policy_save(policy, path));
  int failures = 0;
  for (int what = 0; what < 2; what++) {
    mm_status status = MM_ERR_MEMORY;
    for (long n = 0; status != MM_OK; n++) {
      allocations_left = (size_t)n;
      back = NULL;
      make_memory_scarce();
      status = what ? mm_policy_load(path, &back) : mm_policy_save(policy, path);
      make_memory_usual();
      assert_true(status == MM_OK || status == MM_ERR_MEMORY);
      assert_true(what == 0 || (status == MM_OK) == (back != NULL));
      failures += status != MM_OK;
      mm_policy_destroy(back);
      assert_true(n < 10000);
    }
  }
  assert_true(failures > 10);
  assert_ok(mm_policy_load(path, &back)); // still whole
  mm_policy_destroy(back);
  mm_policy_destroy(policy);
}

int suite_policy(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_round_trip, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_run_folder, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_another_reader, open_folder, close_folder),
    cmocka_unit_test(test_names),
    cmocka_unit_test_setup_teardown(test_another_order, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_truncated, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_lengths, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_bad_headers, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_missing_tensor, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_bad_numbers, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_any_byte, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_create, open_folder, close_folder),
    cmocka_unit_test(test_threads),
    cmocka_unit_test_setup_teardown(test_no_memory, open_folder, close_folder),
  };
  return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
