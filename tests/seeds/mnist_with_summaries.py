"""The program that one of the documents starts by this name."""

import runpy

runpy.run_module("trainer.task", run_name="__main__")
