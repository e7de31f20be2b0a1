"""What the versions of kubeflow.org's TFJob share."""
