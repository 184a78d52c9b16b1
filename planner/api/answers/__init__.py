"""What calls answer, for the schema and whoever reads it. The answers are made elsewhere; tests hold them against these models.

All sizes are whole bytes, all times seconds, all rates tokens per second, all shares between 0 and 1, unless a name says otherwise.
"""
