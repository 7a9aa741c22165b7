// SPDX-License-Identifier: Apache-2.0
// The table of maps and environments: final returns coloured by whether they are above or below the
// baseline, strongly where the 95 % interval of the paired difference excludes 0.

const tableState = new Map();  // run name -> "values" | "differences"

// A table of texts that scrolls by itself where it is too wide; the first `left` columns hold
// words.
function plainTable(key, label, headers, rows, left) {
  return el("div",
    {class: "wide", tabindex: 0, "data-key": key, role: "region", "aria-label": label},
    el("table", {},
      el("thead", {},
        el("tr", {},
          headers.map((h, i) => el("th", {scope: "col", class: i < left ? "word" : null}, h)))),
      el("tbody", {},
        rows.map((row) => el("tr", {},
                   row.map((cell, i) => el("td", {class: i < left ? "word" : null}, cell)))))));
}

// Class and mark of a cell: better or worse, strong or faint.
function verdictOf(cell, isBaseline) {
  const d = num(cell.difference), verdict = num(cell.verdict);
  if (isBaseline || !Number.isFinite(d) || (d === 0 && !verdict)) return {kind: "", mark: ""};
  const better = verdict !== 0 && Number.isFinite(verdict) ? verdict > 0
    : cell.better === undefined || cell.better === null    ? d > 0
                                                           : Boolean(cell.better);
  const strong = verdict === 1 || verdict === -1;
  return {
    kind: `${better ? "better" : "worse"} ${strong ? "strong" : "faint"}`,
    mark: better ? (strong ? "\u25b2" : "\u25b5")
      : strong   ? "\u25bc"
                 : "\u25bf"
  };
}

// Digits that give the column's typical standard error two figures.
function columnDigits(table, env, values) {
  const cells = list(table.cells).map((row) => list(row)[env] || {});
  const sems = cells.map((c) => num(values ? c.sem : c.difference_sem))
                 .filter((v) => v > 0 && Number.isFinite(v));
  const largest = Math.max(
    0, ...cells.map((c) => Math.abs(num(values ? c.mean : c.difference))).filter(Number.isFinite));
  return decimalsFor(
    largest || NaN, sems.length ? Math.max(Math.min(...sems), Math.max(...sems) / 20) : NaN);
}

function cellSentence(table, map, env, cell, isBaseline) {
  const d = num(cell.difference), dSem = num(cell.difference_sem), wins = num(cell.wins),
        parts = [];
  const n = num(cell.n), base = text(table.baseline);
  parts.push(`${map} on ${env}: ${plusMinus(num(cell.mean), num(cell.sem))}${
    Number.isFinite(n) ? ` (n = ${n})` : ""}`);
  if (isBaseline) parts.push("the baseline");
  else if (Number.isFinite(d)) {
    const far = num(cell.verdict) !== 0 && Number.isFinite(num(cell.verdict));
    const how = d === 0 ? "no difference"
                        : `${d > 0 ? "better" : "worse"}, ${
                            far ? "95 % interval excludes 0" : "95 % interval includes 0"}`;
    parts.push(`minus ${base}, seed by seed: ${difference(d, dSem)} (${how})`);
    if (Number.isFinite(num(cell.ci_low)))
      parts.push(`95 % interval [${brief(num(cell.ci_low), 5)}, ${brief(num(cell.ci_high), 5)}]`);
    if (Number.isFinite(num(cell.p_holm)))
      parts.push(`p ${brief(num(cell.p_holm))} after Holm's correction`);
    if (Number.isFinite(wins)) parts.push(`win rate ${fixed(100 * wins, 0)} %`);
  }
  if (Number.isFinite(num(cell.iqm))) {
    const low = num(cell.low), high = num(cell.high);
    parts.push(`IQM ${brief(num(cell.iqm), 5)}${
      Number.isFinite(low) ? ` [${brief(low, 5)}, ${brief(high, 5)}]` : ""}`);
  }
  if (num(cell.unfinished) > 0)
    parts.push(`${plural(num(cell.unfinished), "run")} finished no episode, so there is no mean`);
  if (num(cell.failed) > 0)
    parts.push(`${plural(num(cell.failed), "training run")} without a return`);
  if (Number.isFinite(num(cell.paper))) parts.push(`the paper has ${brief(num(cell.paper), 5)}`);
  return parts.join("; ") + ".";
}

function cellText(cell, mode, digits, isBaseline) {
  if (mode === "differences") {
    const d = num(cell.difference), wins = num(cell.wins);
    if (isBaseline) return "\u2013";
    if (!Number.isFinite(d)) return special(d);
    return (d > 0 ? "+" : "") + plusMinus(d, num(cell.difference_sem), digits) +
      (Number.isFinite(wins) ? `  ${fixed(100 * wins, 0)} %` : "");
  }
  return plusMinus(num(cell.mean), num(cell.sem), digits);
}

// Arrow keys move between cells; one of them is in the tab order.
function makeGrid(table) {
  const rows =
    [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")]);
  if (rows.length && rows[0].length) rows[0][0].tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const r = rows.findIndex((row) => row.includes(event.target)),
          c = r < 0 ? -1 : rows[r].indexOf(event.target);
    const step = r < 0
      ? undefined
      : placeOfKey(
          event, {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]});
    const to = step && (rows[r + step[0]] || [])[c + step[1]];
    if (to) to.focus();
  });
  table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    for (const other of table.querySelectorAll("td")) other.tabIndex = other === cell ? 0 : -1;
  });
}

// A picture for each environment: paired differences from the baseline with their intervals.
function differenceCharts(table) {
  const base = text(table.baseline);
  const charts =
    list(table.envs)
      .map((env, e) => {
        const rows = list(table.maps).flatMap((m, i) => {
          const cell = (list(table.cells)[i] || [])[e];
          return cell && text(m.label) !== base && Number.isFinite(num(cell.ci_low)) ? [{
            name: text(m.label),
            mean: num(cell.difference),
            low: num(cell.ci_low),
            high: num(cell.ci_high),
            sem: NaN,
            n: num(cell.n),
            wins: num(cell.wins)
          }]
                                                                                     : [];
        });
        if (!rows.length) return null;
        return dotChart({
          id: "differences",
          title: text(env),
          about: `final return minus ${base}, seed by seed, 95 % intervals; right: win rate`,
          xLabel: "difference of final returns",
          rows,
          zero: true
        }).element;
      })
      .filter(Boolean);
  return charts.length ? el("div", {class: charts.length > 1 ? "charts two" : "charts"}, charts)
                       : null;
}

function transferTable(run, key) {
  const table = run.table, envs = list(table.envs).map(text), maps = list(table.maps),
        base = text(table.baseline);
  const holder = el("div", {
    class: "wide",
    tabindex: 0,
    "data-key": key + "/region",
    role: "region",
    "aria-label": "Table of final returns"
  });
  const detail = el("p", {class: "detail", "aria-live": "polite"},
    "Point at a cell, or move to it with the arrow keys, to see its difference.");

  function draw() {
    const mode = tableState.get(key) || "values";
    const head = el("thead", {},
      el("tr", {}, el("th", {scope: "col"}, "map"),
        envs.map((env) => el("th", {scope: "col"}, env))));
    const body = el("tbody", {}, maps.map((m, i) => {
      const label = text(m.label), isBaseline = label === base;
      return el("tr", {class: m.control ? "control" : null},
        el("th", {scope: "row"}, swatch(styleOf(label), 18), el("span", {class: "name"}, label),
          m.control ? el("span", {class: "muted"}, " control") : null),
        envs.map((env, e) => {
          const cell = (list(table.cells)[i] || [])[e];
          const cellKey = JSON.stringify([key, label, env]);
          if (!cell) return el("td", {tabindex: -1, "data-key": cellKey, class: "muted"}, "\u2013");
          const {kind, mark} = verdictOf(cell, isBaseline),
                       sentence = cellSentence(table, label, env, cell, isBaseline);
          const tell = () => { detail.textContent = sentence; };
          return el("td", {
            tabindex: -1,
            "data-key": cellKey,
            class: kind || null,
            title: sentence,
            "data-map": label,
            "data-env": env,
            "data-verdict": num(cell.verdict),
            on: {pointerenter: tell, focus: tell}
          },
            el("span", {class: "value"},
              cellText(cell, mode, columnDigits(table, e, mode === "values"), isBaseline)),
            mark ? el("span", {class: "sign", "aria-label": kind}, mark) : null,
            Number.isFinite(num(cell.paper))
              ? el("span", {class: "paper"}, `paper ${brief(num(cell.paper), 5)}`)
              : null);
        }));
    }));
    const grid = el("table", {class: "transfer"}, head, body);
    makeGrid(grid);
    holder.replaceChildren(grid);
  }

  const button = (mode, label) => el("button", {
    type: "button",
    "data-key": `${key}/${mode}`,
    "aria-pressed": String((tableState.get(key) || "values") === mode),
    on: {
      click: (event) => {
        tableState.set(key, mode);
        for (const other of event.currentTarget.parentNode.children)
          other.setAttribute("aria-pressed", String(other === event.currentTarget));
        draw();
      }
    }
  },
    label);
  draw();
  return el("div", {},
    base
      ? el("div", {class: "choice", role: "group", "aria-label": "What the table shows"},
          button("values", "final returns"), button("differences", `minus ${base}, seed by seed`))
      : null,
    holder, detail,
    !base ? null
          : el("p", {class: "key muted"}, el("span", {class: "better strong"}, "\u25b2 better"),
              " ", el("span", {class: "worse strong"}, "\u25bc worse"),
              ` than ${base}: the 95 % interval of the paired difference (bootstrap) excludes 0; `,
              el("span", {class: "better faint"}, "\u25b5"), " ",
              el("span", {class: "worse faint"}, "\u25bf"),
              " it includes 0. Mean \u00b1 standard error."));
}

// The scores of a study over all its environments: interquartile means, win rates, performance
// profiles.
function scoresPart(run, key) {
  const scores = run.scores, maps = scores ? list(scores.maps) : [];
  if (!maps.length) return null;
  const base = text(scores.baseline), names = maps.map((m) => text(m.map)),
        tau = list(scores.tau).map(num), crowded = names.length > BANDS_MOST,
        bands = key + "/scores/bands";
  const legend = makeLegend(key + "/scores", names, () => {
    intervals.redraw();
    profiles.redraw();
  });
  const intervals = dotChart({
    id: "scores",
    title: "Interquartile mean of scores",
    about: `95 % intervals; right: win rate against ${base}`,
    xLabel: "normalised score",
    isHidden: legend.isHidden,
    rows: maps.map((m) => ({
      name: text(m.map),
      mean: num(m.iqm),
      low: num(m.low),
      high: num(m.high),
      sem: NaN,
      n: num(m.runs),
      wins: num(m.wins)
    }))
  });
  const profiles = lineChart({
    id: "profiles",
    key: key + "/profiles",
    title: "Performance profiles",
    about: "share of runs with a score above \u03c4; higher is better",
    xLabel: "normalised score \u03c4",
    yLabel: "share of runs",
    xName: "above score",
    xFormat: (v) => fixed(v, 2),
    yFormat: (v) => `${fixed(100 * v, 0)} %`,
    xDomain: [tau[0], tau[tau.length - 1]],
    yDomain: [0, 1],
    isHidden: legend.isHidden,
    noBands: crowded && !switched.has(bands),
    height: 260,
    series: maps.map((m) => ({
      name: text(m.map),
      x: tau,
      y: list(m.share).map(num),
      low: list(m.share_low).map(num),
      high: list(m.share_high).map(num)
    }))
  });
  if (crowded)
    legend.element.append(makeSwitch(bands, "95 % bands", (on) => profiles.set({noBands: !on})));
  return el("section", {id: key + "-scores"},
    el("h3", {}, num(scores.envs) > 1 ? "Over all environments" : "Distribution of scores"),
    el("p", {class: "lead"},
      "A return becomes a score: in each environment 0 is a random map, 1 the best baseline; without a random map below it, the lowest and the highest mean. ",
      el("code", {}, "mirrormap compare"), " has the numbers."),
    legend.element, el("div", {class: "charts two"}, intervals.element, profiles.element));
}

// "a and b are better than l2 on A (95 % intervals exclude 0), and inconclusive against it on B."
// Maps of which the same holds share a sentence.
function tableSentences(table) {
  const base = text(table.baseline), learned = list(table.maps).some((m) => !m.control),
        groups = new Map();  // what is said -> maps
  list(table.maps).forEach((m, i) => {
    if ((m.control && learned) || text(m.label) === base) return;
    const names = {1: [], 0: [], "-1": []};
    list(list(table.cells)[i]).forEach((cell, e) => {
      if (cell && Number.isFinite(num(cell.difference)))
        names[num(cell.verdict) || 0].push(text(list(table.envs)[e]));
    });
    const said = [];
    if (names[1].length) said.push(`better than ${base} on ${enumerate(names[1])}`);
    if (names[-1].length)
      said.push(`worse${names[1].length ? "" : ` than ${base}`} on ${enumerate(names[-1])}`);
    const level = names[0].length
      ? `inconclusive against ${said.length ? "it" : base} on ${enumerate(names[0])}`
      : "";
    if (!said.length && !level) return;
    const whole = `${said.length ? enumerate(said) + " (95 % intervals exclude 0)" : ""}${
      said.length && level ? ", and " : ""}${level}.`;
    groups.set(whole, [...(groups.get(whole) || []), text(m.label)]);
  });
  const out = [...groups].map(
    ([whole, maps]) => `${enumerate(maps)} ${maps.length > 1 ? "are" : "is"} ${whole}`);
  return out.length ? ["Over the environments: " + out.join(" ")] : [];
}
