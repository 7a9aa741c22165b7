// SPDX-License-Identifier: Apache-2.0
// Lines of text that stand beside a picture, or below it where there is no room.

#ifndef MM_CLI_PANEL_H
#define MM_CLI_PANEL_H

#include "base/status.h"

typedef struct text_panel {
  char **line; // [n]
  int n;
  int width; // of the longest, in columns
} text_panel;

void panel_add(text_panel *p, const char *format, ...) MM_CHECK_FORMAT(2, 3);
void panel_release(text_panel *p);

// Prints picture and panel side by side if `columns` suffice, else one below the other; at most
// `lines` lines (0: all), each ended by `line_end`.
void panel_print_beside(const text_panel *picture, const text_panel *beside, int columns, int lines,
                        const char *line_end);

#endif
