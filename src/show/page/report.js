// SPDX-License-Identifier: Apache-2.0
// The page: takes the data out of the document (or, watched, from the server every two seconds),
// builds the sections whose data changed and leaves all others, and what was set on them, alone.
//
// All scripts of the page are one; this one comes first and starts when the document is complete.

"use strict";

const FORMAT = "mirrormap-report/1", WATCH_MS = 2000;

function readEmbedded() {
  const node = document.getElementById("report-data");
  return node ? JSON.parse(node.textContent) : null;
}

// ---------------------------------------------------------------------------------------------
// Light and dark

function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch { return null; }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* a page from disk may have no storage */
  }
}

function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)"),
        button = document.getElementById("theme");
  let chosen = remembered("mirrormap-theme");
  const apply = () => {
    const dark = chosen ? chosen === "dark" : system.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "light" : "dark";
    button.setAttribute(
      "aria-label", dark ? "Switch to the light page" : "Switch to the dark page");
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remember("mirrormap-theme", chosen);
    apply();
  });
  system.addEventListener("change", apply);
  window.addEventListener(
    "beforeprint", () => { document.documentElement.dataset.theme = "light"; });
  window.addEventListener("afterprint", apply);
  apply();
}

// ---------------------------------------------------------------------------------------------
// Sections

const built = new Map();  // name of a section -> { source, element }

// Makes a section anew if what it shows has changed; keeps the focus where it was.
function section(name, source, make) {
  const print = JSON.stringify(source), before = built.get(name);
  if (before && before.print === print) return before.element;
  const element = make() || document.createComment(name);
  built.set(name, {print, element});
  return element;
}

// Runs of `train` over each other.
function comparisonSection(data) {
  const curves = list(data.comparison);
  return curves.length
    ? el("section", {id: "comparison", class: "run"}, el("h2", {}, "Training runs side by side"),
        curveGroup(curves, "comparison"))
    : null;
}

// A run that a reproduction is made of stands folded within it. One with claims of its own, as
// those of `reproduce all`, has a section beside it.
const isPart = (run) => num(run.part_of) >= 0 && !list(run.claims).length;

const partsTitle = (n, whole) => `The ${n > 1 ? n + " runs" : "run"} ${whole} made of`;

// The runs that run i is made of, in one fold.
function partsOf(i, key, data) {
  const parts = list(data.runs).flatMap(
    (run, k) => (isPart(run) && num(run.part_of) === i ? [runSection(run, k, data)] : []));
  if (!parts.length) return document.createComment(key + "/parts");
  const element = section(key + "/parts", parts.length,
    () => fold(key + "/parts", partsTitle(parts.length, "it is"), false));
  place(element, [element.querySelector("summary"), ...parts]);
  return element;
}

// Times and counts change with every refresh: what does not show them stays.
// A part of a reproduction, and a training run that stands in the comparison, is folded.
function runSection(run, i, data) {
  const key = "run" + i, {sessions, again, ...shown} = run, several = list(data.runs).length > 1,
        isFolded = isPart(run) || (run.command === "train" && list(data.comparison).length > 0);
  const element = section(key, isFolded,
    () => (isFolded ? fold(key + "/part", text(run.name), false) : el("section", {class: "run"})));
  element.id = key;
  place(element, [
    ...[...element.children].filter((child) => child.tagName === "SUMMARY"),
    section(key + "/heading", [run.name, several],
      () => (isFolded ? null
          : several && text(run.name) !== text(data.title)
          ? el("h2", {}, text(run.name))
          : el("h2", {class: "only-heard"}, "Summary"))),
    section(key + "/claims", run.claims, () => claimsPart(run, key)),
    section(key + "/verdicts", verdictsWithin(i, data), () => verdictsPart(i, data)),
    section(key + "/summary", shown, () => summaryPart(run)),
    section(key + "/search", run.search, () => searchPart(run, key)),
    section(key + "/table", run.table, () => tablePart(run, key)),
    section(key + "/scores", run.scores, () => scoresPart(run, key)),
    section(key + "/curves", [run.curves, Boolean(run.tuning)], () => curvesPart(run, key)),
    section(key + "/tuning", run.tuning, () => tuningPart(run, key)), partsOf(i, key, data)
  ]);
  return element;
}

// The same section, or a fold of its name with the section in it, for who asks for it.
function foldedSection(id, title, isFolded, element) {
  if (!isFolded) return element;
  element.removeAttribute("id");
  return fill(fold(id + "/fold", title, false, element), {id, class: "chapter"});
}

// How each run was made; the parts of reproductions in one fold.
function makings(runs) {
  const one = (run, i, open) =>
    fold(`run${i}/making`, text(run.name), open, makingPart(run, "run" + i, false));
  const parts = runs.flatMap((run, i) => (isPart(run) ? [one(run, i, false)] : []));
  return [
    runs.map((run, i) => (isPart(run) ? null
                 : runs.length > 2    ? one(run, i, i === 0)
                                      : makingPart(run, "run" + i, runs.length > 1))),
    parts.length ? fold("making/parts", partsTitle(parts.length, "they are"), false, parts) : null
  ];
}

function contents(data, maps) {
  const runs = list(data.runs), links = [];
  if (list(data.comparison).length) links.push(["comparison", "Training runs side by side"]);
  runs.forEach((run, i) => {
    if (isPart(run)) return;
    if (runs.length > 1) {
      links.push(["run" + i, text(run.name)]);
      return;
    }
    if (run.search) links.push(["run0-search", "Search"]);
    if (run.table) links.push(["run0-table", "Table"]);
    if (run.scores) links.push(["run0-scores", "Scores"]);
    if (list(run.curves).length) links.push(["run0-curves", "Learning curves"]);
    if (run.tuning) links.push(["run0-tuning", "Hyper-parameters"]);
  });
  links.push(["maps", "Maps"], ["explorer", "Map explorer"], ["making", "How it was made"]);
  const unfold = (id) => {
    const target = document.getElementById(id);
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  return links.map(([id, name]) => el("a", {href: "#" + id, on: {click: () => unfold(id)}}, name));
}

function show(data) {
  const runs = list(data.runs), several = runs.length > 1, {maps, refused} = catalogue(data);
  // in the order of the figures beside the page
  giveStyles([...new Set([
    ...runs.flatMap((run) => (run.table ? list(run.table.maps).map((m) => text(m.label)) : [])),
    ...byWeight(maps).map((m) => m.label)
  ])]);
  const focus = document.activeElement && document.activeElement.dataset.key;
  const title = text(data.title) || (runs[0] && text(runs[0].name)) || "mirrormap report";
  document.title = title + " \u2013 mirrormap";
  document.getElementById("title").textContent = title;
  document.getElementById("subtitle").textContent = [
    several     ? plural(runs.length, "run")
      : runs[0] ? text(runs[0].folder || runs[0].name)
                : "",
    "page of " + moment(data.generated)
  ].filter(Boolean).join(" \u00b7 ");
  const nav = contents(data, maps), navPrint = nav.map((a) => a.textContent).join("\n"),
        navElement = document.getElementById("contents");
  if (navElement.dataset.print !== navPrint) {
    navElement.replaceChildren(...nav);
    navElement.dataset.print = navPrint;
  }
  const program = data.program || {};
  document.getElementById("footer").textContent =
    `mirrormap ${text(program.version)}, build ${text(program.build)}. This page needs no network.`;

  const wanted = [
    section("comparison", data.comparison, () => comparisonSection(data)),
    ...runs.flatMap((run, i) => (isPart(run) ? [] : [runSection(run, i, data)]))
  ];
  // a reproduction's page is about its claims
  const isFolded = runs.some((run) => run.command === "reproduce"),
        source = maps.map((m) => [m.label, m.role, m.file, m.also]);
  wanted.push(section("maps", [isFolded, source],
    () => foldedSection("maps", `Maps (${maps.length})`, isFolded, shapesSection(maps))));
  wanted.push(section("explorer", isFolded,
    () => foldedSection("explorer", "Map explorer", isFolded, makeExplorer(maps))));
  updateExplorer(maps);
  wanted.push(section("making",
    runs.map((run) => [run.name, run.folder, run.config, run.sessions, run.again]).concat([
      refused
    ]),
    () => el("section", {id: "making"}, el("h2", {}, "How it was made"),
      refused.length
        ? el("p", {class: "warning"}, `Maps that could not be read: ${enumerate(refused)}.`)
        : null,
      makings(runs))));
  place(document.getElementById("content"), wanted);
  if (focus && document.activeElement === document.body) {
    const again =
      [...document.querySelectorAll("[data-key]")].find((node) => node.dataset.key === focus);
    if (again) again.focus({preventScroll: true});
  }
}

// The children of a parent become these, without taking out those that stay.
function place(parent, wanted) {
  for (const child of [...parent.childNodes])
    if (!wanted.includes(child)) child.remove();
  wanted.forEach((node, i) => {
    if (parent.childNodes[i] !== node) parent.insertBefore(node, parent.childNodes[i] || null);
  });
}

// ---------------------------------------------------------------------------------------------
// Watching

function startWatch(data) {
  const state = document.getElementById("watch-state");
  let current = data;
  const going = () => list(current.runs).some(isRunning);
  const tell = (lost) => {
    const words = lost ? lost
      : going()        ? "running"
                       : enumerate([...new Set(list(current.runs).map(stateOf))]);
    if (state.textContent !== words) state.textContent = words;
    state.className = lost ? "lost" : going() ? "live" : "";
  };
  let pressed = false;
  for (const type of ["pointerdown", "pointerup", "pointercancel"])
    window.addEventListener(type, () => { pressed = type === "pointerdown"; }, true);
  // the document, or why there is none at the moment
  const ask = async () => {
    try {
      const answer = await fetch("data.json", {cache: "no-store"});
      if (answer.status === 503) return {lost: (await answer.text()).trim() || "no answer"};
      const next = answer.ok ? await answer.json() : null;
      if (next && next.format === FORMAT) return {next};
    } catch {
      // told below
    }
    return {lost: "connection lost"};
  };
  const look = async () => {
    const {next, lost} = await ask();
    setTimeout(look, WATCH_MS);
    if (next && !pressed) {  // what is pressed is not taken away before it is released
      current = next;
      show(current);
    }
    tell(lost);
  };
  state.hidden = false;
  tell(null);
  setTimeout(look, WATCH_MS);
}

function start() {
  startTheme();
  let data = null;
  try {
    data = readEmbedded();
  } catch {
    // told below
  }
  if (!data || data.format !== FORMAT) {
    document.getElementById("title").textContent = "No report";
    document.getElementById("content").replaceChildren(
      el("p", {class: "warning"}, `This page holds no data of the format ${FORMAT}.`));
    return;
  }
  show(data);
  if (data.watch === true) startWatch(data);
  window.addEventListener("beforeprint",
    () => { document.querySelectorAll("details").forEach((fold) => { fold.open = true; }); });
}

document.addEventListener("DOMContentLoaded", start);
