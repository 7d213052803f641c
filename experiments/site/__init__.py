"""The site as HTML: the repository's pages, its gallery of figures and tables, its reference."""
