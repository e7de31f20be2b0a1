"""Resume: after a crash, training continues from the last checkpoint."""

import os
import sys

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

STEPS, EVERY, CRASH_AT = 400, 100, 250
RETRYABLE = 138  # retryable under ExitCode; an exit code below 128 fails the job
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

normal = tf.random.stateless_normal
w1, b1 = tf.Variable(normal([64, 64], [1, 2]) * 0.1), tf.Variable(tf.zeros([64]))
w2, b2 = tf.Variable(normal([64, 10], [3, 4]) * 0.1), tf.Variable(tf.zeros([10]))
done = tf.Variable(0, dtype=tf.int64)
state = tf.train.Checkpoint(w1=w1, b1=b1, w2=w2, b2=b2, done=done)
manager = tf.train.CheckpointManager(state, os.environ["CHECKPOINTS"], max_to_keep=2)
manager.restore_or_initialize()
started_at = int(done)
print(f"starting at step {started_at}", flush=True)


def logits(x):
    return tf.nn.relu(x @ w1 + b1) @ w2 + b2


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x)))
    variables = [w1, b1, w2, b2]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.3 * gradient)
    done.assign_add(1)


dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000).repeat().batch(64)
for x, y in dataset.take(STEPS - started_at):
    step(x, y)
    if int(done) % EVERY == 0:
        manager.save()
        print(f"checkpoint at step {int(done)}", flush=True)
    if started_at == 0 and int(done) == CRASH_AT:
        print("crashing on purpose", flush=True)
        sys.exit(RETRYABLE)
accuracy = float((logits(x_test).numpy().argmax(1) == y_test).mean())
print(f"accuracy {accuracy:.4f}", flush=True)
