"""The local stack: this service on one machine, deployed from the same template as on AWS."""
