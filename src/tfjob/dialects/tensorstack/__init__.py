"""The API batch.tensorstack.dev: TensorFlowTrainingJobs of the T9k platform."""
