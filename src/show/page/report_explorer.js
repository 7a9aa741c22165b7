// SPDX-License-Identifier: Apache-2.0
// The map explorer: scores that can be dragged, and the policies that the chosen maps make of them,
// side by side. What is set here outlives a refresh of the page.

const MOST_CHOSEN = 4, MOST_ACTIONS = 6, SCORE_END = 5;
const FIRST_SCORES = [2, 1, 0, -1, -2, 0.5];

const explorer = {
  maps: [],
  chosen: null,
  actions: 4,
  scores: FIRST_SCORES.slice(),
  eta: 1,
  parts: null
};

const bounded = (v, low, high) => Math.min(Math.max(v, low), high);
const scoresNow = () => explorer.scores.slice(0, explorer.actions).map((s) => s * explorer.eta);

// ---------------------------------------------------------------------------------------------
// One map's policy

function policyRow(action, p, ghost) {
  const bar = el("span", {class: "bar"}), track = el("span", {class: "track"}, bar);
  bar.style.width = `${100 * bounded(p, 0, 1)}%`;
  if (ghost !== undefined) {
    const line = el("span", {class: "ghost"});
    line.style.left = `${100 * bounded(ghost, 0, 1)}%`;
    track.append(line);
  }
  return el("div", {class: "action"}, el("span", {class: "which"}, `a${action + 1}`), track,
    el("span", {class: "number", "data-probability": p, title: String(p)}, fixed(p, 5)));
}

function figureLine(name, value, key) {
  return el("div", {}, el("dt", {}, name),
    el("dd", {[`data-${key}`]: value, title: String(value)}, brief(value, 6)));
}

// ghost: a policy to mark beside this one.
function policyPanel(label, map, scores, style, ghost) {
  const {probs, lambda} = project(map, scores), uniform = probs.map(() => 1 / probs.length),
                soft = project(negentropyMap(), scores).probs;
  const panel = el("article", {class: "policy", "data-policy": label},
    el("h4", {}, swatch(style), el("span", {class: "name"}, label)),
    el("div", {class: "actions"}, probs.map((p, a) => policyRow(a, p, ghost && ghost[a]))),
    el("dl", {class: "figures"}, figureLine("\u03bb", lambda, "lambda"),
      figureLine("D from the uniform policy", divergence(map, probs, uniform), "uniform"),
      figureLine("D from negentropy\u2019s policy", divergence(map, probs, soft), "negentropy")));
  panel.style.setProperty("--bar", style.colour);
  return {panel, probs};
}

function drawPolicies() {
  const {parts} = explorer, chosen = explorer.maps.filter((m) => explorer.chosen.includes(m.label)),
        scores = scoresNow();
  parts.policies.replaceChildren(...(chosen.length
      ? chosen.map((m) => policyPanel(m.label, m.map, scores, styleOf(m.label)).panel)
      : [el("p", {class: "muted"}, "No map is chosen.")]));
  parts.command.textContent =
    `mirrormap map project --map MAP --scores ${scores.map(String).join(",")}`;
  drawEdited();
}

// ---------------------------------------------------------------------------------------------
// Scores: bars that can be dragged, and a slider and a field for each

// Lets a handle be dragged: move(event) is called from the first press to the release.
function draggable(node, begin, move, end) {
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    node.focus({preventScroll: true});
    node.setPointerCapture(event.pointerId);
    begin(event);
    const stop = () => {
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", stop);
      node.removeEventListener("pointercancel", stop);
      if (end) end();
    };
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", stop);
    node.addEventListener("pointercancel", stop);
  });
}

function setScore(action, value) {
  if (!Number.isFinite(value)) return;
  explorer.scores[action] = bounded(Math.round(value * 1e6) / 1e6, -SCORE_END, SCORE_END);
  showScores();
  drawPolicies();
}

function scoreKey(event, action) {
  const large = event.shiftKey ? 1 : 0.1, now = explorer.scores[action];
  const to = placeOfKey(event, {
    ArrowUp: now + large,
    ArrowRight: now + large,
    ArrowDown: now - large,
    ArrowLeft: now - large,
    PageUp: now + 1,
    PageDown: now - 1,
    Home: -SCORE_END,
    End: SCORE_END
  });
  if (to !== undefined) setScore(action, Math.round(to * 1000) / 1000);
}

// The bar chart, drawn once for a width and number of actions; later only its parts are moved.
function drawBars() {
  const {parts} = explorer, n = explorer.actions, width = Math.max(parts.bars.clientWidth, 220),
        height = 230, left = 34, right = width - 8, top = 12, bottom = height - 24;
  const sy = makeScale([-SCORE_END, SCORE_END], [bottom, top]), pitch = (right - left) / n,
        wide = Math.min(54, 0.62 * pitch);
  const root = setSize(svg("svg", {class: "score-bars"}), width, height),
        grid = svg("g", {class: "grid"}), texts = svg("g", {class: "words"});
  for (const v of [-4, -2, 0, 2, 4]) {
    grid.append(stroke(left, sy(v), right, sy(v), {class: v === 0 ? "axis" : null}));
    texts.append(words(left - 7, sy(v) + 4, "end", null, signed(String(v))));
  }
  root.append(grid);
  parts.handles = [];
  for (let a = 0; a < n; a++) {
    const middle = left + pitch * (a + 0.5),
          bar = svg("rect", {class: "score-bar", x: middle - wide / 2, width: wide});
    const knob =
      svg("rect", {class: "knob", x: middle - wide / 2 - 3, width: wide + 6, height: 9, rx: 4.5});
    const handle = svg("g", {
      class: "handle",
      tabindex: 0,
      role: "slider",
      "data-key": `score-${a}`,
      "data-score": a,
      "aria-orientation": "vertical",
      "aria-label": `Score of action ${a + 1}`,
      "aria-valuemin": -SCORE_END,
      "aria-valuemax": SCORE_END
    },
      svg("rect",
        {class: "catch", x: middle - pitch / 2, width: pitch, y: top, height: bottom - top}),
      bar, knob);
    const follow = (event) => setScore(
      a, Math.round(sy.invert(event.clientY - root.getBoundingClientRect().top) * 100) / 100);
    draggable(handle, follow, follow);
    handle.addEventListener("keydown", (event) => scoreKey(event, a));
    texts.append(words(middle, height - 6, "middle", "label", `a${a + 1}`));
    root.append(handle);
    parts.handles.push({handle, bar, knob, sy});
  }
  root.append(texts);
  parts.bars.replaceChildren(root);
  showScores();
}

// Moves bars, sliders and fields to where the scores are.
function showScores() {
  const {parts} = explorer;
  (parts.handles || []).forEach(({handle, bar, knob, sy}, a) => {
    const v = explorer.scores[a], y = sy(v), zero = sy(0);
    fill(bar, {y: Math.min(y, zero), height: Math.abs(y - zero)});
    fill(knob, {y: y - 4.5});
    fill(handle, {"aria-valuenow": v});
  });
  (parts.sliders || []).forEach(({slider, field}, a) => {
    slider.value = String(explorer.scores[a]);
    if (document.activeElement !== field || Number(field.value) !== explorer.scores[a])
      field.value = String(explorer.scores[a]);
  });
}

// A slider, which tells while it is dragged, or a field of a number, which tells when it is left.
function inputOf(type, label, min, max, attributes, take) {
  const range = type === "range", on = range ? {input: take} : {change: take};
  return el(
    "input", {type, min, max, step: range ? 0.01 : "any", "aria-label": label, ...attributes, on});
}

function makeSliders() {
  const {parts} = explorer;
  parts.sliders = [];
  parts.sliderBox.replaceChildren(...Array.from({length: explorer.actions}, (_, a) => {
    const take = (event) => {
      if (event.target.value.trim() !== "") setScore(a, Number(event.target.value));
    };
    const input = (type, label, attributes) =>
      inputOf(type, `Score of action ${a + 1}${label}`, -SCORE_END, SCORE_END, attributes, take);
    const slider = input("range", ""), field = input("number", ", as a number", {"data-field": a});
    parts.sliders.push({slider, field});
    return el(
      "div", {class: "score-line"}, el("span", {class: "which"}, `a${a + 1}`), slider, field);
  }));
  showScores();
}

function setActions(n) {
  explorer.actions = n;
  drawBars();
  makeSliders();
  drawPolicies();
}

// ---------------------------------------------------------------------------------------------
// Choices

function drawChoices() {
  const {parts} = explorer, full = explorer.chosen.length >= MOST_CHOSEN;
  parts.choices.replaceChildren(...explorer.maps.map((m) => {
    const on = explorer.chosen.includes(m.label);
    return el("label", {class: !on && full ? "off" : null}, el("input", {
      type: "checkbox",
      checked: on,
      disabled: !on && full,
      "data-key": `choose/${m.label}`,
      "data-choose": m.label,
      on: {
        change: (event) => {
          explorer.chosen = event.target.checked
            ? [...explorer.chosen, m.label]
            : explorer.chosen.filter((label) => label !== m.label);
          const key = event.target.dataset.key;
          drawChoices();
          [...parts.choices.querySelectorAll("input")]
            .find((box) => box.dataset.key === key)
            .focus();
          drawPolicies();
        }
      }
    }),
      swatch(styleOf(m.label)), el("span", {class: "name"}, m.label),
      m.role && m.role !== "named" ? el("span", {class: "muted"}, [m.role, ...m.also].join(", "))
                                   : null);
  }));
  parts.full.textContent = full ? `At most ${MOST_CHOSEN} maps are shown at once.` : "";
}

function firstChoice(maps) {
  const order = ["learned", "named", "control", "initial"],
        rank = (m) => (order.indexOf(m.role) + order.length) % order.length;
  const learned = maps.filter((m) => m.role === "learned").slice(0, 2), named = ["negentropy",
    "l2"].map((label) => maps.find((m) => m.label === label)).filter(Boolean);
  const first = [...new Set([...learned, ...named])];
  for (const m of [...maps].sort((a, b) => rank(a) - rank(b)))
    if (first.length < 3 && !first.includes(m)) first.push(m);
  return first.slice(0, MOST_CHOSEN).map((m) => m.label);
}

function etaControl() {
  const field = inputOf("number", "eta, as a number", 0.001, 1000,
    {value: explorer.eta, id: "eta-field"}, (event) => set(Number(event.target.value)));
  const slider = inputOf("range", "eta, multiplies the scores", -2, 2,
    {value: Math.log10(explorer.eta), "data-key": "eta"},
    (event) => set(Number((10 ** Number(event.target.value)).toPrecision(3))));
  const set = (value) => {
    if (!(value > 0)) return;
    explorer.eta = bounded(value, 0.001, 1000);
    field.value = String(explorer.eta);
    slider.value = String(Math.log10(explorer.eta));
    drawPolicies();
  };
  return el("label", {class: "eta"}, el("span", {}, "\u03b7"), slider, field);
}

// ---------------------------------------------------------------------------------------------
// The section

function makeExplorer(maps) {
  const parts = {
    choices: el("div", {class: "choices", role: "group", "aria-label": "Maps to compare"}),
    full: el("p", {class: "muted small", role: "status"}),
    bars: el("div", {class: "plot"}),
    sliderBox: el("div", {class: "sliders"}),
    policies: el("div", {class: "policies", id: "policies"}),
    command: el("code", {id: "command"})
  };
  explorer.parts = parts;
  explorer.maps = maps;
  explorer.chosen = firstChoice(maps);
  const actions = numberChoice("actions", "actions", [2, 3, 4, 5, 6], explorer.actions, setActions);
  const button = (label, make) => el("button", {
    type: "button",
    on: {
      click: () => {
        explorer.scores = explorer.scores.map(make);
        showScores();
        drawPolicies();
      }
    }
  },
    label);
  observeWidth(parts.bars, drawBars);
  const element = el("section", {id: "explorer"}, el("h2", {}, "Map explorer"),
    el("p", {class: "lead"},
      "Drag the bars, or focus one and use the arrow keys. Each map turns \u03b7 times the scores into a policy: p = max(\u03c6(\u03b7x + \u03bb), 0), with the \u03bb that makes the sum 1. D is the map\u2019s own Bregman divergence."),
    parts.choices, parts.full,
    el("div", {class: "explore"},
      el("div", {class: "scores"}, el("h3", {}, "Scores"),
        el("p", {class: "controls"}, actions, etaControl(),
          button("reset", (_, a) => FIRST_SCORES[a]), button("equal", () => 0),
          button("random", () => Math.round(800 * (Math.random() - 0.5)) / 100)),
        parts.bars, parts.sliderBox),
      el("div", {}, el("h3", {}, "Policies"), parts.policies,
        el("p", {class: "muted small"}, "The same on the command line: ", parts.command))),
    makeKnots());
  makeSliders();
  drawChoices();
  return element;
}

// The maps of refreshed data: choices stay where their labels do.
function updateExplorer(maps) {
  const print = JSON.stringify(maps.map((m) => [m.label, m.role, m.file, m.also]));
  if (explorer.print === print) return;
  const before = explorer.maps.map((m) => m.label);
  explorer.print = print;
  explorer.maps = maps;
  explorer.chosen = explorer.chosen.filter((label) => maps.some((m) => m.label === label));
  for (const m of maps)  // what was learned since is shown at once
    if (m.role === "learned" && !before.includes(m.label) && explorer.chosen.length < MOST_CHOSEN)
      explorer.chosen.push(m.label);
  drawChoices();
  updateKnots();
  drawPolicies();
}
