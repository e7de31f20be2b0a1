"""The operator process: settings, informers, controllers, leader election, metrics and probes."""
