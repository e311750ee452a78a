"""Compare the speed of two commits, or of two ways to do the same, and measure the noise."""
