// SPDX-License-Identifier: Apache-2.0
// Making elements and writing numbers. Every text of the data becomes a text node or an attribute
// that holds text; nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children = []) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on")
      for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(name, String(value));
  }
  node.append(...children.flat(Infinity).filter(
    (child) => child !== null && child !== undefined && child !== false));
  return node;
}

// el("p", { class: "muted", on: { click: f } }, "text", node, [more])
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A line, a text at a height and a disc of a picture; what they look like stands last.
const stroke = (x1, y1, x2, y2, look) => svg("line", {...look, x1, y1, x2, y2});
const words = (x, y, anchor, kind, ...what) =>
  svg("text", {x, y, "text-anchor": anchor, class: kind}, ...what);
const disc = (cx, cy, r, look, ...children) => svg("circle", {...look, cx, cy, r}, ...children);

// A picture of a size in units of the page; `root` is an SVG element.
const setSize = (root, width, height) =>
  fill(root, {width, height, viewBox: `0 0 ${width} ${height}`});

// A choice among numbers, with its label.
function numberChoice(id, label, values, current, set) {
  return el("label", {}, label + " ",
    el("select", {id, "data-key": id, on: {change: (event) => set(Number(event.target.value))}},
      values.map((v) => el("option", {value: v, selected: v === current}, String(v)))));
}

// A button that stays pressed; press() tells whether it is from now on.
function pressButton(key, isPressed, press, attributes, ...children) {
  const show = (on) => fill(button, {"aria-pressed": String(on)});
  const button =
    el("button", {type: "button", "data-key": key, ...attributes, on: {click: () => show(press())}},
      ...children);
  return show(isPressed);
}

// Takes an item out of a set or puts it in; returns whether it is in now.
function flip(set, item) {
  if (!set.delete(item)) set.add(item);
  return set.has(item);
}

// Where a key leads, by { key: place }: a key that leads nowhere is left to others.
function placeOfKey(event, places) {
  const to = places[event.key];
  if (to !== undefined) event.preventDefault();
  return to;
}

// A number of the data: null is undefined, infinite ones are texts.
function num(value) {
  if (typeof value === "number") return value;
  return value === "inf" ? Infinity : value === "-inf" ? -Infinity : NaN;
}

const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (value === null || value === undefined ? "" : String(value));

// ---------------------------------------------------------------------------------------------
// Numbers in words

const MINUS = "\u2212";
const signed = (s) => s.replace(/^-/, MINUS).replace(/e-/, "e" + MINUS).replace(/e\+/, "e");

function special(v) { return Number.isNaN(v) ? "\u2013" : v > 0 ? "\u221e" : MINUS + "\u221e"; }

// A fixed number of digits behind the point.
function fixed(v, digits) {
  if (!Number.isFinite(v)) return special(v);
  const s = v.toFixed(Math.min(Math.max(digits, 0), 12));
  return signed(Number(s) === 0 ? s.replace("-", "") : s);
}

// Significant digits, without trailing zeros.
function brief(v, digits = 4) {
  if (!Number.isFinite(v)) return special(v);
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return signed(v.toExponential(digits - 1).replace(/\.?0+e/, "e"));
  return signed(String(Number(v.toPrecision(digits))));
}

// Counts: 262144 -> 262 k, 1.05 M.
function count(v) {
  if (!Number.isFinite(v)) return special(v);
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(v) >= unit && (name !== "k" || Math.abs(v) >= 1e4 || !Number.isInteger(v)))
      return signed(String(Number((v / unit).toPrecision(3)))) + "\u00a0" + name;
  return brief(v, 6);
}

// Digits behind the point that give a standard error two figures.
function decimalsFor(mean, sem) {
  if (sem > 0 && Number.isFinite(sem)) {
    const wanted = 1 - Math.floor(Math.log10(sem)),
          most =
            Number.isFinite(mean) && mean !== 0 ? 6 - Math.floor(Math.log10(Math.abs(mean))) : 6;
    return Math.min(Math.max(Math.min(wanted, most), 0), 8);
  }
  if (!Number.isFinite(mean) || mean === 0) return 2;
  return Math.min(Math.max(3 - Math.floor(Math.log10(Math.abs(mean))), 0), 8);
}

function plusMinus(mean, sem, digits = decimalsFor(mean, sem)) {
  if (!Number.isFinite(mean)) return special(mean);
  const large = Math.abs(mean) >= 1e7 || sem >= 1e7;
  const write = (v) => (large ? brief(v, 4) : fixed(v, digits));
  return write(mean) + (Number.isFinite(sem) ? " \u00b1 " + write(sem) : "");
}

function difference(mean, sem) { return (mean > 0 ? "+" : "") + plusMinus(mean, sem); }

function duration(seconds) {
  if (!Number.isFinite(seconds)) return special(seconds);
  if (seconds < 120) return brief(seconds, 3) + " s";
  if (seconds < 7200) return brief(seconds / 60, 3) + " min";
  return brief(seconds / 3600, 3) + " h";
}

// 2026-01-31T12:34:56.789Z -> 2026-01-31 12:34 UTC; anything else as it is.
function moment(value) {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(text(value));
  return parts ? parts[1] + " " + parts[2] + " UTC" : text(value);
}

const plural = (n, word) => n + " " + word + (n === 1 ? "" : "s");

// "a, b and c"
function enumerate(words) {
  return words.length < 2 ? words.join("")
                          : words.slice(0, -1).join(", ") + " and " + words[words.length - 1];
}
