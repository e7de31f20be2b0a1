"""A smoke test: the chief has every other replica multiply two matrices, and checks the product."""

import json
import os

import tensorflow as tf

task = json.loads(os.environ["TF_CONFIG"])["task"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
cluster = resolver.cluster_spec()

if task["type"] != "chief":
    # They serve until the operator ends them: the chief decides when the job is done.
    tf.distribute.Server(cluster, job_name=task["type"], task_index=task["index"]).join()

# Waits until every replica of the cluster answers.
tf.config.experimental_connect_to_cluster(cluster, job_name="chief", task_index=0)
for kind in sorted(cluster.jobs):
    for index in range(cluster.num_tasks(kind)):
        with tf.device(f"/job:{kind}/replica:0/task:{index}"):
            product = tf.matmul(tf.fill([2, 3], 2.0), tf.fill([3, 2], 7.0))
        assert (product.numpy() == 42).all()
        print(f"{kind} {index}: {product.device}", flush=True)
print("every replica answers", flush=True)
