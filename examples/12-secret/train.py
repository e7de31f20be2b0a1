"""Reads credentials from a mounted Secret before it trains, as client libraries do."""

import json
import os
from pathlib import Path

import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

credentials = json.loads(Path(os.environ["GOOGLE_APPLICATION_CREDENTIALS"]).read_text())
print(f"credentials of a {credentials['type']} in {credentials['project_id']}", flush=True)

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
model.fit(x_train, y_train, epochs=10, batch_size=64, verbose=2)
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(f"accuracy {accuracy:.4f}", flush=True)
