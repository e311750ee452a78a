"""End-to-end tests of the main promises to users.

Each test uses only the public API or the command line. Counts by `collections.Counter` or NumPy
judge the results, never evenkey's own metrics. If possible, a test also shows that Spark's own
operator does not keep the same bound on the same rows.

`README.md` lists the promises.
"""
