"""Models of scikit-learn by skl2onnx: each estimator it converts, with the options of its converters, on numbers, texts and tables."""

import numpy as np
import onnx
from other_export import case
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    calibration, cluster, compose, cross_decomposition, decomposition, discriminant_analysis, ensemble, feature_extraction,
    feature_selection, gaussian_process, impute, linear_model, mixture, model_selection, multiclass, multioutput, naive_bayes,
    neighbors, neural_network, pipeline, preprocessing, random_projection, svm, tree,
)
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import kernels


def table(kind, n=120, features=6, classes=3):
    """x as f32 and y of a kind: 2 and more classes, texts as classes, numbers, several numbers, several labels, counts, none."""
    if kind in ("binary", "classes", "texts", "labels", "truth"):
        k = 2 if kind in ("binary", "truth") else classes
        x, y = make_classification(n, features, n_informative=4, n_redundant=0, n_classes=k, random_state=0)
        if kind == "texts":
            y = np.array(["red", "green", "blué"], dtype=object)[y]
        if kind == "truth":
            y = y.astype(bool)
        if kind == "labels":
            y = np.stack([y > 0, y > 1], 1).astype(np.int64)
    else:
        x, y = make_regression(n, features, n_targets=2 if kind == "several" else 1, noise=1, random_state=0)
        y = y / 50
    x = x.astype(np.float32)
    if kind == "counts":
        x, y = np.abs(np.round(x * 2)), (y > 0).astype(np.int64)
    if kind == "positive":
        y = np.exp(y / 4)
    return x, y


def add(name, model, kind="classes", options=None, dtype=np.float32, opset=None, transform=None, target=None):
    def make():
        x, y = table(kind)
        if transform:
            x = transform(x)
        m = model() if callable(model) else model
        m.fit(x, y)
        t = {np.float32: FloatTensorType, np.float64: DoubleTensorType, np.int64: Int64TensorType}[dtype]
        opts = {id(m): options} if options else None
        done = to_onnx(m, initial_types=[("X", t([None, x.shape[1]]))], options=opts, target_opset=opset or target)
        x = x.astype(dtype)
        return done, [{"X": x[:5]}, {"X": x[7:24]}, {"X": x[:1]}]

    case(f"sklearn_{name}", make)


FAST = dict(random_state=0)
CLASSIFIERS = {
    "ada": lambda: ensemble.AdaBoostClassifier(n_estimators=5, **FAST),
    "bagging": lambda: ensemble.BaggingClassifier(n_estimators=3, **FAST),
    "calibrated": lambda: calibration.CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=3), cv=2),
    "calibrated_isotonic": lambda: calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2, method="isotonic"),
    "tree": lambda: tree.DecisionTreeClassifier(max_depth=5, **FAST),
    "extra_tree": lambda: tree.ExtraTreeClassifier(max_depth=5, **FAST),
    "forest": lambda: ensemble.RandomForestClassifier(n_estimators=7, **FAST),
    "extra_forest": lambda: ensemble.ExtraTreesClassifier(n_estimators=7, **FAST),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=5, **FAST),
    "boosting_zero": lambda: ensemble.GradientBoostingClassifier(n_estimators=5, init="zero", **FAST),
    "hist": lambda: ensemble.HistGradientBoostingClassifier(max_iter=5, **FAST),
    "gaussian_nb": naive_bayes.GaussianNB,
    "gp": lambda: gaussian_process.GaussianProcessClassifier(**FAST),
    "knn": lambda: neighbors.KNeighborsClassifier(5),
    "knn_distance": lambda: neighbors.KNeighborsClassifier(4, weights="distance", metric="manhattan"),
    "knn_minkowski": lambda: neighbors.KNeighborsClassifier(4, p=3),
    "radius": lambda: neighbors.RadiusNeighborsClassifier(100.0),
    "logistic": linear_model.LogisticRegression,
    "logistic_cv": lambda: linear_model.LogisticRegressionCV(Cs=2, cv=2),
    "lda": discriminant_analysis.LinearDiscriminantAnalysis,
    "qda": discriminant_analysis.QuadraticDiscriminantAnalysis,
    "linear_svc": lambda: svm.LinearSVC(**FAST),
    "svc": lambda: svm.SVC(),
    "svc_probability": lambda: svm.SVC(probability=True, **FAST),
    "svc_poly": lambda: svm.SVC(kernel="poly", degree=2, coef0=1.0),
    "svc_linear": lambda: svm.SVC(kernel="linear"),
    "svc_sigmoid": lambda: svm.SVC(kernel="sigmoid", probability=True, **FAST),
    "nu_svc": lambda: svm.NuSVC(nu=0.3),
    "mlp": lambda: neural_network.MLPClassifier((8, 5), max_iter=30, **FAST),
    "mlp_logistic": lambda: neural_network.MLPClassifier((8,), activation="logistic", max_iter=30, **FAST),
    "one_vs_one": lambda: multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "one_vs_rest": lambda: multiclass.OneVsRestClassifier(tree.DecisionTreeClassifier(max_depth=3)),
    "output_code": lambda: multiclass.OutputCodeClassifier(linear_model.LogisticRegression(), **FAST),
    "passive": lambda: linear_model.PassiveAggressiveClassifier(**FAST),
    "perceptron": lambda: linear_model.Perceptron(**FAST),
    "ridge": linear_model.RidgeClassifier,
    "ridge_cv": linear_model.RidgeClassifierCV,
    "sgd": lambda: linear_model.SGDClassifier(**FAST),
    "sgd_log": lambda: linear_model.SGDClassifier(loss="log_loss", **FAST),
    "sgd_huber": lambda: linear_model.SGDClassifier(loss="modified_huber", **FAST),
    "stacking": lambda: ensemble.StackingClassifier(
        [("a", tree.DecisionTreeClassifier(max_depth=3)), ("b", linear_model.LogisticRegression())], cv=2),
    "voting_hard": lambda: ensemble.VotingClassifier(
        [("a", tree.DecisionTreeClassifier(max_depth=3)), ("b", linear_model.LogisticRegression()), ("c", naive_bayes.GaussianNB())]),
    "voting_soft": lambda: ensemble.VotingClassifier(
        [("a", tree.DecisionTreeClassifier(max_depth=3)), ("b", linear_model.LogisticRegression())], voting="soft"),
    "search": lambda: model_selection.GridSearchCV(linear_model.LogisticRegression(), {"C": [0.1, 1]}, cv=2),
}
for _n, _m in CLASSIFIERS.items():
    for _kind in ("binary", "classes", "texts"):
        add(f"{_n}_{_kind}", _m, _kind)
    add(f"{_n}_plain", _m, "classes", {"zipmap": False})
    add(f"{_n}_f64", _m, "binary", {"zipmap": False}, np.float64)
for _n in ("tree", "logistic", "forest", "knn", "svc"):
    add(f"{_n}_truth", CLASSIFIERS[_n], "truth")
    add(f"{_n}_columns", CLASSIFIERS[_n], "texts", {"zipmap": "columns"})
    add(f"{_n}_labels_out", CLASSIFIERS[_n], "texts", {"zipmap": False, "output_class_labels": True})
    add(f"{_n}_raw", CLASSIFIERS[_n], "classes", {"zipmap": False, "raw_scores": True})
    add(f"{_n}_integers", CLASSIFIERS[_n], "classes", {"zipmap": False}, np.int64, transform=lambda x: np.round(x * 3).astype(np.int64))
for _n in ("svc_poly", "linear_svc", "boosting", "mlp", "one_vs_rest", "gp", "sgd"):
    add(f"{_n}_raw", CLASSIFIERS[_n], "classes", {"zipmap": False, "raw_scores": True})
for _n in ("tree", "forest", "extra_tree"):
    add(f"{_n}_leaf", CLASSIFIERS[_n], "classes", {"zipmap": False, "decision_leaf": True})
    add(f"{_n}_path", CLASSIFIERS[_n], "classes", {"zipmap": False, "decision_path": True})
for _n in ("tree", "extra_tree", "forest", "extra_forest", "knn", "mlp"):
    add(f"{_n}_labels", CLASSIFIERS[_n], "labels", {"zipmap": False})
for _o in (9, 10, 11, 12, 13, 15, 17, 18, 19, 20, 21):
    for _n in ("tree", "logistic", "svc", "knn", "mlp", "hist"):
        add(f"{_n}_opset{_o}", CLASSIFIERS[_n], "classes", {"zipmap": False}, opset=_o)
        add(f"{_n}_opset{_o}_ml1", CLASSIFIERS[_n], "classes", target={"": _o, "ai.onnx.ml": 1})
add("multi_output", lambda: multioutput.MultiOutputClassifier(linear_model.LogisticRegression()), "labels", {"zipmap": False})
add("one_vs_rest_labels", lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), "labels", {"zipmap": False})
add("bernoulli_nb", naive_bayes.BernoulliNB, "counts")
add("bernoulli_nb_binarize", lambda: naive_bayes.BernoulliNB(binarize=0.5), "counts", {"zipmap": False})
add("multinomial_nb", naive_bayes.MultinomialNB, "counts")
add("complement_nb", naive_bayes.ComplementNB, "counts")
add("categorical_nb", naive_bayes.CategoricalNB, "counts", {"zipmap": False}, np.int64, transform=lambda x: np.minimum(x, 3).astype(np.int64))

REGRESSORS = {
    "ada": lambda: ensemble.AdaBoostRegressor(n_estimators=5, **FAST),
    "ard": linear_model.ARDRegression, "bayes": linear_model.BayesianRidge,
    "bagging": lambda: ensemble.BaggingRegressor(n_estimators=3, **FAST),
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=5, **FAST),
    "extra_tree": lambda: tree.ExtraTreeRegressor(max_depth=5, **FAST),
    "forest": lambda: ensemble.RandomForestRegressor(n_estimators=7, **FAST),
    "extra_forest": lambda: ensemble.ExtraTreesRegressor(n_estimators=7, **FAST),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=5, **FAST),
    "hist": lambda: ensemble.HistGradientBoostingRegressor(max_iter=5, **FAST),
    "elastic": linear_model.ElasticNet, "lasso": lambda: linear_model.Lasso(0.01), "lars": linear_model.Lars,
    "gp": lambda: gaussian_process.GaussianProcessRegressor(alpha=0.1),
    "gp_rbf": lambda: gaussian_process.GaussianProcessRegressor(kernels.ConstantKernel(2.0) * kernels.RBF(3.0) + kernels.WhiteKernel(0.1), alpha=1.0, optimizer=None),
    "gp_matern": lambda: gaussian_process.GaussianProcessRegressor(kernels.Matern(nu=1.5), alpha=1.0, optimizer=None),
    "gp_matern25": lambda: gaussian_process.GaussianProcessRegressor(kernels.Matern(nu=2.5), alpha=1.0, optimizer=None),
    "gp_sine": lambda: gaussian_process.GaussianProcessRegressor(kernels.ExpSineSquared(3, 5), alpha=1.0, optimizer=None),
    "gp_quadratic": lambda: gaussian_process.GaussianProcessRegressor(kernels.RationalQuadratic(3), alpha=1.0, optimizer=None),
    "gp_dot": lambda: gaussian_process.GaussianProcessRegressor(kernels.DotProduct() + kernels.PairwiseKernel(metric="cosine"), alpha=1.0, optimizer=None),
    "huber": linear_model.HuberRegressor, "knn": neighbors.KNeighborsRegressor,
    "knn_distance": lambda: neighbors.KNeighborsRegressor(4, weights="distance", metric="chebyshev"),
    "radius": lambda: neighbors.RadiusNeighborsRegressor(100.0),
    "linear": linear_model.LinearRegression, "linear_positive": lambda: linear_model.LinearRegression(positive=True),
    "linear_svr": lambda: svm.LinearSVR(**FAST), "svr": svm.SVR, "nu_svr": svm.NuSVR, "svr_poly": lambda: svm.SVR(kernel="poly"),
    "mlp": lambda: neural_network.MLPRegressor((8, 5), activation="tanh", max_iter=30, **FAST),
    "omp": linear_model.OrthogonalMatchingPursuit, "passive": lambda: linear_model.PassiveAggressiveRegressor(**FAST),
    "pls": cross_decomposition.PLSRegression, "quantile": lambda: linear_model.QuantileRegressor(solver="highs"),
    "ransac": lambda: linear_model.RANSACRegressor(**FAST), "ridge": linear_model.Ridge, "ridge_cv": linear_model.RidgeCV,
    "sgd": lambda: linear_model.SGDRegressor(**FAST), "theil": lambda: linear_model.TheilSenRegressor(**FAST),
    "stacking": lambda: ensemble.StackingRegressor([("a", tree.DecisionTreeRegressor(max_depth=3)), ("b", linear_model.Ridge())], cv=2),
    "stacking_passthrough": lambda: ensemble.StackingRegressor([("a", tree.DecisionTreeRegressor(max_depth=3)), ("b", linear_model.Ridge())], cv=2, passthrough=True),
    "voting": lambda: ensemble.VotingRegressor([("a", tree.DecisionTreeRegressor(max_depth=3)), ("b", linear_model.Ridge())], weights=[1, 3]),
}
for _n, _m in REGRESSORS.items():
    add(f"r_{_n}", _m, "numbers")
    add(f"r_{_n}_f64", _m, "numbers", None, np.float64)
for _n in ("tree", "forest", "extra_tree", "knn", "linear", "mlp", "ridge", "pls", "gp"):
    add(f"r_{_n}_several", REGRESSORS[_n], "several")
for _n in ("tree", "forest"):
    add(f"r_{_n}_leaf", REGRESSORS[_n], "numbers", {"decision_leaf": True, "decision_path": True})
add("r_gp_std", REGRESSORS["gp_rbf"], "numbers", {"return_std": True}, np.float64)
add("r_multi", lambda: multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(n_estimators=3)), "several")
for _n, _m in {"gamma": linear_model.GammaRegressor, "poisson": linear_model.PoissonRegressor, "tweedie": lambda: linear_model.TweedieRegressor(power=1.5),
               "hist_poisson": lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=5)}.items():
    add(f"r_{_n}", _m, "positive")
for _n, _m in {"isolation": lambda: ensemble.IsolationForest(n_estimators=5, **FAST), "lof": lambda: neighbors.LocalOutlierFactor(novelty=True),
               "one_class": svm.OneClassSVM, "sgd_one_class": lambda: linear_model.SGDOneClassSVM(**FAST),
               "kmeans": lambda: cluster.KMeans(3, n_init=1, **FAST), "mini_kmeans": lambda: cluster.MiniBatchKMeans(3, n_init=1, **FAST),
               "mixture": lambda: mixture.GaussianMixture(2, **FAST), "mixture_tied": lambda: mixture.GaussianMixture(2, covariance_type="tied", **FAST),
               "mixture_diag": lambda: mixture.GaussianMixture(3, covariance_type="diag", **FAST), "mixture_spherical": lambda: mixture.GaussianMixture(2, covariance_type="spherical", **FAST),
               "mixture_bayes": lambda: mixture.BayesianGaussianMixture(n_components=2, **FAST)}.items():
    add(f"u_{_n}", _m, "classes")
    add(f"u_{_n}_f64", _m, "classes", None, np.float64)
add("u_mixture_scores", lambda: mixture.GaussianMixture(2, **FAST), "classes", {"score_samples": True})
add("u_isolation_scores", lambda: ensemble.IsolationForest(n_estimators=5, **FAST), "classes", {"score_samples": True})

TRANSFORMERS = {
    "binarizer": lambda: preprocessing.Binarizer(threshold=0.2), "scaler": preprocessing.StandardScaler, "scaler_mean": lambda: preprocessing.StandardScaler(with_std=False),
    "minmax": lambda: preprocessing.MinMaxScaler((-1, 2)), "minmax_clip": lambda: preprocessing.MinMaxScaler(clip=True), "maxabs": preprocessing.MaxAbsScaler,
    "robust": preprocessing.RobustScaler, "normalizer": preprocessing.Normalizer, "normalizer_l1": lambda: preprocessing.Normalizer("l1"), "normalizer_max": lambda: preprocessing.Normalizer("max"),
    "bins": lambda: preprocessing.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), "bins_ordinal": lambda: preprocessing.KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "bins_dense": lambda: preprocessing.KBinsDiscretizer(4, encode="onehot-dense", strategy="kmeans"),
    "polynomial": lambda: preprocessing.PolynomialFeatures(2), "polynomial_cross": lambda: preprocessing.PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "power": preprocessing.PowerTransformer, "power_plain": lambda: preprocessing.PowerTransformer(standardize=False), "quantile": lambda: preprocessing.QuantileTransformer(n_quantiles=20),
    "pca": lambda: decomposition.PCA(3), "pca_whiten": lambda: decomposition.PCA(3, whiten=True), "ipca": lambda: decomposition.IncrementalPCA(3), "kpca": lambda: decomposition.KernelPCA(3, kernel="rbf"), "kpca_poly": lambda: decomposition.KernelPCA(3, kernel="poly"),
    "kpca_sigmoid": lambda: decomposition.KernelPCA(3, kernel="sigmoid"), "kpca_cosine": lambda: decomposition.KernelPCA(2, kernel="cosine"),
    "svd": lambda: decomposition.TruncatedSVD(3, **FAST), "projection": lambda: random_projection.GaussianRandomProjection(3, **FAST),
    "embedding": lambda: ensemble.RandomTreesEmbedding(n_estimators=3, max_depth=3, **FAST), "variance": lambda: feature_selection.VarianceThreshold(0.5),
    "kbest": lambda: feature_selection.SelectKBest(k=3), "percentile": lambda: feature_selection.SelectPercentile(percentile=50), "fdr": lambda: feature_selection.SelectFdr(), "fpr": lambda: feature_selection.SelectFpr(),
    "fwe": lambda: feature_selection.SelectFwe(), "from_model": lambda: feature_selection.SelectFromModel(tree.DecisionTreeClassifier(**FAST)), "rfe": lambda: feature_selection.RFE(linear_model.LogisticRegression(), n_features_to_select=3),
    "knn_transform": lambda: neighbors.KNeighborsTransformer(n_neighbors=3), "nca": lambda: neighbors.NeighborhoodComponentsAnalysis(2, max_iter=5, **FAST),
    "function": lambda: preprocessing.FunctionTransformer(), "lda_transform": discriminant_analysis.LinearDiscriminantAnalysis,
    "union": lambda: pipeline.FeatureUnion([("a", preprocessing.StandardScaler()), ("b", decomposition.PCA(2))]),
    "tfidf_transform": lambda: feature_extraction.text.TfidfTransformer(), "tfidf_transform_sub": lambda: feature_extraction.text.TfidfTransformer(norm="l1", sublinear_tf=True),
}
for _n, _m in TRANSFORMERS.items():
    _kind = "counts" if _n.startswith("tfidf") else "classes"
    _tr = (lambda x: x[:, :3]) if _n == "polynomial" else None
    add(f"t_{_n}", _m, _kind, transform=_tr)
    add(f"t_{_n}_f64", _m, _kind, None, np.float64, transform=_tr)


def holes(x):
    x = x.copy()
    x[::3, 1] = np.nan
    x[1::4, 3] = np.nan
    return x


for _s in ("mean", "median", "most_frequent", "constant"):
    add(f"t_impute_{_s}", lambda s=_s: impute.SimpleImputer(strategy=s, fill_value=7.0 if s == "constant" else None), "classes", transform=holes)
add("t_impute_marks", lambda: impute.SimpleImputer(add_indicator=True), "classes", transform=holes)
add("t_impute_knn", lambda: impute.KNNImputer(n_neighbors=3), "classes", transform=holes)
add("t_impute_minus", lambda: impute.SimpleImputer(missing_values=-1, strategy="most_frequent"), "counts", None, np.int64, transform=lambda x: np.where(x > 2, -1, x).astype(np.int64))
add("hist_holes", CLASSIFIERS["hist"], "classes", {"zipmap": False}, transform=holes)
add("pipeline", lambda: pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler(), linear_model.LogisticRegression()), "texts", transform=holes)
add("pipeline_forest", lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(4), ensemble.RandomForestClassifier(5, **FAST)), "binary")

# ---- texts and tables

WORDS = ["The quick brown fox jumps over the lazy dog", "Colourless green ideas sleep furiously", "a dog and a fox, a fox!", "ÉTÉ à la plage, naïve café",
         "numbers 12 and 3.5 and x_y", "", "dog-dog dog", "sleep ideas, sleep well; green 'fox'", "one two three four five six seven", "Tab\tand\nnew line"]
MORE = ["fox dog", "the café is green", "unknown words only here", "", "a 12 b", "DOG", "sleep, sleep, sleep"]


def plain_locale(model):
    """skl2onnx asks for a locale that few machines have, which ONNX Runtime then refuses."""
    for n in model.graph.node:
        if n.op_type == "StringNormalizer":
            kept = [a for a in n.attribute if a.name != "locale"]
            del n.attribute[:]
            n.attribute.extend(kept + [onnx.helper.make_attribute("locale", "C.UTF-8")])


def words(name, model, target=None, y=None, options=None):
    def make():
        m = model()
        m.fit(WORDS, y)
        opts = {id(m): options} if options else None
        done = to_onnx(m, initial_types=[("X", StringTensorType([None, 1]))], target_opset=target, options=opts)
        plain_locale(done)
        return done, [{"X": np.array(t, dtype=object).reshape(-1, 1)} for t in (WORDS, MORE, MORE[:1])]

    case(f"sklearn_w_{name}", make)


T = feature_extraction.text
LABELS = [i % 3 for i in range(len(WORDS))]
words("count", T.CountVectorizer)
words("count_case", lambda: T.CountVectorizer(lowercase=False))
words("count_binary", lambda: T.CountVectorizer(binary=True))
words("count_ngrams", lambda: T.CountVectorizer(ngram_range=(1, 2)))
words("count_ngrams3", lambda: T.CountVectorizer(ngram_range=(2, 3)))
words("count_stop", lambda: T.CountVectorizer(stop_words=["a", "the", "and"]))
words("count_english", lambda: T.CountVectorizer(stop_words="english"))
words("count_chars", lambda: T.CountVectorizer(analyzer="char", ngram_range=(1, 2)))
words("count_chars_wb", lambda: T.CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)))
words("count_pattern", lambda: T.CountVectorizer(token_pattern="[a-zA-Z]+"))
words("count_accents", lambda: T.CountVectorizer(strip_accents="ascii"))
words("tfidf", T.TfidfVectorizer)
words("tfidf_l1", lambda: T.TfidfVectorizer(norm="l1", sublinear_tf=True))
words("tfidf_plain", lambda: T.TfidfVectorizer(norm=None, use_idf=False))
words("tfidf_ngrams", lambda: T.TfidfVectorizer(ngram_range=(1, 2), token_pattern="[a-zA-Z0-9_]{2,}"))
words("tfidf_chars", lambda: T.TfidfVectorizer(analyzer="char", ngram_range=(2, 2), lowercase=False))
words("tfidf_few", lambda: T.TfidfVectorizer(max_features=5, min_df=2))
words("tfidf_logistic", lambda: pipeline.make_pipeline(T.TfidfVectorizer(), linear_model.LogisticRegression()), y=LABELS)
words("tfidf_nb", lambda: pipeline.make_pipeline(T.CountVectorizer(), T.TfidfTransformer(), naive_bayes.MultinomialNB()), y=LABELS)
words("count_svd", lambda: pipeline.make_pipeline(T.CountVectorizer(), decomposition.TruncatedSVD(3, random_state=0)))
for _o in (9, 10, 11, 13, 16, 18):
    words(f"tfidf_opset{_o}", lambda: T.TfidfVectorizer(ngram_range=(1, 2)), target=_o)


def rows(name, model, columns, options=None, target=None, y=None, more=None):
    """columns: name -> list of values; texts, whole numbers or floats, each an input [N, 1]."""
    def make():
        import pandas
        frame = pandas.DataFrame(columns)
        m = model()
        m.fit(frame, y)
        kinds, feeds = [], {}
        for k, v in columns.items():
            text, whole = isinstance(v[0], str), isinstance(v[0], int)
            kinds.append((k, (StringTensorType if text else Int64TensorType if whole else FloatTensorType)([None, 1])))
            feeds[k] = np.array(v, dtype=object if text else np.int64 if whole else np.float32).reshape(-1, 1)
        done = to_onnx(m, initial_types=kinds, target_opset=target, options={id(m): options} if options else None)
        plain_locale(done)
        return done, [feeds, {k: v[:3] for k, v in feeds.items()}, {k: v[4:5] for k, v in feeds.items()}]

    case(f"sklearn_c_{name}", make)


def texts(name, model, target=None):
    def make():
        x = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "z"], ["é", "y"]], dtype=object)
        m = model()
        m.fit(x)
        done = to_onnx(m, initial_types=[("X", StringTensorType([None, 2]))], target_opset=target)
        return done, [{"X": x}, {"X": x[1:3]}]

    case(f"sklearn_c_{name}", make)


texts("one_hot", preprocessing.OneHotEncoder)
texts("one_hot_ignore", lambda: preprocessing.OneHotEncoder(handle_unknown="ignore"))
texts("one_hot_drop", lambda: preprocessing.OneHotEncoder(drop="first"))
texts("one_hot_sparse", lambda: preprocessing.OneHotEncoder(sparse_output=True))
texts("one_hot_rare", lambda: preprocessing.OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"))
texts("ordinal", preprocessing.OrdinalEncoder)
texts("ordinal_unknown", lambda: preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1))
texts("impute", lambda: impute.SimpleImputer(missing_values="a", strategy="most_frequent"))
texts("impute_one_hot", lambda: pipeline.make_pipeline(impute.SimpleImputer(missing_values="", strategy="constant", fill_value="none"), preprocessing.OneHotEncoder()))
MIX = {"age": [21.5, 33.0, 48.2, 19.9, 60.1, 35.5], "town": ["Bonn", "Köln", "Bonn", "Rom", "Köln", "Bonn"], "rooms": [1, 2, 3, 2, 1, 3], "fare": [7.5, 12.0, 0.5, 9.9, 1.5, 3.25]}
FORM = lambda: compose.ColumnTransformer([  # noqa: E731
    ("n", pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ["age", "fare"]),
    ("c", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["town", "rooms"])])
rows("columns", FORM, MIX)
rows("columns_logistic", lambda: pipeline.make_pipeline(FORM(), linear_model.LogisticRegression()), MIX, y=["a", "b", "a", "b", "a", "b"])
rows("columns_forest", lambda: pipeline.make_pipeline(FORM(), ensemble.RandomForestClassifier(3, random_state=0)), MIX, y=[0, 1, 2, 0, 1, 2])
rows("columns_boosting", lambda: pipeline.make_pipeline(FORM(), ensemble.GradientBoostingRegressor(n_estimators=3)), MIX, y=[0.5, 1, 2, 0, 1.5, 2])
rows("columns_pass", lambda: compose.ColumnTransformer([("o", preprocessing.OrdinalEncoder(), ["town"])], remainder="passthrough"), {k: MIX[k] for k in ("town", "age", "fare")})
rows("columns_drop", lambda: compose.ColumnTransformer([("a", "drop", ["rooms"]), ("t", "passthrough", ["age"]), ("b", preprocessing.KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"), ["fare"])]), {k: MIX[k] for k in ("rooms", "age", "fare")})
rows("columns_words", lambda: compose.ColumnTransformer([("w", T.TfidfVectorizer(analyzer="char"), "town"), ("n", preprocessing.MinMaxScaler(), ["age"])]), {k: MIX[k] for k in ("town", "age")})


def encoder(name, model, values, kind, shape=None):
    def make():
        m = model()
        m.fit(values)
        x = np.array(values, dtype=object if kind is StringTensorType else None)
        x = x if kind is StringTensorType else x.astype(np.int64 if kind is Int64TensorType else np.float32)
        done = to_onnx(m, initial_types=[("X", kind(shape or [None]))])
        return done, [{"X": x}, {"X": x[:2]}]

    case(f"sklearn_e_{name}", make)


encoder("label_texts", preprocessing.LabelEncoder, ["b", "a", "c", "a"], StringTensorType)
encoder("label_integers", preprocessing.LabelEncoder, [3, 1, 7, 3], Int64TensorType)
encoder("label_floats", preprocessing.LabelEncoder, [3.5, 1.0, 7.0, 3.5], FloatTensorType)
encoder("binarizer_integers", preprocessing.LabelBinarizer, [3, 1, 7, 3], Int64TensorType)
encoder("binarizer_two", lambda: preprocessing.LabelBinarizer(neg_label=-1, pos_label=2), [3, 1, 1, 3], Int64TensorType)
encoder("one_hot_integers", preprocessing.OneHotEncoder, [[1, 5], [2, 6], [1, 7]], Int64TensorType, [None, 2])


def dictionary():
    m = feature_extraction.DictVectorizer()
    m.fit([{"a": 1.0, "b": 2.0}, {"c": 3.0, "a": 5.0}])
    from skl2onnx.common.data_types import DictionaryType
    done = to_onnx(m, initial_types=[("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))])
    return done, [{"X": {"a": 1.0, "b": 2.0}}, {"X": {"c": 3.0}}]


case("sklearn_e_dictionary", dictionary)


def hasher(name, **settings):
    def make():
        m = feature_extraction.FeatureHasher(n_features=8, input_type="string", **settings)
        x = np.array([[w] for w in ("dog", "cat", "café", "fox")], dtype=object)
        m.fit(x)
        done = to_onnx(m, initial_types=[("X", StringTensorType([None, 1]))])
        return done, [{"X": x}, {"X": x[:2]}]

    case(f"sklearn_e_{name}", make)


hasher("hasher")
hasher("hasher_plain", alternate_sign=False)


def target():
    m = preprocessing.TargetEncoder(random_state=0)
    x = np.array([["a"], ["b"], ["a"], ["c"], ["b"], ["c"]] * 4, dtype=object)
    m.fit(x, np.arange(24) % 5 * 1.0)
    return to_onnx(m, initial_types=[("X", StringTensorType([None, 1]))]), [{"X": x}, {"X": x[:2]}]


case("sklearn_e_target", target)
