#define _POSIX_C_SOURCE 200809L

#include "cli/tools/export_events.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "show/events/event_export.h"

static int check_folder(const char *path, bool force) {
  DIR *folder = opendir(path);
  if (folder == NULL)
    return fail(EXIT_USAGE, "cannot open the folder '%s': %s", path, strerror(errno));
  size_t entries = 0;
  for (struct dirent *e; (e = readdir(folder)) != NULL;)
    entries += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  closedir(folder);
  if (entries == 0 || force) return EXIT_DONE;
  return fail_usage("option '--out': %s exists already (--force replaces what is in it)", path);
}

static int write_to(mm_run *run, const char *path, bool force) {
  mm_event_count count;
  bool made;
  TRY(status_code(mm_run_make_folder(path, &made)));
  TRY(check_folder(path, force));
  TRY(status_code(mm_event_export(run, path, &count)));
  note("wrote %s (%zu event files, %" PRIu64 " scalars)", path, count.files, count.scalars);
  return EXIT_DONE;
}

int export_events(mm_run *run, const char *out, bool force) {
  if (out != NULL) return write_to(run, out, force);
  char *path = memory_print("%s/tensorboard", mm_run_folder_of(run));
  int code = write_to(run, path, force);
  free(path);
  return code;
}
