"""A TensorFlow server that holds the variables of a job and runs until it is stopped.

It reads the cluster from --cluster_spec, such as "ps|a:2222;b:2222,worker|c:2222", or else from
TF_CONFIG. If the cluster is invalid, it exits with code 2 before TensorFlow is loaded. Runs on
Python 2.7 and Python 3, with TensorFlow 1 and 2.
"""
# It runs in images of any age, so it uses no newer Python:
# ruff: noqa: ANN001, ANN201, T201, UP010, UP031
# mypy: ignore-errors

from __future__ import print_function

import argparse
import json
import os
import signal
import sys
import threading


def read_arguments(words):
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS)
    parser.add_argument("--cluster_spec", help="type|host:port;host:port,type|...")
    parser.add_argument("--job_name", default="", help="the type of this server")
    parser.add_argument("--task_id", type=int, default=0, help="the index of this server")
    parser.add_argument("--gpu_memory_fraction", type=float, default=1.0)
    parser.add_argument(
        "--verbose", action="store_true", help="print the cluster and this server's task"
    )
    known, _ = parser.parse_known_args(words)
    return known


def cluster_of(text):
    """The addresses in a --cluster_spec, by type."""
    cluster = {}
    for part in text.split(","):
        name, bar, tasks = part.partition("|")
        if not bar or "|" in tasks or not name:
            raise ValueError("expected type|host:port;host:port, got %r" % part)
        addresses = tasks.split(";")
        if name in cluster or not all(addresses):
            raise ValueError("expected each type once and no empty address, got %r" % part)
        cluster[name] = addresses
    return cluster


def place_in(arguments, variable):
    """The cluster, and the type and index of this server in it."""
    if arguments.cluster_spec is not None:
        cluster = cluster_of(arguments.cluster_spec)
        name, index = arguments.job_name, arguments.task_id
    elif variable:
        config = json.loads(variable)
        cluster = {key: tasks for key, tasks in config["cluster"].items() if tasks}
        name, index = config["task"]["type"], int(config["task"]["index"])
    else:
        raise ValueError("neither --cluster_spec nor TF_CONFIG is set")
    if name not in cluster or not 0 <= index < len(cluster[name]):
        raise ValueError("the cluster has no %s %d" % (name or "job without a name", index))
    return cluster, name, index


def start(cluster, name, index, fraction):
    """Start the server."""
    import tensorflow  # noqa: PLC0415 - invalid arguments are reported without it

    old = getattr(getattr(tensorflow, "compat", tensorflow), "v1", tensorflow)
    options = {}
    if fraction < 1.0:
        options["gpu_options"] = old.GPUOptions(per_process_gpu_memory_fraction=fraction)
    spec = tensorflow.train.ClusterSpec(cluster)
    new = getattr(tensorflow, "distribute", None)
    server = getattr(new, "Server", None) or old.train.Server
    return server(
        spec,
        job_name=name,
        task_index=index,
        protocol="grpc",
        config=old.ConfigProto(**options),
        start=True,
    )


def end(number, _frame):
    """Die of the signal itself; process 1 of a container ignores it, so exit afterwards."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def main(words):
    arguments = read_arguments(words)
    try:
        cluster, name, index = place_in(arguments, os.environ.get("TF_CONFIG", ""))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        print("grpc_tensorflow_server: %s: %s" % (type(error).__name__, error), file=sys.stderr)
        return 2
    if arguments.verbose:
        print("%s %d of %s" % (name, index, json.dumps(cluster, sort_keys=True)))
        sys.stdout.flush()
    signal.signal(signal.SIGTERM, end)
    server = start(cluster, name, index, arguments.gpu_memory_fraction)
    # Only the main thread handles signals, and server.join() would block it.
    waiting = threading.Thread(target=server.join)
    waiting.daemon = True
    waiting.start()
    while waiting.is_alive():
        waiting.join(3600)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
