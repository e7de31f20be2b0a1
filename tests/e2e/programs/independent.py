"""Workers that train alone: each has its own model and needs nobody."""

import json
import os
import time
from pathlib import Path

import tensorflow as tf

index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
folder, goal = Path(os.environ["FOLDER"]), int(os.environ["STEPS"])
weight = tf.Variable(tf.zeros([8]))
for step in range(1, goal + 1):
    weight.assign_sub(0.01 * (weight - 1.0))
    time.sleep(0.05)
    with (folder / f"worker-{index}").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
