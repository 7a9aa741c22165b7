// SPDX-License-Identifier: Apache-2.0
// `help --man DIR`: manual pages in the language of man(7), one for the program and one for each
// command, from the same tables as the help texts.

#define _POSIX_C_SOURCE 200809L

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "mm_build.h"

// Text as it is: dashes can be copied, and nothing in it is a request. `code` becomes bold.
// Line ends stay with `lines`; else two of them begin a paragraph.
static const char *escaped(const char *text, bool lines) {
  char *out = memory_alloc(8 * strlen(text) + 1, 1), *to = out, one[2] = "";
  bool bold = false;
  for (const char *c = text, *as; *c != '\0'; c++, to += strlen(as)) {
    const bool begins = c == text || c[-1] == '\n';
    one[0] = *c;
    as = one;
    if (*c == '\\') as = "\\e";
    if (*c == '-') as = "\\-";
    if (*c == '^') as = "\\(ha";
    if (*c == '~') as = "\\(ti";
    if (*c == '\'') as = "\\(aq";
    if (*c == '.' && begins) as = "\\&.";
    if (*c == '`') as = (bold = !bold) ? "\\fB" : "\\fR";
    if (*c == '\n' && !begins && !lines) as = c[1] == '\n' ? "\n.PP" : "\n.br\n";
    strcpy(to, as);
  }
  const char *kept = output_format("%s", out);
  free(out);
  return kept;
}

static const char *plain(const char *text) {
  return escaped(text, false);
}

// "mirrormap-map-new" of "map new"
static const char *page_name(const char *path) {
  char *name = memory_print("mirrormap%s%s", path[0] != '\0' ? "-" : "", path);
  for (char *c = name; *c != '\0'; c++)
    if (*c == ' ') *c = '-';
  const char *kept = output_format("%s", name);
  free(name);
  return kept;
}

static void add_head(FILE *f, const char *path, const char *summary) {
  const char *name = page_name(path);
  char *title = memory_text(name, strlen(name));
  for (char *c = title; *c != '\0'; c++)
    *c = (char)toupper((unsigned char)*c);
  fprintf(f, ".TH %s 1 \"%s\" \"mirrormap %s\" \"User Commands\"\n", plain(title), MM_BUILD_DATE,
          MM_BUILD_VERSION);
  fprintf(f, ".SH NAME\n%s \\- %s\n", plain(name), plain(summary));
  free(title);
}

static void add_entry(FILE *f, const char *name, const char *value, const char *text) {
  fprintf(f, ".TP\n\\fB%s\\fR", plain(name));
  if (value[0] != '\0')
    fprintf(f, "%s\\fI%s\\fR", name[0] == '-' ? " " : "\\fB=\\fR", plain(value));
  fprintf(f, "\n%s\n", plain(text));
}

static void add_option(FILE *f, const option *o, const char *dashes) {
  char value[HELP_VALUE_SIZE], text[HELP_TEXT_SIZE];
  help_option_value(o, value);
  help_option_text(o, true, text);
  add_entry(f, output_format("%s%s", dashes, o->name), value, text);
}

static void add_commands(FILE *f, const command *const *list) {
  fprintf(f, ".SH COMMANDS\n");
  for (; *list != NULL; list++)
    add_entry(f, (*list)->name, "", (*list)->summary);
}

static void add_options(FILE *f, const command *c) {
  const option *list[OPTIONS_MAX];
  const size_t n = options_list(c, list);
  fprintf(f, ".SH OPTIONS\n");
  for (size_t i = 0; i < n; i++) {
    add_option(f, list[i], "--");
    if (list[i]->type != OPTION_SETTING) continue;
    for (const option *s = options_settings(c); s->name != NULL; s++)
      if (s->direct)
        add_entry(f, output_format("--%s", s->name), "VALUE",
                  output_format("the same as --set %s=VALUE", s->name));
  }
  if (c->settings == NULL) return;
  fprintf(f, ".SH SETTINGS\nOf \\fB\\-\\-set\\fR \\fIKEY\\fR=\\fIVALUE\\fR.\n");
  for (const option *s = options_settings(c); s->name != NULL; s++)
    add_option(f, s, "");
}

static const char *join(const char *parent, const char *name) {
  return output_format("%s%s%s", parent, parent[0] != '\0' ? " " : "", name);
}

// The page above (NULL: none) and those of a list below `path`, but for one.
static void add_see_also(FILE *f, const char *above, const command *const *list, const char *path,
                         const command *but) {
  fprintf(f, ".SH SEE ALSO\n");
  if (above != NULL) fprintf(f, ".BR %s (1)", plain(page_name(above)));
  for (bool first = above == NULL; *list != NULL; list++) {
    if (*list == but) continue;
    fprintf(f, "%s.BR %s (1)", first ? "" : ",\n", plain(page_name(join(path, (*list)->name))));
    first = false;
  }
  fprintf(f, "\n");
}

static void add_examples(FILE *f, const char *examples) {
  if (examples != NULL) fprintf(f, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escaped(examples, true));
}

static void add_program(FILE *f, const command *const *commands) {
  static const struct {
    const char *name, *text;
  } variables[] = {
    { "MIRRORMAP_DATA", "folder of maps, presets and models, instead of the installed ones" },
    { "CUDA_VISIBLE_DEVICES", "the GPUs that may be used" },
    { "NO_COLOR", "no colours on terminals" },
    { "TMPDIR", "where figures are drawn before they are moved to their place" },
  };
  add_head(f, "", HELP_SUMMARY);
  fprintf(f, ".SH SYNOPSIS\n.B mirrormap\n.I COMMAND\n[options]\n");
  fprintf(f, ".SH DESCRIPTION\n%s\n", plain(help_streams));
  add_commands(f, commands);
  fprintf(f, ".SH OPTIONS\n");
  add_entry(f, "--help", "", "all commands; after a command, its options");
  add_entry(f, "--version", "", "version and build");
  fprintf(f, ".SH ENVIRONMENT\n");
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    add_entry(f, variables[i].name, "", variables[i].text);
  add_see_also(f, NULL, commands, "", NULL);
}

static void add_command(FILE *f, const command *c, const char *path, const command *const *beside) {
  char usage[HELP_USAGE_SIZE];
  add_head(f, path, c->summary);
  help_usage(c, path, usage);
  fprintf(f, ".SH SYNOPSIS\n%s\n", plain(usage));
  fprintf(f, ".SH DESCRIPTION\n%s\n", plain(c->about != NULL ? c->about : c->summary));
  if (c->subcommands != NULL)
    add_commands(f, c->subcommands);
  else
    add_options(f, c);
  add_examples(f, c->examples);
  const char *blank = strrchr(path, ' ');
  char *parent = memory_text(path, blank != NULL ? (size_t)(blank - path) : 0);
  if (c->subcommands != NULL)
    add_see_also(f, parent, c->subcommands, path, NULL);
  else
    add_see_also(f, parent, beside, parent, c);
  free(parent);
}

// ---------------------------------------------------------------------------------------------
// Files

static int write_page(const command *const *list, const command *c, const char *path,
                      const char *folder) {
  char *name = memory_print("%s/%s.1", folder, page_name(path));
  FILE *f = fopen(name, "w");
  if (f != NULL && c != NULL) add_command(f, c, path, list);
  if (f != NULL && c == NULL) add_program(f, list);
  const bool bad = f == NULL || ferror(f) != 0;
  const bool lost = f != NULL && fclose(f) != 0;
  const int code = bad || lost ? fail(EXIT_FAILED, "%s: %s", name, strerror(errno)) : EXIT_DONE;
  free(name);
  return code;
}

static int write_pages(const command *const *list, const char *parent, const char *folder) {
  for (const command *const *c = list; *c != NULL; c++) {
    const char *joined = join(parent, (*c)->name);
    char *path = memory_text(joined, strlen(joined)); // it is needed for long
    int code = write_page(list, *c, path, folder);
    if (code == EXIT_DONE && (*c)->subcommands != NULL)
      code = write_pages((*c)->subcommands, path, folder);
    free(path);
    TRY(code);
  }
  return EXIT_DONE;
}

int manual_write(const command *const *commands, const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return fail(EXIT_FAILED, "%s: %s", folder, strerror(errno));
  TRY(write_page(commands, NULL, "", folder));
  return write_pages(commands, "", folder);
}
