// SPDX-License-Identifier: Apache-2.0
// A piecewise phi whose knots can be dragged. Maps of many steps show fewer handles: those between
// two of them are stretched along. The edited map makes its policy from the explorer's scores at
// once.

const PSI_LEAST = 1e-8, PSI_MOST = 1e6, START = "start of a search (n = 20)";

const knots = {
  label: null,
  psi: null,
  original: null,
  handles: 10,
  parts: null,
  domain: null
};

// psi_1 = 3 ln 10, psi_i = ln(i / (i - 1)): phi close to the exponential function.
function startPsi(n) {
  return Array.from({length: n}, (_, i) => (i === 0 ? 3 * Math.log(10) : Math.log1p(1 / i)));
}

function editable() {
  return [
    ...explorer.maps.filter((m) => m.file.kind === "piecewise")
      .map((m) => ({label: m.label, psi: m.file.psi})),
    {label: START, psi: startPsi(20)}
  ];
}

function sums(psi) {
  const s = [0];
  for (const v of psi) s.push(s[s.length - 1] + v);
  return s;
}

// Knots that have a handle: about `handles` of them, evenly spread, the last one included.
function handlePlaces(n, handles) {
  const count = Math.min(handles, n);
  return Array.from({length: count}, (_, k) => Math.round(((k + 1) * n) / count));
}

// The steps from knot a to knot b become `width` wide in all, each in proportion.
function stretch(psi, a, b, width) {
  const before = psi.slice(a, b).reduce((s, v) => s + v, 0);
  for (let i = a; i < b; i++)
    psi[i] =
      bounded(before > 1e-6 ? (psi[i] * width) / before : width / (b - a), PSI_LEAST, PSI_MOST);
}

// Moves the handle at place k to x; its neighbours stay.
function moveKnot(k, x) {
  const places = handlePlaces(knots.psi.length, knots.handles), s = sums(knots.psi), j = places[k],
        a = k > 0 ? places[k - 1] : 0, b = places[k + 1];
  const least = s[a] + PSI_LEAST * (j - a),
        most = b === undefined ? s[a] + PSI_MOST : s[b] - PSI_LEAST * (b - j),
        to = bounded(x, least, most);
  stretch(knots.psi, a, j, to - s[a]);
  if (b !== undefined) stretch(knots.psi, j, b, s[b] - to);
  drawKnots();
}

// ---------------------------------------------------------------------------------------------
// Drawing

function knotPath(psi, sx, sy) {
  const s = sums(psi), [d0, d1] = knots.domain;
  return `M${sx(d0)} ${sy(0)}` +
    s.map((v, j) => `L${sx(v).toFixed(2)} ${sy(j / psi.length).toFixed(2)}`).join("") +
    `L${sx(Math.max(d1, s[s.length - 1])).toFixed(1)} ${sy(1)}`;
}

function freshDomain() {
  const total =
    Math.max(...[knots.psi, knots.original].map((psi) => psi.reduce((s, v) => s + v, 0)));
  knots.domain = [-0.04 * total, 1.12 * total];
}

function knotKey(event, k) {
  const s = sums(knots.psi), now = s[handlePlaces(knots.psi.length, knots.handles)[k]],
        step = (knots.domain[1] - knots.domain[0]) * (event.shiftKey ? 0.001 : 0.01);
  const to = placeOfKey(event, {
    ArrowRight: now + step,
    ArrowUp: now + step,
    ArrowLeft: now - step,
    ArrowDown: now - step,
    Home: -Infinity
  });
  if (to === undefined) return;
  moveKnot(k, to);
  if (s[s.length - 1] > knots.domain[1]) freshDomain();
}

function drawKnots() {
  const {parts} = knots, width = Math.max(parts.plot.clientWidth, 220), height = 300, left = 34,
        right = width - 12, top = 10, bottom = height - 38;
  if (parts.plot.clientWidth === 0) return;
  const sx = makeScale(knots.domain, [left, right]), sy = makeScale([0, 1], [bottom, top]),
        n = knots.psi.length, s = sums(knots.psi);
  const grid = svg("g", {class: "grid"}), texts = svg("g", {class: "words"});
  for (const v of [0, 0.25, 0.5, 0.75, 1]) {
    grid.append(stroke(left, sy(v), right, sy(v), {class: v === 0 ? "axis" : null}));
    texts.append(words(left - 6, sy(v) + 4, "end", null, String(v)));
  }
  for (const v of sx.ticks((right - left) / 70))
    texts.append(words(sx(v), bottom + 16, "middle", null, brief(v, 5)));
  texts.append(words((left + right) / 2, height - 4, "middle", "label", "x"));
  parts.lines.replaceChildren(grid,
    svg("path", {class: "line original", d: knotPath(knots.original, sx, sy)}),
    svg("path", {class: "line edited", d: knotPath(knots.psi, sx, sy)}), texts);
  setSize(parts.root, width, height);
  const places = handlePlaces(n, knots.handles);
  makeHandles(places.length);
  places.forEach((j, k) => {
    const handle = parts.knobs[k];
    for (const circle of handle.children) fill(circle, {cx: sx(s[j]), cy: sy(j / n)});
    fill(handle, {
      "aria-valuemin": k > 0 ? s[places[k - 1]] : 0,
      "aria-valuemax": k + 1 < places.length ? s[places[k + 1]] : PSI_MOST,
      "aria-valuenow": s[j],
      "aria-valuetext": `phi = ${brief(j / n, 3)} at x = ${brief(s[j], 5)}`
    });
  });
  parts.scale = sx;
  drawEdited();
}

// Handles are kept while they are dragged, so they are only added and taken away.
function makeHandles(n) {
  const {parts} = knots;
  while (parts.knobs.length > n) parts.knobs.pop().remove();
  while (parts.knobs.length < n) {
    const k = parts.knobs.length;
    const handle = svg("g", {
      class: "handle knot",
      tabindex: 0,
      role: "slider",
      "data-knot": k,
      "data-key": `knot-${k}`,
      "aria-label": `Knot ${k + 1}`
    },
      svg("circle", {class: "catch", r: 13}), svg("circle", {class: "knob", r: 5.5}));
    draggable(handle, () => {},
      (event) =>
        moveKnot(k, parts.scale.invert(event.clientX - parts.root.getBoundingClientRect().left)),
      () => {
        freshDomain();
        drawKnots();
      });
    handle.addEventListener("keydown", (event) => knotKey(event, k));
    parts.knobs.push(handle);
    parts.root.append(handle);
  }
}

// Policies of the map before and after, with the divergence between them.
function drawEdited() {
  const {parts} = knots;
  if (!parts || !knots.psi || !explorer.parts) return;
  const before = piecewiseMap(knots.original), after = piecewiseMap(knots.psi.slice()),
        scores = scoresNow();
  const first = policyPanel("original", before, scores, {colour: "var(--muted)", dash: DASHES[2]});
  const second =
    policyPanel("edited", after, scores, {colour: "var(--accent)", dash: ""}, first.probs);
  const apart = divergence(before, second.probs, first.probs);
  parts.panels.replaceChildren(first.panel, second.panel);
  parts.apart.replaceChildren("D of the original map from its policy to the edited one: ",
    el("b", {"data-apart": apart, title: String(apart)}, brief(apart, 6)));
}

// ---------------------------------------------------------------------------------------------
// Controls

function chooseKnots(label) {
  const all = editable(), entry = all.find((m) => m.label === label) || all[0];
  knots.label = entry.label;
  knots.original = entry.psi.slice();
  knots.psi = entry.psi.slice();
  freshDomain();
  drawKnots();
}

function downloadMap() {
  const file = {
    format: "mirrormap/1",
    kind: "piecewise",
    psi: knots.psi,
    meta: {note: `drawn by hand in the map explorer, from: ${knots.label}`}
  };
  const url = URL.createObjectURL(
    new Blob([JSON.stringify(file, null, 2) + "\n"], {type: "application/json"}));
  const link = el("a", {href: url, download: "edited-map.json"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function makeKnots() {
  const root = svg(
          "svg", {class: "knots", role: "group", "aria-label": "Knots of the edited potential"}),
        lines = svg("g", {});
  root.append(lines);
  const parts = {
    root,
    lines,
    knobs: [],
    plot: el("div", {class: "plot"}, root),
    panels: el("div", {class: "policies two"}),
    apart: el("p", {class: "small"}),
    select: el("select", {
      id: "edit-map",
      "data-key": "edit-map",
      on: {change: (event) => chooseKnots(event.target.value)}
    })
  };
  knots.parts = parts;
  const handles = numberChoice("handles", "handles", [3, 5, 10, 20, 50], knots.handles, (n) => {
    knots.handles = n;
    drawKnots();
  });
  observeWidth(parts.plot, drawKnots);
  return el("div", {class: "editor"}, el("h3", {}, "Draw a piecewise \u03c6"),
    el("p", {class: "lead"},
      "Drag a knot to the left or right, or focus it and use the arrow keys (with shift: finer). Dashed: before. The lines across the bars mark the original policy."),
    el("p", {class: "controls"}, el("label", {}, "map ", parts.select), handles,
      el("button", {type: "button", id: "reset-knots", on: {click: () => chooseKnots(knots.label)}},
        "reset"),
      el("button", {type: "button", id: "download-map", on: {click: downloadMap}},
        "download map file")),
    el("div", {class: "explore"}, parts.plot, el("div", {}, parts.panels, parts.apart)));
}

const isSame = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

function updateKnots() {
  const all = editable(), {select} = knots.parts;
  select.replaceChildren(
    ...all.map((m) => el("option", {value: m.label, selected: m.label === knots.label}, m.label)));
  const entry = all.find((m) => m.label === knots.label);
  if (!knots.psi || !entry) chooseKnots(all[0].label);
  else if (!isSame(entry.psi, knots.original)) {
    // the map has been learned further; what was drawn on it stays
    if (isSame(knots.psi, knots.original)) chooseKnots(knots.label);
    else {
      knots.original = entry.psi.slice();
      freshDomain();
      drawKnots();
    }
  }
}
