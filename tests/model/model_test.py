"""The models of model/: each property holds in all states within the bounds, and each control fails
for its own reason."""

import importlib.util
import pathlib
import sys

import pytest

PATH = pathlib.Path(__file__).resolve().parents[2] / "model/check.py"
SPEC = importlib.util.spec_from_file_location("model_check", PATH)
model = importlib.util.module_from_spec(SPEC)
sys.modules["model_check"] = model
SPEC.loader.exec_module(model)


def names(runs):
    return [run.name for run in runs]


@pytest.mark.parametrize("run", model.QUICK, ids=names(model.QUICK))
def test_each_property_holds_in_all_states(run):
    found = model.check(run)
    assert found.violated == ""
    assert found.complete and found.states > 1000


@pytest.mark.parametrize("run", model.CONTROLS, ids=names(model.CONTROLS))
def test_a_control_fails_for_its_own_reason(run):
    assert run.fails
    assert model.check(run).violated == run.fails
