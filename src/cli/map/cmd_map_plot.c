// SPDX-License-Identifier: Apache-2.0
// `map plot`: pictures of maps, drawn by gnuplot.

#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "show/figure/map_figure.h"

typedef struct plot_args {
  command_args common;
  unsigned what; // bits of panel_names
  uint64_t actions;
  double eta, c_max;
  const char *out;
} plot_args;

static const char *const panel_names[] = { "phi",     "phi-inverse", "h", "policy",
                                           "simplex", "all",         NULL };

#define ARGS plot_args

static const option options[] = {
  OPTION(TEXT, "out", out, "FILE",
         "the picture; .svg, .pdf or .png chooses the format, an old one is replaced",
         .required = true),
  OPTION(CHOICES, "what", what, "A,B,...",
         "panels: phi, phi-inverse, h, policy (probabilities against the score scale c), simplex "
         "(divergence from the uniform policy)",
         .choices = panel_names, .fallback = "all"),
  OPTION(COUNT, "actions", actions, "N", "actions of the policy panel", .fallback = "3", .low = 2,
         .high = 32),
  OPTION(NUMBER, "eta", eta, "E", "step size that multiplies its scores c (1, .., N)",
         .fallback = "0.9", .low = 0, .low_open = true, .high = 1e6),
  OPTION(NUMBER, "c-max", c_max, "C", "right end of its axis", .fallback = "4", .low = 0,
         .low_open = true, .high = 1e6),
  { 0 },
};

static unsigned panels(unsigned what) {
  static const unsigned panel[] = { MM_PANEL_PHI,    MM_PANEL_PHI_INVERSE, MM_PANEL_H,
                                    MM_PANEL_POLICY, MM_PANEL_SIMPLEX,     MM_PANEL_ALL };
  unsigned result = 0;
  for (unsigned i = 0; i < sizeof panel / sizeof panel[0]; i++)
    if (what >> i & 1) result |= panel[i];
  return result;
}

// Maps that move are drawn by their anchors: "map.json 1/3" and so on.
typedef struct anchors {
  size_t n;
  const mm_map **map;
  const char **name;
} anchors;

static anchors list_anchors(const map_list *maps) {
  anchors a = { 0 };
  for (size_t i = 0; i < maps->n; i++)
    a.n += mm_map_stages(maps->map[i]);
  a.map = memory_alloc(a.n, sizeof *a.map);
  a.name = memory_alloc(a.n, sizeof *a.name);
  for (size_t i = 0, to = 0; i < maps->n; i++) {
    const size_t n = mm_map_stages(maps->map[i]);
    char label[MAP_LABEL_SIZE];
    for (size_t s = 0; s < n; s++, to++) {
      a.map[to] = mm_map_stage(maps->map[i], s);
      a.name[to] = n == 1
                       ? memory_print("%s", maps->name[i])
                       : memory_print("%s %zu of %zu", map_label(maps->name[i], label), s + 1, n);
    }
  }
  return a;
}

static void release_anchors(anchors *a) {
  for (size_t i = 0; i < a->n; i++)
    free((char *)a->name[i]);
  free(a->name);
  free(a->map);
}

static int run(void *raw) {
  const plot_args *args = raw;
  if (!map_is_picture(args->out))
    return fail_usage("option '--out': '%s' does not end in .svg, .pdf or .png", args->out);
  TRY(map_check_out(args->out, true));

  map_list maps;
  int code = map_list_open(&args->common.positional, &maps);
  if (code == EXIT_DONE) {
    mm_map_figure_config config = mm_map_figure_config_default();
    config.panels = panels(args->what);
    config.n_action = (size_t)args->actions;
    config.eta = args->eta;
    config.scale_max = args->c_max;
    anchors drawn = list_anchors(&maps);
    mm_status status = mm_map_figure_write(&config, drawn.map, drawn.name, drawn.n, args->out);
    release_anchors(&drawn);
    if (status != MM_OK)
      code = fail_status(status);
    else
      note("wrote %s", args->out);
  }
  if (code == EXIT_DONE && args->common.json) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "file", args->out);
    code = output_json(root, EXIT_DONE);
  }
  map_list_release(&maps);
  return code;
}

const command command_map_plot = {
  .name = "plot",
  .summary = "draw maps to SVG, PDF or PNG",
  .positional = "MAP...",
  .about = "Several maps share one picture, as do the anchors of a map that moves. phi and phi^-1 "
           "are aligned where phi = 1, because a "
           "shift of "
           "x does not change a map.",
  .examples = "mirrormap map plot negentropy l2 tsallis:1.5 --out maps.svg\n"
              "mirrormap map plot learned.json --what phi,policy --actions 5 --out policy.pdf",
  .options = options,
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(plot_args),
  .run = run,
};
