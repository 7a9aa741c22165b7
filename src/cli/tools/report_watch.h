// SPDX-License-Identifier: Apache-2.0
// A report that follows its runs, served to browsers of this machine.

#ifndef MM_CLI_REPORT_WATCH_H
#define MM_CLI_REPORT_WATCH_H

#include <stddef.h>
#include <stdint.h>

// Serves the report of runs[n] on 127.0.0.1:port (0: any free port) until SIGINT or SIGTERM, which
// is how it is done. Returns the exit code.
int report_watch(const char *const *runs, size_t n, uint16_t port);

#endif
