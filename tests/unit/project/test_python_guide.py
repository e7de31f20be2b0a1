"""Every Python snippet of the guide runs as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.local_apiserver.serving import api_server_in_thread
from tests.support.tfjobs import tfjob

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "python.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
SNIPPETS = [text for language, text in BLOCKS if language == "python"]
SCRIPTS = [each for each in SNIPPETS if "__main__" in each]


def test_the_first_program_prints_what_the_guide_says(tmp_path: Path) -> None:
    (script,) = SCRIPTS
    (tmp_path / "hello.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "hello.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    (output,) = [text for language, text in BLOCKS if not language]
    assert sorted(done.stdout.splitlines()) == sorted(output.splitlines()), done.stderr


def test_the_other_snippets_run_in_one_session(tmp_path: Path) -> None:
    with api_server_in_thread(tmp_path / "data") as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        config["current-context"] = config["contexts"][0]["name"] = "my-cluster"
        folder = tmp_path / "code"
        folder.mkdir()
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        (folder / "train.py").write_text("print('trained')\n")
        (folder / "job.yaml").write_text(yaml.safe_dump(tfjob("W1", name="other")))
        done = subprocess.run(
            [sys.executable, "-"],
            input="\n".join(each for each in SNIPPETS if each not in SCRIPTS),
            cwd=folder,
            env={**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert server.job_names() == []
    assert "Running 2\n" in done.stdout
    assert "worker-0 started\n" in done.stdout
    assert "worker-0 ended with a Python error" in done.stdout
    assert "no script 'no_such_script.py'" in done.stdout
    assert "['mnist'] Pending, 0 of 2 replicas active" in done.stdout
