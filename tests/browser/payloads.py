"""Names that a page must show as they are: HTML, markdown, Streamlit's own directives, formulas, attributes."""

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    "<b>bold</b>",
    "<a href='http://out.invalid/4'>link</a>",
    "<iframe src='http://out.invalid/5'></iframe>",
    "<style>body{display:none}</style>",
    "</p></div><h1>heading</h1>",
    "<input autofocus onfocus=alert(8)>",
    "<details open ontoggle=alert(9)>",
    "&lt;b&gt;entity&lt;/b&gt;",
    '"><script>alert(11)</script>',
    "';alert(12);//",
    "javascript:alert(13)",
    "![picture](http://out.invalid/14.png)",
    "[link](javascript:alert(15))",
    "[link](http://out.invalid/16)",
    "**strong** _weak_ ~~gone~~",
    "# heading 18",
    "- point 19",
    "> quote 20",
    "`code` 21",
    "$x^2$ 22",
    ":red[colour] 23",
    ":material/home: 24",
    ":smile: 25",
    "| a | b | 26",
    "http://out.invalid/27",
    "=1+1;{{28}}${28}%{28}",
    "a<br>b<sub>29</sub>",
)

SOME = PAYLOADS[::4]
"""Enough for the names that multiply each other."""

EVERYTHING = " ".join(PAYLOADS)
"""For what takes a sentence."""
