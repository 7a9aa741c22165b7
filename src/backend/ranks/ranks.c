// This process among others: found out by the environment that launchers leave, so that a program
// that runs alone neither loads nor starts MPI.

#define _GNU_SOURCE // dladdr

#include "backend/ranks/ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/cuda/host/cuda.h"
#include "backend/pool.h"
#include "backend/ranks/rank_message.h"
#include "base/data_folder.h"

static mm_transport transport;
static mm_rank_team *team; // on rank 0, when there are several
static bool started;

// ---------------------------------------------------------------------------------------------
// What launchers say

static bool number(const char *name, int *out) {
  const char *text = getenv(name);
  char *end;
  if (!text || text[0] == '\0') return false;
  long value = strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1 << 28) return false;
  *out = (int)value;
  return true;
}

// Open MPI's mpirun; Slurm and others through PMIx, of which only the rank is in the environment;
// MPICH's kin through PMI.
bool mm_ranks_launched(int *rank, int *size) {
  *rank = *size = 0;
  if (number("OMPI_COMM_WORLD_RANK", rank) && number("OMPI_COMM_WORLD_SIZE", size))
    return *size > 1;
  if (number("PMI_RANK", rank) && number("PMI_SIZE", size)) return *size > 1;
  if (!number("PMIX_RANK", rank)) return false;
  if (!number("SLURM_STEP_NUM_TASKS", size) && !number("SLURM_NTASKS", size)) *size = 0;
  return *size != 1;
}

// ---------------------------------------------------------------------------------------------
// Starting and ending

#ifdef HAVE_MPI

// Beside the program, as it is built; where it is installed; or where this library says it is.
static bool place_of_module(int i, char out[MM_DATA_PATH_SIZE]) {
  static const char *const tails[] = { "/", "/../" MM_LIBDIR "/mirrormap/" };
  ssize_t length = readlink("/proc/self/exe", out, MM_DATA_PATH_SIZE - 1);
  if (i == 2)
    return snprintf(out, MM_DATA_PATH_SIZE, "%s/mirrormap/" MM_TRANSPORT_MODULE, MM_FULL_LIBDIR) <
           MM_DATA_PATH_SIZE;
  if (length <= 0) return false;
  out[length] = '\0';
  char *slash = strrchr(out, '/');
  if (!slash) return false;
  size_t used = (size_t)(slash - out), left = MM_DATA_PATH_SIZE - used;
  return (size_t)snprintf(slash, left, "%s" MM_TRANSPORT_MODULE, tails[i]) < left;
}

// All of MPI's symbols must be seen by the parts that it loads itself.
static mm_status load(mm_transport_open **out) {
  char path[MM_DATA_PATH_SIZE];
  for (int i = 0; i < 3; i++) {
    if (!place_of_module(i, path) || access(path, R_OK) != 0) continue;
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) return MM_FAIL(MM_ERR_UNSUPPORTED, "MPI cannot be loaded: %s", dlerror());
    *(void **)out = dlsym(module, MM_TRANSPORT_SYMBOL);
    if (*out) return MM_OK;
    return MM_FAIL(MM_ERR_UNSUPPORTED, "'%s' is not of this program", path);
  }
  return MM_FAIL(MM_ERR_UNSUPPORTED, "started as one of several processes, but " MM_TRANSPORT_MODULE
                                     " is neither beside the program nor below its prefix");
}

#else

static mm_status load(mm_transport_open **out) {
  *out = NULL;
  return MM_FAIL(MM_ERR_UNSUPPORTED,
                 "started as one of several processes, but this build has no MPI: build it where "
                 "libopenmpi-dev is installed, or start a single process");
}

#endif

mm_status mm_ranks_start(void) {
  mm_transport_open *open_transport;
  MM_TRY(load(&open_transport));
  if (open_transport(&transport) != 0) return MM_FAIL(MM_ERR_IO, "%s", transport.error);
  started = true;
  if (transport.rank > 0 || transport.size == 1) return MM_OK;
  return mm_rank_team_open(&transport, &team);
}

mm_status mm_ranks_gather(void) {
  return team ? mm_rank_team_gather(team) : MM_OK;
}

mm_status mm_ranks_serve(const char *refusal, const volatile int *terminated, int *code) {
  return mm_rank_worker_run(&transport, refusal, terminated, code);
}

mm_status mm_ranks_join(const volatile int *stop, bool *first, int *code) {
  static const volatile int never;
  int rank, size;
  *first = true;
  if (!mm_ranks_launched(&rank, &size)) return MM_OK;
  *first = rank == 0;
  MM_TRY(mm_ranks_start());
  *first = transport.rank == 0;
  return *first ? mm_ranks_gather() : mm_ranks_serve(NULL, stop ? stop : &never, code);
}

void mm_ranks_end(int code) {
  if (!started) return;
  bool whole = !team || mm_rank_team_dismiss(team, code);
  mm_rank_team_close(team);
  team = NULL;
  started = false;
  if (!whole || transport.close(&transport) != 0) transport.abandon(&transport, code);
}

int mm_ranks_rank(void) {
  return started ? transport.rank : 0;
}

int mm_ranks_count(void) {
  return started ? transport.size : 1;
}

// ---------------------------------------------------------------------------------------------
// For the backend

bool mm_ranks_have_devices(void) {
  return !team || mm_rank_team_has_devices(team);
}

mm_status mm_ranks_run(mm_job_list *list, bool cuda) {
  return mm_rank_team_run(team, list, cuda);
}

mm_status mm_ranks_echo(size_t size, double *seconds) {
  return mm_rank_team_echo(team, size, seconds);
}

mm_rank_traffic mm_ranks_traffic(void) {
  return team ? mm_rank_team_traffic(team) : (mm_rank_traffic){ 0 };
}

// A launcher that binds ranks to cores has dealt them out already.
int mm_ranks_cores(int cores) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (!started || transport.local_size <= 1 || cores < online) return cores;
  int share = cores / transport.local_size;
  return share > 0 ? share : 1;
}

// The namespace of process numbers that this process is in; 0 where that is not known.
static uint64_t process_space(void) {
  struct stat about;
  return stat("/proc/self/ns/pid", &about) == 0 ? (uint64_t)about.st_ino : 0;
}

mm_rank_hello mm_rank_describe(size_t devices) {
  mm_rank_hello hello = { .process = getpid(),
                          .space = process_space(),
                          .threads = mm_backend_cores(),
                          .devices = (int)devices };
  snprintf(hello.build, sizeof hello.build, "%s %s", mm_version(), mm_build_info());
  if (gethostname(hello.host, sizeof hello.host - 1) != 0) hello.host[0] = '\0';
  return hello;
}

mm_status mm_rank_own_devices(const mm_transport *t, const int *chosen, size_t n, int *out,
                              size_t *count) {
  int all[MM_CUDA_DEVICES_MOST], found = 0;
  *count = 0;
  if (!chosen) {
    MM_TRY(mm_cuda_find(&found));
    n = 0;
    for (int i = 0; i < found && i < MM_CUDA_DEVICES_MOST; i++)
      if (mm_cuda_usable(i) == MM_OK) all[n++] = i;
  }
  *count = mm_rank_share_devices(chosen ? chosen : all, n, t->local_rank, t->local_size, out);
  return MM_OK;
}

size_t mm_rank_share_devices(const int *device, size_t n, int local_rank, int local_size,
                             int *out) {
  size_t used = 0, ranks = local_size > 0 ? (size_t)local_size : 1;
  for (size_t i = (size_t)local_rank; i < n; i += ranks)
    out[used++] = device[i];
  if (used == 0 && n > 0) out[used++] = device[(size_t)local_rank % n];
  return used;
}
