"""What the emulator only says it does: it counts the tasks of services, and this runs them; it takes alarms that watch
queues, and this looks at the queues.

One process a stack, with a keeper that leaves nothing of it behind.
"""
