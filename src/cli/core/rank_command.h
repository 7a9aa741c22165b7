// SPDX-License-Identifier: Apache-2.0
// A command under mpirun or srun: the first process does what the command line says, with the
// others as its hands. Commands that train nothing run in the first process alone. Only the first
// has a terminal: the others print nothing, unless they themselves fail.

#ifndef MM_CLI_RANK_COMMAND_H
#define MM_CLI_RANK_COMMAND_H

#include "cli/core/command.h"

// Before anything is printed: silences this process if it is not the first.
void rank_command_hush(void);

int rank_command_run(const command *c, command_args *args);

// At the very end, with the program's exit code: all processes leave together.
int rank_command_end(int code);

#endif
