// SPDX-License-Identifier: Apache-2.0
// Charts in SVG: axes, lines with error bands, dots with whiskers, a legend of toggles, and a
// cursor for pointer and keyboard that reads the values. A chart draws itself anew when its width
// changes.

// Colours are --s0 .. --s11 of the style sheet; dashes tell them apart as well. Colours and dashes,
// the maps that have some of their own and how others get theirs are as in the figures
// (line_styles in gnuplot.c, mm_map_lines in plot.c): a map looks the same in all of them.
const DASHES = [
  "", "9 3.5", "3.5 2.5", "9 3 2 3", "1.8 2.6", "9 3 3 3 3 3", "14 4", "14 3 2 3 2 3", "6 2.5",
  "6 2.5 2 2.5", "11 2.5 4 2.5", "2 2 6 2"
];
const N_STYLE = DASHES.length;
const OWN_STYLE = [
  "learned", "negentropy", "l2", "tsallis", "initial", "random", "negentropy:tuned-eta", "l2:tuned-eta",
  "tsallis:tuned-q-eta"
];

const styleNumbers = new Map();  // label -> number

// Gives all labels a style, those first that are called just like a map with one of its own.
function giveStyles(labels) {
  const taken = new Set(styleNumbers.values());
  const give = (label, i) => {
    styleNumbers.set(label, i);
    taken.add(i);
  };
  const isCalled = (label, word, exactly) =>
    (exactly ? label === word
             : label.startsWith(word) && !/^[A-Za-z0-9]/.test(label.slice(word.length)));
  for (const exactly of [true, false])
    for (const label of labels) {
      const i = OWN_STYLE.findIndex((word, k) => !taken.has(k) && isCalled(label, word, exactly));
      if (i >= 0 && !styleNumbers.has(label)) give(label, i);
    }
  for (const label of labels) {
    if (styleNumbers.has(label)) continue;
    // those after the first six maps' own ones, then what is left of these; the page goes on beyond them
    const order = Array.from({length: N_STYLE}, (_, k) => (6 + k) % N_STYLE);
    const free = order.find((k) => !taken.has(k));
    give(label, free === undefined ? Math.max(N_STYLE - 1, ...taken) + 1 : free);
  }
}

// A label's colour and dash, the same on the whole page; after the last, dashes move against
// colours.
function styleOf(label) {
  if (!styleNumbers.has(label)) giveStyles([label]);
  const i = styleNumbers.get(label);
  return {colour: `var(--s${i % N_STYLE})`, dash: DASHES[(i + Math.floor(i / N_STYLE)) % N_STYLE]};
}

// ---------------------------------------------------------------------------------------------
// Scales

function niceStep(span, most) {
  const raw = span / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) * power;
}

function linearTicks(low, high, most) {
  const step = niceStep(high - low, most), out = [];
  if (!(step > 0)) return [low];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    out.push(Number((k * step).toPrecision(12)));
  return out;
}

function logTicks(low, high, most) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), out = [];
  const decades = Math.log10(high / low),
        every = Math.max(1, Math.ceil(decades / Math.max(most, 1))),
        leads = decades <= 2.5 && 1.5 * decades <= most ? [1, 2, 5] : [1];
  for (let e = first; e <= last; e++)
    if (e % every === 0)
      for (const lead of leads) out.push(Number((lead * 10 ** e).toPrecision(6)));
  const inside = out.filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
  // equal steps lie on top of each other at the end of a decade, but can be read within one
  return inside.length > 2 || decades > 1 ? inside
                                          : linearTicks(low, high, most).filter((v) => v > 0);
}

function makeScale(domain, range, log) {
  const f = log ? Math.log10 : (v) => v, [d0, d1] = domain.map(f), span = d1 - d0 || 1;
  const scale = (v) => range[0] + ((f(v) - d0) / span) * (range[1] - range[0]);
  scale.invert = (px) => {
    const v = d0 + ((px - range[0]) / (range[1] - range[0])) * span;
    return log ? 10 ** v : v;
  };
  scale.ticks = (most) =>
    (log ? logTicks(domain[0], domain[1], most) : linearTicks(domain[0], domain[1], most));
  return scale;
}

// The range of all finite numbers, with some room; never empty.
function extent(values, room, log) {
  let low = Infinity, high = -Infinity;
  for (const v of values)
    if (Number.isFinite(v) && (!log || v > 0)) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  if (!(low <= high)) return log ? [1, 10] : [0, 1];
  if (log)
    return low === high ? [low / 2, high * 2]
                        : [low / (high / low) ** room, high * (high / low) ** room];
  let span = high - low;
  if (!(span > 1e-9 * Math.max(Math.abs(high), Math.abs(low))))
    span = Math.max(Math.abs(high), 1e-3);
  return [low - room * span, high + room * span];
}

// ---------------------------------------------------------------------------------------------
// Legend: toggles whose state outlives the chart

const hiddenSeries = new Map();  // key of a legend -> Set of names

function hiddenOf(key) {
  if (!hiddenSeries.has(key)) hiddenSeries.set(key, new Set());
  return hiddenSeries.get(key);
}

function swatch(style, wide = 26) {
  const look = {stroke: style.colour, "stroke-width": 2.4, "stroke-dasharray": style.dash || null};
  return setSize(
    svg("svg", {class: "swatch", "aria-hidden": "true"}, stroke(1, 5, wide - 1, 5, look)), wide,
    10);
}

// names: [..]; onChange is called after each press. Returns { element, isHidden }.
function makeLegend(key, names, onChange) {
  const hidden = hiddenOf(key), isHidden = (name) => hidden.has(name);
  const press = (name) => {
    flip(hidden, name);
    onChange();
    return !isHidden(name);
  };
  const button = (name) => pressButton(`${key}/${name}`, !isHidden(name), () => press(name),
    {"data-series": name, title: "show or hide"}, swatch(styleOf(name)),
    el("span", {class: "name"}, name));
  const element =
    el("div", {class: "legend", role: "group", "aria-label": "Curves"}, names.map(button));
  return {element, isHidden};
}

const switched = new Set();  // keys of switches that are on

// A button that is on or off and stays so; onChange is called after each press.
function makeSwitch(key, label, onChange) {
  const press = () => {
    const on = flip(switched, key);
    onChange(on);
    return on;
  };
  return pressButton(key, switched.has(key), press, {class: "switch"}, label);
}

// ---------------------------------------------------------------------------------------------
// Lines

// Points as a path, broken where a number is missing; of many points in one pixel column only
// the first, the last and the extremes are kept.
function linePath(xs, ys, sx, sy) {
  let path = "", pen = false, column = null;
  const put = (px, py) => {
    path += (pen ? "L" : "M") + px.toFixed(1) + " " + py.toFixed(1);
    pen = true;
  };
  const flush = () => {
    if (!column) return;
    const {px, first, low, high, last} = column;
    for (const py of new Set(first <= last ? [first, low, high, last] : [first, high, low, last]))
      put(px, py);
    column = null;
  };
  for (let i = 0; i < xs.length; i++) {
    const px = sx(xs[i]), py = sy(ys[i]);
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      flush();
      pen = false;
      continue;
    }
    if (xs.length < 1500) {
      put(px, py);
      continue;
    }
    const at = Math.round(px * 2) / 2;
    if (column && column.px === at) {
      column.low = Math.min(column.low, py);
      column.high = Math.max(column.high, py);
      column.last = py;
    } else {
      flush();
      column = {px: at, first: py, low: py, high: py, last: py};
    }
  }
  flush();
  return path;
}

function bandPath(xs, low, high, sx, sy) {
  const up = [], down = [];
  let path = "";
  const close = () => {
    if (up.length > 1) path += "M" + up.join("L") + "L" + down.reverse().join("L") + "Z";
    up.length = down.length = 0;
  };
  for (let i = 0; i < xs.length; i++) {
    const px = sx(xs[i]), a = sy(low[i]), b = sy(high[i]);
    if (![px, a, b].every(Number.isFinite)) {
      close();
      continue;
    }
    up.push(px.toFixed(1) + " " + b.toFixed(1));
    down.push(px.toFixed(1) + " " + a.toFixed(1));
  }
  close();
  return path;
}

const shortened = (words, most) =>
  (words.length > most ? words.slice(0, Math.max(most - 1, 1)) + "\u2026" : words);

// The number at a tick: 2 k beside 10 k.
function tickText(v, ticks) {
  const size = Math.abs(v);
  if (size >= 1e3 && size < 1e4 && ticks.some((t) => Math.abs(t) >= 1e4))
    return brief(v / 1e3, 6) + "\u00a0k";
  return size >= 1e4 ? count(v) : brief(v, 6);
}

let clipCount = 0;

// The value of a series at x, or at its nearest point when x lies within its range.
function readAt(series, x) {
  if (series.level) {
    const {from = -Infinity, to = Infinity} = series;
    // where one level ends and the next begins, the value is that of the first
    if (x > to || x < from || (x === from && from > 0)) return null;
    return {y: series.y[0], sem: series.sem ? series.sem[0] : NaN};
  }
  let best = -1;
  for (let i = 0; i < series.x.length; i++)
    if (Number.isFinite(series.y[i]) &&
      (best < 0 || Math.abs(series.x[i] - x) < Math.abs(series.x[best] - x)))
      best = i;
  if (best < 0 || x < series.x[0] - 1e-9 * Math.abs(x) ||
    x > series.x[series.x.length - 1] * (1 + 1e-9) + 1e-9)
    return null;
  return {y: series.y[best], sem: series.sem ? series.sem[best] : NaN, x: series.x[best]};
}

// A picture under its title, and what is said about it.
function captioned(spec, ...content) {
  const caption = el("figcaption", {}, el("strong", {}, spec.title),
    spec.about ? el("span", {class: "muted"}, " ", spec.about) : null);
  return el("figure", {class: "chart", "data-chart": spec.id || null}, spec.title ? caption : null,
    ...content);
}

const cursors = new Map();  // key of a chart -> where its values are read

// spec: { key, title, about, xLabel, yLabel, series, isHidden, xLog, yLog, xDomain, yDomain,
// yInclude,
//         height, xFormat, yFormat, xTicks, xTickText, marks: [{ x, label }] }
// The key keeps focus and cursor when the chart is made anew.
// A series: { name, label, x, y, sem | low and high, style, level (a horizontal line, all across or
// between `from` and `to`), dots, thin }. Several series may share a name: they are toggled
// together.
function lineChart(spec) {
  const plot = el("div", {class: "plot"}),
        live = el("p", {class: "only-heard", "aria-live": "polite"});
  const readout = el("div", {class: "readout", hidden: true});
  const element = captioned(spec, el("div", {class: "plot-box"}, plot, readout), live);
  // one for as long as the chart lives, so that it keeps the focus
  const root = svg("svg",
    {width: 1, height: spec.height || 240, tabindex: 0, role: "img", "data-key": spec.key || null});
  plot.append(root);
  let frame = null, cursor = cursors.has(spec.key) ? cursors.get(spec.key) : null;

  const shown = () => spec.series.filter((s) => !(spec.isHidden && spec.isHidden(s.name)));
  const xFormat = spec.xFormat || ((v) => brief(v, 5)),
        yFormat = spec.yFormat || ((v, sem) => plusMinus(v, sem));

  function domains(series) {
    const xs = [], ys = [...(spec.yInclude || [])];
    for (const s of series) {
      if (!s.level) xs.push(...s.x);
      s.y.forEach((v, i) => {
        ys.push(v);
        if (s.low) ys.push(s.low[i], s.high[i]);
        else if (s.sem && Number.isFinite(s.sem[i])) ys.push(v - s.sem[i], v + s.sem[i]);
      });
    }
    return [spec.xDomain || extent(xs, 0, spec.xLog), spec.yDomain || extent(ys, 0.06, spec.yLog)];
  }

  function draw() {
    const width = Math.max(Math.floor(plot.clientWidth), 150), height = spec.height || 240;
    const series = shown(), [xd, yd] = domains(series);
    const yTicks = makeScale(yd, [0, 1], spec.yLog).ticks(height / 42);
    const left = (spec.yLabel ? 32 : 14) +
      6.6 * Math.max(3, ...yTicks.map((v) => tickText(v, yTicks).length)),
          right = width - 12, top = 10, bottom = height - (spec.xLabel ? 40 : 24);
    const sx = makeScale(xd, [left, right], spec.xLog),
          sy = makeScale(yd, [bottom, top], spec.yLog);
    const id = "clip" + clipCount++;
    const names = [...new Set(series.map((s) => s.label || s.name))].join(", ");
    root.setAttribute("aria-label",
      `${spec.title || ""} ${spec.about || ""}. ${
        names}. Left and right arrow keys read the values.`);
    setSize(root, width, height);
    const clip = svg("clipPath", {id},
      svg("rect", {x: left, y: top - 2, width: right - left, height: bottom - top + 4}));
    const grid = svg("g", {class: "grid"}), texts = svg("g", {class: "words"});
    for (const v of yTicks) {
      grid.append(stroke(left, sy(v), right, sy(v)));
      texts.append(words(left - 7, sy(v) + 4, "end", null, tickText(v, yTicks)));
    }
    const xTicks = spec.xTicks ||
      sx.ticks((right - left) / 78).filter((v) => !spec.xWhole || Number.isInteger(v));
    const room = Math.max(2, Math.floor((right - left) / 7 / xTicks.length) - 1);
    let end = 0;  // of the last number
    for (const v of xTicks) {
      const word = spec.xTickText ? shortened(spec.xTickText(v), room) : tickText(v, xTicks);
      grid.append(stroke(sx(v), bottom, sx(v), bottom + 4, {class: "tick"}));
      const half = 3.4 * word.length, x = Math.min(sx(v), width - half);
      if (x - half < end + 4) continue;
      end = x + half;
      texts.append(words(x, bottom + 17, "middle", null, word));
    }
    grid.append(stroke(left, bottom, right, bottom, {class: "axis"}));
    for (const mark of spec.marks || [])
      grid.append(stroke(sx(mark.x), top, sx(mark.x), bottom, {class: "mark"}));
    if (spec.xLabel)
      texts.append(words((left + right) / 2, height - 5, "middle", "label", spec.xLabel));
    if (spec.yLabel)
      texts.append(fill(words(0, 0, "middle", "label", spec.yLabel),
        {transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`}));
    const bands = svg("g", {"clip-path": `url(#${id})`}),
          lines = svg("g", {"clip-path": `url(#${id})`});
    for (const s of series) drawSeries(s, {bands, lines, sx, sy, xd});
    const cross = svg("line", {class: "cursor", y1: top, y2: bottom, visibility: "hidden"});
    root.replaceChildren(clip, grid, bands, lines, texts, cross);
    frame = {sx, sy, left, right, top, bottom, width, series, cross};
    if (cursor !== null) show(cursor);
  }

  function drawSeries(s, {bands, lines, sx, sy, xd}) {
    const style = s.style || styleOf(s.name), {from = xd[0], to = xd[1]} = s,
          x = s.level ? [from, to] : s.x, repeat = (l) => (s.level && l ? [l[0], l[0]] : l);
    const y = repeat(s.y), sem = repeat(s.sem);
    const low = repeat(s.low) || (sem && y.map((v, i) => v - sem[i])),
          high = repeat(s.high) || (sem && y.map((v, i) => v + sem[i]));
    if (low && x.length > 1 && !spec.noBands)
      bands.append(svg("path", {
        class: "band",
        "data-series": s.name,
        d: bandPath(x, low, high, sx, sy),
        fill: style.colour
      }));
    if (x.length > 1)
      lines.append(svg("path", {
        class: s.thin ? "line thin" : "line",
        "data-series": s.name,
        d: linePath(x, y, sx, sy),
        stroke: style.colour,
        "stroke-dasharray": style.dash || null
      }));
    if (s.level || !(s.dots || x.length === 1)) return;
    x.forEach((v, i) => {
      if (!Number.isFinite(y[i])) return;
      if (low && Number.isFinite(low[i]) && x.length === 1)
        lines.append(stroke(
          sx(v), sy(low[i]), sx(v), sy(high[i]), {class: "whisker thin", stroke: style.colour}));
      lines.append(disc(sx(v), sy(y[i]), x.length < 60 ? 3 : 1.8,
        {class: "dot", "data-series": s.name, fill: style.colour}));
    });
  }

  // all places where some visible series has a point
  function places() {
    const all = new Set();
    for (const s of frame.series)
      if (!s.level)
        s.x.forEach((v, i) => {
          if (Number.isFinite(s.y[i])) all.add(v);
        });
    return [...all].sort((a, b) => a - b);
  }

  function show(x) {
    cursor = x;
    if (spec.key) cursors.set(spec.key, x);
    const px = frame.sx(x), rows = [];
    fill(frame.cross, {x1: px, x2: px, visibility: "visible"});
    for (const s of frame.series) {
      const at = s.silent ? null : readAt(s, x);
      if (at) rows.push([s, yFormat(at.y, at.sem)]);
    }
    rows.splice(12);
    readout.replaceChildren(
      el("p", {class: "where"}, (spec.xName || spec.xLabel || "x") + " " + xFormat(x)),
      ...rows.map(([s, value]) => el("p", {}, swatch(s.style || styleOf(s.name), 18),
                    el("span", {class: "name"}, s.label || s.name), el("b", {}, value))));
    readout.hidden = false;
    const wide = readout.offsetWidth, over = px + 14 + wide > frame.width;
    readout.style.left = Math.max(0, over ? px - wide - 14 : px + 14) + "px";
    readout.style.top = frame.top + "px";
  }

  function hide() {
    cursor = null;
    if (spec.key) cursors.delete(spec.key);
    if (frame) frame.cross.setAttribute("visibility", "hidden");
    readout.hidden = true;
  }

  function near(list, x) {
    let best = list[0];
    for (const v of list)
      if (Math.abs(frame.sx(v) - frame.sx(x)) < Math.abs(frame.sx(best) - frame.sx(x))) best = v;
    return best;
  }

  function listen() {
    const move = (event) => {
      const all = frame ? places() : [];
      if (all.length)
        show(near(all, frame.sx.invert(event.clientX - root.getBoundingClientRect().left)));
    };
    root.addEventListener("pointermove", move);
    root.addEventListener("pointerdown", move);
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      if (!frame) return;
      const all = places(), i = cursor === null ? -1 : all.indexOf(near(all, cursor));
      const jump = event.shiftKey ? Math.ceil(all.length / 10) : 1;
      if (event.key === "Escape") hide();
      const to = all.length === 0 ? undefined : placeOfKey(event, {
        ArrowRight: cursor === null ? 0 : i + jump,
        ArrowLeft: cursor === null ? all.length - 1 : i - jump,
        Home: 0,
        End: all.length - 1
      });
      if (to === undefined) return;
      show(all[Math.min(Math.max(to, 0), all.length - 1)]);
      live.textContent = [...readout.children].map((p) => p.textContent).join("; ");
    });
  }

  listen();
  observeWidth(plot, draw);
  return {
    element,
    redraw: () => {
      hide();
      if (plot.clientWidth > 0) draw();
    },
    set: (change) => {
      Object.assign(spec, change);
      if (plot.clientWidth > 0) draw();
    }
  };
}

// Calls draw once the element has a width, and whenever that changes.
function observeWidth(element, draw) {
  let width = -1;
  new ResizeObserver(() => {
    if (element.clientWidth === width || element.clientWidth === 0) return;
    width = element.clientWidth;
    draw();
  }).observe(element);
}

// ---------------------------------------------------------------------------------------------
// One dot with whiskers per row: final returns

// spec: { title, about, xLabel, rows: [{ name, mean, sem, n }], isHidden }
function dotChart(spec) {
  const plot = el("div", {class: "plot"});
  const element = captioned(spec, plot);
  const draw = () => {
    const rows = spec.rows.filter((r) => !(spec.isHidden && spec.isHidden(r.name)));
    const width = Math.max(Math.floor(plot.clientWidth), 220), pitch = 26,
          height = 12 + pitch * rows.length + 40;
    // digits for the largest standard error, so that the numbers can be compared
    const sems = rows.map((r) => r.sem).filter((v) => v > 0),
          sizes = rows.map((r) => Math.abs(r.mean)).filter(Number.isFinite);
    const digits = decimalsFor(Math.max(0, ...sizes) || NaN, sems.length ? Math.max(...sems) : NaN);
    const numbers = rows.map((r) => (Number.isFinite(r.wins) ? `${fixed(100 * r.wins, 0)} %`
                                 : Number.isFinite(r.low) ? ""
                                                          : plusMinus(r.mean, r.sem, digits)));
    const names = Math.min(Math.max(60, ...rows.map((r) => 8 * r.name.length)), 0.32 * width),
          left = names + 12, right = width - 14 - 7 * Math.max(0, ...numbers.map((s) => s.length)),
          bottom = height - 40;
    const domain =
      extent(rows
               .flatMap((r) => (Number.isFinite(r.low) ? [r.low, r.high]
                            : Number.isFinite(r.sem)   ? [r.mean - 2 * r.sem, r.mean + 2 * r.sem]
                                                       : [r.mean]))
               .concat(spec.zero ? [0] : []),
        0.04);
    const sx = makeScale(domain, [left, right]);
    const all = rows.map((r) => `${r.name} ${plusMinus(r.mean, r.sem)}`).join("; ");
    const root = svg("svg", {role: "img", "aria-label": `${spec.title}: ${all}`});
    const grid = svg("g", {class: "grid"}), texts = svg("g", {class: "words"}),
          marks = svg("g", {});
    for (const v of sx.ticks((right - left) / 70)) {
      grid.append(stroke(sx(v), 6, sx(v), bottom));
      texts.append(words(sx(v), bottom + 16, "middle", null, brief(v, 6)));
    }
    texts.append(words((left + right) / 2, height - 5, "middle", "label", spec.xLabel || ""));
    if (spec.zero) grid.append(stroke(sx(0), 6, sx(0), bottom, {class: "axis"}));
    rows.forEach((r, i) => {
      const y = 12 + pitch * (i + 0.5), style = styleOf(r.name),
            name = shortened(r.name, Math.floor(names / 8));
      texts.append(words(names, y + 4, "end", "row", name, svg("title", {}, r.name)),
        words(width - 2, y + 4, "end", null, numbers[i]));
      if (!Number.isFinite(r.mean)) return;
      const whisker = (part, kind) => stroke(sx(r.mean - part * r.sem), y,
        sx(r.mean + part * r.sem), y, {class: kind, stroke: style.colour});
      if (Number.isFinite(r.low))
        marks.append(
          stroke(sx(r.low), y, sx(r.high), y, {class: "whisker faint", stroke: style.colour}));
      if (Number.isFinite(r.sem)) marks.append(whisker(2, "whisker faint"), whisker(1, "whisker"));
      marks.append(
        disc(sx(r.mean), y, 4.2, {class: "dot", "data-series": r.name, fill: style.colour},
          svg("title", {},
            `${r.name}: ${
              Number.isFinite(r.low)
                ? `${brief(r.mean, 5)} [${brief(r.low, 5)}, ${brief(r.high, 5)}]`
                : plusMinus(r.mean, r.sem)}${Number.isFinite(r.n) ? `, n = ${r.n}` : ""}`)));
    });
    root.append(grid, marks, texts);
    plot.replaceChildren(setSize(root, width, height));
  };
  observeWidth(plot, draw);
  return {
    element,
    redraw: () => {
      if (plot.clientWidth > 0) draw();
    }
  };
}
