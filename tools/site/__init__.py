"""The pages of the documentation site: what lies in docs/, and what is generated of the code."""
