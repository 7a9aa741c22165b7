// SPDX-License-Identifier: Apache-2.0
// `report`: runs as one page and figures, or watched while they run.

#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <sys/stat.h>

#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/tools/report_watch.h"
#include "files/folder.h"
#include "show/plot/gnuplot.h"
#include "show/report/report_data.h"
#include "show/report/report_figure.h"
#include "show/report/report_page.h"

typedef struct report_args {
  command_args common;
  const char *out;
  bool no_figures, watch;
  uint64_t port;
} report_args;

#define ARGS report_args

static const option report_options[] = {
  OPTION(TEXT, "out", out, "DIR",
         "the folder for page and figures (default: that of the run, if it is one)"),
  OPTION(FLAG, "no-figures", no_figures, NULL, "write the page only"),
  OPTION(FLAG, "watch", watch, NULL,
         "write nothing, but serve the page on this machine until Ctrl-C; it refreshes itself"),
  OPTION(COUNT, "port", port, "N", "of --watch; 0 for any that is free", .fallback = "8080",
         .high = 65535),
  { 0 },
};

static const char *const endings[] = { ".svg", ".pdf", ".png" };
enum { ENDINGS = 3 };

typedef struct folder {
  const char *path;
  char *page, *figures;
  bool fresh; // there is no page yet
} folder;

// ---------------------------------------------------------------------------------------------
// Places

static int make_folder(const char *path) {
  bool made;
  return status_code(mm_folder_make(path, &made));
}

static void choose_folder(const report_args *args, const mm_report *report, folder *f) {
  struct stat about;
  f->path = args->out != NULL ? args->out : mm_report_folder(report, 0);
  f->page = memory_print("%s/report.html", f->path);
  f->figures = memory_print("%s/figures", f->path);
  f->fresh = stat(f->page, &about) != 0;
}

// The i-th file: each figure in all formats.
static char *figure_path(const folder *f, const mm_report_figure *figure, size_t i) {
  return memory_print("%s/%s%s", f->figures, figure[i / ENDINGS].name, endings[i % ENDINGS]);
}

// Figures beside a page of ours are ours too, others may be anybody's.
static int check_figures(const folder *f, const mm_report_figure *figure, size_t n) {
  struct stat about;
  int code = EXIT_DONE;
  for (size_t i = 0; i < n * ENDINGS && f->fresh && code == EXIT_DONE; i++) {
    char *path = figure_path(f, figure, i);
    if (lstat(path, &about) == 0)
      code = fail(EXIT_USAGE,
                  "%s exists, and no report beside it: choose another folder with --out", path);
    free(path);
  }
  return code;
}

// ---------------------------------------------------------------------------------------------
// Figures

// A report is worth more than its pictures: trouble with one is a warning.
static int draw(const mm_report *report, const folder *f, const mm_report_figure *figure, size_t n,
                cJSON *drawn) {
  char gnuplot[4096];
  if (mm_gnuplot_find(gnuplot, sizeof gnuplot) != MM_OK) {
    warn("no figures: %s", mm_last_error());
    return EXIT_DONE;
  }
  int code = make_folder(f->figures);
  progress_begin("figures", (double)(n * ENDINGS), "figures");
  for (size_t i = 0; i < n * ENDINGS && code == EXIT_DONE; i++) {
    char *path = figure_path(f, figure, i);
    if (mm_report_draw(report, &figure[i / ENDINGS], path) == MM_OK)
      cJSON_AddItemToArray(drawn, cJSON_CreateString(path));
    else
      warn("no %s: %s", path, mm_last_error());
    progress_update((double)(i + 1), NULL);
    free(path);
  }
  progress_end();
  return code;
}

// ---------------------------------------------------------------------------------------------
// Writing

static int tell_damage(const mm_report *report) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < mm_report_runs(report); i++) {
    const char *damage = mm_report_damage(report, i);
    if (damage == NULL) continue;
    code = fail(EXIT_FAILED, "'%s' is damaged (%s): only what is intact is shown",
                mm_report_folder(report, i), damage);
  }
  return code;
}

static int write_page(const mm_report *report, const folder *f) {
  cJSON *document = mm_report_json(report, false);
  mm_status status = document != NULL ? mm_report_page_write(document, f->page) : MM_ERR_MEMORY;
  cJSON_Delete(document);
  return status_code(status);
}

static int put_result(const report_args *args, const mm_report *report, const folder *f,
                      cJSON *drawn, int code) {
  if (!args->common.json) {
    note("wrote %s%s%s", f->page, cJSON_GetArraySize(drawn) > 0 ? " and figures in " : "",
         cJSON_GetArraySize(drawn) > 0 ? f->figures : "");
    cJSON_Delete(drawn);
    return code;
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "page", f->page);
  cJSON_AddItemToObject(root, "figures", drawn);
  cJSON *runs = cJSON_AddArrayToObject(root, "runs");
  for (size_t i = 0; i < mm_report_runs(report); i++)
    cJSON_AddItemToArray(runs, cJSON_CreateString(mm_report_folder(report, i)));
  return output_json(root, code);
}

// The page first: it says whose the figures are.
static int write_all(const report_args *args, const mm_report *report) {
  mm_report_figure figure[MM_REPORT_FIGURES];
  size_t n = args->no_figures ? 0 : mm_report_figures(report, figure);
  folder f = { 0 };
  cJSON *drawn = cJSON_CreateArray();
  choose_folder(args, report, &f);
  int code = check_figures(&f, figure, n);
  if (code == EXIT_DONE) code = make_folder(f.path);
  if (code == EXIT_DONE) code = write_page(report, &f);
  if (code == EXIT_DONE && n > 0) code = draw(report, &f, figure, n, drawn);
  if (code == EXIT_DONE)
    code = put_result(args, report, &f, drawn, tell_damage(report));
  else
    cJSON_Delete(drawn);
  free(f.page);
  free(f.figures);
  return code;
}

// ---------------------------------------------------------------------------------------------

static int check_usage(const report_args *args) {
  if (args->watch && args->out != NULL) return fail_usage("option '--out': --watch writes nothing");
  if (args->watch && args->common.json) return fail_usage("option '--json' is not for --watch");
  if (!args->watch && options_given(&command_report, &args->common, "port"))
    return fail_usage("option '--port' is for --watch");
  if (!args->watch && args->out == NULL && args->common.positional.n > 1)
    return fail_usage("a report of several runs needs --out DIR");
  return EXIT_DONE;
}

static int run(void *raw) {
  const report_args *args = raw;
  const option_texts *runs = &args->common.positional;
  mm_report *report;
  TRY(check_usage(args));
  TRY(status_code(mm_report_read(runs->value, runs->n, &report)));
  if (args->watch) {
    tell_damage(report);
    mm_report_release(report);
    return report_watch(runs->value, runs->n, (uint16_t)args->port);
  }
  int code = write_all(args, report);
  mm_report_release(report);
  return code;
}

const command command_report = {
  .name = "report",
  .summary = "show runs as a page with figures",
  .positional = "RUN...",
  .about = "Writes report.html, one page with everything in it that opens from disk in any "
           "browser: how the runs stand, learning curves, the search, the maps with an explorer, "
           "tables, the resolved configuration, and how to reproduce the runs. Figures for papers "
           "go to figures/ beside it, as SVG, PDF and PNG (gnuplot). Running ones are shown as "
           "they stand; running it again refreshes the page. Files that are no report are never "
           "overwritten.\n\nWith --watch the page is served on 127.0.0.1 only and follows the runs "
           "by itself. Of a damaged run everything intact is shown; the exit code is 1 then.",
  .examples = "mirrormap report runs/learn-GridWorld-all-1\nmirrormap report "
              "runs/train-CartPole-v1-1 runs/train-CartPole-v1-2 --out comparison\nmirrormap "
              "report runs/learn-GridWorld-all-1 --watch",
  .options = report_options,
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = MM_REPORT_RUNS,
  .args_size = sizeof(report_args),
  .run = run,
};
