"""The node of the local cluster: runs pods as processes. Knows Kubernetes, not TFJobs."""
