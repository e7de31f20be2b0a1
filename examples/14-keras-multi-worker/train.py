"""A Keras model on several workers. `model.fit` of Keras 3 cannot do this: the loop is ours."""

import tensorflow as tf

# The first call of all: it waits until every worker is there.
strategy = tf.distribute.MultiWorkerMirroredStrategy()

from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

EPOCHS, BATCH = 20, 64
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

tf.keras.utils.set_random_seed(1)  # every worker begins with the same weights
layers = tf.keras.layers
with strategy.scope():
    model = tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(10)])
    model.build((None, 64))
    weights = [each.value for each in model.trainable_variables]


def replica_step(x, y):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
        loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
    gradients = tape.gradient(loss, weights)
    gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.assign_sub(0.3 * gradient)


@tf.function
def step(batches):
    strategy.run(replica_step, next(batches))


per_epoch = len(x_train) // BATCH
dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000, seed=1)
batches = iter(strategy.experimental_distribute_dataset(dataset.repeat().batch(BATCH)))
for epoch in range(1, EPOCHS + 1):
    for _ in range(per_epoch):
        step(batches)
    accuracy = float((model(x_test).numpy().argmax(1) == y_test).mean())
    print(f"epoch {epoch}: accuracy {accuracy:.4f}", flush=True)
print(f"accuracy {accuracy:.4f}", flush=True)
