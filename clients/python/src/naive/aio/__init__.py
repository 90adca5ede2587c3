"""The asynchronous client, and the source of the blocking one: `scripts/blocking.py` makes `naive.blocking` of it.

Only what waits is here: what is sent, how an answer is read and what is repeated is said elsewhere, without any I/O.
"""
