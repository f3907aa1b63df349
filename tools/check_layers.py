#!/usr/bin/env python3
"""Checks that every source file includes only from its own layer and those below it (ARCHITECTURE.md), also inside
src/cli. Also checks that every permission to include is used, and that no two headers define a type of the same full
name: the linker would mistake one's functions for the other's."""

import pathlib
import re
import sys

BELOW = {
    "base": [],
    "gpu": ["base"],
    "offload": ["base", "gpu"],
    "arrays": ["base", "gpu", "offload"],
    "psf": ["base"],
    "data": ["base", "psf"],
    "io": ["base", "psf", "data"],
    "detect": ["base", "psf", "data", "gpu"],
    "fit": ["base", "psf", "data", "gpu", "offload"],
    "simulate": ["base", "psf", "data"],
    "analysis": ["base", "psf", "data", "detect", "fit"],
    "render": ["base", "data"],
    "plot": ["base", "data", "io"],
    "pipeline": ["base", "psf", "data", "gpu", "detect", "fit", "offload"],
    "warm_worker": ["base", "psf", "data", "gpu", "fit", "offload", "pipeline"],
    "run": ["base", "psf", "data", "io", "gpu", "pipeline"],
    "report": ["base", "data", "io", "analysis", "render"],
    "workflow": [
        "base",
        "data",
        "io",
        "detect",
        "analysis",
        "pipeline",
        "psf",
        "render",
        "plot",
        "run",
        "fit",
        "report",
    ],
    "cli": [
        "base",
        "psf",
        "data",
        "io",
        "detect",
        "fit",
        "analysis",
        "render",
        "plot",
        "simulate",
        "pipeline",
        "warm_worker",
        "run",
        "report",
        "workflow",
        "gpu",
        "offload",
        "arrays",
    ],
    "bench": [
        "base",
        "psf",
        "data",
        "io",
        "fit",
        "simulate",
        "pipeline",
        "run",
        "gpu",
        "offload",
        "arrays",
        "cli",
    ],  # the folder bench/
    "mpi": ["base", "data", "fit", "run", "cli", "gpu"],  # the folder mpi/
    "program": ["base", "cli", "bench"],  # src/main.cpp
}
# The layers of each product, in folders of src of these names. The runtime needs nothing of the microscopy.
PRODUCTS = {
    "runtime": ["gpu", "offload", "arrays"],
    "microscopy": [
        "psf",
        "data",
        "io",
        "detect",
        "fit",
        "simulate",
        "analysis",
        "render",
        "plot",
        "pipeline",
        "warm_worker",
        "run",
        "report",
        "workflow",
    ],
}
# The folders inside src/cli, and what each may include of the others; "" are the files of src/cli itself.
CLI = {
    "": [],
    "flags": [""],
    "completion": ["flags"],
    "jobs": [""],
    "commands": ["", "flags", "completion", "jobs"],
    "parsing": [],
}
# The layer that each public header belongs to.
HEADERS = {
    "error": "base",
    "units": "base",
    "progress": "base",
    "isa": "base",
    "version": "base",
    "environment": "base",
    "if_exists": "base",
    "backend": "base",
    "movie": "data",
    "movie_choice": "data",
    "movie_region": "data",
    "camera": "data",
    "camera_presets": "data",
    "psf": "psf",
    "psf_models": "psf",
    "rois": "data",
    "fits": "data",
    "localizations": "data",
    "table_pieces": "data",
    "merge": "data",
    "picture": "data",
    "calibration": "data",
    "camera_calibration": "data",
    "drift": "data",
    "roi_view": "data",
    "movie_io": "io",
    "movie_formats": "io",
    "localization_io": "io",
    "localization_reader": "io",
    "picture_io": "io",
    "camera_io": "io",
    "drift_io": "io",
    "psf_io": "io",
    "detect": "detect",
    "fit": "fit",
    "gpu_fit": "fit",
    "simulate": "simulate",
    "pupil": "psf",
    "score": "analysis",
    "calibrate": "analysis",
    "calibrate_camera": "analysis",
    "calibrate_psf": "analysis",
    "estimate_psf": "analysis",
    "refine_psf": "analysis",
    "inspect": "analysis",
    "link": "analysis",
    "filter": "analysis",
    "resolution": "analysis",
    "cluster": "analysis",
    "render": "render",
    "localize": "pipeline",
    "report": "report",
    "workflow": "workflow",
    "run_report": "workflow",
    "mpi": "mpi",
}
SOURCES = {".cpp", ".hpp", ".cu", ".inc", ".in"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;]*)? \{", re.M)


def layer_of_source(name):
    """Returns the layer of a file below src: the folder in src, or in one of its two products; for src/main.cpp it is
    `program`.
    """
    folders = pathlib.PurePosixPath(name).parts[1:-1]
    return next((folder for folder in folders if folder not in PRODUCTS), None if folders else "program")


def layer_of_include(include):
    parts = pathlib.PurePosixPath(include).parts
    if parts[0] == "glint" and len(parts) == 3:
        return parts[1]
    if parts[0] == "glint":
        return HEADERS.get(pathlib.PurePosixPath(include).stem)
    return parts[0] if parts[0] in BELOW else None


def cli_folder(name):
    """The folder inside src/cli of a file named from src, as "" or "flags"; None elsewhere."""
    parts = pathlib.PurePosixPath(name).parts
    return (parts[1] if len(parts) > 2 else "") if parts[0] == "cli" else None


def circles_of_cli(root):
    """Yields includes within src/cli that CLI does not permit. CLI permits no cycles between folders."""
    used = {folder: set() for folder in CLI}
    for path in sources_below(root / "src/cli"):
        folder = cli_folder(path.relative_to(root / "src"))
        if folder not in CLI:
            yield f"{path.relative_to(root)}: its folder is not listed in CLI of tools/check_layers.py"
            continue
        if path.name.endswith("_test.cpp"):
            continue
        for include in INCLUDE.findall(path.read_text()):
            target = cli_folder(include)
            used[folder].add(target)
            if target not in (None, folder) and target not in CLI[folder]:
                yield f'{path.relative_to(root)}: cli/{folder} must not include "{include}"'
    for folder, below in CLI.items():
        for target in set(below) - used[folder]:
            yield f"tools/check_layers.py: cli/{folder} may include cli/{target}, and no file of it does"


def sources_below(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SOURCES)


def problems(root):
    files = [(p, layer_of_source(p.relative_to(root))) for p in sources_below(root / "src")]
    for path, layer in files:
        product = next((name for name in PRODUCTS if layer in PRODUCTS[name]), None)
        if layer in BELOW and path.relative_to(root).parts[1] != (product or layer) and layer != "program":
            yield f"{path.relative_to(root)}: the layer {layer} belongs in src/{product or ''}"
    files += [(p, folder) for folder in ("bench", "mpi") for p in sources_below(root / folder)]
    files += [(p, HEADERS.get(p.stem)) for p in sorted((root / "include/glint").glob("*.hpp"))]
    files += [(p, p.parent.name) for p in sorted((root / "include/glint").glob("*/*.hpp"))]
    used = {layer: set() for layer in BELOW}
    for path, layer in files:
        name = path.relative_to(root)
        if layer not in BELOW:
            yield f"{name}: its layer is not listed in tools/check_layers.py"
            continue
        if path.name.endswith("_test.cpp"):
            continue  # a test may use any layer to make its data
        for include in INCLUDE.findall(path.read_text()):
            target = layer_of_include(include)
            used[layer].add(target)
            if target is None:
                yield f'{name}: "{include}" is of no layer listed in tools/check_layers.py'
            elif target != layer and target not in BELOW[layer]:
                yield f'{name}: layer {layer} must not include "{include}" of layer {target}'
    yield from circles_of_cli(root)
    defined = {}
    for path, _ in files:
        if path.suffix != ".hpp":
            continue
        text = path.read_text()
        for namespace in NAMESPACE.findall(text)[:1]:
            for name in TYPE.findall(text):
                first = defined.setdefault(f"{namespace}::{name}", path)
                if first != path:
                    yield f"{path.relative_to(root)}: {namespace}::{name} is another one in {first.relative_to(root)}"
    for layer, below in BELOW.items():
        for target in set(below) - used[layer]:
            yield f"tools/check_layers.py: layer {layer} may include {target}, and no file of it does"


if __name__ == "__main__":
    found = list(problems(pathlib.Path(__file__).resolve().parent.parent))
    print("\n".join(found) or "layers: every include points to its own layer or one below")
    sys.exit(1 if found else 0)
