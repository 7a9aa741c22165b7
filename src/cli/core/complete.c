// SPDX-License-Identifier: Apache-2.0
// `help --complete WORD..`: what the last word of a command line can become, for the shells
// (packaging/completions). The words come from the tables of the commands; a value is known by how
// help calls it, as MAP or FILE.
//
// A line of the answer is a whole word, a tab, and what it means. A word that ends in '=' or ':'
// goes on. ":files" and ":folders" ask the shell for those.

#define _POSIX_C_SOURCE 200809L

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "bench/bench.h"
#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "map/family.h"
#include "mirrormap/env.h"
#include "mirrormap/evolve.h"

// The word to be completed: its first `at` characters stay.
typedef struct target {
  const char *word;
  size_t at;
} target;

static void offer(target t, const char *name, const char *tail, const char *about) {
  if (strncmp(name, t.word + t.at, strlen(t.word + t.at)) != 0) return;
  printf("%.*s%s%s\t%.*s\n", (int)t.at, t.word, name, tail, (int)strcspn(about, "\n"), about);
}

// ---------------------------------------------------------------------------------------------
// Values by the names that help has for them

static void offer_envs(target t) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++)
    offer(t, info.id, "", info.summary);
}

static void offer_shipped(target t, const char *folder, const char *ending) {
  enum { MOST = 64 };
  char names[MOST][MM_DATA_NAME_SIZE];
  const size_t n = mm_data_names(folder, ending, names, MOST);
  for (size_t i = 0; i < n; i++)
    offer(t, names[i], "", "");
}

static void offer_presets(target t) {
  offer_shipped(t, "presets", ".yaml");
}

static void offer_kinds(target t) {
  for (int kind = 0; kind < MM_MAP_KINDS; kind++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)kind);
    const char *usage = family->usage;
    if (usage != NULL && strchr(usage, ':') != NULL)
      offer(t, mm_map_kind_name((mm_map_kind)kind), ":", usage);
    else
      offer(t, mm_map_kind_name((mm_map_kind)kind), "", "");
    if (family->random_name != NULL) offer(t, family->random_name, ":", "a random control");
  }
}

static void offer_maps(target t) {
  offer_kinds(t);
  offer_shipped(t, "maps", ".json");
}

static void offer_strategies(target t) {
  for (int es = 0; es < MM_ES_KINDS; es++)
    offer(t, mm_es_name((mm_es_kind)es), "", "");
}

static void offer_benchmarks(target t) {
  for (const mm_bench_case *c = mm_bench_cases; c->name != NULL; c++) {
    const mm_bench_case *first = mm_bench_cases;
    while (strcmp(first->name, c->name) != 0)
      first++;
    if (first == c) offer(t, c->name, "", "");
  }
}

// Those below runs/, where commands put them; others are folders to the shell.
static void offer_runs(target t) {
  DIR *folder = opendir("runs");
  if (folder == NULL) return;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char *path = memory_print("runs/%s", entry->d_name), *run = memory_print("%s/run.db", path);
    if (access(run, F_OK) == 0) offer(t, path, "", "");
    free(run);
    free(path);
  }
  closedir(folder);
}

static const struct {
  const char *name;
  void (*offer)(target t);
  const char *shell; // what the shell is to add
} values[] = {
  { "ID", offer_envs, NULL },        { "MAP", offer_maps, ":files" },
  { "KIND", offer_kinds, NULL },     { "PRESET", offer_presets, NULL },
  { "ES", offer_strategies, NULL },  { "NAME", offer_benchmarks, NULL },
  { "RUN", offer_runs, ":folders" }, { "TABLE", offer_runs, ":folders" },
  { "FOLDER", NULL, ":folders" },    { "DIR", NULL, ":folders" },
  { "FILE", NULL, ":files" },        { "TRACE.json", NULL, ":files" },
};

// One of the words that a metavar like "random|RUN|FILE" or "[ID]" is made of.
static void offer_value(target t, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (strlen(values[i].name) != length || strncmp(values[i].name, name, length) != 0) continue;
    if (values[i].offer != NULL) values[i].offer(t);
    if (values[i].shell != NULL) puts(values[i].shell);
  }
  // small letters stand for themselves, up to a number as in cvar:A
  size_t literal = 0;
  while (literal < length && !isupper((unsigned char)name[literal]))
    literal++;
  if (literal == length || (literal > 0 && name[literal - 1] == ':')) {
    char *text = memory_text(name, literal);
    offer(t, text, "", "");
    free(text);
  }
}

// Entries of a list stay before the one in hand.
static target last_entry(target t) {
  const char *comma = strrchr(t.word + t.at, ',');
  if (comma != NULL) t.at = (size_t)(comma + 1 - t.word);
  return t;
}

static void offer_metavar(target t, const char *metavar, size_t length) {
  char *text = memory_text(metavar, length);
  if (strchr(text, ',') != NULL) t = last_entry(t);
  for (const char *part = text; *(part += strspn(part, "|[],.")) != '\0';) {
    size_t size = strcspn(part, "|[],");
    while (part[size - 1] == '.')
      size--;
    if (part == text || strncmp(text, part, size) != 0) offer_value(t, part, size); // ID[,ID..]
    part += size;
  }
  free(text);
}

static const option *find_option(const option *const *list, size_t n, const char *name,
                                 size_t length) {
  for (size_t i = 0; i < n; i++)
    if (strlen(list[i]->name) == length && strncmp(list[i]->name, name, length) == 0)
      return list[i];
  return NULL;
}

static void offer_option_value(const command *c, const option *o, target t) {
  // the words of help may leave out what the command does not do
  if (o->choices != NULL && (o->metavar == NULL || o->type == OPTION_CHOICES)) {
    if (o->type == OPTION_CHOICES) t = last_entry(t);
    for (const char *const *choice = o->choices; *choice != NULL; choice++)
      offer(t, *choice, "", "");
  } else if (o->type == OPTION_SETTING) {
    const char *equals = strchr(t.word + t.at, '=');
    for (const option *s = options_settings(c); s->name != NULL; s++)
      if (equals == NULL)
        offer(t, s->name, "=", s->help);
      else if (find_option(&s, 1, t.word + t.at, (size_t)(equals - t.word) - t.at) != NULL)
        offer_option_value(c, s, (target){ t.word, (size_t)(equals + 1 - t.word) });
  } else if (o->metavar != NULL) {
    offer_metavar(t, o->metavar, strlen(o->metavar));
  }
}

// ---------------------------------------------------------------------------------------------
// Command lines

static void offer_commands(const command *const *list, target t) {
  for (; *list != NULL; list++)
    offer(t, (*list)->name, "", (*list)->summary);
}

// The options of a command, among them the settings that are options too; returns their number.
enum { LIST_MAX = 2 * OPTIONS_MAX };
static size_t list_all(const command *c, const option *list[LIST_MAX]) {
  size_t n = options_list(c, list);
  for (const option *s = options_settings(c); s != NULL && s->name != NULL; s++)
    if (s->direct) list[n++] = s;
  return n;
}

static void offer_options(const option *const *list, size_t n, const bool *given, target t) {
  for (size_t i = 0; i < n; i++) {
    if (given[i]) continue;
    char *name = memory_print("--%s", list[i]->name);
    offer(t, name, "", list[i]->help);
    free(name);
  }
}

// What stands at place `k` of "ID TRACE.json" or "MAP..."; returns whether anything does.
static bool offer_positional(const command *c, size_t k, target t) {
  for (const char *word = c->positional; word != NULL && *word != '\0'; k--) {
    const size_t length = strcspn(word, " ");
    const bool last = word[length] == '\0', more = strstr(word, "...") != NULL;
    if (k == 0 || (last && more)) {
      offer_metavar(t, word, length);
      for (size_t i = 0; c->word != NULL && c->word(i) != NULL; i++)
        offer(t, c->word(i), "", "");
      return true;
    }
    word += length + !last;
  }
  return false;
}

// words[n]: behind the command, the last one to be completed.
static void complete_arguments(const command *c, char *const *words, size_t n) {
  const option *list[LIST_MAX], *open = NULL; // an option that waits for its value
  const size_t n_list = list_all(c, list);
  bool given[LIST_MAX] = { false }, ended = false;
  size_t positional = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    const char *word = words[i], *name = word + 2;
    if (open != NULL) {
      open = NULL;
    } else if (ended || strncmp(word, "--", 2) != 0) {
      positional++;
    } else if (*name == '\0') {
      ended = true;
    } else {
      const option *o = find_option(list, n_list, name, strcspn(name, "="));
      for (size_t k = 0; k < n_list; k++)
        given[k] =
            given[k] || (list[k] == o && o->type != OPTION_TEXTS && o->type != OPTION_SETTING);
      if (o != NULL && o->type != OPTION_FLAG && strchr(name, '=') == NULL) open = o;
    }
  }
  const char *word = words[n - 1], *equals = strchr(word, '=');
  const target whole = { word, 0 };
  if (open != NULL) {
    offer_option_value(c, open, whole);
  } else if (!ended && strncmp(word, "--", 2) == 0 && equals != NULL) {
    const option *o = find_option(list, n_list, word + 2, (size_t)(equals - word) - 2);
    if (o != NULL) offer_option_value(c, o, (target){ word, (size_t)(equals + 1 - word) });
  } else if (!ended && word[0] == '-') {
    offer_options(list, n_list, given, whole);
  } else if (!offer_positional(c, positional, whole) && word[0] == '\0' && !ended) {
    offer_options(list, n_list, given, whole);
  }
}

void complete(const command *const *commands, char *const *words) {
  size_t n = 0, i = 0;
  while (words[n] != NULL)
    n++;
  if (n == 0) return;
  const bool help = n > 1 && strcmp(words[0], "help") == 0;
  const target last = { words[n - 1], 0 };
  const command *const *list = commands;
  for (i = help; i + 1 < n; i++) {
    const command *c = command_find(list, words[i]);
    if (c == NULL) return;
    if (c->subcommands == NULL) {
      if (!help) complete_arguments(c, words + i + 1, n - i - 1);
      return;
    }
    list = c->subcommands;
  }
  offer_commands(list, last);
  if (n > 1) return;
  offer(last, "help", "", "what a command does and takes");
  if (words[0][0] == '-') {
    offer(last, "--help", "", "all commands");
    offer(last, "--version", "", "version and build");
  }
}
