#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of `report` in a real browser: curves are drawn, values can be read, the explorer gives the
# numbers of `map project` and `map bregman`, colours mean what the data say, hostile texts stay texts,
# dark mode, the width of a phone, watching. With PICTURES=FOLDER it leaves pictures to look at there.
# usage: cli_report_page.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
# shellcheck disable=SC2016 # what is in single quotes is JavaScript
. "$(dirname "$0")/cli.bash"
. "$(dirname "$0")/browser/webdriver.bash"
source_dir=$2
export MIRRORMAP_DATA=$source_dir
missing=$(browser_missing)
if [ -n "$missing" ]; then
  echo "skipped: no $missing here (Debian: chromium chromium-driver curl jq)"
  exit 77
fi
if "$program" --version | grep -q sanitizers; then
  echo "skipped: the page is the same with sanitizers; cli_report tests what is written in C"
  exit 77
fi
cd "$work" || exit 1
learner='' watcher=''
trap 'browser_stop; kill -9 $learner $watcher 2>/dev/null; rm -rf "$work"' EXIT

picture() { [ -z "${PICTURES-}" ] || browser_picture "$PICTURES/$1.png"; }

# holds WHAT SCRIPT: the script returns true in the page
holds() {
  last="in the page: $2"
  browser_js "$2" >"$out"
  expect "$1" grep -qx true "$out"
}

quiet_page() { # no errors, no refusals by the content policy, nothing else either
  browser_log >"$out"
  expect "nothing in the console ($1)" test ! -s "$out"
}

# ---------------------------------------------------------------------------------------------
# A document with everything in it, and hostile texts wherever there are texts

hostile='</script><script>window.broken=1</script><img src=x onerror="window.broken=1">"'\''`$(touch broken)` &amp; <!--'$'\n''2nd line'
mkdir maps
for kind in negentropy l2 tsallis:1.5 piecewise random:3 random-neural:2; do
  "$program" map new "$kind" --quiet --out "maps/$kind.json"
done
"$program" map new piecewise --n 4 --quiet --out maps/short.json
# every kind of term: 1 - 1/p, log p, a power between 0 and 1, and one above 1
echo '{"format": "mirrormap/1", "kind": "powers", "w": [0.05, 0.5, 0.3, 2], "a": [-1, 0, 0.5, 3.5]}' >maps/powers.json
echo '{"format": "mirrormap/1", "kind": "powers", "w": [1.2, 0.1], "a": [0.25, 8]}' >maps/steep.json

jq -n --arg bad "$hostile" --slurpfile learned maps/random:3.json --slurpfile initial maps/piecewise.json \
  --slurpfile tsallis maps/tsallis:1.5.json --slurpfile neural maps/random-neural:2.json --slurpfile short maps/short.json \
  --slurpfile powers maps/powers.json --slurpfile steep maps/steep.json '
  def cell(m; s; d; e; p): {mean: m, sem: s, n: 8, iqm: m, low: (m - s), high: (m + s), difference: d, difference_sem: e, wins: 0.625,
    verdict: (if d > 2 * e then 1 elif d < -2 * e then -1 else 0 end), better: (d > 0), paper: p};
  def curve(m; e; r; a): {env: e, map: m, role: r, n: 8, step: [range(21) * 5000], mean: [range(21) | a * (1 - pow(0.8; .))],
    sem: [range(21) | 2 + 0 * .], final: {mean: a, sem: 2, n: 8, iqm: a, low: (a - 3), high: (a + 3)}};
  def run: {name: $bad, folder: ("runs/" + $bad), state: "done", started: "2026-01-31T12:34:56.789Z", last: "2026-01-31T13:34:56.789Z",
    seconds: 3600, env_steps: 123456789, env_steps_per_second: 1e6, config: {note: $bad, settings: {eta: 0.1}, ($bad): $bad}, again: ["mirrormap learn --out " + $bad],
    sessions: [{started: "2026-01-31T12:34:56.789Z", ended: null, outcome: $bad, host: $bad, backend: "cpu", isa: "avx2", threads: 2, version: "1", build: $bad}],
    damage: $bad, search: null, curves: [], table: null, tuning: null, notes: [$bad]};
  {format: "mirrormap-report/1", title: $bad, generated: "2026-02-01T00:00:00.000Z", program: {version: "1", build: $bad}, watch: false,
   runs: [
    run + {command: "learn", config: {env: [$bad], algo: "pmd", learn: {kind: "piecewise", generations: 40, es: $bad}},
      search: {generation: [range(41)], mean: [range(41) | . / 40], best: [range(41) | 1 + . / 40], sd: [range(41) | 0.1], sigma: [range(41) | 0.5], phase: [range(41) | if . <= 20 then 0 else 1 end], env_steps: [range(41) | 1000], reference: "negentropy",
        validation: [{map: $bad, control: false, points: [range(0; 41; 8) | {generation: ., phase: (if . < 20 then 0 else 1 end), mean: (1 + . / 40), sem: 0.05, n: 16, difference: (. / 40 - 0.5), difference_sem: 0.02,
            minus: [{map: "negentropy", mean: (. / 40 - 0.5), sem: 0.02, verdict: (if . > 20 then 1 else -1 end)},
              {map: "l2", mean: (. / 40 - 0.95), sem: 0.01, verdict: (if . == 40 then 1 else -1 end)}]}]},
          {map: "negentropy", control: true, points: [{generation: 0, phase: 0, mean: 9, sem: 0.05, n: 16}, {generation: 20, phase: 1, mean: 1.5, sem: 0.05, n: 16}]},
          {map: "l2", control: true, points: [{generation: 20, phase: 1, mean: 1.95, sem: 0.05, n: 16}]},
          {map: "undefined", control: true, points: [{generation: 20, phase: 1, mean: null, sem: null, n: 0}]}]}},
    run + {name: "table", command: "transfer", damage: null,
      curves: [curve($bad; "CartPole-v1"; "table"; 480) + {measures: [$bad, "approx_kl", "explained_variance"] |
          map({name: ., step: [range(21) * 5000], mean: [range(21) | if . == 3 then null else . / 20 end], sem: [range(21) | 0.01]})}, curve("negentropy"; "CartPole-v1"; "table"; 400), curve("l2"; "CartPole-v1"; "tuning"; 300)],
      table: {baseline: "negentropy", envs: ["CartPole-v1", $bad, "Acrobot-v1"], maps: [{label: $bad, control: false}, {label: "negentropy", control: true}, {label: "l2", control: true}],
        cells: [[cell(480; 3; 80; 5; 495.5), cell(1.5; 0.1; 0.1; 0.08; null), cell(-90; 1; -9; 2; null)],
                [cell(400; 4; 0; 0; 401), cell(1.4; 0.1; 0; 0; null), cell(-81; 1; 0; 0; null)],
                [cell(390; 4; -10; 6; null), {mean: null, sem: null, n: 0, iqm: null, low: null, high: null, difference: null, difference_sem: null, wins: null, verdict: 0, better: false, paper: null}, cell(-70; 1; 11; 2; null)]]}},
    run + {name: "tuning", command: "tune", state: "going on", damage: null,
      tuning: {parameters: [{name: "eta", scale: "log", low: 0.01, high: 10}, {name: $bad, scale: "choice", low: null, high: null, choice: ["first", "b", $bad]}],
        trials: [{trial: 0, values: [0.1, $bad], mean: 0, sem: 0, n: 8, pruned: false, best: false}, {trial: 1, values: [1, "b"], mean: 2, sem: 0.1, n: 8, pruned: false, best: true}, {trial: 2, values: [3, "b"], mean: null, sem: null, n: 8, pruned: true, best: false},
          {trial: 3, values: [2, "first"], mean: 5, sem: null, n: 1, pruned: true, best: false}, {trial: 4, values: [1, "first"], mean: -1, sem: 0.1, n: 8, pruned: false, best: false}],
        importance: [{name: "eta", share: 0.75}, {name: $bad, share: 0.1}]}}],
   maps: [{label: $bad, run: 0, role: "learned", map: ($learned[0] + {meta: {note: $bad}})}, {label: "initial", run: 0, role: "initial", map: $initial[0]},
     {label: "negentropy", run: null, role: "control", map: {format: "mirrormap/1", kind: "negentropy"}}, {label: "l2", run: null, role: "control", map: {format: "mirrormap/1", kind: "l2"}},
     {label: "tsallis:1.5", run: null, role: "control", map: $tsallis[0]}, {label: "neural", run: 1, role: "control", map: $neural[0]}, {label: "short", run: 1, role: "named", map: $short[0]},
     {label: "powers", run: 1, role: "control", map: $powers[0]}, {label: "steep", run: 1, role: "control", map: $steep[0]},
     {label: "unreadable", run: 1, role: "named", map: {format: "mirrormap/1", kind: "piecewise", psi: ["x"]}},
     {label: "no powers", run: 1, role: "named", map: {format: "mirrormap/1", kind: "powers", w: [1, -1], a: [0, 1]}}]}' >document.json ||
  { echo "cannot make the document"; exit 1; }

# as the README beside the page says
assemble() { # DOCUMENT PAGE
  local folder=$source_dir/src/show/page line
  while IFS= read -r line; do
    case $line in
      '<!--STYLE-->') echo '<style>' && cat "$folder"/*.css && echo '</style>' ;;
      '<!--DATA-->') printf '<script type="application/json" id="report-data">' && sed 's/</\\u003c/g' "$1" && echo '</script>' ;;
      '<!--SCRIPT-->') echo '<script>' && cat "$folder"/*.js && echo '</script>' ;;
      *) printf '%s\n' "$line" ;;
    esac
  done <"$folder/report.html" >"$2"
}
assemble document.json page.html

browser_start || { cat "$work/driver.log"; echo "the browser does not start"; exit 1; }
browser_scheme light
browser_size 1200 900
browser_open "file://$work/page.html"
holds "the page is complete" 'return document.querySelectorAll("#policies .policy").length >= 3'
quiet_page "everything"
[ "$n_failed" -eq 0 ] || finish # nothing else can be looked at
picture everything

# ---------------------------------------------------------------------------------------------
# Hostile texts

holds "no text became code" 'return window.broken === undefined && document.scripts.length === 2 && document.images.length === 0'
holds "texts are there as they are" "const bad = $(jq -n --arg s "$hostile" '$s');
  return document.getElementById('title').textContent === bad && [...document.querySelectorAll('.name')].some((n) => n.textContent === bad) && document.querySelector('td[data-env^=\"</script\"]').dataset.env === bad"
holds "nothing was asked of a network" 'return performance.getEntriesByType("resource").length === 0'
expect_not "no command was run" test -e broken

# ---------------------------------------------------------------------------------------------
# Curves

holds "a curve and a band for each map" 'const c = document.querySelector("[data-chart=curves]"); return c.querySelectorAll("path.line").length === 2 && c.querySelectorAll("path.band").length === 2 && [...c.querySelectorAll("path")].filter((p) => p.classList.contains("line")).every((p) => p.getAttribute("d").split("L").length === 21 && p.getBBox().width > 200)'
holds "search curve, levels of controls" 'const c = document.querySelector("[data-chart=validation]"); return c.querySelectorAll("path.line").length >= 3 && c.querySelectorAll("circle.dot").length === 6'
# phase 1 begins at generation 20, between the learned map's points at 16 and 24
holds "levels and marks of phases, a line broken between them" 'const c = document.querySelector("[data-chart=validation]"), near = (a, b) => Math.abs(a - b) < 0.2,
  box = (name) => [...c.querySelectorAll(`path.line[data-series=${name}]`)].map((p) => p.getBBox()), n = box("negentropy"), l2 = box("l2"), at = [...c.querySelectorAll("circle.dot")].map((d) => Number(d.getAttribute("cx"))),
  mark = Number(c.querySelector("line.mark").getAttribute("x1"));
  return near(mark, (at[2] + at[3]) / 2) && c.querySelectorAll("line.mark").length === 1 && n.length === 2 && l2.length === 1 && near(n[0].x, at[0]) && near(n[0].x + n[0].width, mark) && near(n[1].x, mark) && near(l2[0].x, mark) &&
    c.querySelector("path.line:not([data-series=negentropy]):not([data-series=l2])").getAttribute("d").split("M").length === 3'
browser_keys '[data-chart=validation] .plot svg' 'Home'
holds "a level of its phase is read" 'const t = document.querySelector("[data-chart=validation] .readout").textContent; return t.includes("9.000 \u00b1 0.050") && !t.includes("1.500")'
browser_keys '[data-chart=validation] .plot svg' 'End'
holds "and of the next one" 'const t = document.querySelector("[data-chart=validation] .readout").textContent; return t.includes("1.500 \u00b1 0.050") && t.includes("1.950") && !t.includes("9.000")'
browser_keys '[data-chart=validation] .plot svg' 'Escape'
holds "trials are ranked as tune ranks them" 'return [...document.querySelectorAll("#run2-tuning tbody tr")].map((r) => r.querySelector("td").textContent).join() === "1,0,4,3,2"'
holds "choices in their order, by their words" 'const c = document.querySelectorAll("[data-chart=parameter]")[1], words = [...c.querySelectorAll(".words text[text-anchor=middle]:not(.label)")], x = (n) => Number(n.getAttribute("x")), dots = [...c.querySelectorAll("circle.dot")].map((n) => Number(n.getAttribute("cx")));
  return words.length === 3 && words[0].textContent === "first" && words[1].textContent === "b" && words[2].textContent.startsWith("</script") && x(words[0]) < x(words[1]) && Math.abs(dots[1] - x(words[1])) < 0.2 && dots[0] > dots[1] && dots[2] < dots[1]'
holds "ticks do not lie on each other" 'const apart = (a, b) => a.right < b.left || b.right < a.left || a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
  return [...document.querySelectorAll("[data-chart=parameter], [data-chart=sigma]")].every((c) => { const boxes = [...c.querySelectorAll(".words text")].map((n) => n.getBoundingClientRect()); return boxes.length > 4 && boxes.every((a, i) => boxes.every((b, k) => k <= i || apart(a, b))); }) &&
    logTicks(2, 900, 5).join() === "10,100" && logTicks(0.084, 3.6, 5).join() === "0.1,0.2,0.5,1,2" && logTicks(2, 4, 5).length > 2'
holds "the named maps are among the first, however many were learned" 'const many = [...Array(10).keys()].map((i) => ({label: "m" + i, role: "learned"})).concat({label: "negentropy", role: "named"}, {label: "l2", role: "named"}); return byWeight(many).map((m) => m.label).join() === "m0,negentropy,l2,m1,m2,m3,m4,m5,m6,m7,m8,m9"'
holds "phi and phi^-1 of the first eight maps, one of them of powers" 'return ["phi", "phi-inverse"].every((id) => document.querySelectorAll(`[data-chart=${id}] path.line`).length === 8 && document.querySelector(`[data-chart=${id}] path.line[data-series=powers]`).getBBox().width > 200)'
holds "a policy picture per map" 'return document.querySelectorAll("[data-chart=policy-scale]").length === 8 && [...document.querySelectorAll("[data-chart=policy-scale]")].every((c) => c.querySelectorAll("path.line").length === 3)'
holds "what cannot be read is named" 'return document.getElementById("making").textContent.includes("Maps that could not be read: unreadable and no powers.")'
holds "nothing undefined is written" 'return !/NaN|undefined\)|\[object|Infinity/.test(document.getElementById("content").textContent)'

# one colour for a map in figures and on the page: name and colour of each curve, in the order of the names
if command -v gnuplot >/dev/null; then
  for label in learned initial zeta alpha; do cp maps/short.json "maps/$label.json"; done
  figure=(maps/zeta.json tsallis:3 maps/learned.json l2 negentropy maps/initial.json random:3 maps/alpha.json)
  run map plot "${figure[@]}" --what phi --out styles.svg --quiet
  expect_code 0
  awk 'match($0, /<title>[^<]*/) { name = substr($0, RSTART + 7, RLENGTH - 7) }
    name != "" && match($0, /<path stroke=.rgb[^)]*\)/) { colour = substr($0, RSTART + 14, RLENGTH - 14); gsub(" ", "", colour); print name, colour; name = "" }' styles.svg |
    grep -vi '^gnuplot' | sort >figure.txt
  browser_js 'const node = document.body.appendChild(document.createElement("p")), before = new Map(styleNumbers), names = ["zeta", "tsallis:3", "learned", "l2", "negentropy", "initial", "random:3", "alpha"];
    styleNumbers.clear(); giveStyles(names);
    const lines = names.map((name) => { node.style.color = styleOf(name).colour; return name + " " + getComputedStyle(node).color.replaceAll(" ", ""); });
    node.remove(); styleNumbers.clear(); before.forEach((v, k) => styleNumbers.set(k, v));
    return lines' | jq -r '.[]' | sort >page.txt
  last="diff of figure.txt and page.txt"
  expect "eight curves in the figure" test "$(wc -l <figure.txt)" -eq 8
  diff figure.txt page.txt >"$out"
  expect "maps have one colour in figures and on the page" test ! -s "$out"
fi
holds "and keep it, whatever else is there" 'return styleOf("negentropy").colour === "var(--s1)" && styleOf("l2").colour === "var(--s2)" && styleOf("tsallis:1.5").colour === "var(--s3)" && styleOf("initial").colour === "var(--s4)"'
holds "the tuned controls have theirs" 'const before = new Map(styleNumbers); styleNumbers.clear();
  giveStyles(["best", "negentropy:tuned-eta", "l2:tuned-eta", "tsallis:tuned-q-eta"]); const given = [...styleNumbers].join();
  styleNumbers.clear(); before.forEach((v, k) => styleNumbers.set(k, v));
  return given === "negentropy:tuned-eta,6,l2:tuned-eta,7,tsallis:tuned-q-eta,8,best,9"'

# pointer: the value under it; the middle of the plot is step 50000
read -r x y <<<"$(browser_middle '[data-chart=curves] .plot svg')"
browser_move "$x" "$y"
holds "the pointer reads values" "const r = document.querySelector('[data-chart=curves] .readout'), step = Number(/steps (\\d+)/.exec(r.textContent)[1]);
  return !r.hidden && step >= 45 && step <= 55 && r.children.length === 3 && r.textContent.includes((480 * (1 - 0.8 ** (step / 5))).toFixed(1)) && r.textContent.includes('± 2')"
browser_keys '[data-chart=curves] .plot svg' 'Home'
holds "keys read values" "const c = document.querySelector('[data-chart=curves]'); return !c.querySelector('.readout').hidden && /steps 0/.test(c.querySelector('.readout').textContent) && /0\\.0 ± 2/.test(c.querySelector('[aria-live]').textContent)"
browser_keys '[data-chart=curves] .plot svg' 'ArrowRight ArrowRight'
holds "arrow keys go from point to point" "return /steps 10\\D*k/.test(document.querySelector('[data-chart=curves] .readout').textContent)"
browser_keys '[data-chart=curves] .plot svg' 'Escape'
holds "escape hides them" "return document.querySelector('[data-chart=curves] .readout').hidden"

# toggles, by pointer and by keyboard
browser_click '#run1-curves .legend button[data-series=negentropy]'
holds "a pressed name hides its curve" 'return document.querySelectorAll("[data-chart=curves] path.line").length === 1 && document.querySelector("#run1-curves button[data-series=negentropy]").getAttribute("aria-pressed") === "false"'
browser_keys '#run1-curves .legend button[data-series=negentropy]' 'Space'
holds "and shows it again" 'return document.querySelectorAll("[data-chart=curves] path.line").length === 2'

holds "a small chart of each measure, with a gap where it is undefined" 'const c = [...document.querySelectorAll("#run1-curves [data-chart=measure]")]; return c.length === 3 && c.every((m) => m.querySelectorAll("path.line").length === 1 && m.querySelector("path.line").getBBox().width > 100 && m.querySelector("path.line").getAttribute("d").split("M").length === 3) && c[1].querySelector("strong").textContent === "approx kl" && c[0].querySelector("strong").textContent.startsWith("</script")'
browser_keys '#run1-curves [data-chart=measure]:nth-child(2) .plot svg' 'End'
holds "its values are read" 'const t = document.querySelectorAll("#run1-curves [data-chart=measure] .readout")[1].textContent; return /step 100\D*k/.test(t) && t.includes("1.000 \u00b1 0.010")'
browser_click '[data-key="run1/curves/measures"]'
holds "and they fold" 'return document.querySelector("[data-key=\"run1/curves/measures\"]").parentNode.open === false'
browser_click '[data-key="run1/curves/measures"]'

# ---------------------------------------------------------------------------------------------
# Summary and table

holds "honest sentences" "const t = document.getElementById('run0').textContent;
  return t.includes('2.000 ± 0.050') && /better than negentropy \\(\\+0\\.500 ± 0\\.020\\) and l2 \\(\\+0\\.050 ± 0\\.010\\): 95 % intervals above 0/.test(t) && !t.includes('inconclusive')"
holds "the table's sentence" "return document.getElementById('run1').textContent.includes('is better than negentropy on CartPole-v1 and worse on Acrobot-v1 (95 % intervals exclude 0), and inconclusive against it on')"
holds "colours follow the verdicts" "const data = JSON.parse(document.getElementById('report-data').textContent).runs[1].table, rows = [...document.querySelectorAll('.transfer tbody tr')];
  const rgb = (n) => getComputedStyle(n).backgroundColor.match(/[\\d.]+/g).map(Number);
  const look = (n) => { const [r, g, , a] = rgb(n); return a === 0 ? 0 : g - r; };
  const faint = look(document.querySelector('.key .better.faint')), deep = look(document.querySelector('.key .better.strong'));
  return rows.length === 3 && deep > faint && faint > 0 && rows.every((row, i) => [...row.querySelectorAll('td')].every((cell, e) => {
    const c = data.cells[i][e], tint = look(cell);
    if (!c.difference) return tint === 0;
    return Math.sign(tint) === Math.sign(c.difference) && (c.verdict !== 0) === (Math.abs(tint) > 1.5 * faint);
  }))"
holds "the paper's value stands beside" "return document.querySelector('.transfer td .paper').textContent === 'paper 495.5'"
browser_keys '.transfer td[tabindex="0"]' 'ArrowRight ArrowRight'
holds "difference and standard error in the detail line" "return document.querySelector('#run1-table .detail').textContent.includes('minus negentropy, seed by seed: ' + String.fromCharCode(8722) + '9.0 ± 2.0 (worse, 95 % interval excludes 0)')"
browser_click '#run1-table .choice button:nth-child(2)'
holds "the table of differences" "return document.querySelector('.transfer td').textContent.startsWith('+80.0 ± 5.0')"

# ---------------------------------------------------------------------------------------------
# The explorer gives the program's numbers

# close A B: two lists of numbers as JSON agree to 1e-9, relative or, below 1e-3, absolute to 1e-12
close() {
  jq -n --argjson a "$1" --argjson b "$2" '($a | length > 0) and ($a | length) == ($b | length) and
    ([$a, $b] | transpose | all(.[]; (.[0] - .[1] | fabs) <= 1e-12 + 1e-9 * (.[0] | fabs)))' | grep -qx true
}

# panel LABEL: { scores, probs, lambda, uniform, negentropy }
panel() {
  browser_js "const p = [...document.querySelectorAll('.policy')].find((n) => n.dataset.policy === $(jq -n --arg s "$1" '$s')), number = (k) => Number(p.querySelector('[data-' + k + ']').dataset[k]);
    return { scores: document.getElementById('command').textContent.split('--scores ')[1], probs: [...p.querySelectorAll('[data-probability]')].map((n) => Number(n.dataset.probability)), lambda: number('lambda'), uniform: number('uniform'), negentropy: number('negentropy') }"
}

# agrees WHAT LABEL MAP: policy, lambda and both divergences are those of the program
agrees() {
  local shown scores probs reference n
  shown=$(panel "$2")
  scores=$(jq -r .scores <<<"$shown")
  probs=$(jq -r '.probs | map(tostring) | join(",")' <<<"$shown")
  n=$(jq '.probs | length' <<<"$shown")
  run map project --map "$3" "--scores=$scores" --json
  expect "$1: policy of $2" close "$(jq -c .probs "$out")" "$(jq -c .probs <<<"$shown")"
  expect "$1: lambda of $2" close "$(jq -c '[.lambda]' "$out")" "$(jq -c '[.lambda]' <<<"$shown")"
  run map bregman --map "$3" --p "$probs" --q "$(jq -nr --argjson n "$n" '[range($n) | 1 / $n | tostring] | join(",")')" --json
  expect "$1: divergence of $2 from uniform" close "$(jq -c '[.divergence]' "$out")" "$(jq -c '[.uniform]' <<<"$shown")"
  run map project --map negentropy "--scores=$scores" --json
  reference=$(jq -r '.probs | map(tostring) | join(",")' "$out")
  run map bregman --map "$3" --p "$probs" --q "$reference" --json
  expect "$1: divergence of $2 from negentropy's" close "$(jq -c '[.divergence]' "$out")" "$(jq -c '[.negentropy]' <<<"$shown")"
}

agrees "at first" negentropy negentropy
agrees "at first" l2 l2
agrees "at first" "$hostile" maps/random:3.json
before=$(panel negentropy)

# drag_score ACTION PIXELS: the bar's knob moves down by so many
drag_score() {
  local x y
  read -r x y <<<"$(browser_middle "[data-score=\"$1\"] .knob")"
  browser_drag "$x" "$y" "$x" $((y + $2))
}
drag_score 0 60
drag_score 2 -33
expect "a drag changes the policy" test "$(panel negentropy)" != "$before"
holds "bars, sliders and fields agree" 'const at = (a) => Number(document.querySelector(`[data-score="${a}"]`).getAttribute("aria-valuenow")); return at(0) < 1 && at(2) > 0.5 && [0, 1, 2, 3].every((a) => Number(document.querySelector(`[data-field="${a}"]`).value) === at(a) && Number(document.querySelectorAll(".sliders input[type=range]")[a].value) === at(a))'
agrees "dragged" negentropy negentropy
agrees "dragged" l2 l2
agrees "dragged" "$hostile" maps/random:3.json

# four maps at once, not more; keys; six actions; another eta
browser_click '[data-choose=neural]'
holds "a fifth map cannot be chosen" 'return document.querySelectorAll("#policies .policy").length === 4 && document.querySelector("[data-choose=short]").disabled'
browser_click '[data-choose=l2]'
browser_click '[data-choose="tsallis:1.5"]'
browser_js 'for (const [id, v] of [["actions", "6"], ["eta-field", "0.37"]]) { const n = document.getElementById(id); n.value = v; n.dispatchEvent(new Event("change", { bubbles: true })); }' >/dev/null
browser_keys '[data-score="5"]' 'ArrowUp ArrowUp ArrowUp'
holds "arrow keys move a score" 'return document.querySelector(`[data-score="5"]`).getAttribute("aria-valuenow") === "0.8"'
for label in negentropy neural tsallis:1.5; do
  file=$label
  [ "$label" = neural ] && file=maps/random-neural:2.json
  agrees "six actions" "$label" "$file"
done

browser_click '[data-choose=neural]'
browser_click '[data-choose="tsallis:1.5"]'
for label in powers steep; do
  browser_click "[data-choose=\"$label\"]"
  agrees "powers" "$label" "maps/$label.json"
done
run map eval --map maps/powers.json --p 0.001,0.1,0.5,1 --json
expect "phi^-1 of powers" close "$(jq -c '.phi_inv' "$out")" \
  "$(browser_js 'const map = explorer.maps.find((m) => m.label === "powers").map; return [0.001, 0.1, 0.5, 1].map((p) => map.anchor + map.inverse(p))')"

# ---------------------------------------------------------------------------------------------
# A potential drawn by hand

mkdir -p downloads
browser_devtools Browser.setDownloadBehavior "{\"behavior\": \"allow\", \"downloadPath\": \"$work/downloads\"}" >/dev/null
download() {
  local i
  rm -f downloads/*
  browser_click '#download-map'
  for ((i = 0; i < 100; i++)); do
    [ -s downloads/edited-map.json ] && return
    sleep 0.1
  done
}
holds "ten handles for a hundred steps" 'return document.querySelectorAll(".handle.knot").length === 10'
# knot 1 is at phi = 0.2: the probabilities of the policy lie between its neighbours'
before=$(panel edited | jq -c .probs)
expect "a policy where the knot is" jq -en "$before | any(. > 0.1 and . < 0.3)" >/dev/null
read -r x y <<<"$(browser_middle '[data-knot="1"] .knob')"
browser_drag "$x" "$y" $((x - 40)) "$y"
after=$(panel edited | jq -c .probs)
expect "a dragged knot changes the policy" test "$after" != "$before"
holds "its neighbours stay" 'const at = (k) => Number(document.querySelector(`[data-knot="${k}"]`).getAttribute("aria-valuenow")), psi = JSON.parse(document.getElementById("report-data").textContent).maps[0].map.psi, sum = (n) => psi.slice(0, n).reduce((s, v) => s + v, 0); return Math.abs(at(0) - sum(10)) < 1e-6 && Math.abs(at(2) - sum(30)) < 1e-6 && at(1) < sum(20) - 1e-3 && at(1) >= at(0)'
run map bregman --map maps/random:3.json --p "$(jq -r 'map(tostring) | join(",")' <<<"$after")" --q "$(jq -r 'map(tostring) | join(",")' <<<"$before")" --json
expect "D of the original is told" close "$(jq -c '[.divergence]' "$out")" "$(browser_js 'return [Number(document.querySelector("[data-apart]").dataset.apart)]')"
expect "and is not 0" jq -e '.divergence > 1e-9' "$out" >/dev/null
download
run map check downloads/edited-map.json --json
expect_code 0
expect_out '"valid":true'
agrees "drawn" edited downloads/edited-map.json
agrees "drawn" original maps/random:3.json
browser_keys '[data-knot="9"]' 'ArrowRight ArrowRight ArrowLeft ArrowRight'
download
agrees "by keys" edited downloads/edited-map.json
expect "keys widen the last step" jq -e --slurpfile o maps/random:3.json '.psi[-1] > $o[0].psi[-1] and (.psi | length) == 100' downloads/edited-map.json >/dev/null
browser_click '#reset-knots'
expect "reset" test "$(panel edited | jq -c .probs)" = "$(panel original | jq -c .probs)"
browser_js 'const n = document.getElementById("edit-map"); n.value = "short"; n.dispatchEvent(new Event("change", { bubbles: true }))' >/dev/null
holds "a short map has a handle for each knot" 'return document.querySelectorAll(".handle.knot").length === 4'
agrees "short" edited maps/short.json
picture explored
quiet_page "after all that"

# ---------------------------------------------------------------------------------------------
# Light and dark, the width of a phone

# the smallest contrast of texts with what is behind them
contrast='const parse = (c) => { const v = c.match(/[\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const light = (c) => { const [r, g, b] = c.map((v) => { const s = v / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (n) => { for (; n; n = n.parentElement) { const c = parse(getComputedStyle(n).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  let least = 99; for (const n of document.querySelectorAll("p, h1, h2, h3, h4, td, th, dt, dd, .state, button, a, summary, text, label")) { if (!n.textContent.trim() || n.closest(".off") || !n.getClientRects().length) continue;
    const s = getComputedStyle(n), a = light(parse(n instanceof SVGElement ? s.fill : s.color)), b = light(behind(n)); least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); }'
holds "light: a light page with readable texts" "$contrast return light(behind(document.body)) > 0.9 && least >= 4.5"
browser_scheme dark
browser_open "file://$work/page.html"
holds "dark: a dark page with readable texts" "$contrast return light(behind(document.body)) < 0.02 && least >= 4.5"
holds "curves have the colours of the dark page" 'return getComputedStyle(document.querySelector("[data-chart=phi] path.line")).stroke !== "rgb(0, 114, 178)"'
picture dark
browser_click '#theme'
holds "the button makes it light" "$contrast return light(behind(document.body)) > 0.9"
browser_js 'localStorage.clear()' >/dev/null
browser_scheme light
browser_size 400 800
browser_open "file://$work/page.html"
holds "nothing is wider than a phone" 'return document.documentElement.scrollWidth <= 400 && [...document.querySelectorAll("body *")].every((n) => n.closest(".wide, svg, .only-heard, .skip") || n.getBoundingClientRect().right <= 400.5)'
holds "numbers at an axis do not touch" 'return [...document.querySelectorAll(".plot > svg")].every((n) => { const texts = [...n.querySelectorAll(".words text:not(.label)")].map((t) => t.getBoundingClientRect()); return texts.every((a, i) => texts.every((b, k) => k <= i || a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2)); }) &&
  tickText(2000, [2000, 10000]) === "2\u00a0k" && tickText(2000, [2000, 4000]) === "2000"'
holds "charts fit" 'return [...document.querySelectorAll(".plot > svg")].every((n) => n.getBoundingClientRect().width <= 400 - 2 * 16 + 1) && document.querySelectorAll(".plot > svg").length > 10'
drag_score 1 25
agrees "on a phone" negentropy negentropy
picture phone
quiet_page "dark, phone"

# ---------------------------------------------------------------------------------------------
# A reproduction: claims first, its parts folded; training runs over each other; paired differences

jq --arg bad "$hostile" '.runs[0] as $part | .runs[1] as $table |
  .runs = [$table + {name: "reproduced", command: "reproduce", claims: [
      {claim: "inconclusive first in the file", env: "CartPole-v1", verdict: "inconclusive", gain: 0.1, gain_sem: 0.2, runs: 8},
      {claim: $bad, env: "Acrobot-v1", target: "paper", verdict: "does not hold", gain: -1, gain_sem: 0.2, runs: 8},
      {claim: "this holds", env: $bad, verdict: "holds", gain: 3, gain_sem: 0.2, runs: 8}]}] + [range(12) as $i | $part + {name: "part \($i)", part_of: 0}] |
  .runs[0].table.cells |= map(map(if .difference then . + {ci_low: (.difference - 2), ci_high: (.difference + 2)} else . end)) |
  .comparison = [range(5) as $i | $table.curves[0] + {map: "map \($i)", role: "train", mean: [range(21) | . * ($i + 1)]}]' \
  document.json >reproduced.json
assemble reproduced.json reproduced.html
for width in 1200 400; do
  browser_size "$width" 900
  browser_open "file://$work/reproduced.html"
  quiet_page "reproduction, $width px"
  holds "less than 10,000 px at $width" 'return document.documentElement.scrollHeight < 10000'
  holds "nothing is wider than $width px" 'return document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll("body *")].every((n) => n.closest(".wide, svg, .only-heard, .skip") || n.getBoundingClientRect().right <= innerWidth + 0.5)'
  picture "reproduction-$width"
done
browser_size 1200 900
browser_open "file://$work/reproduced.html"
holds "claims with the colours of their verdicts" 'const cells = [...document.querySelectorAll("#run0 .claims td[data-verdict]")]; return cells.map((c) => c.dataset.verdict + ":" + c.className).join() === "inconclusive:,does not hold:worse strong,holds:better strong" && document.querySelectorAll("#run0 .claims td").length === 9 && document.querySelector("#run0-claims .what").textContent === "Of 3 claims of the paper, 1 hold, 1 do not hold and 1 are inconclusive."'
holds "and above all else of the run" 'return document.querySelector("#run0-claims").getBoundingClientRect().top < document.querySelector("#run0 .summary").getBoundingClientRect().top'
holds "parts are folded, all in one fold, and not among the contents" 'const parts = document.querySelectorAll("#run0 > details > details[id^=run]"); return parts.length === 12 && [...parts].every((p) => !p.open && !p.parentElement.open) && parts[0].parentElement.querySelector("summary").textContent === "The 12 runs it is made of" && ![...document.querySelectorAll("#contents a")].some((a) => a.textContent.startsWith("part"))'
browser_keys '#run0 > details > summary' 'Enter'
browser_keys '#run3 > summary' 'Enter'
holds "and unfolded by a key" 'return document.getElementById("run3").open && document.querySelector("#run3 [data-chart=validation] path.line").getBBox().width > 200'
holds "maps and explorer are folded" 'return ["maps", "explorer"].every((id) => document.getElementById(id).tagName === "DETAILS" && !document.getElementById(id).open)'
browser_click '#contents a[href="#maps"]'
holds "and unfolded by the list of contents" 'return document.getElementById("maps").open && document.querySelector("[data-chart=phi] path.line").getBBox().width > 200'
holds "five training runs over each other, no bands" 'const c = document.querySelector("#comparison [data-chart=curves]"); return c.querySelectorAll("path.line").length === 5 && c.querySelectorAll("path.band").length === 0'
browser_keys '#comparison .switch[data-key$=bands]' 'Space'
holds "bands on request" 'return document.querySelectorAll("#comparison path.band").length === 5'
browser_click '#comparison .legend button[data-series="map 4"]'
browser_keys '#comparison .plot svg' 'End'
holds "the legend switches curves, and what is read" 'const r = document.querySelector("#comparison .readout").textContent; return document.querySelectorAll("#comparison path.line").length === 4 && r.includes("map 3") && !r.includes("map 4")'
holds "paired differences with their intervals" 'const c = document.querySelectorAll("#run0 [data-chart=differences]"), dots = c[0].querySelectorAll("circle.dot"), whiskers = c[0].querySelectorAll(".whisker");
  return c.length === 3 && dots.length === 2 && whiskers.length === 2 && c[0].querySelectorAll(".grid .axis").length === 1 && Number(whiskers[0].getAttribute("x1")) < Number(dots[0].getAttribute("cx")) && c[0].textContent.includes("63 %")'
quiet_page "reproduction"

# of everything: how many claims of each reproduction hold, before all else
jq '.runs[0] as $one | .runs = [$one + {name: "all", claims: null, table: null, curves: [], config: {artefact: "all"}},
    $one + {name: "control", part_of: 0}, .runs[1] + {part_of: 1}, $one + {name: "minatar", part_of: 0}, .runs[2] + {part_of: 3}, .runs[3] + {part_of: 0}]' \
  reproduced.json >everything.json
assemble everything.json everything.html
browser_open "file://$work/everything.html"
holds "the verdicts of each reproduction" 'const rows = [...document.querySelectorAll("#run0 .verdicts tbody tr")].map((r) => [...r.children].map((c) => c.textContent).join()); return rows.join(" ") === "control,1,1,1 minatar,1,1,1 all,2,2,2" && document.querySelector("#run0-verdicts").getBoundingClientRect().top < document.querySelector("#run0 .summary").getBoundingClientRect().top'
holds "a section for each, the runs of each folded within it" 'const inside = (id) => [...document.querySelectorAll(`#${id} > details > details[id^=run]`)].map((d) => d.id).join(); return inside("run0") === "run5" && inside("run1") === "run2" && inside("run3") === "run4" && ["run1", "run3"].every((id) => document.getElementById(id).parentElement.id === "content")'
quiet_page "everything reproduced"

# scores over all environments: interquartile means, win rates, performance profiles
jq --arg bad "$hostile" '.runs = [.runs[1] + {scores: {baseline: "negentropy", envs: 3, tau: [range(101) | . / 50],
    maps: [[$bad, 0.9, 0.8], ["negentropy", 0.1, null], ["l2", 0.5, 0.25], ["fourth", -0.2, 0.1]] | map(. as [$name, $iqm, $wins] | {map: $name, runs: 24, failures: 0,
      iqm: $iqm, low: ($iqm - 0.05), high: ($iqm + 0.05), wins: $wins, wins_low: null, wins_high: null, share: [range(101) | if . / 50 < $iqm then 1 else 0.25 end],
      share_low: [range(101) | 0.2], share_high: [range(101) | 1]})}}] | .maps += [.maps[1] + {label: "copy", role: "control"}]' document.json >scores.json
assemble scores.json scores.html
for width in 1200 400; do
  browser_size "$width" 900
  browser_open "file://$work/scores.html"
  holds "nothing is wider than $width px" 'return document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll("body *")].every((n) => n.closest(".wide, svg, .only-heard, .skip") || n.getBoundingClientRect().right <= innerWidth + 0.5)'
  holds "texts of the charts are whole ($width px)" 'return [...document.querySelectorAll("#run0-scores .plot > svg")].every((c) => { const box = c.getBoundingClientRect(); return [...c.querySelectorAll(".words text")].every((t) => { const b = t.getBoundingClientRect(); return b.left >= box.left - 1 && b.right <= box.right + 1 && b.bottom <= box.bottom + 1; }); })'
  picture "scores-$width"
done
holds "a profile and an interval for each map, in its colour" 'const p = document.querySelector("[data-chart=profiles]"), s = document.querySelector("[data-chart=scores]"); return p.querySelectorAll("path.line").length === 4 && p.querySelectorAll("path.band").length === 0 && s.querySelectorAll("circle.dot").length === 4 && s.querySelectorAll(".whisker").length === 4 && s.textContent.includes("25 %") &&
  p.querySelector("path[data-series=l2]").getAttribute("stroke") === s.querySelector("circle[data-series=l2]").getAttribute("fill")'
holds "a map is there once, by all its names" 'return document.querySelectorAll("#maps .legend button[data-series=initial]").length === 1 && !document.querySelector("#maps [data-series=copy]") && document.querySelector("#maps .same").textContent === "The same map: initial and copy." && document.querySelector("#explorer .choices").textContent.includes("initial, copy")'
browser_keys '#run0-scores .switch[data-key$=bands]' 'Space'
holds "bands on request" 'return document.querySelectorAll("[data-chart=profiles] path.band").length === 4'
browser_keys '[data-chart=profiles] .plot svg' 'Home'
holds "keys read the profiles" 'const r = document.querySelector("[data-chart=profiles] .readout"); return !r.hidden && r.textContent.includes("above score 0.00") && r.textContent.includes("100 %") && r.textContent.includes("25 %")'
browser_keys '#run0-scores .legend button[data-series=fourth]' 'Enter'
holds "the legend switches both charts" 'return document.querySelectorAll("[data-chart=profiles] path.line").length === 3 && document.querySelectorAll("[data-chart=scores] circle.dot").length === 3'
quiet_page "scores"

# ---------------------------------------------------------------------------------------------
# Refreshed data: what did not change stays, and so do focus, cursor and what was drawn

browser_size 1200 900
browser_open "file://$work/page.html"
browser_keys '[data-chart=curves] .plot svg' 'Home ArrowRight'
fresh='const data = JSON.parse(document.getElementById("report-data").textContent);'
browser_js "$fresh window.was = ['.transfer', '[data-chart=curves]', '[data-chart=validation]', '[data-chart=parameter]'].map((s) => document.querySelector(s));
  for (const run of data.runs) { run.seconds += 2; run.env_steps += 1000; run.last = '2026-01-31T13:34:58.789Z'; } data.runs[0].search.sigma[3] = 0.25; show(data)" >/dev/null
holds "only what shows the change is made anew" "const now = ['.transfer', '[data-chart=curves]', '[data-chart=validation]', '[data-chart=parameter]'].map((s) => document.querySelector(s));
  return now.map((n, i) => n === window.was[i]).join() === 'true,true,false,true' && document.querySelector('#run0 .facts').textContent.includes('2026-01-31 13:34')"
browser_js "$fresh data.runs[1].curves[0].mean[20] += 1; show(data)" >/dev/null
holds "a new chart keeps focus and cursor" "const c = document.querySelector('[data-chart=curves]'); return c !== window.was[1] && document.activeElement === c.querySelector('.plot svg') && !c.querySelector('.readout').hidden && /steps 5000/.test(c.querySelector('.readout').textContent)"
browser_keys '[data-chart=curves] .plot svg' 'ArrowRight'
holds "and reads on" "return /steps 10\\D*k/.test(document.querySelector('[data-chart=curves] .readout').textContent)"
browser_keys '.transfer td[tabindex="0"]' 'ArrowRight ArrowDown'
browser_js "$fresh data.runs[1].table.cells[0][0].mean += 1; show(data)" >/dev/null
holds "a new table keeps its cell" "const cell = document.activeElement, rows = document.querySelectorAll('.transfer tbody tr'); return document.querySelector('.transfer') !== window.was[0] && cell === rows[1].querySelectorAll('td')[1] && cell.tabIndex === 0 && document.querySelectorAll('.transfer td[tabindex=\"0\"]').length === 1"
browser_js "$fresh data.maps[0].map.psi = data.maps[0].map.psi.map((v) => 2 * v); show(data)" >/dev/null
holds "the editor takes a map that was learned further" "$fresh return knots.psi[7] === 2 * data.maps[0].map.psi[7] && knots.original[7] === knots.psi[7]"
browser_keys '[data-knot="4"]' 'ArrowLeft'
browser_js "$fresh window.drawn = knots.psi.slice(); data.maps[0].map.psi = data.maps[0].map.psi.map((v) => 3 * v); show(data)" >/dev/null
holds "but keeps what was drawn" "$fresh return JSON.stringify(knots.psi) === JSON.stringify(window.drawn) && knots.original[7] === 3 * data.maps[0].map.psi[7]"
quiet_page "refreshed"

# ---------------------------------------------------------------------------------------------
# Real runs

browser_size 1200 900
short=(--set steps=1024 --set envs=8 --set unroll=16)
name='<img src=x onerror=window.broken=1>"'\''`$(touch broken)`&'
mkdir runs
cp maps/random:3.json "maps/$name.json"

run learn --env GridWorld-small --kind piecewise --generations 4 --population 8 --set validation_every=2 \
  --set validation_tasks=8 "${short[@]}" --out runs/learn --json
expect_code 0
learned=$(jq -c '[.validation.learned.mean]' "$out")
run train --env GridWorld-small --map "maps/$name.json" --seeds 3 --set curve=exact --set steps=4096 --out "runs/$name" --json
expect_code 0
final=$(jq -c '[.final_mean, .final_sem]' "$out")
run transfer --maps random:3 --envs GridWorld-small,GridWorld-sparse --seeds 4 "${short[@]}" --out runs/table --json
expect_code 0
cp "$out" table.json

# the page of one run, beside it
page_of() { # RUN
  run report "$1" --no-figures --quiet
  expect_code 0
  expect "a page in $1" test -s "$1/report.html"
  browser_open "file://$work/$(jq -nr --arg s "$1" '$s | split("/") | map(@uri) | join("/")')/report.html"
}
page_data='const data = JSON.parse(document.getElementById("report-data").textContent), run = data.runs[0];'

page_of runs/learn
quiet_page "learn"
holds "a search is drawn" 'const d = document.querySelector("[data-chart=validation] path.line").getAttribute("d"); return d.split("L").length >= 2 && document.querySelectorAll("[data-chart=fitness] path.line").length >= 1'
expect "the best validation is that of learn" close "$learned" "$(browser_js "$page_data return [Math.max(...run.search.validation.find((v) => !v.control).points.map((p) => p.mean))]")"
agrees "learned here" learned runs/learn/best.json
holds "configuration, machine, how to make it again" 'const t = document.getElementById("making").textContent; return t.includes("mirrormap learn") && t.includes("learn.population") && t.includes("cpu")'
picture learn

page_of "runs/$name"
quiet_page "a hostile name"
holds "a name is a name" "return document.getElementById('making').textContent.includes($(jq -n --arg s "$name" '$s')) && window.broken === undefined && document.images.length === 0"
expect_not "no command was run" test -e broken
expect "the curve ends where train says" close "$final" "$(browser_js "$page_data const c = run.curves[0]; return [c.mean[c.mean.length - 1], c.sem[c.sem.length - 1]]")"
holds "a learning curve with its band" 'return document.querySelectorAll("[data-chart=curves] path.line").length === 1 && document.querySelector("[data-chart=curves] path.band").getBBox().width > 200'

page_of runs/table
quiet_page "table"
# rows: random:3, negentropy, l2, random:0; two environments
expect "means of the table are those of transfer" close "$(jq -c '.mean | add' table.json)" "$(browser_js "$page_data return run.table.cells.flat().map((c) => c.mean)")"
holds "each cell has the colour of its verdict" "$page_data
  const words = (c, label) => label === run.table.baseline || !c.difference ? '' : (c.difference > 0 ? 'better ' : 'worse ') + (c.verdict ? 'strong' : 'faint');
  return run.table.cells.every((row, i) => row.every((c, e) => document.querySelectorAll('.transfer tbody tr')[i].querySelectorAll('td')[e].className === words(c, run.table.maps[i].label)))"
picture table

run report runs/learn runs/table "runs/$name" --out all --no-figures --quiet
expect_code 0
browser_open "file://$work/all/report.html"
quiet_page "several runs"
holds "one training run has nothing beside it" 'return !document.getElementById("comparison")'
holds "a part for each run" 'return document.querySelectorAll("section.run").length === 3 && document.querySelectorAll("nav a").length === 6'
picture several
run train --env GridWorld-small --map l2 --seeds 3 --set curve=exact --set steps=4096 --out runs/other --quiet
run report runs/other "runs/$name" --out both --no-figures --quiet
expect_code 0
browser_open "file://$work/both/report.html"
quiet_page "two training runs"
holds "two training runs in one chart" 'return document.querySelectorAll("#comparison [data-chart=curves] path.line").length === 2 && document.querySelectorAll("details[id^=run]").length === 2'

# ---------------------------------------------------------------------------------------------
# Watching a run that goes on

"$program" learn --env GridWorld-small --kind piecewise --generations 1000000 --population 8 --set validation_every=1000000 \
  --set validation_tasks=8 "${short[@]}" --threads 1 --quiet --out runs/live >/dev/null 2>&1 &
learner=$!
for ((i = 0; i < 300; i++)); do
  [ -e runs/live/run.db ] && break
  sleep 0.1
done
"$program" report --watch --port 0 runs/live >/dev/null 2>watch.log &
watcher=$!
for ((i = 0; i < 300; i++)); do
  address=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' watch.log)
  [ -n "$address" ] && break
  kill -0 "$watcher" 2>/dev/null || break
  sleep 0.1
done

# comes_true WHAT SCRIPT: within a minute
comes_true() {
  local i
  for ((i = 0; i < 120; i++)); do
    [ "$(browser_js "$2")" = true ] && break
    sleep 0.5
  done
  holds "$1" "$2"
}

if [ -z "$address" ]; then
  # a program without libmicrohttpd says so
  expect "a reason not to watch" grep -qi 'microhttpd' watch.log
  echo "not watched: $(cat watch.log)"
  kill -9 "$learner"
  wait "$learner" 2>/dev/null
else
  last="report --watch"
  browser_open "$address"
  generations='const now = Number(/^generations(\d+)/.exec([...document.querySelectorAll(".facts div")].map((n) => n.textContent).find((t) => t.startsWith("generations")))?.[1] ?? -1);'
  comes_true "running" 'return document.getElementById("watch-state").textContent === "running" && document.querySelectorAll("[data-chart=validation] path.line").length > 0'
  browser_click '#run0-search .legend button[data-series=l2]'
  browser_js "$generations window.first = now; window.explorerWas = document.getElementById('explorer')" >/dev/null
  drag_score 0 30
  browser_keys '[data-chart=validation] .plot svg' 'Home'
  score=$(browser_js 'return document.querySelector("[data-score=\"0\"]").getAttribute("aria-valuenow")')
  comes_true "it refreshes by itself" "$generations return now > window.first"
  holds "the focus stays" 'const c = document.querySelector("[data-chart=validation]"); return document.activeElement === c.querySelector(".plot svg") && !c.querySelector(".readout").hidden'
  holds "toggles stay" 'return document.querySelector("#run0-search button[data-series=l2]").getAttribute("aria-pressed") === "false" && !document.querySelector("[data-chart=validation] path.line[data-series=l2]")'
  holds "the explorer stays" "return window.explorerWas === document.getElementById('explorer') && document.querySelector('[data-score=\"0\"]').getAttribute('aria-valuenow') === $score"
  quiet_page "watched"
  interrupt "$learner" INT
  comes_true "it is told when a run ends" 'return document.getElementById("watch-state").textContent === "interrupted" && document.querySelector(".state").textContent === "interrupted"'
  mv runs/live/run.db kept.db
  comes_true "a run that cannot be read is named" 'const s = document.getElementById("watch-state"); return s.className === "lost" && s.textContent.includes("runs/live") && document.querySelectorAll("[data-chart=validation] path.line").length > 0'
  mv kept.db runs/live/run.db
  comes_true "and followed again" 'return document.getElementById("watch-state").textContent === "interrupted"'
  browser_log >/dev/null # the browser notes every 503
  interrupt "$watcher" INT
  expect_code 0
  comes_true "a lost connection is told" 'return document.getElementById("watch-state").textContent === "connection lost"'
fi
finish
