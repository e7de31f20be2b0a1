"""The API tensorflow.org: TfJobs, in which each replica is a batch Job."""
