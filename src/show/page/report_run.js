// SPDX-License-Identifier: Apache-2.0
// What one run has to show: summary, search, learning curves, tuning; and how it was made.

const opened = new Map();  // key of a fold -> open?

// A fold that stays as it was when the page refreshes.
function fold(key, title, open, ...children) {
  const element = el("details", {
    open: opened.has(key) ? opened.get(key) : open,
    on: {toggle: () => opened.set(key, element.open)}
  },
    el("summary", {"data-key": key}, title), ...children);
  return element;
}

// ---------------------------------------------------------------------------------------------
// Summary

function environmentsOf(run) {
  const config = run.config || {}, env = config.env || config.envs;
  const names = Array.isArray(env) ? env
    : env                          ? [env]
    : run.table                    ? run.table.envs
                                   : [...new Set(list(run.curves).map((c) => c.env))];
  return list(names).map((e) => text(e && typeof e === "object" ? e.label || e.env || e.name : e));
}

function whatSentence(run) {
  const config = run.config || {}, envs = environmentsOf(run),
        where = envs.length ? " on " + enumerate(envs) : "";
  const learn = config.learn || {}, kind = learn.kind ? ` ${text(learn.kind)}` : "",
        algo = config.algo ? ` with ${text(config.algo)}` : "";
  switch (run.command) {
    case "learn":
      return `A search for a${kind === " l2" ? "n" : ""}${kind} mirror map${where}${algo}${
        learn.es ? `, by ${text(learn.es)}` : ""}.`;
    case "train":
      return `Agents trained${where}${algo}${
        config.map && config.algo !== "ppo" ? `, mirror map ${text(config.map)}` : ""}.`;
    case "transfer":
      return `Mirror maps compared${where}.`;
    case "tune":
      return `Hyper-parameters searched${where}.`;
    case "reproduce":
      return `A reproduction of ${
        config.artefact === "all" ? "all of the paper\u2019s figures"
                                  : "one of the paper\u2019s figures"}.`;
    default:
      return `Command ${text(run.command)}${where}.`;
  }
}

const isRunning = (run) => run.state === "going on";  // as the document has it
const stateOf = (run) => (isRunning(run) ? "running" : text(run.state));

function factsOf(run) {
  const facts = [[
    "state",
    el("span",
      {class: "state " +
          (run.state === "done" ? "done"
              : isRunning(run)  ? "live"
                                : "broken")},
      stateOf(run))
  ]];
  const generations = run.search ? list(run.search.generation) : [];
  if (generations.length)
    facts.push([
      "generations",
      `${num(generations[generations.length - 1])}${
        run.config && run.config.learn && run.config.learn.generations
          ? ` of ${text(run.config.learn.generations)}`
          : ""}`
    ]);
  if (Number.isFinite(num(run.env_steps)))
    facts.push(["environment steps", count(num(run.env_steps))]);
  if (Number.isFinite(num(run.seconds))) facts.push(["time", duration(num(run.seconds))]);
  if (Number.isFinite(num(run.env_steps_per_second)))
    facts.push(["speed", count(num(run.env_steps_per_second)) + "\u00a0steps/s"]);
  if (run.started) facts.push(["started", moment(run.started)]);
  if (run.last && run.last !== run.started) facts.push(["last update", moment(run.last)]);
  return facts;
}

// Controls sorted by how one estimate compares with them: [above, within, below], in words.
// others: [{ name, difference, sem, verdict }]
function compare(others) {
  const sorted = [[], [], []];
  for (const {name, difference: d, sem, verdict} of others)
    sorted[1 - verdict].push(`${name} (${difference(d, sem)})`);
  return sorted;
}

function comparisonSentence(who, sorted) {
  const [above, within, below] = sorted, parts = [];
  if (above.length) parts.push(`better than ${enumerate(above)}: 95 % intervals above 0`);
  if (below.length) parts.push(`worse than ${enumerate(below)}: 95 % intervals below 0`);
  if (within.length)
    parts.push(`inconclusive against ${enumerate(within)}: 95 % intervals include 0`);
  return parts.length ? `${who} is ${parts.join("; ")}.` : "";
}

// Points with a value; of the last phase only, if the data tell phases apart.
function pointsOf(entry, phase = NaN) {
  const points = list(entry.points).filter((p) => Number.isFinite(num(p.mean)));
  return Number.isNaN(phase) ? points : points.filter((p) => num(p.phase) === phase);
}

const lastPoint = (entry) => pointsOf(entry).pop() || null;

// learned - control, task by task: what the data have no such difference for is not compared.
function differencesFrom(point) {
  return list(point.minus)
    .map((d) => ({
      name: text(d.map),
      difference: num(d.mean),
      sem: num(d.sem),
      verdict: num(d.verdict) || 0
    }))
    .filter((d) => Number.isFinite(d.difference) && Number.isFinite(d.sem));
}

// The learned map's best validated mean against the controls of the same phase.
function searchSentences(search) {
  const entries = list(search.validation), learned = entries.find((v) => !v.control),
        last = learned && lastPoint(learned);
  if (!last) return [];
  const phase = num(last.phase), points = pointsOf(learned, phase);
  const best = points.reduce((a, b) => (num(b.mean) > num(a.mean) ? b : a));
  const picked = points.length > 1
    ? `, the best of ${points.length} validations, which flatters it a little`
    : "";
  const n = Number.isFinite(num(best.n)) ? `, n = ${num(best.n)}` : "";
  return [
    `In validation the learned map reaches ${
      plusMinus(num(best.mean), num(best.sem))} (generation ${num(best.generation)}${n}${picked}).`,
    comparisonSentence("Task by task it", compare(differencesFrom(best)))
  ].filter(Boolean);
}

// A mean, or the reason why there is none.
function hasFinal(curve) {
  const final = curve.final;
  return Boolean(final) && (Number.isFinite(num(final.mean)) || num(final.unfinished) > 0);
}

function curveSentences(run) {
  const curves = list(run.curves).filter((c) => c.role === "train" && hasFinal(c));
  return curves.slice(0, 6).map((c) => {
    const none = num(c.final.unfinished);
    return `${text(c.map)} on ${text(c.env)} ` +
      (none > 0 ? `has no final return: ${plural(none, "run")} finished no episode.`
                : `ends at ${plusMinus(num(c.final.mean), num(c.final.sem))} (${
                    plural(num(c.final.n), "seed")}).`);
  });
}

function tuningSentence(tuning) {
  const trials = list(tuning.trials), best = trials.find((t) => t.best);
  if (!best) return [];
  const values = list(tuning.parameters)
                   .map((p, i) => `${text(p.name)} = ${parameterText(list(best.values)[i])}`);
  return [`Best of ${plural(trials.length, "trial")}: ${values.join(", ")}, with ${
    plusMinus(num(best.mean), num(best.sem))}${
    Number.isFinite(num(best.n)) ? ` (n = ${num(best.n)})`
                                 : ""}. Picked as the best, it flatters itself a little.`];
}

// Programs before this one had another word for the last.
const verdictOfClaim = (c) =>
  (["holds", "does not hold"].includes(c.verdict) ? c.verdict : "inconclusive");

// The paper's claims, down, on each environment, across: the difference that should be positive (or
// 0 for a tie), coloured by the verdict.
function claimsPart(run, key) {
  const claims = list(run.claims);
  if (!claims.length) return null;
  const look = {holds: ["better strong", "\u25b2"], "does not hold": ["worse strong", "\u25bc"]};
  const said =
    [
      ["holds", "hold"], ["does not hold", "do not hold"], ["inconclusive", "are inconclusive"]
    ].map(([verdict, words]) => [claims.filter((c) => verdictOfClaim(c) === verdict).length, words])
      .filter(([n]) => n > 0);
  const place =
    (c) => [text(c.env), c.target && `target=${text(c.target)}`].filter(Boolean).join(", ");
  const places = [...new Set(claims.map(place))],
        texts = [...new Set(claims.map((c) => text(c.claim)))];
  const cell = (claim, at) => {
    const c = claims.find((other) => text(other.claim) === claim && place(other) === at);
    if (!c) return el("td", {});
    const [kind, mark] = look[c.verdict] || ["", ""];
    return el("td", {
      class: kind || null,
      "data-verdict": verdictOfClaim(c),
      title: `${verdictOfClaim(c)}, ${plural(num(c.runs) || 0, "run")}`
    },
      Number.isFinite(num(c.gain)) ? difference(num(c.gain), num(c.gain_sem)) : "\u2013",
      mark ? el("span", {class: "sign", "aria-label": verdictOfClaim(c)}, mark) : null);
  };
  const table = el("table", {class: "transfer claims"},
    el("thead", {},
      el("tr", {}, el("th", {scope: "col"}, "claim of the paper"),
        places.map((at) => el("th", {scope: "col"}, at)))),
    el("tbody", {},
      texts.map((claim) => el("tr", {}, el("th", {scope: "row"}, claim),
                  places.map((at) => cell(claim, at))))));
  return el("section", {id: key + "-claims"},
    el("p", {class: "what"},
      `Of ${plural(claims.length, "claim")} of the paper, ${enumerate(said.map(([n,
        words]) => `${n} ${words}`))}.`),
    el("div", {
      class: "wide",
      tabindex: 0,
      role: "region",
      "aria-label": "Claims",
      "data-key": key + "/claims-table"
    },
      table),
    el("p", {class: "key muted"}, el("span", {class: "better strong"}, "\u25b2 holds"), " ",
      el("span", {class: "worse strong"}, "\u25bc does not hold"),
      "; without colour: inconclusive. What should be positive, or 0 for a tie, \u00b1 standard error."));
}

// [[place, name, claims]] of the reproductions that run i holds.
function verdictsWithin(i, data) {
  return list(data.runs).flatMap((run, k) => (num(run.part_of) === i && list(run.claims).length
                                     ? [[k, text(run.name), list(run.claims).map(verdictOfClaim)]]
                                     : []));
}

// How many claims of each hold.
function verdictsPart(i, data) {
  const within = verdictsWithin(i, data);
  if (!within.length) return null;
  const all = within.flatMap(([, , verdicts]) => verdicts),
        count = (verdicts, verdict) => verdicts.filter((v) => v === verdict).length, kinds = [
          ["holds", "better strong", "\u25b2 hold"],
          ["does not hold", "worse strong", "\u25bc do not hold"],
          ["inconclusive", null, "inconclusive"]
        ];
  const row = (name, verdicts) =>
    el("tr", {}, el("th", {scope: "row"}, name), kinds.map(([verdict, look]) => {
      const n = count(verdicts, verdict);
      return el("td", {class: n && look ? look : null, "data-verdict": verdict}, String(n));
    }));
  return el("section", {id: `run${i}-verdicts`},
    el("table", {class: "claims verdicts"},
      el("thead", {},
        el("tr", {}, el("th", {scope: "col"}, "the paper\u2019s claims"),
          kinds.map(([, , name]) => el("th", {scope: "col"}, name)))),
      el("tbody", {},
        within.map(([k, name, verdicts]) => row(el("a", {href: `#run${k}`}, name), verdicts)),
        within.length > 1 ? row("all", all) : null)));
}

function noResult(run) {
  if (run.command === "reproduce")
    return " Its figures, and its numbers beside the paper\u2019s, are the files in its folder.";
  return isRunning(run) ? " No result yet." : " No result.";
}

function summaryPart(run) {
  const sentences =
    [
      run.search ? searchSentences(run.search) : [], run.table ? tableSentences(run.table) : [],
      curveSentences(run), run.tuning ? tuningSentence(run.tuning) : []
    ].map((some) => some.join(" "))
      .filter(Boolean);
  return el("div", {class: "summary"},
    el("p", {class: "what"}, whatSentence(run),
      sentences.length ? null : el("span", {class: "muted"}, noResult(run))),
    sentences.map((sentence) => el("p", {class: "what result"}, sentence)),
    run.damage ? el("p", {class: "warning", role: "alert"}, "Damage: ", text(run.damage)) : null,
    el("dl", {class: "facts"},
      factsOf(run).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    list(run.notes).length
      ? el("ul", {class: "notes"}, list(run.notes).map((note) => el("li", {}, text(note))))
      : null);
}

// ---------------------------------------------------------------------------------------------
// Search

// Where phases begin: [{ phase, x }]. A phase begins with the validation of its controls; where
// that is missing, with the generation before its first one.
function phasesOf(search) {
  const g = list(search.generation).map(num), phase = list(search.phase).map(num), out = new Map();
  for (const entry of list(search.validation))
    if (entry.control)
      for (const p of pointsOf(entry)) out.set(num(p.phase), num(p.generation));
  phase.forEach((p, i) => {
    if (!out.has(p)) out.set(p, i > 0 ? g[i - 1] : 0);
  });
  return [...out].map(([p, x]) => ({phase: p, x})).sort((a, b) => a.phase - b.phase);
}

// A control is a level for as long as its phase lasts.
function levelsOf(entry, phases) {
  return pointsOf(entry).map((p) => {
    const next = phases.find((other) => other.phase > num(p.phase));
    return {
      name: text(entry.map),
      level: true,
      from: num(p.generation),
      to: next ? next.x : undefined,
      x: [],
      y: [num(p.mean)],
      sem: [num(p.sem)]
    };
  });
}

// Another phase has other tasks: the line is broken where one begins.
function learnedOf(entry) {
  const points = list(entry.points).flatMap((p, i, all) => {
    const broken = i > 0 && num(p.phase) !== num(all[i - 1].phase);
    return broken ? [{generation: p.generation}, p] : [p];
  });
  const column = (key) => points.map((p) => num(p[key]));
  return {
    name: text(entry.map),
    x: column("generation"),
    y: column("mean"),
    sem: column("sem"),
    dots: true
  };
}

function searchPart(run, key) {
  if (!run.search) return null;
  const search = run.search, column = (name) => list(search[name]).map(num),
        g = column("generation"), mean = column("mean"), sd = column("sd"), best = column("best");
  const entries = list(search.validation), phases = phasesOf(search), charts = [];
  // what all charts of a search share
  const chart = (id, spec) => lineChart({
    id,
    key: `${key}/${id}-chart`,
    xLabel: "generation",
    xWhole: true,
    xDomain: [0, Math.max(1, ...g)],
    marks: phases.slice(1),
    ...spec
  });
  if (entries.length) {
    const series =
      entries.flatMap((entry) => (entry.control ? levelsOf(entry, phases) : [learnedOf(entry)]));
    const names = [...new Set(series.map((s) => s.name))],
          legend = makeLegend(key + "/validation", names, () => validation.redraw());
    const validation = chart("validation", {
      title: "Validation",
      yLabel: "validation score",
      about: `mean \u00b1 standard error on tasks the search never sees; controls as levels${
        phases.length > 1 ? "; each phase has tasks of its own" : ""}`,
      series,
      isHidden: legend.isHidden,
      height: 280
    });
    charts.push(legend.element, validation.element);
  }
  if (g.length) {
    const {colour} = styleOf("learned");
    const fitness = [{
      name: "population mean",
      x: g,
      y: mean,
      low: mean.map((v, i) => v - sd[i]),
      high: mean.map((v, i) => v + sd[i]),
      style: {colour, dash: ""}
    }];
    if (best.some(Number.isFinite))
      fitness.push(
        {name: "population best", x: g, y: best, style: {colour, dash: DASHES[1]}, thin: true});
    const fitnessChart = chart("fitness", {
      title: "Fitness in the search",
      yLabel: "fitness",
      about: `population mean \u00b1 standard deviation${
        fitness.length > 1 ? ", and best member (dashed)" : ""}`,
      series: fitness,
      yFormat: (v) => brief(v, 5),
      height: 220
    });
    const sigmaChart = chart("sigma", {
      title: "Step size \u03c3",
      yLabel: "\u03c3",
      about: "of the search",
      yLog: true,
      series: [{name: "sigma", x: g, y: column("sigma"), style: {colour, dash: ""}}],
      yFormat: (v) => brief(v, 4),
      height: 220
    });
    charts.push(el("div", {class: "charts two"}, fitnessChart.element, sigmaChart.element));
  }
  return charts.length ? el("section", {id: key + "-search"}, el("h3", {}, "Search"), charts)
                       : null;
}

// ---------------------------------------------------------------------------------------------
// Learning curves

function estimateOf(curve) {
  const final = curve.final || {};
  return {name: text(curve.map), mean: num(final.mean), sem: num(final.sem), n: num(final.n)};
}

// One picture per environment: curves where there are some, else final returns.
function environmentChart(env, curves, isHidden, xLog, noBands, key) {
  const series = curves.map((c) => ({
    name: text(c.map),
    x: list(c.step).map(num),
    y: list(c.mean).map(num),
    sem: list(c.sem).map(num)
  }));
  if (series.every((s) => s.x.length < 2)) {
    const about = "final return; thick: \u00b1 1 standard error, thin: \u00b1 2";
    return dotChart({
      id: "finals",
      title: env,
      about,
      rows: curves.map(estimateOf),
      isHidden,
      xLabel: "final return"
    });
  }
  const seeds = [...new Set(curves.map((c) => num(c.n)))].join(" or ");
  return lineChart({
    id: "curves",
    key: `${key}/chart/${env}`,
    title: env,
    about: `mean \u00b1 standard error of ${seeds} seeds`,
    xLabel: "environment steps",
    yLabel: "return",
    xFormat: count,
    series,
    isHidden,
    xLog,
    noBands,
    height: 250
  });
}

const BANDS_MOST = 3;  // bands over each other hide the curves

function curveGroup(curves, key) {
  const envs = [...new Set(curves.map((c) => text(c.env)))],
        names = [...new Set(curves.map((c) => text(c.map)))];
  const charts = [], legend = makeLegend(key, names, () => charts.forEach((c) => c.redraw())),
        crowded = names.length > BANDS_MOST;
  for (const env of envs)
    charts.push(environmentChart(env, curves.filter((c) => text(c.env) === env), legend.isHidden,
      switched.has(key + "/log"), crowded && !switched.has(key + "/bands"), key));
  const lines = charts.filter((c) => c.set),
        log = makeSwitch(
          key + "/log", "logarithmic steps", (on) => lines.forEach((c) => c.set({xLog: on})));
  if (lines.length) legend.element.append(log);
  if (lines.length && crowded)
    legend.element.append(makeSwitch(
      key + "/bands", "standard errors", (on) => lines.forEach((c) => c.set({noBands: !on}))));
  return [
    legend.element,
    el("div", {class: envs.length > 1 ? "charts two" : "charts"}, charts.map((c) => c.element)),
    measuresPart(curves, key), finalsTable(curves, key)
  ];
}

const MEASURES_MOST = 8;  // more are folded

// What was recorded beside the return: a small picture of each quantity over the steps.
function measuresPart(curves, key) {
  const charts = curves.flatMap((c) => list(c.measures).map((m) => lineChart({
    id: "measure",
    key: `${key}/measure/${text(c.env)}/${text(m.name)}`,
    title: text(m.name).replaceAll("_", " "),
    xName: "step",
    xFormat: count,
    series: [{
      name: text(c.map),
      x: list(m.step).map(num),
      y: list(m.mean).map(num),
      sem: list(m.sem).map(num)
    }],
    height: 150
  })));
  if (!charts.length) return null;
  return fold(`${key}/measures`, `Measures of the updates (${charts.length})`,
    charts.length <= MEASURES_MOST,
    el("p", {class: "lead"},
      "Of every iteration, over the environment steps: mean \u00b1 standard error of the seeds."),
    el("div", {class: "charts small"}, charts.map((c) => c.element)));
}

function finalsTable(curves, key) {
  const rows = curves.filter(hasFinal);
  if (!rows.length) return null;
  const mean = (f) =>
    (num(f.unfinished) > 0 ? `\u2013 (${plural(num(f.unfinished), "run")} finished no episode)`
                           : plusMinus(num(f.mean), num(f.sem)));
  const interval = (f) => (Number.isFinite(num(f.iqm))
      ? `${brief(num(f.iqm), 5)} [${brief(num(f.low), 5)}, ${brief(num(f.high), 5)}]`
      : "\u2013");
  const headers =
    ["environment", "map", "seeds", "mean \u00b1 standard error", "IQM [95 % bootstrap]"];
  return fold(`${key}/finals`, "Final returns in numbers", false,
    plainTable(`${key}/finals-table`, "Final returns", headers,
      rows.map(
        (c) => [text(c.env), text(c.map), brief(num(c.final.n)), mean(c.final), interval(c.final)]),
      2));
}

function curvesPart(run, key) {
  const all = list(run.curves), side = ["tuning", "trial"],
        main = all.filter((c) => !side.includes(c.role)), out = [];
  if (main.length) out.push(...curveGroup(main, key + "/curves"));
  for (const [role, title] of [["tuning", "Training runs that tuned eta for the controls"],
         ["trial", "Training runs of the trials"]]) {
    const some = all.filter((c) => c.role === role);
    if (some.length)
      out.push(fold(`${key}/${role}`, `${title} (${some.length} curves)`,
        !main.length && !run.tuning, ...curveGroup(some, `${key}/${role}`)));
  }
  return out.length ? el("section", {id: key + "-curves"}, el("h3", {}, "Learning curves"), out)
                    : null;
}

function tablePart(run, key) {
  return run.table && list(run.table.envs).length
    ? el("section", {id: key + "-table"}, el("h3", {}, "Maps against environments"),
        differenceCharts(run.table), transferTable(run, key + "/table"))
    : null;
}

// ---------------------------------------------------------------------------------------------
// Tuning

const parameterText = (v) => (typeof v === "number" ? brief(v, 4) : text(v));

// A dot per trial: the best in orange, those given up early in grey.
function parameterChart(parameter, i, trials, key) {
  const choice = parameter.scale === "choice", log = parameter.scale === "log",
        pruned = trials.some((t) => t.pruned);
  // in the order of the space; a document without it: as they come
  const levels = [...new Set([
    ...list(parameter.choice), ...trials.map((t) => list(t.values)[i])
  ].filter((v) => v !== null &&
            v !== undefined).map(text))],
        place = (t) => (choice ? levels.indexOf(text(list(t.values)[i])) : num(list(t.values)[i]));
  const series = trials.map((t) => ({
    name: t.best ? "best"
      : t.pruned ? "given up early"
                 : "trial",
    x: [place(t)],
    y: [num(t.mean)],
    sem: [num(t.sem)],
    style: {colour: `var(--s${
              t.best       ? 1
                : t.pruned ? 5
                           : 0})`,
      dash: ""}
  }));
  const word = (v) => text(levels[v]);
  return lineChart({
    id: "parameter",
    key: `${key}/parameter/${text(parameter.name)}`,
    title: text(parameter.name),
    about: `orange: the best${pruned ? ", grey: given up early" : ""}`,
    yLabel: "score",
    series,
    xLog: log,
    xWhole: parameter.scale === "integer",
    xDomain: choice ? [-0.5, levels.length - 0.5] : extent(trials.map(place), 0.05, log),
    xTicks: choice ? levels.map((_, k) => k) : null,
    xTickText: choice ? word : null,
    xFormat: choice ? word : null,
    xName: "at",
    height: 200
  }).element;
}

function importanceBars(importance) {
  const largest = Math.max(1e-9, ...importance.map((p) => num(p.share) || 0));
  return el("div", {class: "bars"}, importance.map((p) => {
    const bar = el("span", {class: "bar"});
    bar.style.width = `${(100 * Math.max(num(p.share) || 0, 0)) / largest}%`;
    return el("div", {}, el("span", {class: "name"}, text(p.name)),
      el("span", {class: "track"}, bar), el("span", {}, `${fixed(100 * num(p.share), 0)} %`));
  }));
}

function trialTable(parameters, trials, key) {
  const rows = trials.map(
    (t) => [brief(num(t.trial)), ...parameters.map((_, i) => parameterText(list(t.values)[i])),
      plusMinus(num(t.mean), num(t.sem)), brief(num(t.n)),
      t.best       ? "best"
        : t.pruned ? "given up early"
                   : ""]);
  return plainTable(key + "/trials-table", "Trials",
    ["trial", ...parameters.map((p) => text(p.name)), "score", "n", ""], rows, 1);
}

// Best first, as the program ranks them: a trial that was given up stands behind those with more
// seeds, whatever its few say, and one without a value behind all.
function rankTrials(trials) {
  const known = (t) => Number(Number.isFinite(num(t.mean))),
        mean = (t) => (known(t) ? num(t.mean) : 0), n = (t) => num(t.n) || 0;
  return [...trials].sort((a, b) => known(b) - known(a) || n(b) - n(a) || mean(b) - mean(a) ||
      num(a.trial) - num(b.trial));
}

function tuningPart(run, key) {
  const tuning = run.tuning;
  if (!tuning || !list(tuning.trials).length) return null;
  const parameters = list(tuning.parameters), trials = list(tuning.trials),
        ranked = rankTrials(trials);
  return el("section", { id: key + "-tuning" }, el("h3", {}, "Hyper-parameters"),
    list(tuning.importance).length ? [el("p", { class: "lead" }, "Share of the variation between trials that each explains:"), importanceBars(list(tuning.importance))] : null,
    el("div", { class: "charts two" }, parameters.map((p, i) => parameterChart(p, i, trials, key))),
    fold(key + "/trials", `All ${plural(trials.length, "trial")}, best first`, trials.length <= 12, trialTable(parameters, ranked, key)));
}

// ---------------------------------------------------------------------------------------------
// How it was made

// Dotted keys and texts of a nested configuration.
function flatten(value, path, out) {
  if (Array.isArray(value) &&
    (value.length > 12 || value.some((v) => v && typeof v === "object"))) {
    if (value.every(isNumber)) out.push([path, `${value.length} numbers`]);
    else value.forEach((v, i) => flatten(v, `${path}[${i}]`, out));
  } else if (Array.isArray(value))
    out.push([path, value.map((v) => (v === null ? "none" : text(v))).join(", ")]);
  else if (value && typeof value === "object")
    for (const [k, v] of Object.entries(value)) flatten(v, path ? `${path}.${k}` : k, out);
  else out.push([path, value === null ? "none" : text(value)]);
  return out;
}

function copyButton(lines, key) {
  const button = el("button", {
    type: "button",
    class: "quiet",
    "data-key": key + "/copy",
    on: {
      click: async () => {
        try {
          await navigator.clipboard.writeText(lines.join("\n"));
          button.textContent = "copied";
        } catch { button.textContent = "select it by hand"; }
        setTimeout(() => { button.textContent = "copy"; }, 2000);
      }
    }
  },
    "copy");
  return button;
}

const CONFIG_MOST = 40;  // settings that are shown unasked

function makingPart(run, key, several) {
  const again = list(run.again).map(text), config = flatten(run.config || {}, "", []),
        sessions = list(run.sessions);
  const names = {
    started: "started",
    ended: "ended",
    outcome: "outcome",
    host: "machine",
    backend: "backend",
    isa: "instructions",
    threads: "threads",
    version: "version",
    build: "build"
  };
  return el("div", { class: "making" }, several ? el("h3", {}, text(run.name)) : null,
    el("p", { class: "muted" }, "Run folder ", el("code", {}, text(run.folder || run.name))),
    again.length ? [el("h4", {}, "Make it again ", copyButton(again, key)), el("pre", { class: "commands" }, again.join("\n"))] : null,
    sessions.length ? [el("h4", {}, "Machine and build"), plainTable(key + "/sessions", "Sessions", Object.values(names), sessions.map((s) =>
      Object.keys(names).map((k) => (k === "started" || k === "ended" ? moment(s[k]) : text(s[k])))), Infinity)] : null,
    fold(key + "/config", "Resolved configuration", config.length <= CONFIG_MOST, el("dl", { class: "config" }, config.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value.length > 400 ? value.slice(0, 400) + "\u2026" : value))))));
}
