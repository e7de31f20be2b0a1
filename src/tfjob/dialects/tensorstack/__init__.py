"""The dialect of batch.tensorstack.dev TensorFlowTrainingJobs."""
