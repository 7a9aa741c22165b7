// SPDX-License-Identifier: Apache-2.0
// Files that come with the program (learned maps, presets, models of locomotion tasks), found by
// name.
//
// Places to look, best first: $MIRRORMAP_DATA, beside an installed or moved program, the source
// tree of a program in build/, both for the shared library instead of the program, the prefix that
// this library was installed to.

#ifndef MM_BASE_DATA_FOLDER_H
#define MM_BASE_DATA_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

enum {
  MM_DATA_PATH_SIZE = 4096,
  MM_DATA_NAME_SIZE = 64 // of the names that mm_data_names lists, with the final zero
};

// The first readable PLACE/folder/name+ending. A name with a '/' is never found.
bool mm_data_find(const char *folder, const char *name, const char *ending,
                  char out[MM_DATA_PATH_SIZE]);

// The names that mm_data_find would find, at most `most` of them, each once; returns how many.
size_t mm_data_names(const char *folder, const char *ending, char (*names)[MM_DATA_NAME_SIZE],
                     size_t most);

#endif
