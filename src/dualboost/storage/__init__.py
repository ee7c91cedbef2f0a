"""What is kept in files, whoever keeps it: a container that is read with suspicion, records, the state of a run."""

from dualboost.storage.state import load_state, save_state

__all__ = ["load_state", "save_state"]
