"""What takes time, measured side by side in one run, since machines differ and are noisy: only ratios tell."""
