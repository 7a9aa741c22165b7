// SPDX-License-Identifier: Apache-2.0
// Shared objects that bring environments, families of potentials and learners
// (mirrormap/plugin.h) into the tables of env, map and agent.

#ifndef MM_PLUGIN_PLUGIN_H
#define MM_PLUGIN_PLUGIN_H

#include "base/status.h"
#include "mirrormap/plugin.h"

enum { MM_PLUGINS_MOST = 32 };

size_t mm_plugin_count(void);

// Which plug-in a text of a plan stands for a part of: the ID of an environment, the name of a map
// (NAME, NAME:X, random-NAME:SEED), of a family or of a learner. MM_PLUGINS_MOST: none.
size_t mm_plugin_of(const char *text);

// MM_ERR_INPUT unless that plug-in is loaded, in that version; `source` begins the sentence.
mm_status mm_plugin_need(const char *source, const char *name, const char *version);

// "windy 1.0 + huber 2", in the order in which they were loaded; "" without any.
enum { MM_PLUGINS_TEXT = 128 };
const char *mm_plugin_text(char out[MM_PLUGINS_TEXT]);

#endif
