"""The API kubeflow.org: TFJobs, in two versions."""
