"""How Sphinx makes the site; nothing is loaded from another server when it is read."""

from longform.version import __version__

project = "longform"
version = release = __version__
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "longform"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["accessible.js"]
html_show_sourcelink = html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
suppress_warnings = ["myst.header"]  # generated articles print their headings as they are
