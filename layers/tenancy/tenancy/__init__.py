"""The tenant-authorization layer: who is calling, whose queue it is, and the verbs of a queue."""
