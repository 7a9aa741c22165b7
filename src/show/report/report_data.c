// SPDX-License-Identifier: Apache-2.0
// The document of a report.

#define _POSIX_C_SOURCE 200809L

#include "show/report/report_data.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "show/report/report_internal.h"

enum { PARTS_DEPTH = 3 };

// ---------------------------------------------------------------------------------------------
// What the parts share

void mm_report_add_text(cJSON *object, const char *key, const char *text) {
  cJSON_AddItemToObject(object, key,
                        text && text[0] ? cJSON_CreateString(text) : cJSON_CreateNull());
}

const char *mm_report_config_text(const cJSON *config, const char *key) {
  const cJSON *item = mm_json_find(config, key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status add_run(mm_report *report, const char *path) {
  if (report->n == MM_REPORT_RUNS)
    return MM_FAIL(MM_ERR_INPUT, "a report has at most %d runs", MM_REPORT_RUNS);
  return mm_report_open_run(path, &report->run[report->n++]);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

// A reproduction holds the runs it is made of in folders of its own, and may itself be one of them.
static mm_status add_parts(mm_report *report, size_t of, int depth) {
  const char *folder = mm_run_folder_of(report->run[of].run);
  struct dirent **entry;
  if (strcmp(mm_run_command(report->run[of].run), "reproduce") != 0 || depth == PARTS_DEPTH)
    return MM_OK;
  int n = scandir(folder, &entry, is_visible, by_name);
  mm_status status = MM_OK;
  for (int i = 0; i < n; i++) {
    char path[MM_RUN_PATH_SIZE], file[MM_RUN_PATH_SIZE + 8];
    struct stat about;
    int length = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
    free(entry[i]);
    snprintf(file, sizeof file, "%s/run.db", path);
    if (length >= (int)sizeof path || lstat(file, &about) != 0 || status != MM_OK) continue;
    size_t place = report->n;
    status = add_run(report, path);
    if (status == MM_OK) report->run[place].part_of = (int)of;
    if (status == MM_OK) status = add_parts(report, place, depth + 1);
    if (status == MM_OK) report->run[of].env_steps += report->run[place].env_steps;
  }
  if (n >= 0) free(entry);
  return status;
}

mm_status mm_report_read(const char *const *runs, size_t n, mm_report **out) {
  *out = NULL;
  if (n == 0 || n > MM_REPORT_RUNS)
    return MM_FAIL(MM_ERR_INPUT, "a report of %zu runs: expected 1 to %d", n, MM_REPORT_RUNS);
  mm_report *report = mm_alloc(sizeof *report);
  if (!report) return MM_FAIL(MM_ERR_MEMORY, "no memory for a report");
  *report = (mm_report){ .n_asked = n };
  report->run = mm_alloc_array(MM_REPORT_RUNS, sizeof *report->run);
  mm_status status = MM_OK;
  if (!report->run) status = MM_FAIL(MM_ERR_MEMORY, "no memory for a report");
  for (size_t i = 0; i < n && status == MM_OK; i++) {
    size_t place = report->n;
    status = add_run(report, runs[i]);
    if (status == MM_OK) status = add_parts(report, place, 0);
  }
  if (status == MM_OK) status = mm_report_read_maps(report->run, report->n, &report->maps);
  if (status == MM_OK)
    *out = report;
  else
    mm_report_release(report);
  return status;
}

void mm_report_release(mm_report *report) {
  if (!report) return;
  mm_report_release_maps(&report->maps);
  for (size_t i = 0; i < report->n; i++)
    mm_report_release_run(&report->run[i]);
  mm_free(report->run);
  mm_free(report);
}

size_t mm_report_runs(const mm_report *report) {
  return report->n;
}

const char *mm_report_folder(const mm_report *report, size_t i) {
  return mm_run_folder_of(report->run[i].run);
}

const char *mm_report_damage(const mm_report *report, size_t i) {
  return i < report->n ? mm_run_damage(report->run[i].run) : NULL;
}

// ---------------------------------------------------------------------------------------------

static void add_heading(cJSON *root, const mm_report *report) {
  char text[MM_RUN_PATH_SIZE + 32], time_text[32];
  time_t now = time(NULL);
  struct tm utc;
  cJSON_AddStringToObject(root, "format", MM_REPORT_FORMAT);
  if (report->n_asked == 1)
    snprintf(text, sizeof text, "%s", report->run[0].name);
  else
    snprintf(text, sizeof text, "%s and %zu more", report->run[0].name, report->n_asked - 1);
  cJSON_AddStringToObject(root, "title", text);
  gmtime_r(&now, &utc);
  strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  cJSON_AddStringToObject(root, "generated", time_text);
  cJSON *program = cJSON_AddObjectToObject(root, "program");
  cJSON_AddStringToObject(program, "version", mm_version());
  cJSON_AddStringToObject(program, "build", mm_build_info());
}

// Curves of all runs of `train` side by side; null where there are not two of them.
static cJSON *comparison_json(const mm_report *report) {
  mm_report_comparison comparison;
  if (mm_report_contestants(report) < 2) return cJSON_CreateNull();
  const mm_status status = mm_report_compare(report, &comparison);
  cJSON *curves = status == MM_OK ? mm_report_curves(&comparison.all, NULL) : cJSON_CreateNull();
  mm_report_release_comparison(&comparison);
  return curves;
}

cJSON *mm_report_json(const mm_report *report, bool watch) {
  cJSON *root = cJSON_CreateObject();
  if (!root) return NULL;
  add_heading(root, report);
  cJSON_AddBoolToObject(root, "watch", watch);
  cJSON *runs = cJSON_AddArrayToObject(root, "runs");
  for (size_t i = 0; i < report->n; i++)
    cJSON_AddItemToArray(runs, mm_report_run_json(&report->run[i]));
  cJSON_AddItemToObject(root, "comparison", comparison_json(report));
  cJSON_AddItemToObject(root, "maps", mm_report_maps_json(&report->maps));
  return root;
}
