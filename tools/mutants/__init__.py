"""Small wrong changes to the package, to see whether its tests notice."""
