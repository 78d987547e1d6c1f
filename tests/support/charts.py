"""The chart, rendered by the tool that writes the plain manifests."""

import importlib.util
import pathlib

import yaml

from support.pods import objects_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ["consume", "gateway", "sidecar", "single"]


def _tool():
    spec = importlib.util.spec_from_file_location("render", ROOT / "packaging/chart/render.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()


class Chart:
    """Renders what is shown for a mode, with a test's own values over it."""

    def __init__(self, folder):
        self.folder, self.program = folder, TOOL.renderer()

    def __call__(self, mode, **values):
        """Its objects, or the refusal as a text."""
        file = self.folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        shown = TOOL.MANIFESTS / f"values/{mode}.yaml"
        done = TOOL.render(self.program, [shown, file], "shop", "payments")
        return objects_of(done.stdout) if done.returncode == 0 else done.stderr
