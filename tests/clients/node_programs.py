"""Programs in Node that use clients/node and a framework, as a user's project has them."""

import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/node"
MODULES = ROOT / "tests/node_modules"
NEST = ("@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "reflect-metadata", "rxjs")

# The example of each framework, and its packages by the names under which it imports them.
EXAMPLES = {
    "express-4": ("express.mjs", {"express": "express"}),
    "express-5": ("express.mjs", {"express": "express-5"}),
    "fastify": ("fastify.mjs", {"fastify": "fastify"}),
    "http": ("http.mjs", {}),
    "nest": ("nest.mjs", {name: name for name in NEST}),
}


def project(folder, packages):
    """A folder of a project that has installed these packages, and the client from its folder."""
    for name, source in {**packages, "onceguard": None}.items():
        source = MODULES / source if source else CLIENT
        assert (source / "package.json").is_file(), f"no {source}: run npm install in tests"
        link = folder / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)
    return folder


def example(name, folder):
    """The command that starts an example in a project of its own, below the folder."""
    file, packages = EXAMPLES[name]
    folder = project(pathlib.Path(tempfile.mkdtemp(dir=folder)), packages)
    for source in (CLIENT / "examples").iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    return ["node", folder / file]


def handlers_folder(folder, packages=()):
    """A project below the folder, with the programs of the tests in it."""
    folder = project(pathlib.Path(tempfile.mkdtemp(dir=folder)), dict(packages))
    for source in (ROOT / "tests/clients/handlers").iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    return folder


def handlers(name, folder):
    """The command that starts the handlers of the tests in a framework."""
    file, packages = EXAMPLES[name]
    return ["node", handlers_folder(folder, packages) / file]
