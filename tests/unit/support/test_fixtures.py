"""Tests that are skipped without a control plane are reported at the end of the run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_missing_binaries_skip_with_a_line_at_the_end_of_the_run(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("def test_it(namespace): raise AssertionError('must not run')\n")
    plugins = ("-p", "tests.support.controlplane.fixtures", "-p", "no:cacheprovider")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, *plugins, test),
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT RUN: 1. NO REAL CONTROL PLANE: NO etcd 3.6.16" in done.stdout
    assert "install Go 1.26.0 or newer, or set KUBEBUILDER_ASSETS" in done.stdout
