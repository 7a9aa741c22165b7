// `map plot`: pictures of maps, drawn by gnuplot.

#include <string.h>

#include "cli/argument/map_argument.h"
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
    mm_status status =
        mm_map_figure_write(&config, (const mm_map *const *)maps.map, maps.name, maps.n, args->out);
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
  .about = "Several maps share one picture. phi and phi^-1 are aligned where phi = 1, because a "
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
