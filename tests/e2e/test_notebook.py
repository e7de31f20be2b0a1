"""The example notebook, executed as Jupyter does: parameter servers, several workers, a kill."""

import asyncio
import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "15-notebook" / "train.ipynb"
NEEDED = ("nbclient", "ipykernel", "tensorflow", "cloudpickle")
MISSING = [each for each in NEEDED if importlib.util.find_spec(each) is None]


def executed(path: Path) -> list[str]:
    """The printed text of each cell with code."""
    # Not installed for the other tests, and nothing that mypy could look at.
    nbformat: Any = importlib.import_module("nbformat")
    nbclient: Any = importlib.import_module("nbclient")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    asyncio.run(client.async_execute())
    return [
        "".join(each.get("text", "") for each in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.skipif(
    bool(MISSING), reason=f"NO NOTEBOOK: `make e2e-local` installs {', '.join(MISSING)}"
)
@pytest.mark.timeout(900, func_only=True)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_trains_survives_a_kill_and_explains_it() -> None:
    _, _, servers, _, workers, reason, _ = executed(NOTEBOOK)
    found = [float(each) for each in re.findall(r"accuracy (0\.\d+)", servers + workers)]
    assert len(found) == 3
    assert min(found) > 0.9
    assert "[worker-1] waiting" in workers
    assert len(re.findall(r"\[worker-\d\] process \d+ starts at step 100", workers)) == 2
    assert "worker-1 was killed" in reason
    assert "exit code 137" in reason
