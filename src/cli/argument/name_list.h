// SPDX-License-Identifier: Apache-2.0
// Lists of names on the command line, `a,b,c`, and the short labels under which tables show them.

#ifndef MM_CLI_NAME_LIST_H
#define MM_CLI_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct name_list {
  char **name; // [n]; no two are the same
  size_t n;
} name_list;

// Reads the value of the option --`name`; blanks around entries do not count, repeated entries only
// once. Reports an empty entry and returns EXIT_USAGE. Release in either case.
int name_list_read(const char *name, const char *text, name_list *out);

// Adds a name unless it is there already; returns whether it was added.
bool name_list_add(name_list *list, const char *name);

void name_list_release(name_list *list);

// label[n]: of a file the name without folders and ".json", with as many of its folders as it takes
// to tell it from the others; other names as they are.
enum { NAME_LABEL_SIZE = 40 };
void name_list_label(const name_list *list, char (*label)[NAME_LABEL_SIZE]);

#endif
