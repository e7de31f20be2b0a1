"""Collective training: every step needs all workers. Worker 0 saves the state, all restore it.

The workers train until the file "finish" exists. They agree on the last step: one that made a step
more than the others would wait for them without end.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
folder = Path(os.environ["FOLDER"])
state, finish, step = folder / "state.npz", folder / "finish", 0
with strategy.scope():
    weight = tf.Variable(tf.zeros([8]))
if state.exists():
    saved = np.load(state)
    weight.assign(saved["weight"])
    step = int(saved["step"])


def replica_step(wish: tf.Tensor) -> tf.Tensor:
    context = tf.distribute.get_replica_context()
    # The identity has a device, which an argument has not.
    mean, wishes = context.all_reduce("MEAN", [weight - 1.0, tf.identity(wish)])
    weight.assign_sub(0.01 * mean)
    return wishes


@tf.function
def train(wish: tf.Tensor) -> tf.Tensor:
    return strategy.run(replica_step, args=(wish,))


is_last = False
while not is_last:
    is_last = float(train(tf.constant(float(finish.exists())))) > 0
    step += 1
    time.sleep(0.1)
    with (folder / f"worker-{index}").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
    if index == 0 and step % 10 == 0:
        np.savez(folder / "next.npz", weight=weight.numpy(), step=step)
        (folder / "next.npz").replace(state)
