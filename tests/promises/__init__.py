"""End-to-end tests of headlines of the product.

Each test uses the public API or the command line alone. Counts by `collections.Counter` or NumPy
judge the results, never evenkey's own figures. Where it can, a test also shows that the same bound
fails for Spark's own operator on the same rows.

`README.md` lists the headlines.
"""
