"""Which parameter files a run takes, and our own for tests."""
