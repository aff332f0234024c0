"""The parts of `scripts/disturb`: the service and its engine, the honest account, the abuses, and the goals."""
