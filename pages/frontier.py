"""x"""

from pages.shared.frame import open_page

frame = open_page("pages/frontier.py")
