// SPDX-License-Identifier: Apache-2.0
// Plug-ins of a command line.

#ifndef MM_CLI_PLUGINS_H
#define MM_CLI_PLUGINS_H

// Names of algorithms, those of plug-ins behind the built-in ones; ended by NULL.
extern const char *algo_names[];

// Loads those that MIRRORMAP_PLUGINS names, separated by colons, then those of `--plugin` in argv,
// ended by NULL. Before options are parsed: names of plug-ins are among their values.
int plugins_load(char *const *argv);

#endif
