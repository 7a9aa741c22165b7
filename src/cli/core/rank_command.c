// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L

#include "cli/core/rank_command.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "backend/ranks/ranks.h"
#include "base/isa.h"
#include "cli/core/terminal.h"

static volatile int terminated;

static void note_signal(int number) {
  (void)number;
  __atomic_store_n(&terminated, 1, __ATOMIC_RELAXED);
}

// Launchers pass signals on to everybody. The first rank decides what they mean.
static void leave_signals(void) {
  struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGINT, SIG_IGN);
}

void rank_command_hush(void) {
  int rank, size;
  if (!mm_ranks_launched(&rank, &size) || rank == 0) return;
  int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  terminal_set_mute(true);
}

static mm_status select_isa(const command_args *args) {
  return args->isa != NULL ? mm_isa_select(args->isa) : MM_OK;
}

static int run_here(const command *c, command_args *args) {
  mm_status status = select_isa(args);
  return status == MM_OK ? c->run(args) : fail_status(status);
}

static int serve(const command_args *args) {
  int code = EXIT_DONE;
  leave_signals();
  mm_status status = select_isa(args);
  char refusal[MM_ERROR_SIZE] = "";
  if (status != MM_OK) snprintf(refusal, sizeof refusal, "%s", mm_last_error());
  status = mm_ranks_serve(status != MM_OK ? refusal : NULL, &terminated, &code);
  if (status == MM_OK) return EXIT_DONE; // the code is the first rank's to return
  if (status == MM_ERR_INTERRUPTED) _exit(EXIT_FAILED);
  terminal_set_mute(false);
  fail(EXIT_FAILED, "rank %d: %s", mm_ranks_rank(), mm_last_error());
  _exit(EXIT_FAILED); // the launcher ends the others
}

int rank_command_run(const command *c, command_args *args) {
  int rank, size;
  if (!mm_ranks_launched(&rank, &size)) return run_here(c, args);
  if (!c->ranks) return rank == 0 ? run_here(c, args) : EXIT_DONE;
  TRY(status_code(mm_ranks_start()));
  if (mm_ranks_rank() > 0) return serve(args);
  mm_status status = mm_ranks_gather();
  return status == MM_OK ? run_here(c, args) : fail_status(status);
}

int rank_command_end(int code) {
  mm_ranks_end(code);
  return code;
}
