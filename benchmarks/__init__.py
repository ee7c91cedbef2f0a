"""Speed and memory of dualboost beside its peers, measured in one run: `python -m benchmarks`."""
