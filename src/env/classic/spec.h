// SPDX-License-Identifier: Apache-2.0
// What the header of a classic-control environment says of it beside the dynamics.

#ifndef MM_ENV_CLASSIC_SPEC_H
#define MM_ENV_CLASSIC_SPEC_H

#include "env/description.h"

typedef struct mm_classic_spec {
  mm_env_about about;
  const char *about_actions; // for the description of a trace; NULL: they are integers
  const mm_trace_param *params;
} mm_classic_spec;

// The colours are of medium lightness, so that they stand out from dark and from light paper.
#define MM_CLASSIC_GREY 0x808080
#define MM_CLASSIC_BLUE 0x0087d7
#define MM_CLASSIC_VERMILION 0xd75f00

#endif
