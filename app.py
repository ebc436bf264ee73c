"""What does pruning hide behind a steady accuracy?"""

from pages.shared.frame import open_page

frame = open_page("app.py")
