# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# A headless Chromium for tests, driven over the plain HTTP of the WebDriver protocol by curl and jq.
# Sourced; needs $work, a folder of the test's own.
#
#   browser_missing         what is not installed, nothing if all is there
#   browser_start           starts driver and browser; browser_stop ends them
#   browser_open URL
#   browser_js SCRIPT       runs the body of a function, prints what it returns as JSON
#   browser_log             what the page logged since the last call: one line "LEVEL text" each
#   browser_drag X Y X2 Y2  presses at one place of the window, releases at the other
#   browser_move X Y
#   browser_click CSS       scrolls there and clicks
#   browser_keys CSS KEYS   focuses an element and types; names of keys as ArrowLeft, separated by blanks
#   browser_size W H        of the page, in CSS pixels
#   browser_scheme dark|light
#   browser_picture FILE    the whole page as PNG

browser_missing() {
  local name
  for name in chromium chromedriver curl jq; do
    command -v "$name" >/dev/null 2>&1 || printf '%s ' "$name"
  done
}

driver_pid='' session=''

# ask METHOD PATH [BODY]: the field `value` of the answer
driver_ask() {
  local method=$1 path=$2 body=${3-}
  if [ "$method" = POST ]; then
    printf '%s' "${body:-{\}}" | curl -sS --max-time 60 -X POST -H 'Content-Type: application/json' -d @- "$driver/$path"
  else
    curl -sS --max-time 60 -X "$method" "$driver/$path"
  fi | jq -c .value
}

browser_start() {
  local log=$work/driver.log i arguments
  HOME=$work chromedriver --port=0 >"$log" 2>&1 &
  driver_pid=$!
  for ((i = 0; i < 300; i++)); do
    driver=$(sed -n 's/.*started successfully on port \([0-9]*\).*/http:\/\/127.0.0.1:\1/p' "$log")
    [ -n "$driver" ] && break
    sleep 0.1
  done
  # a page that still scrolls when it is clicked at would be hit somewhere else
  arguments='["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--force-prefers-reduced-motion"]'
  # Chromium's own sandbox cannot be built by root
  [ "$(id -u)" -eq 0 ] && arguments=${arguments%]}', "--no-sandbox"]'
  session=$(driver_ask POST session "$(jq -n --argjson a "$arguments" --arg folder "$work/downloads" \
    '{capabilities: {alwaysMatch: {"goog:loggingPrefs": {browser: "ALL"},
      "goog:chromeOptions": {args: $a, prefs: {"download.default_directory": $folder}}}}}')" | jq -r .sessionId)
  [ -n "$session" ] && [ "$session" != null ]
}

browser_stop() {
  [ -n "$session" ] && driver_ask DELETE "session/$session" >/dev/null
  [ -n "$driver_pid" ] && kill "$driver_pid" 2>/dev/null && wait "$driver_pid" 2>/dev/null
  session='' driver_pid=''
}

browser_open() {
  driver_ask POST "session/$session/url" "$(jq -n --arg url "$1" '{url: $url}')" >/dev/null
}

browser_js() {
  driver_ask POST "session/$session/execute/sync" "$(jq -n --arg script "$1" '{script: $script, args: []}')"
}

browser_log() {
  driver_ask POST "session/$session/se/log" '{"type": "browser"}' | jq -r '.[] | .level + " " + .message'
}

# devtools COMMAND PARAMETERS
browser_devtools() {
  driver_ask POST "session/$session/goog/cdp/execute" "$(jq -n --arg c "$1" --argjson p "$2" '{cmd: $c, params: $p}')"
}

browser_actions() {
  driver_ask POST "session/$session/actions" "$1" >/dev/null
}

browser_move() {
  browser_actions "$(jq -n --argjson x "$1" --argjson y "$2" '{actions: [{type: "pointer", id: "mouse", actions: [
    {type: "pointerMove", duration: 0, x: $x, y: $y}]}]}')"
}

browser_drag() {
  browser_actions "$(jq -n --argjson a "$1" --argjson b "$2" --argjson c "$3" --argjson d "$4" '{actions: [{type: "pointer", id: "mouse", actions: [
    {type: "pointerMove", duration: 0, x: $a, y: $b}, {type: "pointerDown", button: 0},
    {type: "pointerMove", duration: 50, x: (($a + $c) / 2 | floor), y: (($b + $d) / 2 | floor)},
    {type: "pointerMove", duration: 50, x: $c, y: $d}, {type: "pointerUp", button: 0}]}]}')"
}

# the middle of an element in the window, after scrolling it there: "X Y"
browser_middle() {
  browser_js "const n = document.querySelector($(jq -n --arg s "$1" '$s')); n.scrollIntoView({ block: 'center', behavior: 'instant' });
    const b = n.getBoundingClientRect(); return [Math.round(b.x + b.width / 2), Math.round(b.y + b.height / 2)]" | jq -r 'join(" ")'
}

browser_click() {
  local x y
  read -r x y <<<"$(browser_middle "$1")"
  browser_drag "$x" "$y" "$x" "$y"
}

browser_keys() {
  browser_js "document.querySelector($(jq -n --arg s "$1" '$s')).focus()" >/dev/null
  # the protocol's private characters for keys without one
  browser_actions "$(jq -n --arg keys "$2" '{ArrowLeft: "\ue012", ArrowUp: "\ue013", ArrowRight: "\ue014", ArrowDown: "\ue015",
      Home: "\ue011", End: "\ue010", Escape: "\ue00c", Enter: "\ue007", Tab: "\ue004", Space: " "} as $codes |
    {actions: [{type: "key", id: "keys", actions: [$keys | split(" ")[] | $codes[.] // . |
      {type: "keyDown", value: .}, {type: "keyUp", value: .}]}]}')"
}

browser_size() {
  browser_devtools Emulation.setDeviceMetricsOverride "{\"width\": $1, \"height\": $2, \"deviceScaleFactor\": 1, \"mobile\": false}" >/dev/null
}

browser_scheme() {
  browser_devtools Emulation.setEmulatedMedia "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"$1\"}]}" >/dev/null
}

browser_picture() {
  local size
  size=$(browser_js 'const e = document.documentElement; return { x: 0, y: 0, width: e.clientWidth, height: Math.min(e.scrollHeight, 16000), scale: 1 }')
  browser_devtools Page.captureScreenshot "{\"captureBeyondViewport\": true, \"clip\": $size}" | jq -r .data | base64 -d >"$1"
}
