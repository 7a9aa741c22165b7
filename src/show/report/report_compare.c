// SPDX-License-Identifier: Apache-2.0
// Runs of `train` beside each other: environments across, and down what tells the runs apart. That
// is the algorithm, the map and the settings that differ between runs which are alike in all else
// that counts; runs that nothing tells apart go by the names of their folders, or by their paths.

#include <stdio.h>
#include <string.h>

#include "show/report/report_internal.h"

typedef struct contestant {
  const mm_report_run *run;
  const mm_report_batch *batch;
  const char *algo, *map; // "" for no map
  bool shared;            // its label is another's too, or empty
} contestant;

// ---------------------------------------------------------------------------------------------
// Who takes part

static const mm_report_batch *batch_of(const mm_report_run *run) {
  const mm_report_trainings *all = &run->trainings;
  if (strcmp(mm_run_command(run->run), "train") != 0 || all->n_batch == 0) return NULL;
  return all->batch[0].n > 0 && mm_transfer_has_curves(&run->table.transfer) ? all->batch : NULL;
}

static size_t gather(const mm_report *report, contestant *out) {
  size_t n = 0;
  for (size_t i = 0; i < report->n; i++) {
    const mm_report_run *run = &report->run[i];
    const mm_report_batch *batch = batch_of(run);
    if (!batch) continue;
    const char *algo = mm_report_config_text(run->config, "algo");
    if (!algo) algo = "";
    mm_algo known;
    bool has_map = !mm_algo_find(algo, &known) || mm_algo_has_map(known);
    out[n++] =
        (contestant){ .run = run, .batch = batch, .algo = algo, .map = has_map ? batch->map : "" };
  }
  return n;
}

size_t mm_report_contestants(const mm_report *report) {
  size_t n = 0;
  for (size_t i = 0; i < report->n; i++)
    n += batch_of(&report->run[i]) != NULL;
  return n;
}

// ---------------------------------------------------------------------------------------------
// What tells them apart

static bool several_algos(const contestant *c, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (strcmp(c[i].algo, c[0].algo) != 0) return true;
  return false;
}

static bool several_maps(const contestant *c, size_t n) {
  const char *first = NULL;
  for (size_t i = 0; i < n; i++) {
    if (!*c[i].map) continue;
    if (!first) first = c[i].map;
    if (strcmp(c[i].map, first) != 0) return true;
  }
  return false;
}

static bool alike(const contestant *a, const contestant *b) {
  return strcmp(a->batch->env, b->batch->env) == 0 && strcmp(a->algo, b->algo) == 0 &&
         strcmp(a->map, b->map) == 0;
}

static bool same_setting(const contestant *a, const contestant *b, const char *key) {
  const cJSON *x = mm_json_find(a->batch->settings, key);
  const cJSON *y = mm_json_find(b->batch->settings, key);
  return x || y ? cJSON_Compare(x, y, true) : true;
}

// Whether a setting differs between two runs that are alike otherwise.
static bool tells(const contestant *c, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (alike(&c[i], &c[j]) && !same_setting(&c[i], &c[j], key)) return true;
  return false;
}

static void add_word(char *label, size_t size, const char *key, const char *word) {
  size_t used = strlen(label);
  snprintf(label + used, size - used, "%s%s%s%s", used > 0 ? ", " : "", key, *key ? "=" : "", word);
}

static void write_label(const contestant *c, size_t n, size_t i, char *out, size_t size) {
  out[0] = 0;
  if (several_algos(c, n)) add_word(out, size, "", c[i].algo);
  if (several_maps(c, n) && *c[i].map) add_word(out, size, "", c[i].map);
  const cJSON *settings = c[i].batch->settings;
  for (const cJSON *item = settings ? settings->child : NULL; item; item = item->next) {
    if (!item->string || !tells(c, n, item->string)) continue;
    char number[32];
    snprintf(number, sizeof number, "%.6g", item->valuedouble);
    add_word(out, size, item->string, cJSON_IsString(item) ? item->valuestring : number);
  }
}

// The folder's name, or the whole path where another run's folder is called the same.
static const char *folder_of(const contestant *c, size_t n, size_t i) {
  for (size_t j = 0; j < n; j++)
    if (j != i && strcmp(c[j].run->name, c[i].run->name) == 0)
      return mm_run_folder_of(c[i].run->run);
  return c[i].run->name;
}

static bool is_shared(const mm_report_batch *batch, size_t n, size_t i) {
  bool shared = !batch[i].map[0];
  for (size_t j = 0; j < n && !shared; j++)
    shared = j != i && strcmp(batch[j].env, batch[i].env) == 0 &&
             strcmp(batch[j].map, batch[i].map) == 0;
  return shared;
}

// Paths of one run, or too long to be shown whole: the place in the report comes first.
static void add_number(mm_report_batch *batch, size_t i) {
  char label[sizeof batch->map];
  memcpy(label, batch[i].map, sizeof label);
  snprintf(batch[i].map, sizeof batch[i].map, "%zu: %.*s", i + 1, (int)sizeof label - 32, label);
}

// A label must be one run's alone: a table has one cell for a label and an environment.
static void add_labels(contestant *c, size_t n, mm_report_batch *batch) {
  for (size_t i = 0; i < n; i++)
    write_label(c, n, i, batch[i].map, sizeof batch[i].map);
  for (size_t i = 0; i < n; i++)
    c[i].shared = is_shared(batch, n, i);
  for (size_t i = 0; i < n; i++)
    if (c[i].shared) add_word(batch[i].map, sizeof batch[i].map, "", folder_of(c, n, i));
  for (size_t i = 0; i < n; i++)
    c[i].shared = is_shared(batch, n, i);
  for (size_t i = 0; i < n; i++)
    if (c[i].shared) add_number(batch, i);
}

// ---------------------------------------------------------------------------------------------
// Their table

static mm_status take(mm_report_trainings *all, size_t n_batch) {
  all->batch = mm_alloc_array(n_batch, sizeof *all->batch);
  all->result = mm_alloc_array(all->n, sizeof *all->result);
  all->place = mm_alloc_array(all->n, sizeof *all->place);
  if (all->batch && all->result && all->place) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory to compare %zu runs", n_batch);
}

// Results are copied; their curves, and what is in the batches, stay the runs'.
static void merge(const contestant *c, size_t n, mm_report_trainings *all) {
  size_t from = 0;
  for (size_t i = 0; i < n; i++) {
    const mm_report_trainings *own = &c[i].run->trainings;
    const mm_report_batch *batch = c[i].batch;
    memcpy(all->result + from, own->result + batch->from, batch->n * sizeof *all->result);
    memcpy(all->place + from, own->place + batch->from, batch->n * sizeof *all->place);
    all->batch[i] = *batch;
    all->batch[i].from = from;
    from += batch->n;
  }
  all->n_batch = n;
}

static mm_status compare(mm_report_comparison *out, contestant *c, const mm_report *report) {
  size_t n = gather(report, c);
  for (size_t i = 0; i < n; i++)
    out->all.n += c[i].batch->n;
  MM_TRY(take(&out->all, n));
  merge(c, n, &out->all);
  add_labels(c, n, out->all.batch);
  return mm_report_make_table(&out->all, NULL, &out->table);
}

mm_status mm_report_compare(const mm_report *report, mm_report_comparison *out) {
  *out = (mm_report_comparison){ 0 };
  contestant *c = mm_alloc_array(report->n, sizeof *c);
  if (!c) return MM_FAIL(MM_ERR_MEMORY, "no memory to compare %zu runs", report->n);
  mm_status status = compare(out, c, report);
  mm_free(c);
  return status;
}

void mm_report_release_comparison(mm_report_comparison *comparison) {
  mm_report_release_table(&comparison->table);
  mm_free(comparison->all.batch);
  mm_free(comparison->all.result);
  mm_free(comparison->all.place);
}
