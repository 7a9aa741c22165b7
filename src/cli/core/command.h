// SPDX-License-Identifier: Apache-2.0
// What a command is: its names and texts, its options, and the function that runs it. Parser
// (options.c) and help (help.c) work from these tables alone.
//
// A new command is a file cmd_<name>.c that defines `const command command_<name>`, and one line in
// COMMAND_LIST.

#ifndef MM_CLI_COMMAND_H
#define MM_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_LIST(X)                                                                            \
  X(map)                                                                                           \
  X(env)                                                                                           \
  X(preset)                                                                                        \
  X(train)                                                                                         \
  X(eval)                                                                                          \
  X(learn)                                                                                         \
  X(transfer)                                                                                      \
  X(compare)                                                                                       \
  X(tune)                                                                                          \
  X(reproduce)                                                                                     \
  X(theory)                                                                                        \
  X(runs)                                                                                          \
  X(report)                                                                                        \
  X(export)                                                                                        \
  X(bench)                                                                                         \
  X(devices)

#define MAP_COMMAND_LIST(X)                                                                        \
  X(map_list)                                                                                      \
  X(map_new)                                                                                       \
  X(map_show)                                                                                      \
  X(map_check)                                                                                     \
  X(map_eval)                                                                                      \
  X(map_project)                                                                                   \
  X(map_bregman)                                                                                   \
  X(map_plot)                                                                                      \
  X(map_compare)

#define ENV_COMMAND_LIST(X)                                                                        \
  X(env_list)                                                                                      \
  X(env_show)                                                                                      \
  X(env_play)                                                                                      \
  X(env_replay)                                                                                    \
  X(env_record)                                                                                    \
  X(env_check)

// ---------------------------------------------------------------------------------------------
// Options

typedef struct option_numbers {
  double *value; // [n], NULL when not given
  size_t n;
} option_numbers;

typedef struct option_texts {
  const char **value; // [n], NULL when not given
  size_t n;
} option_texts;

// The type says what lies at the option's offset in the command's arguments.
typedef enum option_type {
  OPTION_FLAG,    // bool; the only type without a value
  OPTION_TEXT,    // const char *
  OPTION_TEXTS,   // option_texts; may be repeated
  OPTION_CHOICE,  // const char *, one of `choices`
  OPTION_INDEX,   // int: the position among `choices`, counted from 1; 0 where it is not given
  OPTION_CHOICES, // unsigned; a,b,.. sets bit i for choices[i]
  OPTION_COUNT,   // uint64_t
  OPTION_NUMBER,  // double, finite
  OPTION_NUMBERS, // option_numbers, a,b,.. all finite
  OPTION_SETTING  // key=value for the command's `settings`; may be repeated
} option_type;

enum { OPTION_DEFAULTS_SIZE = 256 };

typedef struct option {
  const char *name; // without dashes; NULL ends a table
  option_type type;
  size_t offset;
  const char *metavar;  // how help calls the value
  const char *help;     // one sentence without a full stop; one screen of help ends at its ';'
  const char *fallback; // the value when not given, as it would be typed; NULL for none
  // what help says of the values when not given, where that is not one text; NULL for nothing
  const char *(*defaults)(const char *name, char out[OPTION_DEFAULTS_SIZE]);
  const char *const *choices; // ended by NULL
  double low, high;           // bounds of each number; both 0 for none
  bool low_open;              // low itself is excluded
  bool required;
  bool direct; // of a setting: --name VALUE does as well as --set name=VALUE
  bool rare;   // left to --help all
} option;

// A row of a table: the field of the arguments, how help calls the value (NULL for flags and
// choices), a sentence, then what else there is to say (.fallback, .low, ..). A file defines ARGS
// as the type of its command's arguments.
#define OPTION(type_, name_, field, metavar_, ...)                                                 \
  OPTION_OF(ARGS, type_, name_, field, metavar_, __VA_ARGS__)
#define OPTION_OF(args_type, type_, name_, field, metavar_, ...)                                   \
  {                                                                                                \
    .name = name_, .type = OPTION_##type_, .offset = offsetof(args_type, field),                   \
    .metavar = metavar_, .help = __VA_ARGS__                                                       \
  }

// Settings of a command, those of plug-ins included.
enum { SETTINGS_MOST = 96 };

// Every command's arguments begin with these.
typedef struct command_args {
  bool help, json, quiet;
  int topic; // help_topic
  const char *isa;
  option_texts positional, plugins;
  uint64_t given;          // bit i: option i of options_list was on the command line
  bool set[SETTINGS_MOST]; // --set named settings[i]
} command_args;

// ---------------------------------------------------------------------------------------------
// Commands

// The common options a command takes, beside --plugin, --quiet and --help.
enum { COMMON_JSON = 1, COMMON_ISA = 2 };

typedef struct command {
  const char *name;
  const char *summary;           // for lists of commands
  const char *positional;        // what follows the name in the usage line, e.g. "MAP..."
  const char *(*word)(size_t i); // the i-th that a positional may be, NULL past the end; NULL where
                                 // `positional` says all
  const char *about;    // paragraphs; where options are rare, those after the first are too
  const char *examples; // command lines, one per line
  const option *options;
  const option *(*settings)(void); // what --set can set, or NULL
  unsigned common;                 // COMMON_* or-ed
  bool ranks;                      // several processes do its work together (cli/rank_command.h)
  size_t min_positional, max_positional;
  size_t args_size; // of the struct that begins with command_args
  int (*run)(void *args);
  const struct command *const *subcommands; // ended by NULL; then nothing else but the texts counts
} command;

#define COMMAND_DECLARE(name) extern const command command_##name;
COMMAND_LIST(COMMAND_DECLARE)
MAP_COMMAND_LIST(COMMAND_DECLARE)
ENV_COMMAND_LIST(COMMAND_DECLARE)
#undef COMMAND_DECLARE

// The command of that name; NULL for none, and for no name.
const command *command_find(const command *const *list, const char *name);

// For tables: X(name) becomes a pointer to the command.
#define COMMAND_POINTER(name) &command_##name,

// The words of the process, as main has them: studies say what they were made by.
extern char *const *command_argv;

// ---------------------------------------------------------------------------------------------
// Parsing (options.c)

// Options of a command: as many as command_args has bits for.
enum { OPTIONS_MAX = 64 };

// What --set can set; NULL for a command without settings.
const option *options_settings(const command *c);

// All options of a command, its own first; returns their number.
size_t options_list(const command *c, const option *out[OPTIONS_MAX]);

// Reads argv, ended by NULL, into zeroed `args`. Stops early with args->help set at -h or --help,
// and args->topic said by the word that follows.
// Returns EXIT_DONE, or EXIT_USAGE after reporting the mistake. Release in either case.
int options_parse(const command *c, char *const *argv, command_args *args);
void options_release(const command *c, command_args *args);

// The next entry of a list a,b,c without the blanks around it, as a copy to be freed; NULL at the
// end. *rest moves on to the entry after it.
char *options_next_entry(const char **rest);

bool options_given(const command *c, const command_args *args, const char *name);

// " (did you mean '--scores'?)", or "" when nothing is near. `dashes` goes before the name. Valid
// for the next few calls.
const char *options_suggestion(const char *word, const char *const *names, size_t n,
                               const char *dashes);

// The same; where nothing is near " (one of a, b)".
const char *options_suggestion_or_list(const char *word, const char *const *names, size_t n);

// ---------------------------------------------------------------------------------------------
// Help (help.c), on stdout

void help_program(const command *const *commands);
// One screen; everything but the settings; the settings that --set knows.
typedef enum help_topic { HELP_SCREEN, HELP_ALL, HELP_SETTINGS } help_topic;
void help_command(const command *c, const char *path, help_topic topic);
// The topic of a word after --help (NULL: none); EXIT_USAGE for others.
int help_find(const command *c, const char *word, help_topic *out);

// What is said of an option: how its value is called ("" for a flag), and its sentence with what
// holds when it is not given.
enum { HELP_VALUE_SIZE = 96, HELP_TEXT_SIZE = 512 + OPTION_DEFAULTS_SIZE, HELP_USAGE_SIZE = 400 };
void help_option_value(const option *o, char out[HELP_VALUE_SIZE]);
void help_option_text(const option *o, bool whole, char out[HELP_TEXT_SIZE]);

// "mirrormap map show MAP... [options]"
void help_usage(const command *c, const char *path, char out[HELP_USAGE_SIZE]);

// Of the program.
#define HELP_SUMMARY "mirror maps for policy mirror descent"
extern const char help_streams[];

// Wraps `text` into lines of at most `width` columns that begin at `indent`; the cursor stands at
// `column` already. A line break in the text stays one.
void help_wrapped(const char *text, int indent, int column, int width);

// Manual pages, a file in `folder` for the program and for each command (manual.c).
int manual_write(const command *const *commands, const char *folder);

// What the last of these words of a command line, ended by NULL, can become (complete.c).
void complete(const command *const *commands, char *const *words);

#endif
