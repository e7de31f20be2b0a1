"""The API tensorflow.org: TfJobs, which run each replica by a batch Job of its own."""
