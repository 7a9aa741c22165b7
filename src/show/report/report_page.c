// SPDX-License-Identifier: Apache-2.0
// Lines <!--STYLE-->, <!--DATA--> and <!--SCRIPT--> of the page are the places of its parts. Parts
// are put in while the page is copied, so that nothing in them is taken for such a place.

#define _POSIX_C_SOURCE 200809L

#include "show/report/report_page.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

// Behind the first line: how a page of ours is known.
static const char mark[] = "<!-- mirrormap report -->\n";

enum { HEAD = 512, PAGE_MAX = 1 << 30 };

// ---------------------------------------------------------------------------------------------
// Text that is measured first and written then

typedef struct sink {
  char *at; // NULL: measure only
  size_t used;
} sink;

static void put(sink *s, const void *bytes, size_t n) {
  if (s->at) memcpy(s->at + s->used, bytes, n);
  s->used += n;
}

static void put_text(sink *s, const char *text) {
  put(s, text, strlen(text));
}

// JSON has '<' only in texts, where \u003c is the same: no tag and no comment can begin in it. The
// line separators of Unicode end lines in old readers of scripts.
static void put_json(sink *s, const char *json) {
  for (const char *end; *json; json = end) {
    size_t plain = strcspn(json, "<>&\xe2");
    put(s, json, plain);
    end = json + plain;
    if (!*end) break;
    if (strncmp(end, "\xe2\x80\xa8", 3) == 0 || strncmp(end, "\xe2\x80\xa9", 3) == 0) {
      put_text(s, end[2] == '\xa8' ? "\\u2028" : "\\u2029");
      end += 3;
      continue;
    }
    if (*end == '\xe2')
      put(s, end, 1);
    else
      put_text(s, *end == '<' ? "\\u003c" : *end == '>' ? "\\u003e" : "\\u0026");
    end++;
  }
}

// ---------------------------------------------------------------------------------------------
// The page

// The page's own text up to the line of a part; returns what follows that line.
static const char *put_until(sink *s, const char *at, const char *line) {
  const char *end = strstr(at, line);
  put(s, at, (size_t)(end - at));
  return end + strlen(line);
}

static void put_page(sink *s, const char *json) {
  const char *at = put_until(s, (const char *)mm_report_html, "\n");
  put_text(s, "\n");
  put_text(s, mark);
  at = put_until(s, at, "<!--STYLE-->\n");
  put_text(s, "<style>\n");
  put(s, mm_report_css, mm_report_css_size);
  put_text(s, "</style>\n");
  at = put_until(s, at, "<!--DATA-->\n");
  put_text(s, "<script type=\"application/json\" id=\"report-data\">");
  put_json(s, json);
  put_text(s, "</script>\n");
  at = put_until(s, at, "<!--SCRIPT-->\n");
  put_text(s, "<script>\n");
  put(s, mm_report_js, mm_report_js_size);
  put_text(s, "</script>\n");
  put_text(s, at);
}

mm_status mm_report_page(const cJSON *document, char **out, size_t *length) {
  char *json = mm_json_print(document, false);
  sink s = { 0 };
  *out = NULL;
  if (json) {
    put_page(&s, json);
    *out = s.at = mm_alloc(s.used + 1);
  }
  if (s.at) {
    s.used = 0;
    put_page(&s, json);
    s.at[s.used] = 0;
    *length = s.used;
  }
  mm_free(json);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the page of a report");
}

// ---------------------------------------------------------------------------------------------
// The file

static mm_status check_old(const char *path) {
  struct stat about;
  char *text;
  size_t length;
  if (stat(path, &about) != 0) return MM_OK; // whatever is wrong with it shows when it is written
  MM_TRY(mm_file_read(path, PAGE_MAX, &text, &length));
  char *end = memchr(text, '\n', length < HEAD ? length : HEAD);
  bool ours = end && strncmp(end + 1, mark, strlen(mark)) == 0;
  mm_free(text);
  if (ours) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "'%s' is no report of mirrormap and will not be overwritten: remove it or choose "
                 "another folder",
                 path);
}

mm_status mm_report_page_write(const cJSON *document, const char *path) {
  char *text;
  size_t length;
  MM_TRY(check_old(path));
  MM_TRY(mm_report_page(document, &text, &length));
  mm_status status = mm_file_write_atomic(path, text, length);
  mm_free(text);
  return status;
}
