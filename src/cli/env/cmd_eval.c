// `eval`: episodes of trained policies, and the returns they bring.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/isa.h"
#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/map_argument.h"
#include "cli/core/interrupt.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/env/env_args.h"

typedef struct eval_args {
  command_args common;
  const char *policy, *env;
  int rules, flavour, physics; // mm_env_rules, mm_env_flavour, mm_env_physics
  uint64_t episodes, seed, agent, max_steps, threads;
  bool sample, greedy;
} eval_args;

#define ARGS eval_args

static const option options[] = {
  OPTION(TEXT, "policy", policy, "RUN|FILE", "the folder of a run, or a policy file",
         .required = true),
  OPTION(COUNT, "episodes", episodes, "N", "of each agent", .fallback = "100", .low = 1,
         .high = MM_EVALUATE_EPISODES_MAX),
  OPTION(COUNT, "seed", seed, "S", "random seed of the episodes; none of them was seen in training",
         .fallback = "0"),
  OPTION(FLAG, "sample", sample, NULL,
         "draw actions from the policy, as in training (this is the default)"),
  OPTION(FLAG, "greedy", greedy, NULL, "take the most probable action instead"),
  OPTION(COUNT, "agent", agent, "I", "only this one, counted from 0 (default: all)"),
  OPTION(TEXT, "env", env, "ID|FILE",
         "another environment with the same inputs and actions (default: the policy's own)"),
  OPTION(COUNT, "max-steps", max_steps, "N",
         "cut longer episodes off; some environments have no limit of their own",
         .fallback = "100000", .low = 1, .high = UINT32_MAX),
  OPTION(COUNT, "threads", threads, "N",
         "that play at a time (default: one per core); results are the same", .low = 1,
         .high = BACKEND_THREADS_MAX),
  { 0 },
};

static const option *settings(void) {
  static const option keys[] = {
    OPTION(
        INDEX, "rules", rules, NULL,
        "MinAtar: those of gymnax, or the original's with sticky actions (default: as in training)",
        .choices = env_rules_names),
    OPTION(INDEX, "flavour", flavour, NULL,
           "locomotion tasks: contacts and integrator (default: as in training)",
           .choices = env_flavour_names),
    OPTION(INDEX, "physics", physics, NULL,
           "what moves them: our own engine, or the MuJoCo library (default: as in training)",
           .choices = env_physics_names, .direct = true),
    { 0 },
  };
  return keys;
}

// What is shown: the arguments, what they opened, and what came out.
typedef struct outcome {
  const eval_args *args;
  policy_argument of;
  mm_evaluation evaluation;
  double wall_seconds;
} outcome;

// ---------------------------------------------------------------------------------------------
// JSON

static void add_returns(cJSON *object, const mm_returns *r) {
  output_add_number(object, "mean_return", r->mean);
  mm_json_add_defined(object, "sem_return", r->sem);
  output_add_number(object, "median_return", r->median);
  output_add_number(object, "min_return", r->min);
  output_add_number(object, "max_return", r->max);
  output_add_number(object, "mean_length", r->mean_length);
  output_add_number(object, "terminated", (double)r->terminated);
  output_add_number(object, "truncated", (double)r->truncated);
  output_add_number(object, "cut", (double)r->cut);
}

// The step size of a policy; NaN where its learner has none.
static double eta_of(const mm_policy_info *info) {
  return mm_algo_has_map(info->algo) ? info->eta : NAN;
}

// NULL: as the ID says
static const char *rules_name(const outcome *o) {
  return o->of.rules == MM_RULES_BY_ID ? NULL : env_rules_names[o->of.rules - 1];
}

static void add_body(cJSON *root, const mm_evaluation *e) {
  if (e->physics == NULL) return;
  cJSON_AddStringToObject(root, "flavour", e->flavour);
  cJSON_AddStringToObject(root, "physics", e->physics);
  output_add_number(root, "unstable", (double)e->unstable);
}

static int put_json(const outcome *o) {
  const mm_evaluation *e = &o->evaluation;
  const mm_policy_info *info = &o->of.info;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", mm_env_id(o->of.env));
  cJSON_AddStringToObject(root, "policy", o->args->policy);
  cJSON_AddStringToObject(root, "trained_on", info->env_id);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(info->algo));
  output_add_text(root, "map",
                  mm_algo_has_map(info->algo) ? mm_map_kind_name(mm_map_get_kind(info->map))
                                              : NULL);
  mm_json_add_defined(root, "eta", eta_of(&o->of.info));
  cJSON_AddStringToObject(root, "actions", o->args->greedy ? "greedy" : "sample");
  cJSON_AddStringToObject(root, "rules", rules_name(o) != NULL ? rules_name(o) : "id");
  add_body(root, e);
  mm_json_add_whole(root, "seed", o->args->seed);
  output_add_number(root, "episodes", (double)e->n_episode);
  add_returns(root, &e->all);
  cJSON *agents = cJSON_AddArrayToObject(root, "agents");
  for (size_t i = 0; i < e->n_agent; i++) {
    cJSON *object = cJSON_CreateObject();
    output_add_number(object, "agent", (double)(e->first + i));
    mm_json_add_whole(object, "seed", info->seed + e->first + i);
    mm_json_add_defined(object, "final", info->final_value[e->first + i]);
    add_returns(object, &e->agent[i]);
    cJSON_AddItemToArray(agents, object);
  }
  output_add_number(root, "env_steps", (double)e->env_steps);
  output_add_number(root, "env_steps_per_second", (double)e->env_steps / o->wall_seconds);
  output_add_number(root, "wall_seconds", o->wall_seconds);
  output_add_number(root, "threads", e->threads);
  cJSON_AddStringToObject(root, "isa", mm_isa_name());
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// For people

enum { AGENTS_SHOWN = 64 };

static void put_agents(const outcome *o) {
  const mm_evaluation *e = &o->evaluation;
  const size_t n = e->n_agent < AGENTS_SHOWN ? e->n_agent : AGENTS_SHOWN;
  table *t = table_create("agent|seed|in training|mean return|sem|median|min|max|mean length");
  for (size_t i = 0; i < n; i++) {
    const mm_returns *r = &e->agent[i];
    const double row[] = { o->of.info.final_value[e->first + i],
                           r->mean,
                           r->sem,
                           r->median,
                           r->min,
                           r->max,
                           r->mean_length };
    table_number(t, (double)(e->first + i));
    table_format(t, "%" PRIu64, o->of.info.seed + e->first + i);
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
      table_defined(t, row[k]);
  }
  fputc('\n', stdout);
  table_print(t);
  if (n < e->n_agent) printf("and %zu more: --json shows all\n", e->n_agent - n);
}

static void put_ends(const mm_returns *r) {
  const size_t n[] = { r->terminated, r->truncated, r->cut };
  static const char *const how[] = { "terminated", "truncated", "cut off by --max-steps" };
  fputs("episodes    ", stdout);
  for (int i = 0, shown = 0; i < 3; i++)
    if (n[i] > 0) printf("%s %zu %s", shown++ > 0 ? "," : "", n[i], how[i]);
  fputc('\n', stdout);
}

static void put_body(const mm_evaluation *e) {
  if (e->physics == NULL) return;
  printf("physics      %s flavour, %s\n", e->flavour,
         strcmp(e->physics, "own") == 0 ? "our own engine" : "the MuJoCo library");
  if (e->unstable > 0)
    printf("unstable     the physics diverged %" PRIu64 " time%s\n", e->unstable,
           e->unstable == 1 ? "" : "s");
}

// A policy was trained with its map's step size where the map has one and nobody said otherwise.
static void put_eta(const outcome *o) {
  const double eta = eta_of(&o->of.info);
  if (isnan(eta)) return;
  printf("eta          %s%s\n", output_number(eta),
         eta == mm_map_eta(o->of.info.map) ? " from the map" : "");
}

static void put_text(const outcome *o) {
  const mm_evaluation *e = &o->evaluation;
  const mm_returns *r = &e->all;
  const char *rules = rules_name(o);
  printf("%s%s%s, %s", output_plain(mm_env_id(o->of.env)), rules != NULL ? ", rules=" : "",
         rules != NULL ? rules : "", mm_algo_name(o->of.info.algo));
  if (mm_algo_has_map(o->of.info.algo)) printf(", map %s", map_describe_kind(o->of.info.map));
  printf(": %zu agent%s, %zu episode%s%s, %s actions\n", e->n_agent, e->n_agent == 1 ? "" : "s",
         e->n_episode, e->n_episode == 1 ? "" : "s", e->n_agent == 1 ? "" : " each",
         o->args->greedy ? "greedy" : "sampled");
  put_body(e);
  put_eta(o);
  printf("mean return  %s", output_styled(STYLE_BOLD, output_number(r->mean)));
  if (!isnan(r->sem))
    printf(" %s %s (standard error over %s)", output_plus_minus(), output_number(r->sem),
           e->n_agent > 1 ? "agents" : "episodes");
  printf("\nreturns      median %s, from %s to %s\n", output_number(r->median),
         output_number(r->min), output_number(r->max));
  put_ends(r);
  printf("length       %s steps on average\n", output_number(r->mean_length));
  printf("speed        %.3g million steps/s: %.3g s on %d thread%s, %s\n",
         1e-6 * (double)e->env_steps / o->wall_seconds, o->wall_seconds, e->threads,
         e->threads == 1 ? "" : "s", mm_isa_name());
  put_agents(o);
}

// ---------------------------------------------------------------------------------------------

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)total, (void)env_steps, (void)user;
  progress_update((double)done, NULL);
}

static mm_status evaluate(outcome *o) {
  const eval_args *args = o->args;
  const bool one = options_given(&command_eval, &args->common, "agent");
  mm_evaluate_config config = mm_evaluate_config_default();
  config.policy = o->of.policy;
  config.env = o->of.env;
  config.rules = o->of.rules;
  config.flavour = (mm_env_flavour)args->flavour;
  config.physics = (mm_env_physics)args->physics;
  if (one) config.agent = (int64_t)args->agent;
  config.episodes = (size_t)args->episodes;
  config.seed = args->seed;
  config.greedy = args->greedy;
  config.max_steps = args->max_steps;
  config.threads = (int)args->threads;
  config.stop = interrupt_watch();
  config.progress = show_progress;
  progress_begin("eval", (double)args->episodes * (one ? 1 : (double)o->of.info.n), "episodes");
  const double start = mm_clock_seconds();
  mm_status status = mm_evaluate_run(&config, &o->evaluation);
  o->wall_seconds = mm_clock_seconds() - start;
  progress_end();
  return status;
}

static int evaluate_and_show(outcome *o) {
  mm_status status = evaluate(o);
  if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "interrupted");
  TRY(status_code(status));
  if (o->args->common.json) return put_json(o);
  put_text(o);
  return EXIT_DONE;
}

static int check_body(const eval_args *args, const char *id) {
  const char *given = args->flavour != 0 ? "flavour" : args->physics != 0 ? "physics" : NULL;
  const char *whose = given != NULL ? env_setting_owner(given, env_group_of(id), id) : NULL;
  if (whose == NULL) return EXIT_DONE;
  return fail_usage("setting '%s' is for %s, not for '%s'", given, whose, id);
}

static int run(void *raw) {
  const eval_args *args = raw;
  outcome o = { .args = args };
  if (args->sample && args->greedy)
    return fail_usage("expected '--sample' or '--greedy', not both");
  if (args->agent > INT32_MAX)
    return fail_usage("option '--agent': %" PRIu64 " is too large", args->agent);
  int code = policy_argument_open(args->policy, args->env, (mm_env_rules)args->rules, &o.of);
  if (code == EXIT_DONE) code = check_body(args, mm_env_id(o.of.env));
  if (code == EXIT_DONE) code = evaluate_and_show(&o);
  mm_evaluation_release(&o.evaluation);
  policy_argument_release(&o.of);
  return code;
}

const command command_eval = {
  .name = "eval",
  .summary = "play episodes of trained policies and report their returns",
  .about =
      "A policy file holds the agents of a run; each plays its episodes with random numbers that "
      "its training did not see. The same seed gives the same episodes, on any number of threads; "
      "agents of other maps that were trained with the same seeds meet the same ones. Returns are "
      "not discounted. With several agents the standard error is that of their means.",
  .examples = "mirrormap eval --policy runs/train-CartPole-v1-1\nmirrormap eval --policy "
              "policy.safetensors --episodes 1000 --greedy --json\nmirrormap eval --policy "
              "runs/train-Asterix-MinAtar-1 --env MinAtar/Asterix-v1",
  .options = options,
  .settings = settings,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(eval_args),
  .run = run,
};
