"""Charts: a table in, a plotly figure out; nothing here knows of Streamlit."""
