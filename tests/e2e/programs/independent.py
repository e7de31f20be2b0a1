"""Workers that train alone: each has its own model and needs nobody.

They train until the file "finish" exists.
"""

import itertools
import json
import os
import time
from pathlib import Path

import tensorflow as tf

index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
folder = Path(os.environ["FOLDER"])
weight = tf.Variable(tf.zeros([8]))
for step in itertools.count(1):
    weight.assign_sub(0.01 * (weight - 1.0))
    time.sleep(0.1)
    with (folder / f"worker-{index}").open("a") as progress:
        progress.write(f"{os.getpid()} {step}\n")
    if (folder / "finish").exists():
        break
