"""The layout: four top folders, linked into the package, whole in a wheel, and never imported bare."""

from __future__ import annotations

import ast
import importlib
import shutil
import statistics
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemolog

ROOT = Path(__file__).parents[1]
LINKS = ("processors", "producers", "query", "schemas")
PACKAGE = ROOT / "src" / "mnemolog"
CODE = [ROOT / name for name in LINKS] + [PACKAGE]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAX_LINES = 300


def modules(*folders: Path) -> list[Path]:
    """Every Python file below, each once: links are not followed."""
    return sorted(path for folder in folders for path in folder.rglob("*.py") if not is_linked(path))


def is_linked(path: Path) -> bool:
    return any((PACKAGE / name) in path.parents for name in LINKS)


@pytest.mark.parametrize("name", LINKS)
def test_each_top_folder_is_linked_into_the_package(name: str) -> None:
    """With `core.symlinks=false` git makes files of them, and a wheel is built empty."""
    link = PACKAGE / name
    assert link.is_symlink(), f"{link} must be a symbolic link; check out with core.symlinks=true"
    assert link.readlink() == Path("../..") / name
    module = importlib.import_module(f"mnemolog.{name}")
    assert Path(str(module.__file__)).resolve() == (ROOT / name / "__init__.py").resolve()


@pytest.mark.parametrize("name", LINKS)
def test_no_top_folder_can_be_imported_bare(name: str, tmp_path: Path) -> None:
    code = (
        f"import importlib.util, mnemolog; raise SystemExit(importlib.util.find_spec({name!r}) is not None)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_no_module_imports_a_top_folder_bare() -> None:
    everything = modules(*CODE, *(ROOT / name for name in ("tests", "benchmarks", "examples")))
    bare = {str(path): found for path in everything if (found := imported(path) & set(LINKS))}
    assert bare == {}


def imported(path: Path) -> set[str]:
    """The top-level names that a module imports absolutely."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_no_module_is_longer_than_it_may_be() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules(*CODE)}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_functions_are_small() -> None:
    lengths = sorted(length for path in modules(*CODE) for length in function_lengths(path))
    assert statistics.median(lengths) <= 8
    assert lengths[len(lengths) * 9 // 10] <= 25


def function_lengths(path: Path) -> Iterator[int]:
    """The lines of each function but for its docstring."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None
            doc = node.body[0] if documented else None
            own = 0 if doc is None else (doc.end_lineno or doc.lineno) - doc.lineno + 1
            yield (node.end_lineno or node.lineno) - node.lineno + 1 - own


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(path) for path in modules(*CODE) if not ast.get_docstring(ast.parse(path.read_text()))]
    assert [path for path in silent if Path(path).read_text().strip()] == []


def test_every_public_name_can_be_had() -> None:
    assert set(mnemolog.__all__) <= set(dir(mnemolog))
    for name in mnemolog.__all__:
        assert getattr(mnemolog, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        mnemolog.nonsense  # noqa: B018


def test_the_package_is_typed_and_its_version_is_one() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert PYPROJECT["tool"]["setuptools"]["package-data"]["mnemolog"] == ["py.typed"]
    assert PYPROJECT["tool"]["setuptools"]["packages"]["find"]["where"] == ["src"]
    assert PYPROJECT["project"]["version"] == mnemolog.__version__


def test_every_script_of_the_package_is_there() -> None:
    for target in PYPROJECT["project"]["scripts"].values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_a_wheel_holds_every_module(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for folder in (*LINKS, "src"):
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=ignore)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    code = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith("-info")}
    assert packed == {"mnemolog/py.typed", *map(packed_name, modules(*CODE))}


def packed_name(path: Path) -> str:
    top = path.relative_to(PACKAGE if PACKAGE in path.parents else ROOT)
    return f"mnemolog/{top.as_posix()}"
