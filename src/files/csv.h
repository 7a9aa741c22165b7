// SPDX-License-Identifier: Apache-2.0
// Files of results: CSV in the manner of RFC 4180, with remarks in lines that begin with '#', and
// JSON. Numbers keep every bit; what is undefined is an empty field.

#ifndef MM_FILES_CSV_H
#define MM_FILES_CSV_H

#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

// A field; quoted where it must be, also where a reader would take it for a remark.
void mm_csv_text(FILE *f, const char *text);

// A comma and a field.
void mm_csv_number(FILE *f, double x);

// "# what: {...}", and the end of the tree. JSON keeps line breaks in names out of the file.
void mm_csv_remark(FILE *f, const char *what, cJSON *tree);

// Writes <folder>/<name>, CSV or other text, with what `put` says, all or nothing.
typedef void mm_csv_put(FILE *f, const void *user);
mm_status mm_csv_write(const char *folder, const char *name, mm_csv_put *put, const void *user);

// The same for a tree (NULL: out of memory), which ends here.
mm_status mm_json_write(const char *folder, const char *name, cJSON *root);

#endif
