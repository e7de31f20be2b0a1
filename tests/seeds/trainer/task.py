"""A stand-in for training: says who it is, and ends as its role does in a job that goes well.

Parameter servers serve until they are stopped; all others have done their work at once. It reads
nothing but its environment and takes any arguments.
"""

import json
import os
import signal
import sys

task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "alone", "index": 0})
print(f"REPLICA_TYPE={task['type']},REPLICA_INDEX={task['index']}", *sys.argv[1:], flush=True)
for name in ("GOOGLE_APPLICATION_CREDENTIALS", "CUDA_VISIBLE_DEVICES", "TF_CONFIG"):
    print(f"{name}={os.environ.get(name, '')}", flush=True)
if task["type"] == "ps":
    signal.pause()
