"""Each operation of the API as a value: what to send, how to read the answer, what a retry risks.

A module for each noun. Nothing here does I/O, so a blocking and an asynchronous client can share it.
"""
