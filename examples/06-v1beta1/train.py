"""A single master: plain Keras; the model stays on a volume after the pod is deleted."""

import argparse

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", required=True)
log_dir = parser.parse_args().log_dir

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(10)])
model.compile(
    optimizer=tf.keras.optimizers.Adam(0.01),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
summaries = tf.keras.callbacks.TensorBoard(log_dir, write_graph=False)
model.fit(x_train, y_train, epochs=10, batch_size=64, verbose=2, callbacks=[summaries])
model.save(f"{log_dir}/model.keras")
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(f"accuracy {accuracy:.4f}", flush=True)
