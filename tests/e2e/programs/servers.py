"""Training with parameter servers: the chief schedules steps and saves the state.

It trains until the file "finish" exists.
"""

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

folder = Path(os.environ["FOLDER"])
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
while not (folder / "finish").exists():
    coordinator.schedule(train)
    coordinator.join()
    step += 1
    time.sleep(0.1)
    with (folder / "chief-0").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
    if step % 10 == 0:
        done.assign(step)
        manager.save()
# The coordinator waits at its end, for ever, if it is about to reconnect to a lost worker.
os._exit(0)
