"""How long a test waits for something that must happen.

A wait ends as soon as the thing has happened, so only a failure takes this long. It is far longer
than anything takes on a busy machine: a test must not fail because others use the processor.
"""

PATIENCE = 120.0
