"""The loop behind `naive.queue.consume`: what to do and when is decided in `loop`, without any I/O.

`threads` carries it out with threads; whatever else may carry it out has nothing to decide.
"""
