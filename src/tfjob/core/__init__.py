"""The decision: (job, children, now) -> Plan. It does no IO, reads no clock and knows no API."""
