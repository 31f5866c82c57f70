"""Notebooks that are open on the server: cells run, and their outputs are written into the shared document, here."""
