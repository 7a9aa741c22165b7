# SPDX-License-Identifier: Apache-2.0
"""Holds our environments against Gymnasium's, transition by transition.

    compare.py check PROGRAM                              tables; exit code 1 beyond the tolerances
    compare.py record PROGRAM ID OUT.json [options]       Gymnasium's own episodes as a trace

`check` goes both ways. It lets PROGRAM record traces, puts Gymnasium into every recorded state with the
recorded action, and compares what comes next; and it records Gymnasium's episodes, which PROGRAM replays.
docs/traces.md describes traces, docs/environments.md what differs on purpose.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

warnings.filterwarnings("ignore", module="gymnasium")  # that there are later versions than v4


@dataclass
class Task:
    id: str
    episodes: int
    tolerance: float  # of obs and reward, times the largest number observed (at least 1)
    physics: list[str] = field(default_factory=lambda: [""])
    matches: float = 1  # of the transitions that a replay compares


BOTH = ["own", "mujoco"]
TASKS = [
    Task("CartPole-v1", 200, 1e-6),
    Task("Acrobot-v1", 20, 1e-6),
    Task("MountainCar-v0", 20, 1e-6),
    Task("MountainCarContinuous-v0", 10, 1e-6, matches=0.99),  # all but those to the left wall
    Task("Pendulum-v1", 20, 1e-5),
    Task("Hopper-v4", 200, 1e-5, BOTH),
    Task("HalfCheetah-v4", 3, 1e-4, BOTH, 0.998),  # where a solver stops at its bound: docs/physics.md
    Task("Ant-v4", 40, 1e-5, BOTH),
    Task("Walker2d-v4", 100, 3e-5, BOTH),
]
STARTS = 2000
# Kolmogorov-Smirnov: for two samples of that size from one distribution, beyond this once in 10 million
STARTS_APART = 2.9 * np.sqrt(2 / STARTS)


# ---------------------------------------------------------------------------------------------
# Gymnasium's state


def make(id: str) -> gymnasium.Env:
    env = gymnasium.make(id, disable_env_checker=True)
    env.reset(seed=1)
    return env


def is_body(env: gymnasium.Env) -> bool:
    return hasattr(env.unwrapped, "data")


def put_state(env: gymnasium.Env, state: np.ndarray, warm: np.ndarray | None, time: int) -> None:
    u = env.unwrapped
    env._elapsed_steps = time  # the time limit is the outermost wrapper
    if not is_body(env):
        u.state = np.array(state, dtype=np.float64)
        u.steps_beyond_terminated = None
        return
    n = u.model.nq + u.model.nv
    u.data.qpos[:], u.data.qvel[:] = np.split(state[:n], [u.model.nq])
    u.data.qacc_warmstart[:] = 0 if warm is None else warm
    if len(state) > n:  # no mj_forward: Ant-v4's reward sees xpos as the last step left it
        u.data.body("torso").xpos[0] = state[0] + state[n]


def take_state(env: gymnasium.Env, n_field: int) -> np.ndarray:
    u = env.unwrapped
    if not is_body(env):
        return np.array(u.state, dtype=np.float32)
    state = np.concatenate([u.data.qpos, u.data.qvel]).astype(np.float32)
    if n_field > len(state):
        state = np.append(state, np.float32(u.data.body("torso").xpos[0] - u.data.qpos[0]))
    return state


# ---------------------------------------------------------------------------------------------
# Our traces in Gymnasium


def our_trace(program: str, id: str, physics: str, *options: str) -> dict:
    command = [program, "env", "record", id, *options] + (["--physics", physics] if physics else [])
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@dataclass
class Differences:
    n: int = 0
    terminated: int = 0
    truncated: int = 0
    obs: float = 0  # largest
    reward: float = 0
    scaled: float = 0  # either, divided by the largest number observed
    flags: int = 0  # transitions
    wall: int = 0  # transitions to the left wall of MountainCarContinuous, not counted above
    wall_obs: float = 0

    def add(self, id: str, found: tuple, obs: list, reward: float, ends: list[bool]) -> None:
        o, r, *flags = found
        apart = np.abs(o - np.array(obs)).max()
        if id == "MountainCarContinuous-v0" and obs[0] == np.float32(-1.2):
            self.wall += 1
            self.wall_obs = max(self.wall_obs, apart)
            return
        self.n += 1
        self.terminated += flags[0]
        self.truncated += flags[1]
        self.obs = max(self.obs, apart)
        self.reward = max(self.reward, abs(r - reward))
        self.scaled = max(self.scaled, max(apart, abs(r - reward)) / max(1, np.abs(o).max()))
        self.flags += flags != ends


def compare(trace: dict) -> Differences:
    env, d = make(trace["env"]), Differences()
    for e in trace["trajectories"]:
        for t, action in enumerate(e["actions"]):
            warm = e["warm"][t] if "warm" in e else None
            put_state(env, np.array(e["states"][t]), warm, e["times"][t])
            if isinstance(env.action_space, gymnasium.spaces.Box):
                action = np.atleast_1d(np.array(action, dtype=np.float32))
            ends = [e["terminated"][t] == 1, e["truncated"][t] == 1]
            d.add(trace["env"], env.step(action)[:4], e["obs"][t + 1], e["rewards"][t], ends)
    return d


# ---------------------------------------------------------------------------------------------
# Gymnasium's episodes as traces


def numbers(values: np.ndarray) -> list | float:
    """As float32 in the shortest decimals that read back to the same bits."""
    values = np.asarray(values, dtype=np.float32)
    return [numbers(v) for v in values] if values.ndim else float(str(values))


# Random actions never come to these goals: push with the movement.
PUSH = {
    "MountainCar-v0": lambda obs: 2 * int(obs[1] >= 0),
    "MountainCarContinuous-v0": lambda obs: np.sign(obs[1:2]),
    "Acrobot-v1": lambda obs: 2 * int(obs[4] < 0),
}


def act(env: gymnasium.Env, obs: np.ndarray, push: bool) -> np.ndarray | int:
    if push and env.spec.id in PUSH and env.action_space.np_random.random() < 0.9:
        return PUSH[env.spec.id](obs)
    return env.action_space.sample()


def play(env: gymnasium.Env, seed: int, steps: int, n_field: int) -> dict:
    """Every second episode has a better player, every third begins shortly before its time limit."""
    names = "states warm times obs actions rewards terminated truncated".split()
    e: dict[str, list] = {name: [] for name in names}
    obs, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    first = env.spec.max_episode_steps - 15 if seed % 3 == 0 else 0
    for t in range(steps + 1):
        state = take_state(env, n_field)
        warm = env.unwrapped.data.qacc_warmstart.astype(np.float32) if is_body(env) else None
        put_state(env, state.astype(np.float64), warm, first + t)  # goes on from what the trace says
        e["states"].append(numbers(state))
        e["times"].append(first + t)
        e["obs"].append(numbers(obs))
        if warm is not None:
            e["warm"].append(numbers(warm))
        if t == steps or (t > 0 and e["terminated"][-1] + e["truncated"][-1] > 0):
            break
        action = act(env, obs, seed % 2 == 0)
        obs, reward, terminated, truncated, _ = env.step(action)
        e["actions"].append(int(action) if np.ndim(action) == 0 else numbers(np.squeeze(action)))
        e["rewards"].append(numbers(reward))
        e["terminated"].append(int(terminated))
        e["truncated"].append(int(truncated))
    return {"policy": "random, or with the movement", **{k: v for k, v in e.items() if v}}


def gymnasium_trace(program: str, id: str, episodes: int, steps: int, seed: int) -> dict:
    head = our_trace(program, id, "", "--episodes", "1", "--steps", "1")
    env = make(id)
    about = (
        f"Trajectories of Gymnasium's {id}: gymnasium {gymnasium.__version__}, mujoco {mujoco.__version__}, "
        f"numpy {np.__version__}, seeds {seed} to {seed + episodes - 1}. States are rounded to "
        f"float32 before each step, so that every transition starts from what stands here. Made by "
        f"tests/gymnasium/compare.py record PROGRAM {id} OUT --episodes {episodes} --steps {steps} --seed {seed}; "
        f"docs/traces.md has the format."
    )
    return {
        "about": about,
        **{k: head[k] for k in ("env", "params", "state_fields")},
        "trajectories": [play(env, seed + i, steps, len(head["state_fields"])) for i in range(episodes)],
    }


def replay(program: str, trace: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps(trace))
        command = [program, "env", "replay", trace["env"], str(path), "--json"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)


# ---------------------------------------------------------------------------------------------
# Starts


def starts_apart(program: str, id: str) -> float:
    """The largest Kolmogorov-Smirnov distance of a number of the first observation."""
    trace = our_trace(program, id, "", "--episodes", str(STARTS), "--steps", "1")
    env = make(id)
    ours = np.array([e["obs"][0] for e in trace["trajectories"]])
    theirs = np.array([env.reset(seed=i)[0] for i in range(STARTS)], dtype=np.float32)
    if id == "Ant-v4":  # whose quaternion ours has at length 1 from the beginning
        theirs[:, 1:5] /= np.linalg.norm(theirs[:, 1:5], axis=1, keepdims=True)
    largest = 0
    for a, b in zip(np.sort(ours.T), np.sort(theirs.T)):
        both = np.concatenate([a, b])
        below = [np.searchsorted(s, both, "right") for s in (a, b)]
        largest = max(largest, np.abs(below[0] - below[1]).max() / STARTS)
    return largest


# ---------------------------------------------------------------------------------------------


def has_mujoco(program: str) -> bool:
    return "mujoco" in subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout


def check_task(program: str, task: Task) -> bool:
    good = True
    for physics in task.physics:
        if physics == "mujoco" and not has_mujoco(program):
            print(f"{task.id:25} {physics:7} skipped: built without the MuJoCo library")
            continue
        options = ["--episodes", str(task.episodes), "--seed", "1"]
        d = compare(our_trace(program, task.id, physics, *options))
        fits = d.scaled <= task.tolerance and d.flags == 0
        good &= fits
        print(
            f"{task.id:25} {physics:7} {d.n:6} {d.terminated:5} {d.truncated:5} {d.obs:9.1e} {d.reward:9.1e} "
            f"{d.scaled:9.1e} {task.tolerance:8.0e} {d.flags:6}  {'' if fits else 'FAILED'}"
        )
        if d.wall:
            print(f"  and {d.wall} more to the left wall, where ours keeps its speed: {d.wall_obs:.1e}")
    trace = gymnasium_trace(program, task.id, task.episodes, 1000, 1)
    ends = [sum(sum(e[k]) for e in trace["trajectories"]) for k in ("terminated", "truncated")]
    r = replay(program, trace)
    apart = starts_apart(program, task.id)
    fits = r["matched"] >= task.matches * r["transitions"] and apart <= STARTS_APART
    print(
        f"  Gymnasium's own: {r['matched']} of {r['transitions']} transitions match, {ends[0]} terminated, "
        f"{ends[1]} truncated; starts are {apart:.3f} apart  "
        f"{'' if fits else 'FAILED ' + json.dumps(r['first_mismatch'])}",
        flush=True,
    )
    return good and fits


def check(program: str) -> bool:
    print(f"gymnasium {gymnasium.__version__}, mujoco {mujoco.__version__}, numpy {np.__version__}")
    if tuple(map(int, mujoco.__version__.split(".")[:2])) >= (3, 5):
        print("MuJoCo 3.5 and later double the contact margins of Hopper-v4 and Ant-v4: expect differences there")
    print(
        f"{'environment':25} {'physics':7} {'steps':>6} {'term.':>5} {'trunc':>5} {'obs':>9} {'reward':>9} "
        f"{'scaled':>9} {'at most':>8} {'flags':>6}"
    )
    return all([check_task(program, task) for task in TASKS])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    c = commands.add_parser("check")
    c.add_argument("program")
    r = commands.add_parser("record")
    r.add_argument("program")
    r.add_argument("id")
    r.add_argument("out", type=Path)
    r.add_argument("--episodes", type=int, default=2)
    r.add_argument("--steps", type=int, default=20)
    r.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    if a.command == "check":
        return 0 if check(a.program) else 1
    trace = gymnasium_trace(a.program, a.id, a.episodes, a.steps, a.seed)
    a.out.write_text(json.dumps(trace, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
