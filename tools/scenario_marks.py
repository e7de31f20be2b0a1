"""Reads from the test sources which scenarios the tests cover, without running them.

A test is marked with `@pytest.mark.scenario(41, "A-01")`, on itself, on its class, on one of its
parameters, or as `pytestmark` of its module. The arguments must be literals; anything else is a
fault.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Number = int | str


class Shown(NamedTuple):
    """A test that is marked with a scenario."""

    number: Number
    path: str
    test: str


class Marks(NamedTuple):
    """The marks of a set of test files, and those that could not be read."""

    shown: tuple[Shown, ...]
    faults: tuple[str, ...]


def marks_under(root: Path) -> Marks:
    """The marks of all test files of a checkout, in the order of the files."""
    shown: list[Shown] = []
    faults: list[str] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = path.relative_to(root).as_posix()
        marks = marks_in(name, path.read_text("utf-8"))
        shown += marks.shown
        faults += marks.faults
    return Marks(tuple(shown), tuple(faults))


def marks_in(name: str, source: str) -> Marks:
    """The marks of one test file."""
    module = ast.parse(source, name)
    reader = _Reader(name, _assignments(module))
    reader.read_body(module.body, inherited=reader.marks_of_module(module), within="")
    stray = [
        f"{name}:{call.lineno}: this scenario mark belongs to no test"
        for call in _calls(module)
        if call not in reader.seen
    ]
    return Marks(tuple(reader.shown), tuple(reader.faults + stray))


def _assignments(module: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.scenario":
            yield each


class _Reader:
    """Collects the marks of one file."""

    def __init__(self, name: str, assigned: Mapping[str, ast.expr]) -> None:
        self.name = name
        self.assigned = assigned
        self.shown: list[Shown] = []
        self.faults: list[str] = []
        self.seen: set[ast.Call] = set()

    def marks_of_module(self, module: ast.Module) -> list[Number]:
        mark = self.assigned.get("pytestmark")
        return self._numbers(mark) if mark and module.body else []

    def read_body(self, body: list[ast.stmt], *, inherited: list[Number], within: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                numbers = inherited + self._decorators(node)
                self.read_body(node.body, inherited=numbers, within=f"{within}{node.name}::")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._read_test(node, inherited=inherited, within=within)

    def _read_test(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        *,
        inherited: list[Number],
        within: str,
    ) -> None:
        if not node.name.startswith("test_"):
            return
        for number in dict.fromkeys(inherited + self._decorators(node)):
            self.shown.append(Shown(number, self.name, within + node.name))

    def _decorators(
        self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ) -> list[Number]:
        return [number for each in node.decorator_list for number in self._numbers(each)]

    def _numbers(self, node: ast.expr) -> list[Number]:
        """The arguments of all marks in an expression, including tables that it refers to."""
        found = [number for call in _calls(node) for number in self._arguments(call)]
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id in self.assigned:
                table = self.assigned[each.id]
                found += [number for call in _calls(table) for number in self._arguments(call)]
        return found

    def _arguments(self, call: ast.Call) -> Iterator[Number]:
        is_first_time = call not in self.seen
        self.seen.add(call)
        for argument in call.args:
            value = argument.value if isinstance(argument, ast.Constant) else None
            if isinstance(value, int | str) and not isinstance(value, bool):
                yield value
            elif is_first_time:
                text = ast.unparse(argument)
                self.faults.append(
                    f"{self.name}:{call.lineno}: a scenario is a whole number or a text, written "
                    f"out; got {text}"
                )
