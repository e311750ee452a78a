"""Checks what is released: archives, empty environments, files that other services read."""
