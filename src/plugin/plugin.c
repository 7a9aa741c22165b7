// SPDX-License-Identifier: Apache-2.0
// Loading. A child process tries first, so that an object that crashes takes nobody with it; what
// went well there goes well again here.

#define _GNU_SOURCE // pipe2

#include "plugin/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/learner.h"
#include "base/spelling.h"
#include "env/plugin_env.h"
#include "map/foreign.h"

enum { SECONDS_TO_LOAD = 10 };

#define REFUSE(...) MM_FAIL(MM_ERR_INPUT, __VA_ARGS__)

static struct {
  mm_plugin plugin;
  char path[PATH_MAX];
} loaded[MM_PLUGINS_MOST];
static size_t n_loaded;

// ---------------------------------------------------------------------------------------------
// What it describes

// A struct of an older header, which has fewer fields, is followed by zeros.
#define TAKE(from, to, last, what)                                                                 \
  take_struct((from), (from)->size, offsetof(__typeof__(*(to)), last) + sizeof((to)->last),        \
              sizeof *(to), (to), what)

static mm_status take_struct(const void *from, size_t size, size_t least, size_t most, void *to,
                             const char *what) {
  if (size < least || size > most)
    return REFUSE("%s: size = %zu: expected %zu, compile it with this version's mirrormap/plugin.h",
                  what, size, most);
  memset(to, 0, most);
  memcpy(to, from, size);
  return MM_OK;
}

static mm_status take_parts(const mm_plugin *p) {
  for (size_t i = 0; p->env && p->env[i]; i++) {
    mm_plugin_env law;
    MM_TRY(TAKE(p->env[i], &law, fps, "mm_plugin_env"));
    MM_TRY(mm_plugin_env_check(&law));
    mm_plugin_env_add(&law);
  }
  for (size_t i = 0; p->potential && p->potential[i]; i++) {
    mm_plugin_potential law;
    MM_TRY(TAKE(p->potential[i], &law, integral, "mm_plugin_potential"));
    MM_TRY(mm_foreign_check(&law));
    mm_foreign_add(&law);
  }
  for (size_t i = 0; p->learner && p->learner[i]; i++) {
    mm_plugin_learner law;
    MM_TRY(TAKE(p->learner[i], &law, train, "mm_plugin_learner"));
    MM_TRY(mm_plugin_learner_check(&law));
    mm_plugin_learner_add(&law);
  }
  return MM_OK;
}

static bool brings_something(const mm_plugin *p) {
  return (p->env && p->env[0]) || (p->potential && p->potential[0]) ||
         (p->learner && p->learner[0]);
}

static mm_status take(const mm_plugin *found, const char *path) {
  mm_plugin *p = &loaded[n_loaded].plugin;
  if (n_loaded == MM_PLUGINS_MOST)
    return REFUSE("there are %d plug-ins, the most there can be", MM_PLUGINS_MOST);
  if (found->interface != MM_PLUGIN_INTERFACE)
    return REFUSE("interface %u: expected %d, compile it with this version's mirrormap/plugin.h",
                  (unsigned)found->interface, MM_PLUGIN_INTERFACE);
  MM_TRY(TAKE(found, p, learner, "mm_plugin"));
  if (!p->name || !p->version || !mm_is_plain_name(p->name) || !mm_is_plain_name(p->version))
    return REFUSE("expected a name and a version of letters, digits and . _ -");
  for (size_t i = 0; i < n_loaded; i++)
    if (strcmp(loaded[i].plugin.name, p->name) == 0)
      return REFUSE("'%s' is there already: %.1000s", p->name, loaded[i].path);
  if (!brings_something(p)) return REFUSE("expected an environment, a potential or a learner");
  MM_TRY(take_parts(p));
  snprintf(loaded[n_loaded++].path, PATH_MAX, "%s", path);
  return MM_OK;
}

static mm_status open_object(const char *path) {
  dlerror();
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return REFUSE("%s", dlerror()); // which names the file
  const mm_plugin *found = dlsym(object, "mirrormap_plugin");
  mm_status status = MM_OK;
  if (!found)
    status = REFUSE("plug-in '%.1000s': expected a definition of mirrormap_plugin", path);
  else if (take(found, path) != MM_OK)
    status = REFUSE("plug-in '%.1000s': %s", path, mm_last_error());
  if (status != MM_OK) dlclose(object);
  return status;
}

// ---------------------------------------------------------------------------------------------
// The trial

typedef struct verdict {
  mm_status status;
  char text[MM_ERROR_SIZE];
} verdict;

_Noreturn static void try(const char *path, int to) {
  const struct rlimit none = { 0, 0 };
  verdict v = { 0 };
  const int nowhere = open("/dev/null", O_RDWR);
  setrlimit(RLIMIT_CORE, &none);
  for (int fd = 0; fd <= 2 && nowhere >= 0; fd++)
    dup2(nowhere, fd);
  v.status = open_object(path);
  if (v.status != MM_OK) snprintf(v.text, sizeof v.text, "%s", mm_last_error());
  _exit(write(to, &v, sizeof v) == (ssize_t)sizeof v ? 0 : 1);
}

// Nothing within the time, or less than everything, is no verdict. (It is short enough to come in
// one piece.)
static bool wait_for(int from, verdict *out, bool *late) {
  struct pollfd fd = { from, POLLIN, 0 };
  int ready;
  do
    ready = poll(&fd, 1, 1000 * SECONDS_TO_LOAD);
  while (ready < 0 && errno == EINTR);
  *late = ready == 0;
  return ready > 0 && read(from, out, sizeof *out) == (ssize_t)sizeof *out;
}

static mm_status judge(const char *path, bool spoken, bool late, const verdict *v, int ended) {
  if (spoken) return v->status == MM_OK ? MM_OK : MM_FAIL(v->status, "%s", v->text);
  if (late)
    return REFUSE("plug-in '%.1000s': did not load within %d seconds", path, SECONDS_TO_LOAD);
  if (WIFSIGNALED(ended))
    return REFUSE("plug-in '%.1000s': crashed while it was loaded (%s)", path,
                  strsignal(WTERMSIG(ended)));
  return REFUSE("plug-in '%.1000s': ended the process while it was loaded", path);
}

static mm_status probe(const char *path) {
  int ends[2], ended = 0;
  verdict v;
  bool late = false;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return MM_FAIL(MM_ERR_IO, "plug-in '%.1000s': %s", path, strerror(errno));
  const pid_t child = fork();
  if (child == 0) try(path, ends[1]);
  close(ends[1]);
  const bool spoken = child > 0 && wait_for(ends[0], &v, &late);
  close(ends[0]);
  if (child < 0) return MM_FAIL(MM_ERR_IO, "plug-in '%.1000s': no process to try it in", path);
  if (!spoken) kill(child, late ? SIGKILL : 0);
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
    ;
  return judge(path, spoken, late, &v, ended);
}

// ---------------------------------------------------------------------------------------------

mm_status mm_plugin_load(const char *path) {
  char whole[PATH_MAX];
  if (!realpath(path, whole)) return REFUSE("plug-in '%.1000s': %s", path, strerror(errno));
  for (size_t i = 0; i < n_loaded; i++)
    if (strcmp(loaded[i].path, whole) == 0) return MM_OK;
  MM_TRY(probe(whole));
  return open_object(whole);
}

size_t mm_plugin_count(void) {
  return n_loaded;
}

bool mm_plugin_list(size_t i, mm_plugin_info *out) {
  if (i >= n_loaded) return false;
  *out = (mm_plugin_info){ loaded[i].plugin.name, loaded[i].plugin.version, loaded[i].path };
  return true;
}

// NAME, NAME:.. or random-NAME:..
static bool is_map_of(const char *text, const char *name) {
  static const char random[] = "random-";
  const size_t length = strlen(name);
  if (strncmp(text, random, sizeof random - 1) == 0) text += sizeof random - 1;
  return strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

static bool has(const mm_plugin *p, const char *text) {
  for (size_t i = 0; p->env && p->env[i]; i++)
    if (strcmp(p->env[i]->id, text) == 0) return true;
  for (size_t i = 0; p->potential && p->potential[i]; i++)
    if (is_map_of(text, p->potential[i]->name)) return true;
  for (size_t i = 0; p->learner && p->learner[i]; i++)
    if (strcmp(p->learner[i]->name, text) == 0) return true;
  return false;
}

size_t mm_plugin_of(const char *text) {
  for (size_t i = 0; i < n_loaded; i++)
    if (has(&loaded[i].plugin, text)) return i;
  return MM_PLUGINS_MOST;
}

mm_status mm_plugin_need(const char *source, const char *name, const char *version) {
  for (size_t i = 0; i < n_loaded; i++) {
    if (strcmp(loaded[i].plugin.name, name) != 0) continue;
    if (strcmp(loaded[i].plugin.version, version) == 0) return MM_OK;
    return REFUSE("%s: begun with plug-in '%.63s' %.63s: expected this version, loaded is %s",
                  source, name, version, loaded[i].plugin.version);
  }
  return REFUSE("%s: begun with plug-in '%.63s' %.63s: expected --plugin FILE with it", source,
                name, version);
}

const char *mm_plugin_text(char out[MM_PLUGINS_TEXT]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n_loaded && used < MM_PLUGINS_TEXT; i++)
    used += (size_t)snprintf(out + used, MM_PLUGINS_TEXT - used, "%s%s %s", i > 0 ? " + " : "",
                             loaded[i].plugin.name, loaded[i].plugin.version);
  return out;
}
