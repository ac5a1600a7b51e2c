"""For tests, yours too: fakes that stand at the doors, and checks that any implementation must pass."""
