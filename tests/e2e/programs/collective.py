"""Collective training: every step needs all workers. Worker 0 saves the state, all restore it."""

import json
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
folder, goal = Path(os.environ["FOLDER"]), int(os.environ["STEPS"])
state, step = folder / "state.npz", 0
with strategy.scope():
    weight = tf.Variable(tf.zeros([8]))
if state.exists():
    saved = np.load(state)
    weight.assign(saved["weight"])
    step = int(saved["step"])


def replica_step() -> None:
    mean = tf.distribute.get_replica_context().all_reduce("MEAN", weight - 1.0)
    weight.assign_sub(0.01 * mean)


@tf.function
def train() -> None:
    strategy.run(replica_step)


while step < goal:
    train()
    step += 1
    # The last steps are slow until the test has done its kills: a worker that is lost after the
    # others have finished has nobody to train with.
    is_slow = step > goal - 60 and not (folder / "finish").exists()
    time.sleep(1.0 if is_slow else 0.05)
    with (folder / f"worker-{index}").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
    if index == 0 and step % 10 == 0:
        np.savez(folder / "next.npz", weight=weight.numpy(), step=step)
        (folder / "next.npz").replace(state)
