"""A Kubernetes client: configuration, requests, watches, informers, workqueue, leases, events.

It works with any cluster and knows nothing about jobs. It starts no background tasks: whatever
must run in the background is a coroutine that the caller runs.
"""
