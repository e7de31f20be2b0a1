"""Files as users write them."""

from pathlib import Path
from typing import Any

import yaml


def written(folder: Path, *documents: Any, name: str = "job.yaml") -> str:
    """The path of a YAML file with these documents, each a text or an object."""
    texts = [each if isinstance(each, str) else yaml.safe_dump(each) for each in documents]
    path = folder / name
    path.write_text("---\n".join(texts), "utf-8")
    return str(path)
