"""A Keras model that writes summaries for TensorBoard: loss, accuracy and the weights."""

import argparse

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", required=True, help="folder of the event files")
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--batch_size", type=int, default=150)
parser.add_argument("--epochs", type=int, default=20)
arguments = parser.parse_args()

# The digits of scikit-learn instead of those of MNIST, which would have to be downloaded.
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(images, labels, random_state=0)

layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(10)])
model.compile(
    optimizer=tf.keras.optimizers.Adam(arguments.learning_rate),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    x_train,
    y_train,
    epochs=arguments.epochs,
    batch_size=arguments.batch_size,
    validation_data=(x_test, y_test),
    callbacks=[tf.keras.callbacks.TensorBoard(arguments.log_dir, histogram_freq=5)],
    verbose=2,
)
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(f"accuracy {accuracy:.4f}", flush=True)
