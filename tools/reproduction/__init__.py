"""Make the chapter on the papers' tables and figures from results of experiments."""
