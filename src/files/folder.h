// SPDX-License-Identifier: Apache-2.0
// Folders for results, which are on the disk when they were made.

#ifndef MM_FILES_FOLDER_H
#define MM_FILES_FOLDER_H

#include <stdbool.h>

#include "mirrormap/base.h"

enum { MM_PATH_SIZE = 4096 };

// Makes a folder and those above it; *made says whether the last one is new.
mm_status mm_folder_make(const char *path, bool *made);

// The first free folder "<parent>/<stem>-<n>", n = 1, 2, ..; it is made, so that nobody else gets
// it.
mm_status mm_folder_number(const char *parent, const char *stem, char path[MM_PATH_SIZE]);

// For what lies in folders: what cannot be done with a path, by errno's number; a path that is too
// long; and what was made there lasts from now on.
mm_status mm_folder_fail(const char *what, const char *path, int error);
mm_status mm_folder_fail_long(const char *path);
void mm_folder_synchronise_parent(const char *path);

#endif
