"""Default parameter servers: the master schedules steps, the servers hold the variables."""

import argparse
import json
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", required=True)
log_dir = parser.parse_args().log_dir
config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
print(f"REPLICA_TYPE={task['type']},REPLICA_INDEX={task['index']}", flush=True)

if task["type"] == "worker":
    tf.distribute.Server(cluster, job_name="worker", task_index=task["index"]).join()

# TensorFlow 2 expects the task that schedules steps to be called chief.
roles = {"chief": cluster["master"], "ps": cluster["ps"], "worker": cluster["worker"]}
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    tf.train.ClusterSpec(roles), task_type="chief", task_id=0, rpc_layer="grpc"
)

from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    normal = tf.random.stateless_normal
    w1, b1 = tf.Variable(normal([64, 64], [1, 2]) * 0.1), tf.Variable(tf.zeros([64]))
    w2, b2 = tf.Variable(normal([64, 10], [3, 4]) * 0.1), tf.Variable(tf.zeros([10]))


def logits(x):
    return tf.nn.relu(x @ w1 + b1) @ w2 + b2


@tf.function
def step():
    rows = tf.random.uniform([64], 0, len(x_train), tf.int32)
    x, y = tf.gather(x_train, rows), tf.gather(y_train, rows)
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x))
    variables = [w1, b1, w2, b2]
    for variable, gradient in zip(variables, tape.gradient(losses, variables), strict=True):
        variable.assign_sub(0.3 / 64 * gradient)


writer = tf.summary.create_file_writer(log_dir)
for done in range(100, 601, 100):
    for _ in range(100):
        coordinator.schedule(step)
    coordinator.join()
    accuracy = float((logits(x_test).numpy().argmax(1) == y_test).mean())
    print(f"step {done}: accuracy {accuracy:.4f}, kept on {w1.device}", flush=True)
    with writer.as_default(step=done):
        tf.summary.scalar("accuracy", accuracy)
print(f"accuracy {accuracy:.4f}", flush=True)
