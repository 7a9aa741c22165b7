#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/project.py gives the same policies as `mirrormap map project`, for every kind of map.
# usage: cli_example_python.sh PROGRAM SOURCE_DIR
set -euo pipefail

program=$1
source_dir=$2

python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "skipped: no python3 with NumPy here"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for kind in negentropy l2 tsallis:0.5 tsallis:1.5 tsallis:1.3 tsallis:3 piecewise random:3 \
            neural random-neural:2; do
  "$program" map new "$kind" --quiet --out "$folder/$kind.json"
done
"$program" map new piecewise --psi 0.2,0.3,0.01,2 --quiet --out "$folder/short.json"
"$program" map new piecewise --psi 0.2,0.3,0.01,2 --eta 0.5 --quiet --out "$folder/eta.json"
echo '{"format": "mirrormap/2", "stages": [{"kind": "l2"}, {"kind": "l2"}]}' >"$folder/moving.json"
echo '{"format": "mirrormap/1", "kind": "powers", "w": [1, 0.2, 0.5], "a": [0, 2, 0.5]}' >"$folder/powers.json"
echo '{"format": "mirrormap/1", "kind": "powers", "w": [2, 0.1], "a": [1, 1.5]}' >"$folder/sparse-powers.json"

PYTHONDONTWRITEBYTECODE=1 "$python" - "$program" "$source_dir/examples" "$folder" <<'PYTHON'
import json, pathlib, subprocess, sys

program, examples, folder = sys.argv[1:]
sys.path.insert(0, examples)
import numpy as np
import project

generator = np.random.default_rng(1)
rows = [[0.3, -0.5, 1.2, 0, 0.9], [0, 0], [1, 1, 1], [-30, 0, 30], [1e-9, 0, -1e-9]]
rows += [list(generator.normal(0, scale, size)) for scale in (0.1, 1, 5) for size in (2, 3, 6, 18)]

# arrays of rank 1 to 3; the program gets them line by line
arrays = [np.array(row) for row in rows]
batches = [generator.normal(0, 2, shape) for shape in ((5, 4), (1, 3), (4, 1), (2, 3, 6))]
small_batches = [generator.normal(0, 2, shape) for shape in ((3, 2), (2, 1, 2))]

def expected(path, scores):
    lines = "".join(" ".join(repr(float(score)) for score in row) + "\n" for row in scores.reshape(-1, scores.shape[-1]))
    out = subprocess.run([program, "map", "project", "--map", str(path), "--scores-file", "-", "--json"],
                         check=True, capture_output=True, text=True, input=lines).stdout
    fields = json.loads(out)
    return np.array(fields["probs"]).reshape(scores.shape), np.array(fields["lambda"]).reshape(scores.shape[:-1])

worst, compared = 0, 0
for path in sorted(pathlib.Path(folder).glob("*.json")):
    map_project = project.projector(path)
    chosen = arrays[::6] + small_batches if "neural" in path.name or "powers" in path.name else arrays + batches  # these take a while
    text = path.read_bytes()
    path.write_text("{}")  # the map is read once
    ours = [map_project(scores) for scores in chosen]
    path.write_bytes(text)
    for scores, (policy, lambda_) in zip(chosen, ours):
        theirs, their_lambda = expected(path, scores)
        if policy.shape != theirs.shape or np.shape(lambda_) != their_lambda.shape:
            sys.exit(f"{path.name}, shape {scores.shape}: policy {policy.shape}, lambda {np.shape(lambda_)}")
        worst, compared = max(worst, np.abs(policy - theirs).max()), compared + 1
        if not (np.abs(policy - theirs) <= 1e-9).all():
            sys.exit(f"{path.name}, scores {scores}: {policy} here, {theirs} from map project")
        unique = np.count_nonzero(theirs, axis=-1) > 1  # unless one action takes all
        if not (np.abs(lambda_ - their_lambda) <= 1e-9 * np.maximum(1, np.abs(their_lambda)))[unique].all():
            sys.exit(f"{path.name}, scores {scores}: lambda {lambda_} here, {their_lambda} from map project")
print(f"{compared} arrays compared, largest difference {worst:.1e}")
if compared != 11 * len(arrays + batches) + 4 * len(arrays[::6] + small_batches):
    sys.exit("some maps were not compared")

# as a script it prints the policy and lambda
text = subprocess.run([sys.executable, examples + "/project.py", folder + "/l2.json", "0.3", "1.2", "0.9"],
                      check=True, capture_output=True, text=True).stdout
printed = [float(word) for word in text.replace("[", " ").replace("]", " ").split()]
if not np.allclose(printed, [0, 0.65, 0.35, -0.55], rtol=0, atol=1e-9):
    sys.exit("unexpected output: " + text)
PYTHON
