"""Make the pages of the documentation site from the files in docs/ and from the code."""
