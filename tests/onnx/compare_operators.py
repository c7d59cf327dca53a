#!/usr/bin/env python3
"""Compares operators of which ONNX has few tests or none with ONNX Runtime: makes small models with random attributes, lets ONNX Runtime
say what comes out, writes both as cases in ONNX's layout and runs `kiln run --test` on them. Needs the packages onnx and onnxruntime."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
MS = "com.microsoft"
F = np.float32


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.refused = []

    def add(self, name, op, inputs, outputs=1, domain=ML, version=3, **attributes):
        """One case; what ONNX Runtime refuses is no case."""
        inputs = [np.asarray(x) for x in inputs]
        inputs = [x.astype(object) if x.dtype.kind == "U" else x for x in inputs]
        node = helper.make_node(op, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)],
                                domain=domain, **attributes)
        graph = helper.make_graph([node], "case", [helper.make_tensor_value_info(f"x{i}", type_of(x), x.shape)
                                                   for i, x in enumerate(inputs)],
                                  [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)])
        opsets = [helper.make_opsetid("", 20 if not domain else 17)]
        if domain:
            opsets.append(helper.make_opsetid(domain, version))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        self.ask(f"{op}_{name}", model, dict(enumerate(inputs)))

    def ask(self, name, model, inputs):
        """What ONNX Runtime says that a model gives for inputs x0, x1 ... by number, as a case."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options)
            results = session.run(None, {f"x{i}": x for i, x in inputs.items()})
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.refused.append(f"{name}: {str(error)[:200]}")
            return
        self.write(f"{self.count:03}_{name}", model, list(inputs.values()), results)
        self.count += 1

    def write(self, name, model, inputs, results):
        data = self.folder / name / "test_data_set_0"
        data.mkdir(parents=True)
        onnx.save(model, self.folder / name / "model.onnx")
        for kind, values in (("input", inputs), ("output", results)):
            for i, x in enumerate(values):
                tensor = numpy_helper.from_array(np.asarray(x), f"{kind[0].replace('i', 'x').replace('o', 'y')}{i}")
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def type_of(x):
    return TensorProto.STRING if x.dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(x.dtype)


# ---- forests

def random_trees(rng, trees, features, depth, modes, nan):
    """Lists of nodes of random trees, and their leaves."""
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                             "missing_value_tracks_true")}
    leaves = []

    def add(tree, level, ids):
        me = len(ids)
        ids.append(me)
        at = len(nodes["nodeids"])
        leaf = level == depth or (level > 0 and rng.random() < 0.2)
        for key, value in (("treeids", tree), ("nodeids", me), ("featureids", int(rng.integers(features))),
                           ("modes", "LEAF" if leaf else str(rng.choice(modes))),
                           ("values", float(np.round(rng.normal() * 4) / 4)), ("truenodeids", 0), ("falsenodeids", 0),
                           ("missing_value_tracks_true", int(nan and rng.random() < 0.5))):
            nodes[key].append(value)
        if leaf:
            leaves.append((tree, me))
        else:
            nodes["truenodeids"][at] = add(tree, level + 1, ids)
            nodes["falsenodeids"][at] = add(tree, level + 1, ids)
        return me

    for tree in range(trees):
        add(tree, 0, [])
    if not nan:
        del nodes["missing_value_tracks_true"]
    return {"nodes_" + k: v for k, v in nodes.items()}, leaves


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
POSTS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def votes(rng, leaves, targets, each, prefix, positive=False):
    rows = []
    for tree, node in leaves:
        for target in (range(targets) if each else [int(rng.integers(targets))]):
            weight = float(rng.normal())
            rows.append((tree, node, target, abs(weight) if positive else weight))
    keys = ("treeids", "nodeids", "ids", "weights")
    return {f"{prefix}_{k}": [r[i] for r in rows] for i, k in enumerate(keys)}


def features(rng, n, width, nan):
    x = np.round(rng.normal(size=(n, width)) * 4).astype(F) / 4
    if nan:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def add_forests(cases, rng):
    for i, modes in enumerate([MODES[:1], MODES[1:2], MODES[2:3], MODES[3:4], MODES[4:], MODES, MODES]):
        nan = i in (0, 3, 6)
        nodes, leaves = random_trees(rng, 7, 5, 4, modes, nan)
        x = features(rng, 9, 5, nan)
        for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
            for targets in (1, 3):
                weights = votes(rng, leaves, targets, True, "target")
                base = [0.5, -1, 2][:targets]
                cases.add(f"{aggregate}_{targets}_{i}", "TreeEnsembleRegressor", [x], aggregate_function=aggregate,
                          n_targets=targets, base_values=base, **nodes, **weights)
        weights = votes(rng, leaves, 3, False, "target")
        cases.add(f"sparse_{i}", "TreeEnsembleRegressor", [x], aggregate_function="SUM", n_targets=3, **nodes, **weights)
        for post in POSTS:
            cases.add(f"{post}_{i}", "TreeEnsembleRegressor", [x], n_targets=3, post_transform=post, **nodes, **weights)
            three = votes(rng, leaves, 3, True, "class")
            cases.add(f"three_{post}_{i}", "TreeEnsembleClassifier", [x], 2, post_transform=post,
                      classlabels_strings=["a", "b", "c"], **nodes, **three)
            for positive in (False, True):
                one = votes(rng, leaves, 1, True, "class", positive)
                cases.add(f"two_{post}_{positive}_{i}", "TreeEnsembleClassifier", [x], 2, post_transform=post,
                          classlabels_int64s=[4, 9], **nodes, **one)
    nodes, leaves = random_trees(rng, 3, 4, 3, MODES[:1], False)
    for kind in (np.float64, np.int64, np.int32):
        x = np.round(rng.normal(size=(5, 4)) * 2).astype(kind)
        cases.add(kind.__name__, "TreeEnsembleRegressor", [x], n_targets=2, **nodes, **votes(rng, leaves, 2, True, "target"))
    wide = dict(nodes)
    values = np.array(wide.pop("nodes_values"), np.float64) + 1e-12
    weights = votes(rng, leaves, 2, True, "target")
    doubles = np.array(weights.pop("target_weights"))
    cases.add("doubles", "TreeEnsembleRegressor", [features(rng, 6, 4, False).astype(np.float64)], n_targets=2,
              nodes_values_as_tensor=numpy_helper.from_array(values),
              target_weights_as_tensor=numpy_helper.from_array(doubles), **wide, **weights)


def add_new_forests(cases, rng):
    """TreeEnsemble: leaves in a list of their own, sets of members. ONNX Runtime takes the numbers of two post transforms for each
    other's, so these are not compared."""
    def tensor(values, kind):
        return numpy_helper.from_array(np.array(values, kind))

    for kind in (F, np.float64):
        for members in (False, True):
            modes = [0, 6, 5, 1, 6, 3] if members else [0, 1, 2, 3, 4, 5]
            common = {
                "tree_roots": [0, 3], "nodes_featureids": [0, 1, 2, 1, 0, 2],
                "nodes_modes": tensor(modes, np.uint8), "nodes_splits": tensor([0.25, 0.5, -0.5, 0, 0.25, 1], kind),
                "nodes_truenodeids": [1, 0, 2, 4, 4, 6], "nodes_trueleafs": [0, 1, 1, 0, 1, 1],
                "nodes_falsenodeids": [2, 1, 3, 5, 5, 7], "nodes_falseleafs": [0, 1, 1, 0, 1, 1],
                "leaf_targetids": [0, 1, 0, 1, 1, 0, 1, 0], "n_targets": 2,
                "leaf_weights": tensor([1, -2, 3, 0.5, 4, -1, 2, 6], kind),
            }
            if members:
                common["membership_values"] = tensor([0.25, -0.25, 1, np.nan, 0, 0.5, np.nan], kind)
            x = features(rng, 20, 3, True).astype(kind)
            for aggregate in range(4):
                cases.add(f"{kind.__name__}_{members}_{aggregate}", "TreeEnsemble", [x], version=5,
                          aggregate_function=aggregate, **common)
            cases.add(f"{kind.__name__}_{members}_nan", "TreeEnsemble", [x], version=5,
                      nodes_missing_value_tracks_true=[1, 0, 1, 0, 1, 1], **common)


# ---- support vectors and linear models

def add_machines(cases, rng):
    x = rng.normal(size=(6, 3)).astype(F)
    params = [0.3, 0.5, 3.0]
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        for one_class in (0, 1):
            cases.add(f"{kernel}_{one_class}", "SVMRegressor", [x], coefficients=rng.normal(size=4).tolist(),
                      support_vectors=rng.normal(size=12).tolist(), n_supports=4, rho=[0.2], kernel_type=kernel,
                      kernel_params=params, one_class=one_class)
        for classes in (2, 3, 4):
            per = rng.integers(1, 4, size=classes).tolist()
            n, pairs = sum(per), classes * (classes - 1) // 2
            common = {"coefficients": rng.normal(size=(classes - 1) * n).tolist(), "kernel_type": kernel,
                      "support_vectors": rng.normal(size=n * 3).tolist(), "vectors_per_class": per,
                      "rho": rng.normal(size=pairs).tolist(), "kernel_params": params,
                      "classlabels_ints": [5, 6, 7, 8][:classes]}
            for post in POSTS:
                cases.add(f"{kernel}_{classes}_{post}", "SVMClassifier", [x], 2, post_transform=post, **common)
            cases.add(f"{kernel}_{classes}_sure", "SVMClassifier", [x], 2, prob_a=(-1 - rng.random(pairs)).tolist(),
                      prob_b=rng.normal(size=pairs).tolist(), **common)
    for classes in (2, 3):
        cases.add(f"linear_{classes}", "SVMClassifier", [x], 2, coefficients=rng.normal(size=classes * 3).tolist(),
                  rho=[0.1], kernel_params=[0.0, 0, 0], classlabels_strings=["a", "b", "c"][:classes])
    for post in POSTS:
        for targets in (1, 3):
            weights = {"coefficients": rng.normal(size=3 * targets).tolist(), "post_transform": post,
                       "intercepts": rng.normal(size=targets).tolist()}
            cases.add(f"{post}_{targets}", "LinearRegressor", [x], targets=targets, **weights)
            cases.add(f"{post}_{targets}", "LinearClassifier", [x], 2, **weights,
                      classlabels_strings=["a", "b"] if targets == 1 else ["a", "b", "c"])
    cases.add("probit", "LinearRegressor", [rng.random(size=(4, 1)).astype(F)], coefficients=[1.0], post_transform="PROBIT")


# ---- features, labels, texts

def add_features(cases, rng):
    x = rng.normal(size=(4, 3)).astype(F)
    x[1] = 0
    for norm in ("MAX", "L1", "L2"):
        for kind in (F, np.float64, np.int32):
            cases.add(f"{norm}_{kind.__name__}", "Normalizer", [(x * 3).astype(kind)], norm=norm)
    for kind in (F, np.float64, np.int64, np.int32):
        cases.add(kind.__name__, "Scaler", [(x * 9).astype(kind)], offset=[1, 2, 3.5], scale=[0.5, 2, -1])
        cases.add(kind.__name__, "Binarizer", [(x * 2).astype(kind)], threshold=0.5)
        cases.add(kind.__name__, "OneHotEncoder", [np.round(x * 3).astype(kind)], cats_int64s=[-2, 0, 1, 3])
    cases.add("texts", "OneHotEncoder", [np.array(["a", "x", "b"])], cats_strings=["b", "a", "c"])
    holes = x.copy()
    holes[0, 1] = holes[2, 2] = np.nan
    cases.add("nan", "Imputer", [holes], replaced_value_float=float("nan"), imputed_value_floats=[1.0, 2, 3])
    cases.add("one", "Imputer", [x], replaced_value_float=0.0, imputed_value_floats=[7.0])
    cases.add("ints", "Imputer", [np.array([[1, 5, 1]])], replaced_value_int64=1, imputed_value_int64s=[7, 8, 9])
    for data in (x, x[0], np.arange(24.0).reshape(2, 3, 4).astype(F), np.array([["a", "b", "c"]])):
        cases.add(f"rank{data.ndim}", "ArrayFeatureExtractor", [data, np.array([[2, 0]])])
    cases.add("two", "FeatureVectorizer", [x, x[:, :1]], inputdimensions=[3, 1])


def add_labels(cases, rng):
    del rng
    texts, numbers = np.array([["b", "zz"], ["a", "c"]]), np.array([3, 1, 99, -4])
    reals = np.array([0.5, np.nan, -1, 7], F)
    cases.add("1_texts", "LabelEncoder", [texts], version=1, classes_strings=["a", "b", "c"], default_int64=-7)
    cases.add("1_numbers", "LabelEncoder", [np.array([0, 2, 5])], version=1, classes_strings=["a", "b", "c"])
    keys = {"keys_strings": ["a", "b", "c"], "keys_int64s": [1, 3, -4], "keys_floats": [0.5, 7.0, 2.0]}
    values = {"values_strings": ["x", "y", "z"], "values_int64s": [10, 20, 30], "values_floats": [1.5, 2.5, 3.5]}
    for version in (2, 4):
        for (key, k), x in zip(keys.items(), (texts, numbers, reals)):
            for value, v in values.items():
                cases.add(f"{version}_{key}_{value}", "LabelEncoder", [x], version=version, **{key: k, value: v})
    tensor = numpy_helper.from_array
    cases.add("4_tensors", "LabelEncoder", [np.array([1.5, np.nan, 2])], version=4,
              keys_tensor=tensor(np.array([2, np.nan, 9.0])), values_tensor=tensor(np.array([5, 6, 7.0])),
              default_tensor=tensor(np.array([0.25])))
    for x in (texts, numbers):
        cases.add(x.dtype.kind, "CategoryMapper", [x], cats_strings=["a", "b"], cats_int64s=[1, 3],
                  **({"default_int64": -3} if x.dtype.kind == "U" else {"default_string": "none"}))


def add_texts(cases, rng):
    words = np.array(["a b  cde f", "x", "", "  Über  ab-c abc ", "日本 語"])
    for mark in (0, 1):
        for least in (1, 2):
            for i, how in enumerate([{"separators": [" "]}, {"separators": [" ", "b|-"]}, {"separators": ["b*"]},
                                     {"tokenexp": "[a-c]+"}, {"tokenexp": "a|ab"}, {"tokenexp": "\\w+"}, {"separators": [""]}]):
                cases.add(f"{mark}_{least}_{i}", "Tokenizer", [words], domain=MS, version=1, mark=mark, pad_value="#",
                          mincharnum=least, **how)
    patterns = ["a.*", "[a-z ]+", "\\d+|x?", "(?i)[ÜA]?.*", ".{0,3}", "(ab|a)(c|bcd)*", "[^a-z]*", "\\s*\\S+.*",
                "^$", "a\\b.*", "[[:alpha:]]", "(?:x|)", "x{1,2}", "日.{2}", "[\\w\\s]*", "(a+)+b", "\\x61.*", "\\Qa b\\E.*"]
    for i, pattern in enumerate(patterns):
        cases.add(str(i), "RegexFullMatch", [words], domain="", pattern=pattern)
    for i, how in enumerate([{}, {"maxsplit": 1}, {"delimiter": "b"}, {"delimiter": " ", "maxsplit": 2}, {"delimiter": "ab"}]):
        cases.add(str(i), "StringSplit", [words], 2, domain="", **how)
    for action in ("NONE", "UPPER", "LOWER"):
        for exact in (0, 1):
            cases.add(f"{action}_{exact}", "StringNormalizer", [np.array(["Äb", "STOP", "stop", "x", "ß"])], domain="", locale="C.UTF-8",
                      case_change_action=action, is_case_sensitive=exact, stopwords=["stop"])
    pool = [5, 6, 5, 6, 6, 5, 6, 5, 5]
    for mode in ("TF", "IDF", "TFIDF"):
        for skip in (0, 2):
            for indexes in ([0, 1, 2, 3, 4], [4, 1, 0, 3, 2 if mode == "IDF" else 4]):
                for lengths in ((1, 3), (2, 3), (1, 1), (2, 2)):
                    common = {"mode": mode, "max_skip_count": skip, "ngram_indexes": indexes, "ngram_counts": [0, 2, 6],
                              "min_gram_length": lengths[0], "max_gram_length": lengths[1], "domain": "",
                              "weights": [1.0, 2, 3, 4, 5]}
                    x = rng.integers(4, 8, size=(3, 12))
                    name = f"{mode}_{skip}_{indexes[0]}_{lengths[0]}{lengths[1]}"
                    cases.add(name, "TfIdfVectorizer", [x], pool_int64s=pool, **common)
                    cases.add(name + "_t", "TfIdfVectorizer", [x.astype(str)], pool_strings=[str(p) for p in pool], **common)


def compare(kind, families, text):
    """A command line that makes the cases of each family and runs them: its exit code."""
    arguments = argparse.ArgumentParser(description=text)
    arguments.add_argument("--kiln", type=pathlib.Path, default="build/release/kiln")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--keep", type=pathlib.Path, help="write the cases here and keep them")
    arguments.add_argument("--verbose", action="store_true", help="say what ONNX Runtime refuses")
    given = arguments.parse_args()
    folder = given.keep or pathlib.Path(tempfile.mkdtemp())
    cases, rng = kind(folder), np.random.default_rng(1)
    for add in families:
        add(cases, rng)
    if given.verbose:
        print("\n".join(cases.refused))
    print(f"{cases.count} cases, {len(cases.refused)} refused by ONNX Runtime", flush=True)
    done = subprocess.run([given.kiln, "run", "--test", folder, "--device", given.device], check=False)
    if not given.keep:
        shutil.rmtree(folder)
    return done.returncode if cases.count else 1


if __name__ == "__main__":
    sys.exit(compare(Cases, (add_forests, add_new_forests, add_machines, add_features, add_labels, add_texts), __doc__))
