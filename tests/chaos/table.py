"""The table of disturbances: a list in each file of disturbances/."""

import importlib
import pathlib
import pkgutil

HERE = pathlib.Path(__file__).resolve().parent


def whole_table():
    found = {}
    for module in pkgutil.iter_modules([str(HERE / "disturbances")]):
        for each in importlib.import_module(f"chaos.disturbances.{module.name}").TABLE:
            assert each.name not in found, each.name
            found[each.name] = each
    return found


TABLE = whole_table()
