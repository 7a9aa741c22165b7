// SPDX-License-Identifier: Apache-2.0
// `devices`: what this machine has to train with.

#include <math.h>
#include <stdio.h>

#include "backend/backend.h"
#include "backend/cuda/measure/tile.h"
#include "base/isa.h"
#include "base/json.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

// What was found.
typedef struct machine {
  int cores;
  int count;                  // CUDA devices
  char reason[MM_ERROR_SIZE]; // why none can be used, or ""
  mm_cuda_device device[MM_CUDA_DEVICES_MOST];
  char unusable[MM_CUDA_DEVICES_MOST][MM_ERROR_SIZE]; // why this one cannot, or ""
} machine;

// The same question as a run asks; where one device can be used, `auto` is cuda.
static void look(machine *m) {
  *m = (machine){ .cores = mm_backend_cores() };
  if (mm_cuda_find(&m->count) != MM_OK) {
    m->count = 0;
    snprintf(m->reason, sizeof m->reason, "%s", mm_last_error());
  }
  for (int i = 0; i < m->count; i++) {
    mm_status status = mm_cuda_usable(i);
    if (status == MM_OK) status = mm_cuda_describe(i, &m->device[i]);
    if (status != MM_OK) snprintf(m->unusable[i], sizeof m->unusable[i], "%s", mm_last_error());
  }
}

enum { VERSION_SIZE = 32 };

// As CUDA counts them: 12040 is 12.4.
static const char *version(int number, char out[VERSION_SIZE]) {
  snprintf(out, VERSION_SIZE, "%d.%d", number / 1000, number % 1000 / 10);
  return out;
}

// ---------------------------------------------------------------------------------------------
// JSON

static cJSON *device_json(int number, const machine *m) {
  const mm_cuda_device *d = &m->device[number];
  char text[VERSION_SIZE];
  mm_cuda_tile tile[MM_CUDA_TILES_MOST];
  cJSON *object = cJSON_CreateObject();
  output_add_number(object, "device", number);
  if (m->unusable[number][0] != '\0') {
    cJSON_AddStringToObject(object, "unusable", m->unusable[number]);
    return object;
  }
  cJSON_AddStringToObject(object, "name", d->name);
  snprintf(text, sizeof text, "%d.%d", d->major, d->minor);
  cJSON_AddStringToObject(object, "compute_capability", text);
  output_add_number(object, "multiprocessors", d->processors);
  output_add_number(object, "memory_bytes", (double)d->memory);
  output_add_number(object, "shared_memory_bytes", (double)d->shared);
  mm_json_add_defined(object, "clock_mhz", d->clock_mhz > 0 ? d->clock_mhz : (double)NAN);
  cJSON_AddStringToObject(object, "driver", version(d->driver, text));
  cJSON_AddStringToObject(object, "runtime", version(d->runtime, text));
  cJSON *tiles = cJSON_AddArrayToObject(object, "tiles");
  for (size_t i = 0, n = mm_cuda_tiles(d, tile); i < n; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddStringToObject(one, "env", tile[i].env);
    output_add_number(one, "rows", tile[i].rows);
    output_add_number(one, "shared_memory_bytes", (double)tile[i].shared);
    cJSON_AddItemToArray(tiles, one);
  }
  return object;
}

static int put_json(const machine *m) {
  cJSON *root = cJSON_CreateObject(), *cpu = cJSON_AddObjectToObject(root, "cpu");
  output_add_number(cpu, "cores", m->cores);
  cJSON_AddStringToObject(cpu, "isa", mm_isa_name());
  cJSON *devices = cJSON_AddArrayToObject(root, "devices");
  for (int i = 0; i < m->count; i++)
    cJSON_AddItemToArray(devices, device_json(i, m));
  output_add_text(root, "no_devices", m->count == 0 ? m->reason : NULL);
  cJSON_AddStringToObject(root, "auto", m->count > 0 ? "cuda" : "cpu");
  cJSON_AddStringToObject(root, "version", mm_version());
  cJSON_AddStringToObject(root, "build", mm_build_info());
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Text

// "128 rows: CartPole-v1, ..; 64 rows: ..", environments of a size together.
static void put_tiles(const mm_cuda_device *d) {
  mm_cuda_tile tile[MM_CUDA_TILES_MOST];
  const size_t n = mm_cuda_tiles(d, tile);
  const char *joint = "";
  fputs("             tiles: ", stdout);
  for (int rows = 128; rows >= 0; rows = rows > 32 ? rows / 2 : rows - 32) {
    bool first = true;
    for (size_t i = 0; i < n; i++) {
      if (tile[i].rows != rows) continue;
      if (first && rows > 0) printf("%s%d rows for ", joint, rows);
      if (first && rows == 0) printf("%snone fits ", joint);
      printf("%s%s", first ? "" : ", ", tile[i].env);
      first = false;
      joint = "; ";
    }
  }
  fputc('\n', stdout);
}

static void put_device(int number, const mm_cuda_device *d) {
  char driver[VERSION_SIZE], runtime[VERSION_SIZE];
  printf("device %-4d  %s%s%s, compute capability %d.%d, %d multiprocessors", number,
         terminal_style(stdout, STYLE_BOLD), d->name, terminal_style(stdout, STYLE_PLAIN), d->major,
         d->minor, d->processors);
  if (d->clock_mhz > 0) printf(" at up to %d MHz", d->clock_mhz);
  printf("\n             %.1f GiB of memory, %zu KiB of shared memory per block, driver for CUDA "
         "%s, runtime %s\n",
         (double)d->memory / (1 << 30), d->shared / 1024, version(d->driver, driver),
         version(d->runtime, runtime));
  put_tiles(d);
}

static void put_text(const machine *m) {
  printf("CPU          %d core%s, instruction set %s\n", m->cores, m->cores == 1 ? "" : "s",
         mm_isa_name());
  for (int i = 0; i < m->count; i++) {
    if (m->unusable[i][0] == '\0')
      put_device(i, &m->device[i]);
    else
      printf("device %-4d  cannot be used: %s\n", i, m->unusable[i]);
  }
  if (m->count == 0) printf("no devices   %s\n", m->reason);
  printf("--backend    auto means %s here\n", m->count > 0 ? "cuda" : "cpu");
}

static int run(void *raw) {
  const command_args *args = raw;
  machine m;
  look(&m);
  if (args->json) return put_json(&m);
  put_text(&m);
  return EXIT_DONE;
}

const command command_devices = {
  .name = "devices",
  .summary = "what this machine has to train with",
  .about = "Names the CPU cores that may be used and their instruction set, and the CUDA devices "
           "as --devices counts them, or why there is none. The tile of a kernel is how many rows "
           "go through the networks at a time: as many as the shared memory has room for, with the "
           "paper's settings. No device is no failure: everything runs on CPU too.",
  .examples = "mirrormap devices\nmirrormap devices --json",
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(command_args),
  .run = run,
};
