"""Talks to an API server: configuration, requests, watches, caches, queues, leases, events.

It is true of any Kubernetes cluster and knows nothing of jobs. It starts no task of its own:
what must run beside other work is a coroutine that the caller runs.
"""
