// SPDX-License-Identifier: Apache-2.0
// What the commands learn, train, transfer and tune have in common: their option tables, where a
// new study goes, how a session ends and how to resume it, and figures beside results.

#ifndef MM_CLI_STUDY_COMMAND_H
#define MM_CLI_STUDY_COMMAND_H

#include "base/status.h"
#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "mirrormap/result.h"
#include "mirrormap/study.h"

// ---------------------------------------------------------------------------------------------
// Beginning

// Where to train; from here on a signal leaves the run in order.
int study_begin(backend_args *on);

// Opens an environment, and resets settings to its own: those of --preset and --set for the
// algorithm that was asked for (NULL: the environment's own). *env is to be destroyed in either
// case.
int study_env(const settings_args *settings, const char *algo, const char *name, mm_env **env,
              mm_settings *out);

// Takes the step size that a map brings along, unless --set eta is given, and says so.
void study_map_eta(const settings_args *args, const char *name, const mm_map *map,
                   mm_settings *settings);

// Opens the study of --resume, which must be of this kind. To be closed in either case.
int study_resume(const char *folder, mm_study_kind kind, mm_study **out);

// The folder of --out, else runs/<verb>-<env>-<n>.
mm_status study_folder_for(const char *verb, const char *env, const char *out, run_folder *where);

// ---------------------------------------------------------------------------------------------
// Working and ending

// Warns of what could not be stored, once per trouble; for progress functions.
void study_warn(mm_study *study);

typedef struct study_end {
  mm_status status;
  const char *outcome;       // "done", "stopped", "interrupted", "failed"
  char error[MM_ERROR_SIZE]; // sentence of the status
  char hint[RUN_HINT_SIZE];  // how to resume, or ""
} study_end;

// Ends the session of work that came back with `status`. `outcome` is NULL where the status says it
// all.
void study_finish(const command *c, mm_study *study, const mm_backend_place *place,
                  mm_status status, const char *outcome, study_end *out);

// After an interruption: fails with INTERRUPT_EXIT, or notes that the time is up (EXIT_DONE). The
// format says how far it came: "after %zu of %zu runs".
__attribute__((format(printf, 2, 3))) int study_stopped(const study_end *end, const char *format,
                                                        ...);

// After a failure, with the hint unless trying again would not help.
int study_failed(const study_end *end);

// ---------------------------------------------------------------------------------------------
// Results

// What came of drawing figures (mm_study_draw): without gnuplot a warning, "no `what`: ..".
int study_figures(mm_status drawn, const char *what);

// What is known of the study, of one of its environments, and of one of its maps.
mm_study_info study_info(const mm_study *study);
mm_study_env_info study_env_info(const mm_study *study, size_t i);
mm_study_map_info study_map_info(const mm_study *study, size_t i);

// The study as --json has it.
int study_json(mm_study *study);

// Text on stdout, wrapped to the terminal.
void study_paragraph(const char *text);

// A sentence of the library on stdout, with names made fit to be printed, wrapped.
void study_sentence(const char *text);

#endif
