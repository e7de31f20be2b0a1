"""How each published job ends, on a cluster and under `tfjob run`, and a line that it prints.

Tests check these outcomes, and the page about the documents shows them.
"""

from typing import NamedTuple

SUCCEEDED = 0
_ARGUMENTS = "--batch_size=32 --training_steps=1000"
_FIRST = "REPLICA_TYPE={},REPLICA_INDEX=0"
_MASTER = f"[master-0] {_FIRST.format('master')}"
_WORKER = f"[worker-0] {_FIRST.format('worker')}"


class Outcome(NamedTuple):
    phase: str
    """The phase or condition of the job that has succeeded."""
    line: str
    """A line of the output of `tfjob run`."""
    needs_gpu: bool = False


OUTCOMES = {
    "000-mnist": Outcome("Succeeded", "/node/volumes/kubeflow/tfevent-volume --learning_rate=0.01"),
    "000-tf-smoke-gpu": Outcome("Succeeded", "[worker-0] CUDA_VISIBLE_DEVICES=7", needs_gpu=True),
    "000-tfjob": Outcome("Succeeded", f"{_WORKER} {_ARGUMENTS}"),
    "000-tfjob-with-secret": Outcome("Succeeded", "/volumes/sa/user-gcp-sa.json"),
    "001-example-job": Outcome("Done", _MASTER),
    "001-example-job-as-stored": Outcome("Done", _MASTER),
    "001-gpu": Outcome("Done", "[master-0] CUDA_VISIBLE_DEVICES=7", needs_gpu=True),
    "001-tensorboard-on-azure": Outcome(
        "Done", "type azureFile is not supported on this machine", needs_gpu=True
    ),
    "001-tensorboard-on-gke": Outcome("Done", "--log_dir=gs://my-bucket/logdir", needs_gpu=True),
    "002-dist-mnist": Outcome("Succeeded", _WORKER),
    "003-example-tfjob": Outcome("Succeeded", "[master-0] CUDA_VISIBLE_DEVICES=7", needs_gpu=True),
    "003-module6-ex1-gpu": Outcome(
        "Succeeded", "[master-0] CUDA_VISIBLE_DEVICES=7", needs_gpu=True
    ),
    "003-module6-ex2-gpu": Outcome(
        "Succeeded", "[master-0] CUDA_VISIBLE_DEVICES=7", needs_gpu=True
    ),
    "004-scheduler": Outcome("Succeeded", _WORKER),
    "004-tensorboard": Outcome("Succeeded", _WORKER),
    "004-tensorflow-example": Outcome("Succeeded", _WORKER),
}
