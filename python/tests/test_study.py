# SPDX-License-Identifier: Apache-2.0
"""Studies: results, Ctrl-C and resuming, callbacks, databases."""

import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import mirrormap as mm

GRID = {"steps": 2048, "envs": 8, "unroll": 16}
SEARCH = {**GRID, "generations": 3, "population": 4, "validation_tasks": 2}
# eight of them are at work for a second, and the callback comes five times in it
LONG = {"steps": 131072, "epochs": 1}


def long_run(folder, **options) -> mm.Study:
    return mm.train("CartPole-v1", "l2", seeds=8, settings=LONG, folder=folder, backend="cpu", threads=1, **options)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def long_run(self, name: str, **options) -> mm.Study:
        return long_run(self.folder / name, **options)


class Results(Folder):
    def test_train(self) -> None:
        result = mm.train("GridWorld-small", "l2", seeds=3, seed=5, settings=GRID, folder=self.folder / "run")
        self.assertTrue(result.done)
        self.assertEqual(result.kind, "train")
        self.assertEqual(result.finals.shape, (3,))
        self.assertAlmostEqual(result.mean, result.finals.mean(), places=12)
        self.assertAlmostEqual(result.sem, result.finals.std(ddof=1) / 3**0.5, places=12)
        run = mm.read_run(self.folder / "run")
        self.assertEqual((run.command, run.trainings["seed"].tolist()), ("train", [5, 6, 7]))
        np.testing.assert_array_equal(run.trainings["final"], result.finals)
        self.assertNotIn("crc", run.trainings.columns)
        with self.assertRaises(TypeError):
            pickle.dumps(result)

    def test_log(self) -> None:
        settings = {"steps": 2048, "envs": 4, "unroll": 64, "log": True}
        result = mm.train("CartPole-v1", algo="ppo", seeds=2, settings=settings, folder=self.folder / "run")
        run = mm.read_run(result.folder)
        names = "approx_kl clip_fraction entropy explained_variance policy_loss support value_loss".split()
        self.assertEqual(sorted(set(run.measures["name"])), names)
        self.assertEqual(len(run.measures), len(names) * len(run.curves))
        mine = [row for row in run.measures if row["name"] == "entropy" and row["job"] == 1]
        self.assertEqual([row["step"] for row in mine], [256 * (i + 1) for i in range(8)])
        self.assertTrue(all(0 < row["value"] <= np.log(2) + 1e-6 for row in mine))
        with self.assertRaisesRegex(mm.InputError, "only train keeps what it records"):
            mm.transfer(["l2"], ["CartPole-v1"], settings=settings, folder=self.folder / "table")

    def test_learn(self) -> None:
        seen = []
        study = mm.learn(
            "GridWorld-small", seed=5, settings=SEARCH, folder=self.folder / "run", callback=seen.append, threads=1
        )
        self.assertEqual(study.best.kind, "neural")
        self.assertEqual(study.progress.total, 3)
        self.assertIn("learned", [cell.map for cell in study.cells])
        self.assertEqual(len(mm.read_run(study.folder).generations), 4)
        self.assertTrue(all(isinstance(progress, mm.Progress) for progress in seen))

    def test_transfer(self) -> None:
        table = mm.transfer(
            ["tsallis:3", "negentropy"], ["GridWorld-small"], seeds=2, settings=GRID, folder=self.folder / "run"
        )
        self.assertEqual([cell.map for cell in table.cells][:2], ["tsallis:3", "negentropy"])
        self.assertEqual(table.to_table()["mean"].shape, (len(table.cells),))

    def test_tune(self) -> None:
        space = self.folder / "space.yaml"
        space.write_text("parameters:\n  eta: {log: [0.05, 0.4]}\n")
        study = mm.tune(
            "GridWorld-small", "l2", space, trials=8, validate=2, seeds=2, settings=GRID, folder=self.folder / "run"
        )
        self.assertTrue(0.05 <= float(study.setting("eta")) <= 0.4)
        self.assertEqual([cell.map for cell in study.cells], ["l2", "tuned:l2"])

    def test_default_folder(self) -> None:
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            names = [mm.train("GridWorld-small", settings=GRID).folder.as_posix() for _ in range(2)]
        finally:
            os.chdir(before)
        self.assertEqual(names, ["runs/train-GridWorld-small-1", "runs/train-GridWorld-small-2"])


class Stopping(Folder):
    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cls.whole = long_run(folder + "/run").finals

    def resumed_is_the_same(self, name: str) -> None:
        resumed = mm.resume(self.folder / name)
        self.assertTrue(resumed.done)
        np.testing.assert_array_equal(resumed.finals, self.whole)

    def test_ctrl_c(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            self.long_run("run", callback=lambda progress: os.kill(os.getpid(), signal.SIGINT))
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        self.resumed_is_the_same("run")

    def test_callback_stops(self) -> None:
        study = self.long_run("run", callback=lambda progress: True)
        self.assertFalse(study.done)
        study.close()
        with self.assertRaises(mm.InputError):
            study.run()
        self.resumed_is_the_same("run")

    def test_callback_raises(self) -> None:
        def fail(progress: mm.Progress) -> None:
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.long_run("run", callback=fail)
        self.resumed_is_the_same("run")

    def test_other_threads(self) -> None:
        study = self.long_run("run", callback=lambda progress: True)
        problems = []

        def run() -> None:
            try:
                study.run(callback=lambda progress: time.sleep(0.3) or True)
            except mm.InputError as problem:
                problems.append(str(problem))

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(len(problems), 1)
        for problem in problems:
            self.assertIn("another thread", problem)


class BadInput(Folder):
    def test_sentences(self) -> None:
        done = mm.train("GridWorld-small", settings=GRID, folder=self.folder / "there")
        done.close()
        run = {"folder": self.folder / "new"}
        cases = [
            (lambda: mm.train("GridWorld-smal", **run), "GridWorld"),
            (lambda: mm.train("CartPole-v1", "l3", **run), "l3"),
            (lambda: mm.train("CartPole-v1", settings={"stepps": 4}, **run), "stepps"),
            (lambda: mm.train("CartPole-v1", settings={"steps": "many"}, **run), "steps"),
            (lambda: mm.train("CartPole-v1", preset="bcss", **run), "bcss"),
            (lambda: mm.train("CartPole-v1", seeds=1.5, **run), "seeds"),
            (lambda: mm.train("CartPole-v1", seed=-1, **run), "seed"),
            (lambda: mm.train("CartPole-v1", mm.Map("l2"), **run), "save the map"),
            (lambda: mm.train("GridWorld-small", settings=GRID, folder=self.folder / "there"), "there"),
            (lambda: mm.resume(self.folder / "nothing"), "nothing"),
            (lambda: mm.read_run(self.folder / "nothing"), "nothing"),
            (lambda: mm.read_run(self.folder / "there").table("tables"), "tables"),
            (lambda: mm.resume(self.folder / "there").best, "learn|map"),
            (lambda: mm.read_run(self.folder / "there").trainings["finals"], "no column 'finals', expected"),
        ]
        for i, (call, words) in enumerate(cases):
            with self.subTest(i), self.assertRaisesRegex(mm.Error, words):
                call()
        self.assertFalse((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main()
