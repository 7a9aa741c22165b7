// SPDX-License-Identifier: Apache-2.0
// What a report shows: runs read once, as they stand at that moment, and the document that the page
// gets (docs/report.md).
//
//   mm_report *report;
//   MM_TRY(mm_report_read(folders, n, &report));
//   cJSON *document = mm_report_json(report, false);
//   mm_report_release(report);

#ifndef MM_EXPERIMENT_REPORT_DATA_H
#define MM_EXPERIMENT_REPORT_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

#define MM_REPORT_FORMAT "mirrormap-report/1"

typedef struct mm_report mm_report;

enum { MM_REPORT_RUNS = 64 };

// Reads runs[n], each a folder or its run.db, of any command and any version of the database, also
// while they go on; behind a reproduction come the runs in its folder. Of damaged ones it takes
// what is intact and says so; what is no run at all is MM_ERR_INPUT.
mm_status mm_report_read(const char *const *runs, size_t n, mm_report **out);
void mm_report_release(mm_report *report);

// The document, format MM_REPORT_FORMAT; `watch` tells the page to ask for it again and again.
// NULL without memory.
cJSON *mm_report_json(const mm_report *report, bool watch);

// What is damaged in the i-th run, in words; NULL for nothing, or past the last run.
size_t mm_report_runs(const mm_report *report);
const char *mm_report_folder(const mm_report *report, size_t i);
const char *mm_report_damage(const mm_report *report, size_t i);

#endif
