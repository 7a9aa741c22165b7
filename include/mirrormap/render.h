// SPDX-License-Identifier: Apache-2.0
// Pictures of environments as pixels.
//
//   int32_t width, height;
//   mm_vec_picture_size(vec, &width, &height);
//   uint8_t *rgb = malloc((size_t)width * height * 3);
//   mm_vec_render(vec, out.obs, 0, width, height, rgb);
//
// A picture is a function of the environment and of one observation alone: what a policy saw, the
// last observation of an episode (final_obs) and a recorded one can be drawn as well. The same
// observation gives the same pixels on every machine. Both functions may be called from any thread,
// also while the vec is stepped.

#ifndef MIRRORMAP_RENDER_H
#define MIRRORMAP_RENDER_H

#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"
#include "mirrormap/env.h"

#ifdef __cplusplus
extern "C" {
#endif

// A size that suits the environment: its proportions, about 400 pixels wide.
MM_API void mm_vec_picture_size(const mm_vec *vec, int32_t *width, int32_t *height);

// Draws observation i of a buffer of all n, in the form of the vec's config, into rgb
// [height][width][3], row 0 at the top. Width and height are 1 to 8192; what the picture's
// proportions leave free at the edges is background. A buffer that is no observation of this
// environment gives any picture, or MM_ERR_INPUT.
MM_API mm_status mm_vec_render(const mm_vec *vec, const void *obs, size_t i, int32_t width,
                               int32_t height, uint8_t *rgb);

#ifdef __cplusplus
}
#endif

#endif
