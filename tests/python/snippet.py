# SPDX-License-Identifier: Apache-2.0
"""The package as a user has it, a line for each thing it can do, each with its result: in a fresh
virtual environment, or where there is no compiler. Runs go to ./runs. What needs PyTorch, pandas or
matplotlib says so where they are missing.

    python snippet.py
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import gymnasium
import numpy as np

import mirrormap as mm


def show(what: str, result: object) -> None:
    text = str(result).replace("\n", " ")
    print(f"{what:44} {text if len(text) < 100 else text[:97] + '...'}", flush=True)


def program(*arguments: str) -> str:
    """The last line of what `mirrormap` prints: the script beside this Python, or `python -m mirrormap`."""
    beside = pathlib.Path(sys.executable).with_name("mirrormap")
    command = [str(beside)] if beside.exists() else [sys.executable, "-m", "mirrormap"]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()[-1]


def main() -> None:
    there = {name: importlib.util.find_spec(name) is not None for name in ("torch", "pandas", "matplotlib")}
    show("Python, NumPy, package", (sys.version.split()[0], np.__version__, mm.__version__))
    show("a compiler here", shutil.which("cc") or shutil.which("gcc") or "none")
    shutil.rmtree("runs", ignore_errors=True)

    m = mm.Map("acrobot")
    p = m.project(np.array([[2.0, 1.0, 0.0], [0.5, 0.5, -3.0]], np.float32))
    q = m.project(np.zeros(3))
    show('m = mm.Map("acrobot")', m)
    show("p = m.project(scores)", p.tolist())
    show("m.phi(x), m.inverse(p)", (m.phi(-0.1), m.inverse(0.5)))
    show("m.bregman(p, q)", m.bregman(p, q))
    assert p.dtype == np.float32 and np.allclose(p.sum(-1), 1, atol=1e-5)
    assert np.allclose(m.phi(m.inverse(p.astype(float))), p, atol=1e-6)
    if there["matplotlib"]:
        import matplotlib

        matplotlib.use("Agg")
        m.plot()[0].figure.savefig("map.png")
    show("m.plot()", "map.png" if there["matplotlib"] else "skipped: needs matplotlib")

    envs = mm.make_vec("Asterix-MinAtar", num_envs=1024, autoreset_mode="SameStep")
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    obs, info = envs.reset(seed=1)
    obs, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
    show('envs = mm.make_vec("Asterix-MinAtar", ..)', (obs.shape, obs.dtype, int(terminated.sum())))
    env = gymnasium.make("mirrormap/Hopper-v4", render_mode="rgb_array")
    env.reset(seed=1)
    reward = env.step(env.action_space.sample())[1]
    show('env = gymnasium.make("mirrormap/Hopper-v4")', (round(float(reward), 3), env.render().shape))

    result = mm.train("CartPole-v1", map="l2", seeds=8, settings={"steps": 1e5})
    show('result = mm.train("CartPole-v1", map="l2", ..)', (result.mean, result.sem, result.finals.shape))
    assert result.done and result.mean > 50, "eight agents have learned something"

    # twenty generations of 128 runs of 10 M steps take minutes on a large GPU: here runs are short
    small = {"steps": 4096, "envs": 8, "unroll": 64, "population": 4, "generations": 2, "validation_every": 1}
    seen: list[mm.Progress] = []
    study = mm.learn(
        "SpaceInvaders-MinAtar",
        preset="minatar-fast",
        settings={**small, "validation_tasks": 2},
        callback=seen.append,
    )
    show("study = mm.learn(.., preset=.., callback=..)", (study, f"{len(seen)} calls"))
    show("study.best", study.best)
    show("mm.read_run(..).generations", mm.read_run(study.folder).generations["fitness_mean"])

    table = mm.transfer(["acrobot", "l2"], ["CartPole-v1", "Acrobot-v1"], seeds=2, settings={"steps": 2e4})
    show("table = mm.transfer([..], [..])", [(c.env, c.map, round(c.mean, 1)) for c in table.cells])
    show("table.to_frame()", table.to_frame().shape if there["pandas"] else "skipped: needs pandas")

    es = mm.ES("cma-es", dimension=20, seed=1)
    for _ in range(200):
        x = es.ask()
        es.tell(-np.sum((x - 1) ** 2, axis=1))
    show("es.ask(); es.tell(fitness)", f"{np.abs(es.mean - 1).max():.1e} from the optimum")
    assert np.abs(es.mean - 1).max() < 1e-2

    policy = mm.load_policy(result.folder, seed=1)
    states = mm.make_vec("CartPole-v1", 4).reset(seed=2)[0]
    show("policy(obs)", policy(states))
    if there["torch"]:
        import torch

        with torch.no_grad():
            got = policy.to_torch()(torch.from_numpy(states)).numpy()
        assert np.allclose(got, policy.probs(states), atol=1e-5)
    show("policy.to_torch()", "the same outputs" if there["torch"] else "skipped: needs PyTorch")

    show("mirrormap --version", program("--version"))
    show("mirrormap map project", program("map", "project", "--map", "l2", "--scores", "0.3,-0.5,1.2"))
    show("mirrormap train", program("train", "--env", "CartPole-v1", "--map", "l2", "--set", "steps=20000"))
    try:
        mm.Map("acrobat")
    except mm.Error as problem:
        show('mm.Map("acrobat")', problem)


if __name__ == "__main__":
    main()
