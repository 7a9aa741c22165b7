// Finding scenes and what they show; see picture.h.

#include "show/picture/picture.h"

#include <string.h>

bool mm_scene_find(const char *id, mm_scene *out) {
  static const struct {
    const mm_scene_entry *entry;
    int n;
  } tables[] = { { mm_scenes_minatar, MM_SCENES_MINATAR },
                 { mm_scenes_classic, MM_SCENES_CLASSIC },
                 { mm_scenes_body, MM_SCENES_BODY } };
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (int i = 0; i < tables[t].n; i++) {
      const mm_scene_entry *e = &tables[t].entry[i];
      if (strcmp(id, e->id[0]) != 0 && (!e->id[1] || strcmp(id, e->id[1]) != 0)) continue;
      *out = e->scene;
      return true;
    }
  return false;
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
  return scene->shapes(scene, obs, out);
}
