"""Boosted trees of LightGBM, XGBoost and CatBoost: by onnxmltools, within pipelines of skl2onnx, and by CatBoost's own writer."""

import tempfile

import catboost
import lightgbm
import numpy as np
import onnx
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as Floats
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm as lightgbm_operator
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost as xgboost_operator
from other_export import case
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes, calculate_linear_regressor_output_shapes
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CLASSES = {"options": {"nocl": [True, False], "zipmap": [True, False, "columns"]}}
update_registered_converter(lightgbm.LGBMClassifier, "LightGbmLGBMClassifier", calculate_linear_classifier_output_shapes, lightgbm_operator, **CLASSES)
update_registered_converter(lightgbm.LGBMRegressor, "LightGbmLGBMRegressor", calculate_linear_regressor_output_shapes, lightgbm_operator, options={"split": None})
update_registered_converter(xgboost.XGBClassifier, "XGBoostXGBClassifier", calculate_linear_classifier_output_shapes, xgboost_operator, **CLASSES)
update_registered_converter(xgboost.XGBRegressor, "XGBoostXGBRegressor", calculate_linear_regressor_output_shapes, xgboost_operator)


def table(kind, holes=False):
    if kind == "numbers":
        x, y = make_regression(200, 6, noise=1, random_state=0)
    elif kind == "positive":
        x, y = make_regression(200, 6, noise=1, random_state=0)
        y = np.exp(y / 200)
    elif kind == "several":
        x, y = make_regression(200, 6, n_targets=2, random_state=0)
    else:
        x, y = make_classification(200, 6, n_informative=4, n_classes=2 if kind == "binary" else 3, random_state=0)
    x = x.astype(np.float32)
    if holes:
        x[::3, 1] = np.nan
    return x, y


def sets(x):
    return [x[:5], x[5:37], x[:1]]


def feeds(model, x):
    name = model.graph.input[0].name
    return [{name: v} for v in sets(x)]


def light(name, kind, holes=False, zipmap=True, opset=None, booster=False, split=None, **settings):
    def make():
        x, y = table(kind, holes)
        cls = lightgbm.LGBMClassifier if kind in ("binary", "classes") else lightgbm.LGBMRegressor
        m = cls(n_estimators=6, num_leaves=9, verbose=-1, random_state=0, **settings)
        m.fit(x, y)
        done = convert_lightgbm(m.booster_ if booster else m, initial_types=[("x", Floats([None, 6]))], zipmap=zipmap, target_opset=opset, **({"split": split} if split else {}))
        return done, feeds(done, x)

    case(f"lightgbm_{name}", make)


for kind in ("binary", "classes"):
    light(kind, kind)
    light(kind + "_plain", kind, zipmap=False)
    light(kind + "_booster", kind, booster=True)
    light(kind + "_holes", kind, holes=True, zipmap=False)
    light(kind + "_dart", kind, boosting_type="dart", zipmap=False)
    light(kind + "_rf", kind, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, zipmap=False)
    for o in (9, 11, 13, 15):
        light(f"{kind}_opset{o}", kind, zipmap=False, opset=o)
for objective in ("regression", "regression_l1", "huber", "quantile", "mape"):
    light("r_" + objective, "numbers", objective=objective)
for objective in ("poisson", "gamma", "tweedie"):
    light("r_" + objective, "positive", objective=objective)
light("r_holes", "numbers", holes=True)
light("r_split", "numbers", split=2)
light("r_ova", "classes", objective="multiclassova", zipmap=False)
light("r_linear", "numbers", linear_tree=True)
light("r_cross", "binary", objective="cross_entropy")


def categories(name, kind):
    def make():
        x, y = table(kind)
        x[:, 2] = np.abs(np.round(x[:, 2] * 2))
        cls = lightgbm.LGBMClassifier if kind != "numbers" else lightgbm.LGBMRegressor
        m = cls(n_estimators=6, num_leaves=9, verbose=-1, random_state=0)
        m.fit(x, y, categorical_feature=[2])
        done = convert_lightgbm(m, initial_types=[("x", Floats([None, 6]))], zipmap=False)
        return done, feeds(done, x)

    case(f"lightgbm_categories_{name}", make)


for kind in ("binary", "classes", "numbers"):
    categories(kind, kind)


def boost(name, kind, holes=False, opset=None, booster=False, cls=None, **settings):
    def make():
        x, y = table(kind, holes)
        maker = cls or (xgboost.XGBClassifier if kind in ("binary", "classes") else xgboost.XGBRegressor)
        m = maker(**{"n_estimators": 6, "max_depth": 4, "random_state": 0, **settings})
        m.fit(x, y)
        done = convert_xgboost(m.get_booster() if booster else m, initial_types=[("x", Floats([None, 6]))], target_opset=opset)
        return done, feeds(done, x)

    case(f"xgboost_{name}", make)


for kind in ("binary", "classes", "numbers"):
    boost(kind, kind)
    boost(kind + "_holes", kind, holes=True)
    boost(kind + "_booster", kind, booster=True)
    boost(kind + "_dart", kind, booster_="dart") if False else None
    boost(kind + "_forest", kind, cls=xgboost.XGBRFRegressor if kind == "numbers" else xgboost.XGBRFClassifier)
    for o in (9, 11, 13, 15):
        boost(f"{kind}_opset{o}", kind, opset=o)
boost("poisson", "positive", objective="count:poisson")
boost("gamma", "positive", objective="reg:gamma")
boost("tweedie", "positive", objective="reg:tweedie")
boost("absolute", "numbers", objective="reg:absoluteerror")
boost("huber", "numbers", objective="reg:pseudohubererror")
boost("quantile", "numbers", objective="reg:quantileerror", quantile_alpha=0.5)
boost("raw", "binary", objective="binary:logitraw")
boost("hinge", "binary", objective="binary:hinge")
boost("base", "numbers", base_score=3.5)
boost("several", "several")
boost("one_tree", "numbers", n_estimators=1)
boost("stump", "classes", max_depth=1)


def ranker():
    x, y = table("classes")
    m = xgboost.XGBRanker(n_estimators=5, max_depth=3)
    m.fit(x, y, group=[100, 100])
    done = convert_xgboost(m, initial_types=[("x", Floats([None, 6]))])
    return done, feeds(done, x)


case("xgboost_ranker", ranker)


def piped(name, maker, kind, options=None):
    def make():
        x, y = table(kind)
        m = make_pipeline(StandardScaler(), maker())
        m.fit(x, y)
        done = to_onnx(m, initial_types=[("X", FloatTensorType([None, 6]))], options={id(m): options} if options else None, target_opset={"": 15, "ai.onnx.ml": 3})
        return done, feeds(done, x)

    case(f"piped_{name}", make)


piped("lightgbm", lambda: lightgbm.LGBMClassifier(n_estimators=4, verbose=-1), "classes")
piped("lightgbm_plain", lambda: lightgbm.LGBMClassifier(n_estimators=4, verbose=-1), "binary", {"zipmap": False})
piped("lightgbm_r", lambda: lightgbm.LGBMRegressor(n_estimators=4, verbose=-1), "numbers")
piped("xgboost", lambda: xgboost.XGBClassifier(n_estimators=4), "classes")
piped("xgboost_plain", lambda: xgboost.XGBClassifier(n_estimators=4), "binary", {"zipmap": False})
piped("xgboost_r", lambda: xgboost.XGBRegressor(n_estimators=4), "numbers")


def cat(name, kind, cls, holes=False, **settings):
    def make():
        x, y = table(kind, holes)
        if settings.pop("texts", False):
            y = np.array(["red", "green", "blue"])[y]
        m = cls(iterations=6, depth=4, verbose=False, random_seed=0, allow_writing_files=False, **settings)
        m.fit(x, y)
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            m.save_model(file.name, format="onnx", export_parameters={"onnx_domain": "ai.catboost", "onnx_model_version": 1})
            done = onnx.load(file.name)
        return done, feeds(done, x)

    case(f"catboost_{name}", make)


cat("binary", "binary", catboost.CatBoostClassifier)
cat("classes", "classes", catboost.CatBoostClassifier)
cat("texts", "classes", catboost.CatBoostClassifier, texts=True)
cat("ova", "classes", catboost.CatBoostClassifier, loss_function="MultiClassOneVsAll")
cat("cross", "binary", catboost.CatBoostClassifier, loss_function="CrossEntropy")
cat("holes", "binary", catboost.CatBoostClassifier, holes=True)
cat("numbers", "numbers", catboost.CatBoostRegressor)
cat("numbers_holes", "numbers", catboost.CatBoostRegressor, holes=True)
cat("mae", "numbers", catboost.CatBoostRegressor, loss_function="MAE")
cat("quantile", "numbers", catboost.CatBoostRegressor, loss_function="Quantile:alpha=0.3")
cat("poisson", "positive", catboost.CatBoostRegressor, loss_function="Poisson")
cat("several", "several", catboost.CatBoostRegressor, loss_function="MultiRMSE")
cat("deep", "classes", catboost.CatBoostClassifier, grow_policy="Lossguide")
