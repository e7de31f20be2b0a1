"""train_and_evaluate without Estimators, which TensorFlow 2.16 removed: the same roles."""

import sys
import time
from pathlib import Path

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

STEPS, EVERY = 400, 100
model_dir = Path(sys.argv[1].removeprefix("--model_dir="))
verdict = model_dir / "verdict"
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
role = resolver.task_type
images, labels = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(images / 16, labels, random_state=0)


def input_fn():
    return tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000).repeat().batch(64)


def model_fn():
    return tf.train.Checkpoint(w=tf.Variable(tf.zeros([64, 10], "float64")), done=tf.Variable(0))


if role in ("worker", "ps"):  # they serve until the operator ends them
    tf.distribute.Server(resolver.cluster_spec(), role, resolver.task_id).join()

if role == "evaluator":  # not part of the cluster: it only reads checkpoints
    model = model_fn()
    for path in tf.train.checkpoints_iterator(str(model_dir), min_interval_secs=1, timeout=120):
        model.restore(path).expect_partial()
        accuracy = float(((x_test @ model.w.numpy()).argmax(1) == y_test).mean())
        print(f"step {int(model.done)}: accuracy {accuracy:.4f}", flush=True)
        if int(model.done) >= STEPS:
            verdict.write_text(f"accuracy {accuracy:.4f}")
            sys.exit(0)
    sys.exit("no new checkpoint for two minutes")


@tf.function
def step(batches):
    x, y = next(batches)
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ model.w)
    model.w.assign_sub(0.01 * tape.gradient(losses, model.w))


strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    model = model_fn()
manager = tf.train.CheckpointManager(model, str(model_dir), max_to_keep=5)
manager.restore_or_initialize()
per_worker = iter(coordinator.create_per_worker_dataset(input_fn))
while int(model.done) < STEPS:
    for _ in range(EVERY):
        coordinator.schedule(step, args=(per_worker,))
    coordinator.join()
    model.done.assign_add(EVERY)
    print(f"checkpoint at step {int(model.done)}: {Path(manager.save()).name}", flush=True)
while not verdict.exists():  # the chief's end is the job's: the evaluator has the last word
    time.sleep(0.2)
print(verdict.read_text(), flush=True)
