# SPDX-License-Identifier: Apache-2.0
"""Maps and evolution strategies: values, shapes, types, files, bad input."""

import copy
import doctest
import importlib
import json
import pathlib
import pickle
import pkgutil
import tempfile
import threading
import unittest

import numpy as np

import mirrormap as mm

MAPS = ["negentropy", "l2", "tsallis:0.5", "tsallis:3", "piecewise:7", "neural", "random:3", "acrobot"]


def load_tests(loader, tests, pattern):
    """The examples of the documentation strings; of optional modules where they can be imported."""
    for module in pkgutil.iter_modules(mm.__path__):
        if module.name == "__main__":
            continue
        try:
            tests.addTests(doctest.DocTestSuite(importlib.import_module(f"mirrormap.{module.name}")))
        except (ImportError, mm.UnsupportedError):
            if module.name not in ("torch", "jax", "_torch_policy"):
                raise
    tests.addTests(doctest.DocTestSuite(mm))
    return tests


class Values(unittest.TestCase):
    def test_policies(self) -> None:
        scores = np.random.default_rng(0).normal(size=(3, 4, 5))
        for name in MAPS:
            with self.subTest(name):
                m = mm.Map(name)
                p, normaliser = m.project(scores, return_lambda=True)
                np.testing.assert_allclose(p.sum(-1), 1, atol=1e-12)
                want = np.maximum(m.phi(scores + normaliser[..., None]), 0)
                np.testing.assert_allclose(p, want, atol=1e-9)
                np.testing.assert_allclose(m.phi(m.inverse(p[p > 0])), p[p > 0], rtol=1e-9)
                np.testing.assert_allclose(m.project(scores.astype(np.float32)), p, atol=1e-5)
                self.assertEqual(m.project(scores.astype(np.float32)).dtype, np.float32)

    def test_softmax(self) -> None:
        scores = np.array([0.3, -2.0, 1.1])
        want = np.exp(scores) / np.exp(scores).sum()
        np.testing.assert_allclose(mm.Map("negentropy").project(scores), want, rtol=1e-14)

    def test_divergence(self) -> None:
        rng = np.random.default_rng(1)
        p, q = rng.dirichlet(np.ones(4), (2, 3)), rng.dirichlet(np.ones(4), 3)
        want = (p * np.log(p / q)).sum(-1)
        np.testing.assert_allclose(mm.Map("negentropy").bregman(p, q), want, atol=1e-14)
        m = mm.Map("tsallis:3")
        by_definition = m.h(p) - m.h(q) - (m.inverse(q) * (p - q)).sum(-1)
        np.testing.assert_allclose(m.bregman(p, q), by_definition, atol=1e-14)
        self.assertEqual(mm.Map("negentropy").bregman([0.5, 0.5], [1.0, 0.0]), np.inf)

    def test_layouts(self) -> None:
        m = mm.Map("tsallis:3")
        scores = np.random.default_rng(2).normal(size=(6, 8))
        want = m.project(scores)
        np.testing.assert_array_equal(m.project(np.asfortranarray(scores)), want)
        np.testing.assert_array_equal(m.project(np.repeat(scores, 2, axis=1)[:, ::2]), want)
        np.testing.assert_array_equal(m.project(scores.astype(">f8")), want)
        np.testing.assert_array_equal(m.project(scores[::-1]), want[::-1])
        self.assertEqual(m.project(np.zeros((0, 4))).shape, (0, 4))
        np.testing.assert_array_equal(m.project([0, 0]), [0.5, 0.5])
        self.assertEqual(m.phi(0.5).shape, ())

    def test_threads(self) -> None:
        m, scores, ends = mm.Map("acrobot"), np.random.default_rng(3).normal(size=(2000, 6)), []
        want = m.project(scores)
        threads = [threading.Thread(target=lambda: ends.append((m.project(scores) == want).all())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(ends, [True] * 8)


class Making(unittest.TestCase):
    def test_round_trips(self) -> None:
        maps = [mm.Map(name) for name in MAPS]
        maps += [mm.Map.powers([1, 0.5], [0, 2]), mm.Map.stages([mm.Map("tsallis:2"), mm.Map.tsallis(3)])]
        with tempfile.TemporaryDirectory() as folder:
            for m in maps:
                m.save(f"{folder}/map.json")
                for other in (mm.Map(pathlib.Path(folder, "map.json")), mm.Map.parse(m.to_json())):
                    self.assertEqual(other, m)
                self.assertEqual(pickle.loads(pickle.dumps(m)), m)
                self.assertEqual(hash(copy.deepcopy(m)), hash(m))

    def test_parameters(self) -> None:
        for name in MAPS:
            m = mm.Map(name)
            if m.parameters:
                self.assertEqual(getattr(mm.Map, m.kind)(**m.parameters).project([1.0, 2.0]).tolist(),
                                 m.project([1.0, 2.0]).tolist())
        stages = mm.Map.stages([mm.Map("tsallis:2"), mm.Map.tsallis(3)])
        self.assertEqual([anchor.parameters["q"] for anchor in stages.anchors], [2, 3])

    def test_files(self) -> None:
        m = mm.Map.parse('{"format": "mirrormap/2", "kind": "l2", "eta": 0.5, "meta": {"from": "here"}}')
        self.assertEqual((m.eta, m.meta, mm.Map("l2").eta), (0.5, {"from": "here"}, None))
        self.assertEqual(json.loads(m.to_json({"from": "there"}))["meta"], {"from": "there"})

    def test_check(self) -> None:
        self.assertTrue(mm.Map("negentropy").check().essentially_smooth)
        self.assertFalse(mm.Map("l2").check().essentially_smooth)

    def test_bad_input(self) -> None:
        m = mm.Map("l2")
        cases = [
            (lambda: mm.Map("acrobott"), "did you mean 'acrobot'"),
            (lambda: mm.Map(pathlib.Path("no.json")), "no.json"),
            (lambda: mm.Map("l2\0"), "zero byte"),
            (lambda: mm.Map.parse("{"), "text"),
            (lambda: mm.Map.tsallis(1), "q = 1"),
            (lambda: mm.Map.piecewise([]), "n = 0"),
            (lambda: mm.Map.piecewise([[1.0]]), "psi"),
            (lambda: mm.Map.neural([1], [1], [1], 1, 1), "126"),
            (lambda: mm.Map.powers([1, 2], [1]), "a: expected 2"),
            (lambda: mm.Map.stages([m]), "2"),
            (lambda: m.project(1.0), "scores"),
            (lambda: m.project(np.zeros((3, 0))), "scores"),
            (lambda: m.project([np.nan, 1]), "finite"),
            (lambda: m.project([1j, 1]), "real"),
            (lambda: m.project("ab"), "real"),
            (lambda: m.project([[1], [1, 2]]), "real"),
            (lambda: m.project([1, 2], method="bisect"), "bisect10"),
            (lambda: m.inverse(2), "probability"),
            (lambda: m.h(0.5), "last axis"),
            (lambda: m.bregman([0.5, 0.6], [2, 0.5]), r"\[0, 1\]"),
            (lambda: m.save("/no/such/folder/map.json"), "/no/such"),
            (lambda: mm.ES("cma", 2), "cma"),
            (lambda: mm.ES("cma-es", 0), "dimension"),
            (lambda: mm.ES("cma-es", 2, mean=[1]), "mean"),
            (lambda: mm.ES("cma-es", 2, sigma=-1.0), "sigma"),
            (lambda: mm.ES("cma-es", 2, step=1), "unknown option 'step'"),
            (lambda: mm.ES("cma-es", 2).tell([1]), "fitness"),
            (lambda: mm.ES("openes", 2, population=8).tell(np.zeros(8)), "asked"),
        ]
        for i, (call, words) in enumerate(cases):
            with self.subTest(i), self.assertRaisesRegex(mm.Error, words):
                call()
        self.assertTrue(issubclass(mm.InputError, ValueError))
        self.assertTrue(issubclass(mm.FileError, OSError))
        for call in (lambda: mm.Map(3), lambda: m.bregman([1, 0], [1, 0, 0])):
            with self.assertRaises((TypeError, ValueError)):
                call()


class Evolution(unittest.TestCase):
    def test_all_strategies(self) -> None:
        for kind in ("openes", "sep-cma-es", "cma-es"):
            es = mm.ES(kind, 4, seed=3, mean=np.full(4, 2.0), sigma=0.5)
            before = (es.mean**2).sum()
            for _ in range(60):
                es.tell(-(es.ask() ** 2).sum(1))
            self.assertLess((es.mean**2).sum(), before)
            self.assertEqual((es.generation, es.evaluations), (60, 60 * es.population))
            other = pickle.loads(pickle.dumps(es))
            np.testing.assert_array_equal(other.ask(), es.ask())


if __name__ == "__main__":
    unittest.main()
