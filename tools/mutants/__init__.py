"""Mutation testing: make small wrong changes to the package, and see whether its tests fail."""
