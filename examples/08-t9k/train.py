"""Two synchronous workers: each has the model and a part of each batch; worker 0 writes logs."""

import argparse
import json
import os

import tensorflow as tf

# This must be the first call to TensorFlow. It waits until every worker is connected.
strategy = tf.distribute.MultiWorkerMirroredStrategy()

from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", required=True)
log_dir = parser.parse_args().log_dir
is_first = json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0
STEPS, BATCH = 600, 64

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

with strategy.scope():
    normal = tf.random.stateless_normal
    w1, b1 = tf.Variable(normal([64, 64], [1, 2]) * 0.1), tf.Variable(tf.zeros([64]))
    w2, b2 = tf.Variable(normal([64, 10], [3, 4]) * 0.1), tf.Variable(tf.zeros([10]))
variables = [w1, b1, w2, b2]


def logits(x):
    return tf.nn.relu(x @ w1 + b1) @ w2 + b2


def replica_step(x, y):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x))
        loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
    gradients = tape.gradient(loss, variables)
    gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
    for variable, gradient in zip(variables, gradients, strict=True):
        variable.assign_sub(0.3 * gradient)


@tf.function
def step(batches):
    strategy.run(replica_step, next(batches))


dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000, seed=1)
batches = iter(strategy.experimental_distribute_dataset(dataset.repeat().batch(BATCH)))
writer = tf.summary.create_file_writer(log_dir) if is_first else tf.summary.create_noop_writer()
for done in range(1, STEPS + 1):
    step(batches)
    if done % 100 == 0:
        accuracy = float((logits(x_test).numpy().argmax(1) == y_test).mean())
        print(f"step {done}: accuracy {accuracy:.4f}", flush=True)
        with writer.as_default(step=done):
            tf.summary.scalar("accuracy", accuracy)
print(f"accuracy {accuracy:.4f}", flush=True)
