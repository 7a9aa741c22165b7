// SPDX-License-Identifier: Apache-2.0
// The maps of the page: which there are, and pictures of phi, phi^-1 and of policies against the
// score scale, all aligned where phi = 1.

const MOST_SHAPES = 8;  // maps drawn unless they are asked for

// ---------------------------------------------------------------------------------------------
// The catalogue

const madeMaps = new Map();  // contents as text -> map, so that a refresh makes nothing anew

const contentsOf = (file) => JSON.stringify(
  [file.kind, file.q, file.psi, file.w, file.c, file.u, file.a, file.b, file.stages]);

function mapOf(file) {
  const key = contentsOf(file);
  if (!madeMaps.has(key)) {
    if (madeMaps.size > 200) madeMaps.clear();
    madeMaps.set(key, makeMap(file));
  }
  return madeMaps.get(key);
}

// [{ label, role, run, file, map, also }] with labels that differ; the named maps are always there.
// A map stands there once, `also` having the other names of the same one.
function catalogue(data) {
  const taken = new Set(), byContents = new Map(), out = [], refused = [];
  const add = (wanted, role, run, file) => {
    const contents = contentsOf(file), same = byContents.get(contents);
    if (same) {
      if (wanted !== same.label && !same.also.includes(wanted)) same.also.push(wanted);
      taken.add(wanted);
      return;
    }
    const runName =
      run === null || run === undefined ? "" : text((list(data.runs)[run] || {}).name);
    let label = wanted;
    if (taken.has(label) && runName) label = `${wanted} (${runName})`;
    for (let k = 2; taken.has(label); k++) label = `${wanted} #${k}`;
    taken.add(label);
    const entry = {label, role, run, file, also: [], get map() { return mapOf(file); }};
    byContents.set(contents, entry);
    out.push(entry);
  };
  for (const entry of list(data.maps)) {
    const file = entry.map || {};
    const known = file.kind === "neural"
      ? areNumbers(file.w, UNITS) && areNumbers(file.c, UNITS) && areNumbers(file.u, UNITS)
      : mapOf(file);
    if (known) add(text(entry.label) || "map", text(entry.role), entry.run, file);
    else refused.push(text(entry.label));
  }
  for (const [label, file] of [["negentropy", {kind: "negentropy"}], ["l2", {kind: "l2"}],
         ["tsallis:0.5", {kind: "tsallis", q: 0.5}]])
    if (!taken.has(label)) add(label, "named", null, file);
  return {maps: out, refused};
}

// The first that was learned, the named ones that everything is compared with, other learned ones,
// the rest.
function byWeight(maps) {
  const learned = maps.filter((m) => m.role === "learned"),
        named = maps.filter((m) => ["negentropy", "l2"].includes(m.label));
  return [...new Set([...learned.slice(0, 1), ...named, ...learned, ...maps])];
}

// ---------------------------------------------------------------------------------------------
// Points of curves

function cubicGrid(n) { return Array.from({length: n + 1}, (_, i) => (i / n) ** 3); }

function inverseCurve(map) {
  const p = map.kind === "piecewise" && map.n <= 1000
    ? [0, ...[1e-4, 3e-4, 1e-3, 3e-3].filter((v) => v < 1 / map.n), ...Array.from({length: map.n}, (_, j) => (j + 1) / map.n)]
    : cubicGrid(300);
  return {p, y: p.map((v) => map.inverse(v))};
}

// phi over [left, 0.5]. Where it ends at 1, as for piecewise and neural maps: the inverse the other
// way round, with what lies beyond its ends.
function phiCurve(map, left) {
  if (map.kind !== "piecewise" && map.kind !== "neural") {
    const x = Array.from({length: 401}, (_, i) => left + (0.5 - left) * i / 400);
    return {
      x,
      y: x.map((v) => {
        const p = Math.max(map.at(v).p, 0);
        return p < 1.6 ? p : NaN;
      })
    };
  }
  const {p, y} = inverseCurve(map), x = [], out = [];
  p.forEach((v, i) => {
    if (Number.isFinite(y[i])) {
      x.push(y[i]);
      out.push(v);
    }
  });
  if (x.length && x[0] > left) {
    x.unshift(left);
    out.unshift(p[0] === 0 && Number.isFinite(y[0]) ? 0 : out[0]);
  }
  if (map.kind === "piecewise") {
    x.push(0.5);
    out.push(1);
  }
  return {x, y: out};
}

function widthOf(map) {
  const bottom = map.inverse(0), typical = -map.inverse(0.02);
  return {zero: Number.isFinite(bottom) ? -bottom : 0, typical};
}

// Left end of phi's axis: the widest zero of a map, unless a few wide maps would leave no room.
function leftOf(maps) {
  const widths = maps.map(widthOf), typical = widths.map((w) => w.typical).sort((a, b) => a - b);
  const middle = typical[(typical.length - 1) >> 1] || 4;
  return -Math.min(Math.max(6, ...widths.map((w) => w.zero)), Math.max(12, 4 * middle));
}

function policyCurves(map, actions, most) {
  const scale = Array.from({length: 61}, (_, i) => (most * i) / 60);
  const rows = scale.map(
    (c) => project(map, Array.from({length: actions}, (_, a) => c * (a + 1)), true).probs);
  return {scale, probs: Array.from({length: actions}, (_, a) => rows.map((r) => r[a]))};
}

// ---------------------------------------------------------------------------------------------
// The section

const shapesState = {
  actions: 3,
  most: 4,
  shown: null
};

function shapesSection(maps) {
  const key = "maps", hidden = hiddenOf(key);
  if (!shapesState.shown) {
    shapesState.shown = true;
    byWeight(maps).slice(MOST_SHAPES).forEach((m) => hidden.add(m.label));
  }
  const pictures = el("div", {class: "charts two"}), policies = el("div", {class: "charts small"});
  const legend = makeLegend(key, maps.map((m) => m.label), () => drawAll());
  legend.element.append(makeSwitch("maps/log", "logarithmic p", () => drawAll()));

  function drawAll() {
    const shown = maps.filter((m) => !legend.isHidden(m.label)),
          left = leftOf(shown.map((m) => m.map));
    const phi = [], inverse = [];
    for (const m of shown) {
      const a = phiCurve(m.map, left), b = inverseCurve(m.map);
      phi.push({name: m.label, x: a.x, y: a.y});
      inverse.push({name: m.label, x: b.p, y: b.y});
    }
    const logarithmic = switched.has("maps/log");
    const chart = (id, spec) =>
      lineChart({id, key: "maps/" + id, yFormat: (v) => brief(v, 4), height: 260, ...spec});
    const phiChart = chart("phi", {
      title: "Potential \u03c6",
      about: "aligned where \u03c6 = 1",
      xLabel: "x \u2212 \u03c6\u207b\u00b9(1)",
      yLabel: "\u03c6",
      xName: "x =",
      series: phi,
      xDomain: [left, 0.5],
      yDomain: [-0.02, 1.15]
    });
    const inverseChart = chart("phi-inverse", {
      title: "Inverse \u03c6\u207b\u00b9",
      about: "\u03c6\u207b\u00b9(p) \u2212 \u03c6\u207b\u00b9(1)",
      xLabel: "probability p",
      yLabel: "\u03c6\u207b\u00b9(p) \u2212 \u03c6\u207b\u00b9(1)",
      xName: "p =",
      series: inverse,
      xLog: logarithmic,
      xDomain: logarithmic ? [1e-4, 1] : [0, 1],
      yDomain: [left, -0.04 * left]
    });
    pictures.replaceChildren(phiChart.element, inverseChart.element);
    drawPolicies(shown);
  }

  function drawPolicies(shown) {
    policies.replaceChildren(...shown.map((m) => {
      const {scale, probs} = policyCurves(m.map, shapesState.actions, shapesState.most),
                    colour = styleOf(m.label).colour;
      const series = probs
                       .map((y, a) => ({
                         name: m.label,
                         label: `action ${a + 1}`,
                         x: scale,
                         y,
                         style: {colour, dash: DASHES[(shapesState.actions - 1 - a) % N_STYLE]}
                       }))
                       .reverse();
      return lineChart({
        id: "policy-scale",
        key: "maps/policy/" + m.label,
        title: m.label,
        xLabel: "score scale c",
        yLabel: "probability",
        xName: "c =",
        series,
        xDomain: [0, shapesState.most],
        yDomain: [0, 1.02],
        yFormat: (v) => fixed(v, 4),
        height: 170
      }).element;
    }));
  }

  const choice = (key, id, label, values) =>
    numberChoice(id, label, values, shapesState[key], (v) => {
      shapesState[key] = v;
      drawPolicies(maps.filter((m) => !legend.isHidden(m.label)));
    });
  const controls =
    el("p", {class: "controls"}, choice("actions", "shape-actions", "actions", [2, 3, 4, 5, 6]),
      choice("most", "shape-scale", "scale up to", [1, 4, 16, 64, 256]));
  drawAll();
  return el("section", {id: "maps"}, el("h2", {}, "The maps"),
    el("p", {class: "lead"},
      "A mirror map is given by its potential \u03c6. Two potentials that differ by a shift make the same policies, so all are drawn aligned where \u03c6 = 1. Press a name to hide or show a map."),
    maps.filter((m) => m.also.length)
      .map(
        (m) => el("p", {class: "lead same"}, `The same map: ${enumerate([m.label, ...m.also])}.`)),
    legend.element, pictures, el("h3", {}, "Policy against the score scale"),
    el("p", {class: "lead"},
      "Probabilities of actions whose scores are c, 2c, 3c \u2026; the last one is drawn solid. Steep maps commit early."),
    controls, policies);
}
