// SPDX-License-Identifier: Apache-2.0
// Lines of text beside a picture.

#include "cli/draw/panel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/output.h"

enum { GAP = 3, LINE_SIZE = 4096 };

void panel_add(text_panel *p, const char *format, ...) {
  char text[LINE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  p->line = memory_grow(p->line, (size_t)p->n, sizeof *p->line);
  p->line[p->n++] = memory_text(text, strlen(text));
  int width = output_width(text);
  if (width > p->width) p->width = width;
}

void panel_release(text_panel *p) {
  for (int i = 0; i < p->n; i++)
    free(p->line[i]);
  free(p->line);
  *p = (text_panel){ 0 };
}

static int print_lines(const text_panel *p, int lines, const char *line_end) {
  int n = p->n < lines ? p->n : lines;
  for (int i = 0; i < n; i++)
    printf("%s%s", p->line[i], line_end);
  return lines - n;
}

void panel_print_beside(const text_panel *picture, const text_panel *beside, int columns, int lines,
                        const char *line_end) {
  if (lines == 0) lines = picture->n + beside->n + 1;
  if (picture->width + GAP + beside->width > columns) {
    lines = print_lines(picture, lines, line_end);
    if (lines > 1 && beside->n > 0) fputs(line_end, stdout);
    print_lines(beside, lines - 1, line_end);
    return;
  }
  for (int i = 0; i < lines && (i < picture->n || i < beside->n); i++) {
    const char *left = i < picture->n ? picture->line[i] : "";
    const char *right = i < beside->n ? beside->line[i] : "";
    int pad = right[0] != '\0' ? picture->width - output_width(left) + GAP : 0;
    printf("%s%*s%s%s", left, pad, "", right, line_end);
  }
}
