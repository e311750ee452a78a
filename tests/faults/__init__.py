"""Faults in the environment of a job, tested as a user would run it, with an independent count.

Each case ends in one of two ways: the results equal the count, or the command stopped with one line
that says why and how to go on. docs/faults.md lists all cases.
"""
