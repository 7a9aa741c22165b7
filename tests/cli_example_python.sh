#!/usr/bin/env bash
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

PYTHONDONTWRITEBYTECODE=1 "$python" - "$program" "$source_dir/examples" "$folder" <<'PYTHON'
import json, pathlib, subprocess, sys

program, examples, folder = sys.argv[1:]
sys.path.insert(0, examples)
import numpy as np
import project

generator = np.random.default_rng(1)
rows = [[0.3, -0.5, 1.2, 0, 0.9], [0, 0], [1, 1, 1], [-30, 0, 30], [1e-9, 0, -1e-9]]
rows += [list(generator.normal(0, scale, size)) for scale in (0.1, 1, 5) for size in (2, 3, 6, 18)]

worst, compared = 0, 0
for path in sorted(pathlib.Path(folder).glob("*.json")):
    for row in rows[::4] if "neural" in path.name else rows:  # these take a while
        scores = ",".join(repr(float(score)) for score in row)
        out = subprocess.run([program, "map", "project", "--map", str(path), "--scores=" + scores, "--json"],
                             check=True, capture_output=True, text=True).stdout
        theirs = np.array(json.loads(out)["probs"])
        ours, ours_lambda = project.project(path, np.array(row))
        worst, compared = max(worst, np.abs(ours - theirs).max()), compared + 1
        if not np.abs(ours - theirs).max() <= 1e-9:
            sys.exit(f"{path.name}, scores {scores}: {ours} here, {theirs} from map project")
        lambda_ = json.loads(out)["lambda"]  # unique unless one action takes all
        if np.count_nonzero(theirs) > 1 and not abs(ours_lambda - lambda_) <= 1e-9 * max(1, abs(lambda_)):
            sys.exit(f"{path.name}, scores {scores}: lambda {ours_lambda} here, {lambda_} from map project")
print(f"{compared} policies compared, largest difference {worst:.1e}")
if compared != 9 * len(rows) + 2 * len(rows[::4]):
    sys.exit("some maps were not compared")

# as a script it prints the policy and lambda
text = subprocess.run([sys.executable, examples + "/project.py", folder + "/l2.json", "0.3", "1.2", "0.9"],
                      check=True, capture_output=True, text=True).stdout
printed = [float(word) for word in text.replace("[", " ").replace("]", " ").split()]
if not np.allclose(printed, [0, 0.65, 0.35, -0.55], rtol=0, atol=1e-9):
    sys.exit("unexpected output: " + text)
PYTHON
