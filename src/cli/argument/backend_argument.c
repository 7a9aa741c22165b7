// SPDX-License-Identifier: Apache-2.0
#include "cli/argument/backend_argument.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "cli/core/interrupt.h"
#include "cli/core/terminal.h"

const char *const backend_names[] = { "auto", "cpu", "cuda", NULL };

static int report_list(const char *text) {
  return fail(EXIT_USAGE, "--devices '%s': expected different numbers of devices, as in 0,1", text);
}

// "0,2" to numbers.
static int read_devices(const char *text, int *device, size_t *n) {
  const char *at = text;
  char *end;
  for (*n = 0; *n < BACKEND_DEVICES_MAX; at = end + 1) {
    if (*at < '0' || *at > '9') return report_list(text);
    const long number = strtol(at, &end, 10);
    if (number >= BACKEND_DEVICES_MAX || (*end != ',' && *end != '\0')) return report_list(text);
    for (size_t i = 0; i < *n; i++)
      if (device[i] == (int)number) return report_list(text);
    device[(*n)++] = (int)number;
    if (*end == '\0') return EXIT_DONE;
  }
  return report_list(text);
}

static int find_devices(int *count) {
  if (mm_cuda_find(count) == MM_OK) return EXIT_DONE;
  return fail(EXIT_FAILED, "%s (use --backend cpu)", mm_last_error());
}

static bool takes(const mm_env *env, const mm_settings *settings) {
  mm_job job = { .env = env };
  mm_settings_bind(settings, &job);
  return mm_cuda_takes(&job);
}

int backend_refuse(void) {
  return fail(EXIT_USAGE, "backend 'cuda': %s (use --backend cpu)", mm_last_error());
}

int backend_check(const mm_backend_place *place, const mm_env *env, const mm_settings *settings) {
  return place->kind != MM_BACKEND_CUDA || takes(env, settings) ? EXIT_DONE : backend_refuse();
}

const char *backend_hint(const mm_backend_place *place, mm_status status) {
  const char *hint = " --backend cpu";
  if (status == MM_ERR_DEVICE) return hint;
  if (status != MM_ERR_MEMORY && status != MM_ERR_UNSUPPORTED) return "";
  return strcmp(mm_backend_name(place), "cuda") == 0 ? hint : "";
}

int backend_choose(backend_args *on) {
  static int device[BACKEND_DEVICES_MAX];
  const bool cpu = strcmp(on->backend, "cpu") == 0, cuda = strcmp(on->backend, "cuda") == 0;
  mm_backend_place *out = &on->place;
  int count, code = EXIT_DONE;
  *out = (mm_backend_place){ .kind = cpu    ? MM_BACKEND_CPU
                                     : cuda ? MM_BACKEND_CUDA
                                            : MM_BACKEND_AUTO };
  if (on->devices == NULL) return cuda ? find_devices(&count) : EXIT_DONE;
  if (cpu) return fail(EXIT_USAGE, "--devices: these are for --backend cuda, not cpu");
  if ((code = read_devices(on->devices, device, &out->n_device)) != EXIT_DONE) return code;
  if ((code = find_devices(&count)) != EXIT_DONE) return code;
  for (size_t i = 0; i < out->n_device; i++) {
    if (device[i] >= count)
      return fail(EXIT_USAGE, "--devices '%s': this machine has devices 0 .. %d", on->devices,
                  count - 1);
    if (mm_cuda_usable(device[i]) != MM_OK)
      return fail(EXIT_FAILED, "--devices '%s': %s", on->devices, mm_last_error());
  }
  out->devices = device;
  return EXIT_DONE;
}

mm_study_machine backend_machine(const backend_args *on, backend_progress *progress, void *user) {
  mm_study_machine machine = mm_study_machine_default();
  machine.backend = backend_names[on->place.kind == MM_BACKEND_AUTO  ? 0
                                  : on->place.kind == MM_BACKEND_CPU ? 1
                                                                     : 2];
  machine.devices = on->place.devices;
  machine.n_device = on->place.n_device;
  machine.threads = (int)on->threads;
  machine.job_timeout = on->job_timeout;
  machine.stop = interrupt_watch();
  machine.progress = progress;
  machine.user = user;
  return machine;
}
