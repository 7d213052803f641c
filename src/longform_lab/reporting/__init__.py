"""Scores become the tables and figures of each paper, named as the paper numbers them."""
