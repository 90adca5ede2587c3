"""The plots in the documents, each drawn from what was recorded on a running stack."""
