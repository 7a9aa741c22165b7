// SPDX-License-Identifier: Apache-2.0
#include "cli/study/study_command.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"

int study_begin(backend_args *on) {
  interrupt_watch();
  return backend_choose(on);
}

int study_env(const settings_args *settings, const char *asked, const char *name, mm_env **env,
              mm_settings *out) {
  mm_algo algo = MM_ALGO_PMD;
  TRY(status_code(mm_env_open(name, env)));
  int code = env_argument_algo(asked, *env, name, &algo);
  return code == EXIT_DONE ? settings_resolve(settings, algo, env_argument_preset(*env), out)
                           : code;
}

void study_map_eta(const settings_args *args, const char *name, const mm_map *map,
                   mm_settings *settings) {
  if (settings_given(args, "eta") == NULL && mm_settings_take_eta(settings, map))
    note("eta %s from %s", output_number(mm_map_eta(map)), name);
}

int study_resume(const char *folder, mm_study_kind kind, mm_study **out) {
  TRY(status_code(mm_study_open(folder, out)));
  const mm_study_kind found = mm_study_get_kind(*out);
  if (found == kind) return EXIT_DONE;
  return fail(EXIT_USAGE, "%s/run.db: a run of '%s', not of '%s'", mm_study_folder(*out),
              mm_study_kind_name(found), mm_study_kind_name(kind));
}

mm_status study_folder_for(const char *verb, const char *env, const char *out, run_folder *where) {
  char stem[MM_STUDY_NAME_SIZE + 16];
  env_argument_stem(verb, env, stem, sizeof stem);
  return run_argument_folder(out, stem, where);
}

// ---------------------------------------------------------------------------------------------
// Ending

void study_warn(mm_study *study) {
  char trouble[MM_ERROR_SIZE];
  if (mm_study_trouble(study, trouble)) warn("%s; continuing without it", trouble);
}

void study_finish(const command *c, mm_study *study, const mm_backend_place *place,
                  mm_status status, const char *outcome, study_end *out) {
  char trouble[MM_ERROR_SIZE];
  out->status = status;
  out->outcome = outcome != NULL ? outcome : interrupt_outcome(status);
  snprintf(out->error, sizeof out->error, "%s", mm_last_error());
  run_argument_hint(c->name, mm_study_folder(study), place, status, out->hint);
  mm_study_end(study, out->outcome);
  if (status == MM_ERR_INTERRUPTED && mm_study_trouble(study, trouble)) warn("%s", trouble);
}

int study_stopped(const study_end *end, const char *format, ...) {
  char where[128];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(where, sizeof where, format, arguments);
  va_end(arguments);
  if (strcmp(end->outcome, "interrupted") == 0)
    return fail(INTERRUPT_EXIT, "interrupted %s%s", where, end->hint);
  note("stopped %s%s", where, end->hint);
  return EXIT_DONE;
}

int study_failed(const study_end *end) {
  const bool for_good = end->status == MM_ERR_INPUT || end->status == MM_ERR_NUMERIC;
  return fail(exit_code_of(end->status), "%s%s", end->error, for_good ? "" : end->hint);
}

// ---------------------------------------------------------------------------------------------
// Results

int study_figures(mm_status status, const char *what) {
  if (status == MM_ERR_UNSUPPORTED) warn("no %s: %s", what, mm_last_error());
  if (status == MM_OK || status == MM_ERR_UNSUPPORTED) return EXIT_DONE;
  return fail(status == MM_ERR_INTERRUPTED ? INTERRUPT_EXIT : EXIT_FAILED, "%s", mm_last_error());
}

// These cannot fail where the place is one that there is.
mm_study_info study_info(const mm_study *study) {
  mm_study_info info = { .size = sizeof info };
  (void)mm_study_describe(study, &info);
  return info;
}

mm_study_env_info study_env_info(const mm_study *study, size_t i) {
  mm_study_env_info info = { .size = sizeof info };
  (void)mm_study_env_at(study, i, &info);
  return info;
}

mm_study_map_info study_map_info(const mm_study *study, size_t i) {
  mm_study_map_info info = { .size = sizeof info };
  (void)mm_study_map_at(study, i, &info);
  return info;
}

int study_json(mm_study *study) {
  char *text;
  TRY(status_code(mm_study_format(study, &text)));
  output_text(text);
  output_text("\n");
  mm_study_text_free(text);
  return EXIT_DONE;
}

void study_paragraph(const char *text) {
  help_wrapped(text, 0, 0, terminal_width(stdout));
}

void study_sentence(const char *text) {
  help_wrapped(output_plain(text), 2, 0, terminal_width(stdout));
}
