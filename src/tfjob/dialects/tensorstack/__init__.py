"""The parts of batch.tensorstack.dev TensorFlowTrainingJobs."""
