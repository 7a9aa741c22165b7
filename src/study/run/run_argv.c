// SPDX-License-Identifier: Apache-2.0
// The command line that made a run, as a text for a shell: what is read back is what was typed.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "study/run/run_internal.h"

static _Thread_local char *const *made_by; // the call in hand; NULL: not known

char *const *mm_run_made_by(char *const *argv) {
  char *const *before = made_by;
  made_by = argv;
  return before;
}

// Plain where nothing in it means anything to a shell.
static bool is_plain(const char *word) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%";
  return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

// Whether all of it can be shown as it is, and stored as text.
static bool is_shown(const char *word) {
  size_t left = strlen(word), n;
  for (; left > 0; word += n, left -= n) {
    n = mm_utf8_plain((const unsigned char *)word, left);
    if (n == 0) return false;
  }
  return true;
}

// At most four bytes for one, and four around it. What cannot be shown is escaped: $'\x1b'.
static char *put_word(char *out, const char *word) {
  if (is_plain(word)) return out + sprintf(out, "%s", word);
  bool shown = is_shown(word);
  out += sprintf(out, shown ? "'" : "$'");
  for (; *word; word++) {
    unsigned char byte = (unsigned char)*word;
    if (shown)
      out += sprintf(out, byte == '\'' ? "'\\''" : "%c", byte);
    else if (byte < 0x20 || byte >= 0x7f)
      out += sprintf(out, "\\x%02x", byte);
    else
      out += sprintf(out, byte == '\'' || byte == '\\' ? "\\%c" : "%c", byte);
  }
  return out + sprintf(out, "'");
}

mm_status mm_run_format_argv(char **out) {
  size_t room = sizeof "mirrormap";
  *out = NULL;
  if (!made_by || !made_by[0]) return MM_OK;
  for (size_t i = 1; made_by[i]; i++)
    room += 4 * strlen(made_by[i]) + 5;
  *out = mm_alloc(room);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for the command line");
  char *end = *out + sprintf(*out, "mirrormap");
  for (size_t i = 1; made_by[i]; i++) {
    *end++ = ' ';
    end = put_word(end, made_by[i]);
  }
  return MM_OK;
}
