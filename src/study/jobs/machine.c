// SPDX-License-Identifier: Apache-2.0
#include "study/jobs/machine.h"

#include "backend/cuda/host/cuda.h"
#include "base/isa.h"

mm_status mm_machine_enter(mm_run *run, const mm_backend_place *place, int threads) {
  const mm_run_session session = { .backend = mm_backend_name(place),
                                   .isa = mm_isa_name(),
                                   .threads = mm_backend_threads(threads) };
  return mm_run_session_start(run, &session);
}

void mm_machine_correct(mm_run *run, const mm_backend_place *place, unsigned ran) {
  if (ran != 0) mm_run_session_backend(run, mm_backend_ran_name(ran, place));
}

// Numbers of the devices that the place means; returns how many.
static int list_devices(const mm_backend_place *place, int device[MM_CUDA_DEVICES_MOST]) {
  int count, n = 0;
  if (mm_cuda_find(&count) != MM_OK) return 0;
  for (size_t i = 0; place->devices && i < place->n_device; i++)
    device[n++] = place->devices[i];
  for (int i = 0; !place->devices && i < count; i++)
    if (mm_cuda_usable(i) == MM_OK) device[n++] = i;
  return n;
}

static const char *name_of(int device, mm_cuda_device *facts) {
  return mm_cuda_describe(device, facts) == MM_OK ? facts->name : "unknown";
}

static bool used_devices(const mm_machine *m) {
  return (m->ran & MM_BACKEND_ON_CUDA) != 0;
}

static void add_devices(cJSON *object, const mm_backend_place *place) {
  int device[MM_CUDA_DEVICES_MOST], n = list_devices(place, device);
  mm_cuda_device facts;
  cJSON *array = cJSON_AddArrayToObject(object, "devices");
  for (int i = 0; i < n; i++)
    cJSON_AddItemToArray(array, cJSON_CreateString(name_of(device[i], &facts)));
}

void mm_machine_add(cJSON *object, const mm_machine *m) {
  cJSON_AddStringToObject(object, "backend", mm_backend_ran_name(m->ran, &m->place));
  if (used_devices(m)) add_devices(object, &m->place);
  cJSON_AddItemToObject(object, "threads",
                        m->threads > 0 ? mm_json_number(m->threads) : cJSON_CreateNull());
  if (m->ranks > 1) cJSON_AddItemToObject(object, "ranks", mm_json_number(m->ranks));
  cJSON_AddStringToObject(object, "isa", mm_isa_name());
}

static size_t put_devices(const mm_backend_place *place, char *out, size_t size) {
  int device[MM_CUDA_DEVICES_MOST], n = list_devices(place, device);
  mm_cuda_device facts;
  size_t used = n > 1 ? (size_t)snprintf(out, size, "%d devices (", n) : 0;
  for (int i = 0; i < n && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                             name_of(device[i], &facts));
  if (n > 1 && used < size) used += (size_t)snprintf(out + used, size - used, ")");
  return used;
}

const char *mm_machine_text(const mm_machine *m, char out[MM_MACHINE_TEXT]) {
  size_t used = 0;
  out[0] = '\0';
  if (m->ran != MM_BACKEND_ON_CUDA)
    used =
        (size_t)snprintf(out, MM_MACHINE_TEXT, "%d thread%s, %s%s", m->threads,
                         m->threads == 1 ? "" : "s", mm_isa_name(), used_devices(m) ? " and " : "");
  if (used_devices(m)) used += put_devices(&m->place, out + used, MM_MACHINE_TEXT - used);
  if (m->ranks > 1 && used < MM_MACHINE_TEXT)
    snprintf(out + used, MM_MACHINE_TEXT - used, " of %d ranks", m->ranks);
  return out;
}

void mm_machine_remark(FILE *f, const mm_machine *m, double seconds, double env_steps) {
  char number[2][MM_JSON_NUMBER_SIZE], text[MM_MACHINE_TEXT];
  if (!(env_steps > 0)) {
    fputs("# time: nothing was trained in the last session\n", f);
    return;
  }
  fprintf(f, "# time: %s seconds and %s environment steps per second in the last session, %s, %s\n",
          mm_json_format_number(seconds, number[0]),
          mm_json_format_number(env_steps / seconds, number[1]),
          mm_backend_ran_name(m->ran, &m->place), mm_machine_text(m, text));
}
