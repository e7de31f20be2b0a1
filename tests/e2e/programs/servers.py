"""Training with parameter servers: the chief schedules steps and saves the state."""

import json
import os
import time
from pathlib import Path

import tensorflow as tf

task = json.loads(os.environ["TF_CONFIG"])["task"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if task["type"] in ("worker", "ps"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=task["type"], task_index=task["index"]
    ).join()

folder, goal = Path(os.environ["FOLDER"]), int(os.environ["STEPS"])
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight, done = tf.Variable(tf.zeros([8])), tf.Variable(0)
checkpoint = tf.train.Checkpoint(weight=weight, done=done)
manager = tf.train.CheckpointManager(checkpoint, str(folder / "saved"), max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)


@tf.function
def train() -> None:
    weight.assign_sub(0.01 * (weight - 1.0))


step = int(done.numpy())
while step < goal:
    coordinator.schedule(train)
    coordinator.join()
    step += 1
    # The last steps are slow until the test has done its kills: a worker that is lost after the
    # others have finished has nobody to train with.
    is_slow = step > goal - 60 and not (folder / "finish").exists()
    time.sleep(1.0 if is_slow else 0.05)
    with (folder / "chief-0").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
    if step % 10 == 0:
        done.assign(step)
        manager.save()
