// SPDX-License-Identifier: Apache-2.0
// The program `mirrormap`: looks at the machine, finds the command, runs it, and makes sure that
// what was printed has arrived.

#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/command.h"
#include "cli/core/cpu.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/plugins.h"
#include "cli/core/rank_command.h"
#include "cli/core/terminal.h"

char *const *command_argv;

static const command *const commands[] = { COMMAND_LIST(COMMAND_POINTER) NULL };

// Without what the build asks for, any function of another file may be an illegal instruction; this
// file alone is compiled for every x86-64 CPU.
static void check_cpu(void) {
#ifdef __x86_64__
  if (!cpu_needs_avx2) return;
  static const char text[] = "mirrormap: this program needs a CPU with AVX2 and FMA\n";
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EXIT_FAILED);
  _exit(EXIT_FAILED);
#endif
}

// A file opened while 0, 1 or 2 is closed would take that number and receive what is printed. They
// are occupied instead, stdin and stdout in the wrong direction so that using them still fails.
static void occupy_streams(void) {
  static const int mode[] = { O_WRONLY, O_RDONLY, O_WRONLY };
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode[fd]) < 0) _exit(EXIT_FAILED);
}

// ---------------------------------------------------------------------------------------------
// Commands

const command *command_find(const command *const *list, const char *name) {
  for (; name != NULL && *list != NULL; list++)
    if (strcmp((*list)->name, name) == 0) return *list;
  return NULL;
}

static int missing_command(const command *const *list, const char *kind) {
  char all[400] = "";
  for (size_t used = 0; *list != NULL && used < sizeof all; list++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? ", " : "",
                             (*list)->name);
  return fail_usage("expected a %s: %s (or --help)", kind, all);
}

static int unknown_command(const command *const *list, const char *word, const char *kind) {
  const char *names[64];
  size_t n = 0;
  for (; list[n] != NULL && n < 63; n++)
    names[n] = list[n]->name;
  if (list == commands) names[n++] = "help";
  const char *near = options_suggestion(word, names, n, "");
  // a subcommand without its command
  for (size_t i = 0; list[i] != NULL && near[0] == '\0'; i++)
    if (list[i]->subcommands != NULL && command_find(list[i]->subcommands, word) != NULL)
      near = output_format(" (did you mean '%s %s'?)", list[i]->name, word);
  return fail_usage("unknown %s '%s'%s", word[0] == '-' ? "option" : kind, word, near);
}

static int run(const command *c, char *const *argv, const char *path) {
  command_args *args = memory_alloc(1, c->args_size);
  int code = plugins_load(argv);
  if (code == EXIT_DONE) code = options_parse(c, argv, args);
  if (code == EXIT_DONE && args->help) {
    help_command(c, path, (help_topic)args->topic);
  } else if (code == EXIT_DONE) {
    terminal_set_quiet(args->quiet);
    code = rank_command_run(c, args);
  }
  options_release(c, args);
  free(args);
  return code;
}

static bool is_help(const char *word) {
  return word != NULL && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

// Follows argv through the commands and their subcommands. With `help_only` the texts are shown
// instead of running anything.
static int dispatch(char *const *argv, bool help_only) {
  char path[64] = "";
  const command *const *list = commands;
  for (;; argv++) {
    const command *c = command_find(list, *argv);
    const char *kind = path[0] == '\0' ? "command" : "subcommand";
    if (*argv == NULL) return missing_command(list, kind);
    if (c == NULL) return unknown_command(list, *argv, kind);
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%s%s", used > 0 ? " " : "", c->name);
    terminal_set_command(path);
    if (c->subcommands == NULL && !help_only) return run(c, argv + 1, path);
    // "COMMAND --help TOPIC", or after help "COMMAND TOPIC"
    char *const *topic_word = is_help(argv[1]) && !help_only ? argv + 2 : argv + 1;
    if (help_only ? c->subcommands == NULL || argv[1] == NULL : topic_word != argv + 1) {
      help_topic topic;
      TRY(help_find(c, *topic_word, &topic));
      help_command(c, path, topic);
      return EXIT_DONE;
    }
    list = c->subcommands;
  }
}

static int start(char *const *argv) {
  const char *word = argv[0] != NULL ? argv[1] : NULL;
  bool help = word != NULL && strcmp(word, "help") == 0;
  if (is_help(word) || (help && (argv[2] == NULL || is_help(argv[2])))) {
    help_program(commands);
    return EXIT_DONE;
  }
  if (help && strcmp(argv[2], "--complete") == 0) {
    complete(commands, argv + 3);
    return EXIT_DONE;
  }
  if (help && strcmp(argv[2], "--man") == 0) {
    if (argv[3] == NULL || argv[4] != NULL) return fail_usage("help --man: expected one folder");
    return manual_write(commands, argv[3]);
  }
  if (word != NULL && strcmp(word, "--version") == 0) {
    printf("mirrormap %s (%s)\n", mm_version(), mm_build_info());
    return EXIT_DONE;
  }
  if (word == NULL) return missing_command(commands, "command");
  if (word[0] == '-') {
    static const char *const names[] = { "help", "version" };
    const char *near = options_suggestion(word + strspn(word, "-"), names, 2, "--");
    return fail_usage("unknown option '%s'%s", word,
                      near[0] != '\0' ? near : " (a command comes first)");
  }
  return dispatch(argv + (help ? 2 : 1), help);
}

static void show_message(const char *message, void *user) {
  (void)user;
  log_line("%s", message);
}

int main(int argc, char **argv) {
  (void)argc;
  check_cpu();
  occupy_streams();
  // seen when writing: a reader that went away (output_end), a limit on the size of files (ulimit
  // -f)
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  terminal_start();
  mm_set_log(show_message, NULL);
  rank_command_hush();
  output_start();
  command_argv = argv;
  return rank_command_end(output_end(start(argv)));
}
