// Scenes by ID, and what they show of an observation.

#include "show/picture/picture.h"

#include "env/env_internal.h"

bool mm_scene_find(const char *id, mm_scene *out) {
  const mm_env_kind *kind = mm_env_kind_find(id);
  if (!kind || !kind->about) return mm_scene_find_body(id, out);
  *out = kind->about->scene;
  return true;
}

void mm_scene_cells(const mm_scene *scene, const float *obs, uint8_t *cell) {
  for (int i = 0; i < scene->rows * scene->columns; i++) {
    const float *channel = obs + i * scene->channels;
    cell[i] = 0;
    for (int k = scene->n_mark - 1; k >= 0; k--)
      if (channel[scene->mark[k].channel] != 0) cell[i] = (uint8_t)(k + 1);
  }
}

int mm_scene_shapes(const mm_scene *scene, const float *obs, mm_shape *out) {
  return scene->shapes(obs, out);
}
