"""How options are declared, read and checked."""
