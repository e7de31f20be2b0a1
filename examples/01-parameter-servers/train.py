"""Parameter servers: a chief schedules steps, workers compute them, servers hold the variables."""

import json
import os

import tensorflow as tf

STEPS = int(os.environ.get("STEPS", "600"))
task = json.loads(os.environ["TF_CONFIG"])["task"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()

if task["type"] in ("worker", "ps"):
    # They serve until the operator deletes their pods: the chief decides when the job ends.
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=task["type"], task_index=task["index"]
    ).join()

# Only the chief imports these, so the other processes need less memory.
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
def step(batches):
    x, y = next(batches)
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x))
        loss = tf.reduce_mean(losses)
    variables = [w1, b1, w2, b2]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.3 * gradient)


def batches():
    return tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000).repeat().batch(64)


per_worker = iter(coordinator.create_per_worker_dataset(batches))
writer = tf.summary.create_file_writer(os.environ["LOG_DIR"])
for done in range(0, STEPS, 100):
    for _ in range(100):
        coordinator.schedule(step, args=(per_worker,))
    coordinator.join()
    accuracy = float((logits(x_test).numpy().argmax(1) == y_test).mean())
    print(f"step {done + 100}: accuracy {accuracy:.4f}", flush=True)
    with writer.as_default(step=done + 100):
        tf.summary.scalar("accuracy", accuracy)
print(f"accuracy {accuracy:.4f}", flush=True)
