"""The decision: (job, children, now) -> Plan. No IO, no clock, no API dialect."""
