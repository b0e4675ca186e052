"""What Sphinx makes of the folder that stage.py has filled."""
import os
import pathlib

project = "asyncgrad"
version = release = os.environ["ASYNCGRAD_VERSION"]
copyright = "the authors of asyncgrad"  # noqa: A001
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
master_doc = "index"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
primary_domain = None
highlight_language = "none"
html_theme = "furo"
html_title = f"asyncgrad {version}"
html_static_path = [str(pathlib.Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
# A page opened from a folder may not read other files, which a summary of each hit would.
html_show_search_summary = False
html_domain_indices = False
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
# Pages that a program writes skip levels of headings; a comment's example may have an ellipsis.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
