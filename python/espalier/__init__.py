"""What Espalier has in Python: the generator of layered networks."""
