// SPDX-License-Identifier: Apache-2.0
// Help texts, laid out from the tables of the commands and wrapped to the terminal.

#include <stdio.h>
#include <string.h>

#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

enum { INDENT = 2, COLUMN = 26, EXAMPLES = 3 };

static int page_width(void) {
  int width = terminal_width(stdout);
  return width < 50 ? 50 : width > 100 ? 100 : width;
}

void help_wrapped(const char *text, int indent, int column, int width) {
  while (*text != '\0') {
    int length = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + length > width) {
      fputc('\n', stdout);
      column = 0;
    }
    if (length > 0) {
      int gap = column < indent ? indent - column : column > indent;
      printf("%*s%.*s", gap, "", length, text);
      column += gap + length;
    }
    text += length;
    if (*text == '\n') {
      fputc('\n', stdout);
      column = 0;
    }
    if (*text != '\0') text++;
  }
  fputc('\n', stdout);
}

const char help_streams[] =
    "Results go to stdout, messages to stderr. Exit codes: 0 done, 1 failed while running or a "
    "check that did not hold, 2 bad usage or input, 130 interrupted.";

static void put_wrapped(const char *text, int indent, int column) {
  help_wrapped(text, indent, column, page_width());
}

static void put_heading(const char *text) {
  printf("\n%s\n", output_styled(STYLE_BOLD, text));
}

// "  name      text", the text on its own line where the name is long
static void put_entry(const char *name, const char *text) {
  int used = printf("%*s%s", INDENT, "", name);
  if (used > COLUMN - 2) {
    fputc('\n', stdout);
    used = 0;
  }
  put_wrapped(text, COLUMN, used);
}

void help_option_value(const option *o, char out[HELP_VALUE_SIZE]) {
  snprintf(out, HELP_VALUE_SIZE, "%s", o->metavar != NULL ? o->metavar : "");
  for (size_t i = 0, used = 0;
       o->metavar == NULL && o->choices != NULL && o->choices[i] != NULL && used < HELP_VALUE_SIZE;
       i++)
    used += (size_t)snprintf(out + used, HELP_VALUE_SIZE - used, "%s%s",
                             i > 0 ? (o->type == OPTION_CHOICES ? "," : "|") : "", o->choices[i]);
}

void help_option_text(const option *o, bool whole, char out[HELP_TEXT_SIZE]) {
  char defaults[OPTION_DEFAULTS_SIZE];
  const char *end = whole ? NULL : strchr(o->help, ';');
  const int length = end != NULL ? (int)(end - o->help) : (int)strlen(o->help);
  size_t used = (size_t)snprintf(out, HELP_TEXT_SIZE, "%.*s%s%s%s%s", length, o->help,
                                 o->fallback != NULL ? " (default " : "",
                                 o->fallback != NULL ? o->fallback : "",
                                 o->fallback != NULL ? ")" : "", o->required ? " (required)" : "");
  if (o->defaults != NULL && used < HELP_TEXT_SIZE)
    snprintf(out + used, HELP_TEXT_SIZE - used, " (%s)", o->defaults(o->name, defaults));
}

static void put_option(const option *o, const char *dashes, const char *joint, bool whole) {
  char name[128], value[HELP_VALUE_SIZE], text[HELP_TEXT_SIZE];
  help_option_value(o, value);
  help_option_text(o, whole, text);
  snprintf(name, sizeof name, "%s%s%s%s", dashes, o->name, value[0] != '\0' ? joint : "", value);
  put_entry(name, text);
}

// settings that are options too
static void put_direct(const option *settings) {
  for (const option *o = settings; o != NULL && o->name != NULL; o++) {
    char text[96];
    if (!o->direct) continue;
    snprintf(text, sizeof text, "the same as --set %s=VALUE", o->name);
    put_option(&(option){ .name = o->name, .metavar = "VALUE", .help = text }, "--", " ", true);
  }
}

static void put_commands(const command *const *commands) {
  for (; *commands != NULL; commands++)
    put_entry((*commands)->name, (*commands)->summary);
}

void help_program(const command *const *commands) {
  puts("mirrormap: " HELP_SUMMARY);
  put_heading("usage");
  puts("  mirrormap COMMAND [options]");
  put_heading("commands");
  put_commands(commands);
  put_entry("help COMMAND", "what a command does and takes");
  put_heading("options");
  put_entry("-h, --help", "this text; after a command, its own");
  put_entry("--version", "version and build");
  put_entry("help --man DIR", "write the manual pages into a folder");
  fputc('\n', stdout);
  put_wrapped(help_streams, 0, 0);
}

void help_usage(const command *c, const char *path, char out[HELP_USAGE_SIZE]) {
  const option *list[OPTIONS_MAX];
  const size_t n = c->subcommands == NULL ? options_list(c, list) : 0;
  size_t used = (size_t)snprintf(out, HELP_USAGE_SIZE, "mirrormap %s", path);
  if (c->positional != NULL && used < HELP_USAGE_SIZE)
    used += (size_t)snprintf(out + used, HELP_USAGE_SIZE - used, " %s", c->positional);
  for (size_t i = 0; i < n && used < HELP_USAGE_SIZE; i++)
    if (list[i]->required)
      used += (size_t)snprintf(out + used, HELP_USAGE_SIZE - used, " --%s %s", list[i]->name,
                               list[i]->metavar);
  if (used < HELP_USAGE_SIZE)
    snprintf(out + used, HELP_USAGE_SIZE - used, "%s",
             c->subcommands != NULL ? " COMMAND [options]" : " [options]");
}

static void put_about(const char *text, bool all) {
  const char *end = all ? NULL : strstr(text, "\n\n");
  const size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
  fputc('\n', stdout);
  put_wrapped(output_format("%.*s", (int)length, text), 0, 0);
}

static void put_options(const command *c, const option *const *list, size_t n, bool all) {
  put_heading("options");
  for (size_t i = 0; i < n; i++) {
    if (list[i]->rare && !all) continue;
    put_option(list[i], strcmp(list[i]->name, "help") == 0 ? "-h, --" : "--", " ", all);
    if (list[i]->type == OPTION_SETTING && all) put_direct(options_settings(c));
  }
}

// A command line goes on behind a backslash where it is too wide, so that it can be copied. Returns
// how many lines it took.
static int put_example(const char *line, int length) {
  const int width = page_width() - 2;
  int column = printf("%*s", INDENT, ""), n = 1;
  for (int i = 0, word; i < length; i += word + 1) {
    word = (int)strcspn(line + i, " \n");
    // an option stays with its value
    if (line[i] == '-' && line[i + word] == ' ' && line[i + word + 1] != '-')
      word += 1 + (int)strcspn(line + i + word + 1, " \n");
    if (i > 0 && column + 1 + word > width) {
      column = printf(" \\\n%*s", 2 * INDENT, "") - 3;
      n++;
    } else if (i > 0) {
      column += printf(" ");
    }
    column += printf("%.*s", word, line + i);
  }
  putchar('\n');
  return n;
}

// On one screen as many as fit into a few lines.
static void put_examples(const char *line, bool all) {
  put_heading("examples");
  for (int n = 0; *line != '\0' && (all || n < EXAMPLES);) {
    int length = (int)strcspn(line, "\n");
    n += put_example(line, length);
    line += length + (line[length] == '\n');
  }
}

static bool has_more(const option *const *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (list[i]->rare) return true;
  return false;
}

// "--help all for --devices, --isa and more of the text; --help settings for what --set changes"
static void put_more(const option *const *list, size_t n, bool settings) {
  const char *text = "more:";
  for (size_t i = 0; i < n; i++)
    if (list[i]->rare) text = output_format("%s --%s", text, list[i]->name);
  fputc('\n', stdout);
  put_wrapped(output_format("%s (--help all)%s", text,
                            settings ? "; settings for --set (--help settings)" : ""),
              INDENT, 0);
}

static void put_settings(const command *c, const char *path) {
  printf("mirrormap %s: settings for --set KEY=VALUE and for presets\n\n", path);
  for (const option *o = options_settings(c); o->name != NULL; o++)
    put_option(o, "", "=", true);
}

int help_find(const command *c, const char *word, help_topic *out) {
  static const char *const names[] = { "all", "settings" };
  const size_t n = c->settings != NULL ? 2 : 1;
  *out = HELP_SCREEN;
  if (word == NULL || word[0] == '-') return EXIT_DONE;
  for (size_t i = 0; i < n; i++)
    if (strcmp(word, names[i]) == 0) *out = i == 0 ? HELP_ALL : HELP_SETTINGS;
  if (*out != HELP_SCREEN) return EXIT_DONE;
  return fail_usage("no help on '%s'%s", word, options_suggestion(word, names, n, ""));
}

void help_command(const command *c, const char *path, help_topic topic) {
  char usage[HELP_USAGE_SIZE];
  const option *list[OPTIONS_MAX];
  size_t n = c->subcommands == NULL ? options_list(c, list) : 0;
  const bool all = topic == HELP_ALL || !has_more(list, n);
  if (topic == HELP_SETTINGS) {
    put_settings(c, path);
    return;
  }
  printf("mirrormap %s: %s\n", path, c->summary);
  help_usage(c, path, usage);
  put_heading("usage");
  put_wrapped(usage, INDENT, 0);
  if (c->about != NULL) put_about(c->about, all);
  if (c->subcommands != NULL) {
    put_heading("commands");
    put_commands(c->subcommands);
  } else {
    put_options(c, list, n, all);
  }
  if (!all) put_more(list, n, c->settings != NULL);
  if (c->examples != NULL) put_examples(c->examples, all);
}
