"""The site: the repository's pages, its gallery of figures and tables, and its reference, as HTML."""
