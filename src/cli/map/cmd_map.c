// SPDX-License-Identifier: Apache-2.0
// `map`: make, inspect and use mirror maps.

#include "cli/core/command.h"

static const command *const subcommands[] = { MAP_COMMAND_LIST(COMMAND_POINTER) NULL };

const command command_map = {
  .name = "map",
  .summary = "make, inspect and use mirror maps",
  .about = "A MAP is negentropy, l2, tsallis:Q, piecewise:N, powers:N, neural, a control "
           "(random:SEED, random-neural:SEED), a map file, - for one on stdin, or the name of a "
           "learned map.",
  .examples = "mirrormap map new piecewise --n 100 --out initial.json\n"
              "mirrormap map compare negentropy l2 initial.json\n"
              "mirrormap map project --map initial.json --scores 0.3,-0.5,1.2",
  .subcommands = subcommands,
};
