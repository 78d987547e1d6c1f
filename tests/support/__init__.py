"""What the black-box suites share: an upstream that counts, gateways to start, raw clients."""
